"""Need one sample at all? The Laplace approximation, judged by weighted draws.

With h = ∇ log posterior + C⁻¹ (θ - centre), what the gradient has beyond that of the approximation N(centre, C),
integration by parts gives posterior moments exactly:

    E[θ - centre] = C E[h],        E[(θ - centre)(θ - centre)'] = C + C E[h (θ - centre)']

Weighted averages of C h over the draws estimate the error of Laplace with much less noise than weighted averages of θ
do: h contains only what the approximation misses.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from designer.core.arrays import Floats
from designer.core.errors import real
from samplers.models.control import Controlled
from samplers.study.weighted_draws import (
    Laplace,
    WeightedDraws,
    check_controlled,
    effective,
    smoothed,
    weighted_draws,
)

Method = Literal["laplace", "importance", "sample"]
LEVEL = 0.95  # of the bands, for all coordinates together
TRUSTED_K = 0.7  # largest k̂ of weights to be trusted (Vehtari et al. 2024), less for few draws
STEADY = 4.0  # times the mean weight: if no weight is larger, k̂ is the shape of mere noise
FEWEST = 50.0  # effective draws below which weighted averages say nothing
MORE = 4  # times as many draws decide where the first ones leave it open


class LaplaceVerdict(NamedTuple):
    """Whether a posterior needs a chain, and what the Laplace approximation gets wrong.

    Attributes
    ----------
    method
        "laplace": its draws are good enough; "importance": weighted draws are; "sample": run a chain.
    sentence
        The verdict in words.
    wish
        Largest error asked for, of any mean or sd, in posterior sds.
    mean_error, mean_se
        Laplace mean minus posterior mean of each coordinate, in posterior sds, and its standard error.
    sd_error, sd_se
        Laplace sd over posterior sd, minus 1.
    largest, half_width
        Largest of all these errors, and the half width of its band, which holds for all coordinates at once (95%).
    upper
        Upper end of the widest of these bands: no error is larger, with 95% confidence.
    pareto_k, ess
        k̂ and effective number of the plain Laplace draws.
    tail_pareto_k, tail_ess
        The same of all draws, with those in the tails.
    weighted
        The draws.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((20_000, 2))
    >>> model = Logistic.from_data(x, np.random.default_rng(1).random(20_000) < 0.5)
    >>> verdict = laplace_verdict(Controlled.around(model, find_mode(model)), np.random.default_rng(2))
    >>> verdict.method, verdict.laplace_draws(np.random.default_rng(3), 1000).shape
    ('laplace', (1000, 2))
    """

    method: Method
    sentence: str
    wish: float
    mean_error: Floats
    mean_se: Floats
    sd_error: Floats
    sd_se: Floats
    largest: float
    half_width: float
    upper: float
    pareto_k: float
    ess: float
    tail_pareto_k: float
    tail_ess: float
    weighted: WeightedDraws

    @property
    def laplace(self) -> Laplace:
        """The approximation that was judged."""
        return self.weighted.laplace

    @property
    def reason(self) -> str:
        """The sentence without its verdict, to follow an answer and "because"."""
        return self.sentence if self.method == "importance" else self.sentence.partition(": ")[2]

    def laplace_draws(self, rng: np.random.Generator, draws: int) -> Floats:
        """Independent draws of the Laplace approximation, (draws, D)."""
        return self.laplace.draw(rng, draws)

    def importance_draws(self, model: Controlled, rng: np.random.Generator, draws: int) -> WeightedDraws:
        """New weighted draws: one pass over the data; `resampled` makes draws of equal weight of them."""
        return weighted_draws(model, rng, draws)

    def alternatives(self, n_rows: int) -> dict[str, dict[str, float]]:
        """What draws without a chain cost and miss: evaluations for one effective draw, largest error in sds.

        Errors are upper ends of bands; that of importance sampling is the noise of its draws, which more of them lower.
        There are none if the verdict is to sample: then the errors are unknown.
        """
        if self.method == "sample":
            return {}
        draws = len(self.weighted.theta)
        weighted = {"evaluations": n_rows * draws / self.tail_ess, "error": 1.0 / math.sqrt(self.tail_ess)}
        return {
            "Laplace": {"evaluations": 0.0, "error": self.upper},
            "Laplace + importance sampling": weighted,
        }

    def facts(self) -> dict[str, str | float | None]:
        """The verdict for files and JSON: no arrays, no infinite numbers."""
        numbers = {
            name: getattr(self, name)
            for name in ("wish", "largest", "half_width", "upper", "pareto_k", "ess", "tail_pareto_k", "tail_ess")
        }
        finite = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        return {"method": self.method, "sentence": self.sentence, **finite}


def laplace_verdict(
    model: Controlled, rng: np.random.Generator, draws: int = 200, wish: float = 0.05
) -> LaplaceVerdict:
    """Need one sample at all? Judge the Laplace approximation by one pass over the data for all draws at once.

    Parameters
    ----------
    model
        A model with control variates of order 2, expanded at the posterior mode.
    rng
        Random numbers.
    draws
        Of the Laplace approximation; some in its tails are added (`weighted_draws`). Four times as many are made in
        a second pass if these leave the verdict open.
    wish
        Largest error of any mean or sd that is good enough, in posterior sds.

    Returns
    -------
    LaplaceVerdict
        Its `sentence` says whether Laplace is good enough, or importance sampling, or neither.

    Raises
    ------
    BadInput
        If the model has no control variates of order 2.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((60, 1)) + 2.0
    >>> model = Logistic.from_data(x, np.arange(60) > 2, prior_precision=1.0)  # few zeros: a skewed posterior
    >>> laplace_verdict(Controlled.around(model, find_mode(model)), np.random.default_rng(2)).method
    'importance'
    """
    wish = real("wish", wish, 0.0, 10.0, open_low=True)
    verdict, clear = verdict_by(weighted_draws(check_controlled(model), rng, draws), wish)
    return verdict if clear else verdict_by(weighted_draws(model, rng, MORE * draws), wish)[0]


def verdict_by(drawn: WeightedDraws, wish: float) -> tuple[LaplaceVerdict, bool]:
    """The verdict by these draws, and whether more of them could not change it."""
    weight, tail_k = smoothed(drawn.log_weight)
    plain_weight, k = smoothed(drawn.log_ratio[: drawn.plain])
    errors = _errors(drawn, weight)
    size = np.abs(np.concatenate([errors.mean, errors.sd]))
    width = float(-ndtri(0.5 * (1.0 - LEVEL) / size.size)) * np.concatenate([errors.mean_se, errors.sd_se])
    worst, upper, lower = int(size.argmax()), float((size + width).max()), float((size - width).max())
    ess, tail_ess = effective(plain_weight), effective(weight)
    off = f"{size[worst]:.2g} ± {width[worst]:.1g} sd"
    method: Method
    if not trusted(weight, tail_k) or not tail_ess >= FEWEST:
        method, text = "sample", "sample: the weights of Laplace draws are too uneven to tell its error or to mend it"
    elif upper <= wish:
        method = "laplace"
        text = f"no need to sample: Laplace is within {off} in every mean and sd, {wish:g} is allowed"
    else:
        method, more = "importance", "more than" if lower > wish else "perhaps more than"
        text = f"Laplace + importance sampling is enough: Laplace is off by {off}, {more} the allowed {wish:g}"
    sentence = f"{text} (k̂ {shown_k(tail_k)}, {tail_ess:.0f} of {weight.size:,} draws effective)"
    numbers = float(size[worst]), float(width[worst]), upper, k, ess, tail_k, tail_ess
    clear = method == "laplace" or (method == "importance" and lower > wish)
    return LaplaceVerdict(method, sentence, wish, *errors, *numbers, drawn), clear


class _Errors(NamedTuple):
    mean: Floats
    mean_se: Floats
    sd: Floats
    sd_se: Floats


def _errors(drawn: WeightedDraws, weight: Floats) -> _Errors:
    """Errors of Laplace's means and sds in posterior sds, with standard errors of the weighted averages."""
    laplace, d = drawn.laplace, drawn.theta - drawn.laplace.centre
    covariance = laplace.factor @ laplace.factor.T
    beyond = d + drawn.gradient @ covariance  # C h, (S, D)
    mean = weight @ beyond
    second = np.diag(covariance) + weight @ (beyond * d)
    variance = np.maximum(second - mean**2, 1e-6 * np.diag(covariance))
    sd = np.sqrt(variance)
    squares = weight**2  # delta method for ratios of weighted sums
    mean_se = np.sqrt(squares @ (beyond - mean) ** 2) / sd
    change = (beyond * d - weight @ (beyond * d)) - 2.0 * mean * (beyond - mean)
    sd_se = 0.5 * np.sqrt(squares @ change**2) / variance
    ratio = laplace.sd / sd
    return _Errors(-mean / sd, mean_se, ratio - 1.0, ratio * sd_se)


def trusted(weight: Floats, k: float) -> bool:
    """Whether weighted averages are to be trusted: k̂ is below 1 - 1 / log10 S and 0.7 (Vehtari et al. 2024).

    Or else no weight is large: then k̂ describes differences that do not matter.
    """
    steady = float(weight.max()) * weight.size <= STEADY
    return steady or k <= min(TRUSTED_K, 1.0 - 1.0 / math.log10(weight.size))


def shown_k(k: float) -> str:
    """k̂ for people; equal weights have none."""
    return f"{k:.2f}" if math.isfinite(k) else "none (equal weights)"
