"""Draws of the Laplace approximation with their importance weights: one pass over the data for all of them at once.

Some of the draws have one coordinate far out in its tail, where the Laplace approximation itself hardly ever goes: the
weights are then those of a mixture (defensive importance sampling, Hesterberg 1995) and stay bounded where the
posterior has longer tails than a normal distribution.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure, integer
from samplers.models import LinearModel, SmoothModel
from samplers.models.control import Controlled
from samplers.models.control.many_states import row_blocks, sums_at
from samplers.proposals import ProxyStep

MOST_DRAWS = 10**6
TAIL_FROM, TAIL_SCALE, TAIL_POWER = 2.0, 3.0, 3.0  # sds beyond which a tail draw lies; Lomax distribution of the rest
TAIL_SHARE = 0.5  # tail draws per Laplace draw, at least one for either side of every coordinate
MOST_TAILS = 4.0  # at most this many per Laplace draw
EQUAL = 1e-8  # log weights that differ by less are equal: rounding of sums over the data


class Laplace(NamedTuple):
    """The normal approximation at the mode: N(centre, L L'), L the factor.

    Examples
    --------
    >>> Laplace(np.zeros(2), np.eye(2)).draw(np.random.default_rng(1), 5).shape
    (5, 2)
    """

    centre: Floats
    factor: Floats

    @classmethod
    def of(cls, model: Controlled) -> Laplace:
        """From the proxies of a controlled model of order 2."""
        step = ProxyStep.of(model)
        return cls(step.centre, step.factor)

    @property
    def sd(self) -> Floats:
        """Standard deviation of every coordinate."""
        sd: Floats = np.sqrt(np.einsum("ij,ij->i", self.factor, self.factor))
        return sd

    def draw(self, rng: np.random.Generator, draws: int) -> Floats:
        """Independent draws, (draws, D)."""
        return self.centre + rng.standard_normal((draws, self.centre.size)) @ self.factor.T

    def draw_tails(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draws with one coordinate at least 2 sds out, each side of each coordinate in turn; the others follow it."""
        size = self.centre.size
        side = rng.permutation(np.arange(draws) + int(rng.integers(2 * size))) % (2 * size)
        far = TAIL_FROM + TAIL_SCALE * (rng.random(draws) ** (-1.0 / TAIL_POWER) - 1.0)
        s = np.where(side < size, far, -far)
        along = (self.factor / self.sd[:, None])[side % size]  # whitened unit vectors, along which θ_k grows alone
        xi = rng.standard_normal((draws, size))
        xi += (s - np.einsum("ij,ij->i", xi, along))[:, None] * along
        return self.centre + xi @ self.factor.T

    def log_density(self, theta: Floats) -> Floats:
        """Up to a constant: minus half the squared distance from the centre."""
        xi = np.linalg.solve(self.factor, (theta - self.centre).T)
        log_density: Floats = -0.5 * np.einsum("ij,ij->j", xi, xi)
        return log_density

    def log_tail_ratio(self, theta: Floats) -> Floats:
        """Log density of the tail draws over the density of plain ones."""
        s = (theta - self.centre) / self.sd
        beyond = np.maximum(np.abs(s) - TAIL_FROM, 0.0) / TAIL_SCALE
        log_lomax = math.log(TAIL_POWER / TAIL_SCALE) - (TAIL_POWER + 1.0) * np.log1p(beyond)
        log_normal = -0.5 * s * s - 0.5 * math.log(2.0 * math.pi)
        terms = np.where(np.abs(s) > TAIL_FROM, log_lomax - log_normal, -math.inf)
        with np.errstate(divide="ignore"):  # no coordinate in a tail: density 0
            ratio: Floats = logsumexp(terms, axis=1) - math.log(2.0 * self.centre.size)
        return ratio


class WeightedDraws(NamedTuple):
    """Draws whose weighted averages are those of the posterior.

    Attributes
    ----------
    theta
        Draws, (S, D): first those of the Laplace approximation, then those in its tails.
    log_weight
        log posterior minus the log density that a draw comes from, up to a constant.
    log_ratio
        log posterior minus log Laplace density, up to a constant: weights that know nothing of the tail draws.
    gradient
        Of the log posterior at each draw.
    laplace
        The approximation.
    plain
        How many are plain draws of the Laplace approximation.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> drawn = weighted_draws(Controlled.around(model, find_mode(model)), np.random.default_rng(1), 200)
    >>> drawn.theta.shape, bool(drawn.ess > 100)
    ((300, 2), True)
    """

    theta: Floats
    log_weight: Floats
    log_ratio: Floats
    gradient: Floats
    laplace: Laplace
    plain: int

    @property
    def weight(self) -> Floats:
        """Pareto-smoothed weights, which sum to 1."""
        return smoothed(self.log_weight)[0]

    @property
    def pareto_k(self) -> float:
        """Shape k̂ of the largest weights: above 0.7 averages cannot be trusted; minus infinity if all are equal."""
        return smoothed(self.log_weight)[1]

    @property
    def ess(self) -> float:
        """Effective number of draws, 1 / Σ weight²."""
        return effective(self.weight)

    def resampled(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draws of equal weight, by systematic resampling in random order: heavy ones are repeated."""
        places = (np.arange(draws) + rng.random()) / draws
        chosen = np.searchsorted(np.cumsum(self.weight), places, side="right").clip(max=self.theta.shape[0] - 1)
        repeated: Floats = self.theta[rng.permutation(chosen)]
        return repeated


def weighted_draws(model: Controlled, rng: np.random.Generator, draws: int = 200) -> WeightedDraws:
    """Draws of the Laplace approximation and of its tails, weighted towards the posterior: one pass over the data.

    Parameters
    ----------
    model
        A model with control variates of order 2, expanded at the mode.
    rng
        Random numbers.
    draws
        Of the Laplace approximation. Half as many tail draws are added, or two for each coordinate if that is more.

    Returns
    -------
    WeightedDraws
        With the weights of the mixture that they come from.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> drawn = weighted_draws(Controlled.around(model, find_mode(model)), np.random.default_rng(1), 1000)
    >>> mean = drawn.weight @ drawn.theta
    >>> bool(mean[0] > drawn.laplace.centre[0])  # the likelihood of separated data has its long tail there
    True
    """
    draws = integer("draws", draws, 20, MOST_DRAWS)
    laplace = Laplace.of(model)
    tails = round(min(max(TAIL_SHARE * draws, 2.0 * laplace.centre.size), MOST_TAILS * draws))
    theta = np.concatenate([laplace.draw(rng, draws), laplace.draw_tails(rng, tails)])
    log_posterior, gradient = posterior_at(model.model, theta)
    log_ratio = log_posterior - laplace.log_density(theta)
    share = np.log(np.array([draws, tails]) / (draws + tails))
    log_mixture = np.logaddexp(share[0], share[1] + laplace.log_tail_ratio(theta))
    log_ratio -= log_ratio.max()
    return WeightedDraws(theta, log_ratio - log_mixture, log_ratio, gradient, laplace, draws)


def posterior_at(model: LinearModel | SmoothModel, theta: Floats) -> tuple[Floats, Floats]:
    """Log posterior (S,) and its gradient (S, D) at S states: one pass over the data, for all states at once."""
    value = np.array([model.log_prior(state) for state in theta])
    gradient = np.stack([model.prior_gradient(state) for state in theta])
    with np.errstate(all="ignore"):  # refused below
        for block in row_blocks(model.n_data, len(theta)):
            sums, slopes = sums_at(model, theta, block)
            value, gradient = value + sums, gradient + slopes
    if not np.all(np.isfinite(gradient)) or np.any(np.isnan(value)) or np.any(value == math.inf):
        raise NumericalFailure("the log posterior is not finite at a draw of the Laplace approximation")
    return value, gradient


def smoothed(log_weight: Floats) -> tuple[Floats, float]:
    """Pareto-smoothed weights that sum to 1, and k̂ (Vehtari et al. 2024)."""
    from arviz_stats import base

    stats: Any = base.array_stats  # type: ignore[attr-defined]
    smooth, k = log_weight, -math.inf
    if float(np.ptp(log_weight)) >= EQUAL:
        try:
            with np.errstate(all="ignore"):
                smooth, k = stats.psislw(-log_weight)  # it takes log-likelihoods: minus log weights
        except ValueError:  # the largest weights are equal: there is no tail
            pass
    if not (math.isfinite(k) and np.all(np.isfinite(smooth))):  # some of the largest are equal
        smooth, k = log_weight, -math.inf
    weight: Floats = np.exp(smooth - logsumexp(smooth))
    return weight, float(k)


def effective(weight: Floats) -> float:
    """Effective number of draws with these weights, which sum to 1."""
    return 1.0 / float(weight @ weight)


def check_controlled(model: object) -> Controlled:
    """A controlled model of order 2, or BadInput."""
    if not isinstance(model, Controlled) or model.order != 2:
        raise BadInput("model: the Laplace approximation needs control variates of order 2 (`Controlled.around`)")
    return model
