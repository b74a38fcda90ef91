"""What the errors that an audit measured do to the posterior means, where proposals do not depend on the state.

With P the exact chain and g the solution of g - P g = f - E f (Poisson's equation), a chain whose acceptance
probabilities are off by Δ has the mean E f + mean of Δ(θ, θ') (g(θ') - g(θ)) over its own steps. That is exact, and the
audited steps are its own. g is solved on weighted draws of the posterior, and extended from them to every state by the
equation itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure
from designer.engine.step_error import Rule, exact_probability
from designer.further.posterior.independent import FEWEST, WeightedStates, poisson_solution
from samplers.models.control import Controlled
from samplers.proposals import ProxyStep
from samplers.study.integrated import StepError
from samplers.study.means import Mean
from samplers.study.observe import Pair, independent
from samplers.study.weighted_draws import posterior_at, weighted_draws

WISH = 0.05  # sd: a bias of a mean worth noticing, if nobody says
SURE, WOLF, POWER = 0.95, 0.995, 0.9  # confidence of the limit and of an alarm; wanted probability of seeing the wish
SEEN = 1.2816  # normal quantile of POWER
POOR = 0.5  # sd: if only biases larger than this would be seen, the exact chain mixes too slowly to say anything
DRAWS = 120  # of the Laplace approximation, and half as many in its tails
GROUPS = 10  # of draws that are left out in turn, for the error of g
NOT_JUDGED = "means are not judged here; `certify` does that"

MeansVerdict = Literal["within", "unclear", "beyond"]


class MeansJudged(NamedTuple):
    """How far the audited errors move the posterior means, in posterior sds.

    Attributes
    ----------
    bias, se
        Of every coordinate's mean, and its standard error.
    upper
        No mean is off by more, with confidence 95% for all of them together.
    seen
        The bias of a mean that would have been seen, that is told from 0 with confidence 99.5%, with a probability of
        90%.
    power
        The probability with which `wish` would have been seen.
    verdict
        "within" if `upper` is at most `wish`, "beyond" if some mean is surely off by more, otherwise "unclear".
    enough
        How many audited steps it takes to see `wish` with a probability of 90%, about.
    wish
        The bias of a mean that is allowed.

    Examples
    --------
    >>> judged = MeansJudged(np.array([0.01, -0.02]), np.array([0.003, 0.004]), 0.03, 0.017, 1.0, "within", 40)
    >>> judged.words
    'means: largest bias -0.020 ± 0.004 sd (theta[1]), all within 0.030 (95%); 0.05 would have been seen with 100%'
    """

    bias: Floats
    se: Floats
    upper: float
    seen: float
    power: float
    verdict: MeansVerdict
    enough: float
    wish: float = WISH

    @property
    def words(self) -> str:
        """In words."""
        k = int(np.abs(self.bias).argmax())
        off = f"{self.bias[k]:+.3f} ± {self.se[k]:.3f} sd (theta[{k}])"
        if self.verdict == "beyond":
            return f"MEANS WRONG: bias {off}, beyond {self.wish:g}"
        shows = f"{self.wish:g} would have been seen with {self.power:.0%}"
        if self.power < POWER:
            shows += f", {self.seen:.2g} with {POWER:.0%}"
        return f"means: largest bias {off}, all within {self.upper:.3f} (95%); {shows}"


class MeanBias:
    """Judges the means of one chain by its audited steps: makes weighted draws once, and solves for g on them.

    Parameters
    ----------
    chain
        With independent proxy proposals and control variates of order 2.
    rng
        For the weighted draws.
    wish
        The bias of a mean that is allowed.

    Raises
    ------
    BadInput
        If the weights are too uneven: the draws do not stand for the posterior.
    """

    def __init__(self, chain: Any, rng: np.random.Generator, wish: float = WISH) -> None:
        self.wish = wish
        model, self.proposal, self.rule = chain.model, chain.proposal, chain.rule
        drawn = weighted_draws(model, rng, DRAWS)
        top = drawn.log_ratio + drawn.laplace.log_density(drawn.theta)
        raw = top - self._log_density(drawn.theta)
        self.model, self.n_data = model.model, chain.n_data
        self.offset = float(posterior_at(model.model, drawn.theta[:1])[0][0] - top[0])
        states = WeightedStates.of(drawn.theta, drawn.log_weight, drawn.log_weight - raw)
        if not states.ess >= FEWEST:
            raise BadInput(f"only {states.ess:.0f} of {len(raw)} weighted draws are effective")
        mean = states.posterior @ states.theta
        self.centre, self.sd = mean, np.sqrt(states.posterior @ (states.theta - mean) ** 2)
        size = np.arange(len(raw))
        chosen = [size, *(size[size % GROUPS != group] for group in range(GROUPS))]
        self.solutions = [_Solution.of(states.subset(some), raw[some], self.rule) for some in chosen]
        self.log_ratio: Floats = np.empty(0)  # log posterior minus log proposal density, at the audited states

    def judge(self, pairs: Sequence[Pair], errors: Sequence[StepError]) -> MeansJudged | None:
        """The bias of every mean, from audited pairs in the order of the chain; earlier ones may be given again.

        None if the exact chain stays in some states for so long that these pairs say nothing.
        """
        theta, proposed = (np.array([getattr(pair, name) for pair in pairs]) for name in ("theta", "proposed"))
        new = theta[self.log_ratio.size :]
        if len(new):
            value = posterior_at(self.model, new)[0] - self.offset - self._log_density(new)
            self.log_ratio = np.concatenate([self.log_ratio, value])
        gain = np.array([self.n_data * pair.mu - pair.log_ratio for pair in pairs])
        delta = np.array([error.delta for error in errors])[:, None]
        moved = [delta * one.gains(theta, proposed, self.log_ratio, gain) / self.sd for one in self.solutions]
        found = judged(moved[0], np.array([part.mean(axis=0) for part in moved[1:]]), self.wish)
        return None if found.seen > POOR and found.verdict != "beyond" else found

    def _log_density(self, theta: Floats) -> Floats:
        return np.array([self.proposal.log_density(state) for state in theta])


class _Solution(NamedTuple):
    """g for every coordinate on weighted states, and what extends it to others."""

    proposal: Floats
    log_ratio: Floats
    g: Floats
    mean: Floats
    barker: bool

    @classmethod
    def of(cls, states: WeightedStates, log_ratio: Floats, rule: Rule) -> _Solution:
        g = poisson_solution(states, states.theta, rule)
        return cls(states.proposal, log_ratio, g, states.posterior @ states.theta, rule == "barker")

    def at(self, theta: Floats, log_ratio: Floats) -> Floats:
        """g = (f - E f + mean of P(A) g) / (mean of P(A)), means over the proposal."""
        accept = exact_probability(self.log_ratio[None, :] - log_ratio[:, None], self.barker) * self.proposal
        leaves = np.maximum(accept.sum(axis=1), 1e-12)[:, None]
        extended: Floats = (theta - self.mean + accept @ self.g) / leaves
        return extended

    def gains(self, theta: Floats, proposed: Floats, log_ratio: Floats, gain: Floats) -> Floats:
        """g(θ') - g(θ) of moves with A = gain."""
        gains: Floats = self.at(proposed, log_ratio + gain) - self.at(theta, log_ratio)
        return gains


def judged(moved: Floats, left_out: Floats, wish: float = WISH) -> MeansJudged:
    """From Δ (g' - g) of every step and coordinate, and their means with groups of the weighted draws left out.

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(0.002, 0.01, (100, 2))
    >>> judged(noise, np.tile(noise.mean(axis=0), (10, 1))).verdict
    'within'
    """
    from scipy.special import ndtr, stdtrit

    count, dimension = moved.shape
    means, mirrored = [Mean.of(column) for column in moved.T], [Mean.of(-column) for column in moved.T]
    bias, chance = (np.array([getattr(mean, name) for mean in means]) for name in ("value", "se"))
    away = left_out - left_out.mean(axis=0)
    of_g = np.sqrt((len(left_out) - 1.0) / len(left_out) * np.sum(away**2, axis=0))
    se = np.hypot(chance, of_g)
    level, alarm = 1.0 - 0.5 * (1.0 - SURE) / dimension, 1.0 - 0.5 * (1.0 - WOLF) / dimension
    free = np.array([max(mean.draws - 1.0, 1.0) for mean in means])
    # the limit of chance alone is corrected for skewness; that of both is wider
    skewed = np.array([max(one.upper(level), other.upper(level)) for one, other in zip(means, mirrored, strict=True)])
    upper = float(np.max(np.abs(bias) + np.hypot(skewed - np.abs(bias), stdtrit(free, level) * of_g)))
    sure = stdtrit(free, alarm)
    beyond = bool(np.any(np.abs(bias) - sure * se > wish))
    seen = float(np.max((sure + SEEN) * se)) if count > 1 else math.inf
    power = float(np.min(ndtr(wish / np.maximum(se, 1e-12) - sure)))
    enough = count * float(np.max((sure + SEEN) * chance / wish)) ** 2
    verdict: MeansVerdict = "beyond" if beyond else "within" if upper <= wish else "unclear"
    return MeansJudged(bias, se, upper, seen, power, verdict, enough, wish)


def mean_bias(chain: Any, seed: int = 0, wish: float = WISH) -> MeanBias | None:
    """A judge of this chain's means; None if the theory is not about such a chain, or its proposals are poor."""
    model, proposal = getattr(chain, "model", None), getattr(chain, "proposal", None)
    if not (isinstance(model, Controlled) and model.order == 2) or getattr(model.model, "refresh", None) is not None:
        return None  # a move after each decision is not in the equation
    if not (isinstance(proposal, ProxyStep) and independent(proposal)):
        return None
    try:
        return MeanBias(chain, np.random.default_rng(seed), wish)
    except (BadInput, NumericalFailure, np.linalg.LinAlgError):
        return None
