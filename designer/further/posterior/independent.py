"""What a test does to the posterior when proposals do not depend on the state.

Weighted states stand for all states. Each can move to a few others, chosen at random: such a move has the probability
that the proposal gives to its end, times that of accepting it. With exact decisions every pair of moves is in detailed
balance, so the posterior weights are exactly the stationary distribution of this small chain. With the test's errors Δ
it has another one, which a linear system gives. Errors need not be small: where the exact chain would stay for very
long, small errors let the chain escape. So that states which no run would reach do not count, the chain starts again
from the posterior now and then, as after a run of STEPS steps (docs/posterior.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from designer.core.work import one_call, spend
from designer.engine.predict import BOUND, predict
from designer.engine.step_error import Rule, check_rule, exact_probability
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan

LEVEL = 0.95  # of the bands, for all coordinates together
FEWEST = 50.0  # effective states below which they do not stand for the posterior
GROUPS = 20  # of states that are left out in turn, for standard errors
TOLERANCE = 1e-7  # numerical error of Δ, where theory gives it
STEPS = 1e5  # of the run whose distribution is computed
SOLVE = 0.02  # units for each of S³ when a linear system of S states is solved
EACH = 4  # moves from every state: more change nothing, more states do


class WeightedStates(NamedTuple):
    """States that stand for the posterior and for an independent proposal.

    Attributes
    ----------
    theta
        States, (S, D).
    posterior, proposal
        Weights of each, which sum to 1: averages with them are those of the posterior, or of the proposal.

    Examples
    --------
    >>> theta = np.random.default_rng(1).standard_normal((100, 1))
    >>> states = WeightedStates.of(theta, np.zeros(100), np.zeros(100))  # posterior and proposal are the same
    >>> round(states.ess)
    100
    """

    theta: Floats
    posterior: Floats
    proposal: Floats

    @classmethod
    def of(cls, theta: Floats, log_posterior: Floats, log_proposal: Floats) -> WeightedStates:
        """From logs of weights, up to constants."""
        return cls(theta, _normalised(log_posterior), _normalised(log_proposal))

    @property
    def ess(self) -> float:
        """Effective number of states for averages over the posterior."""
        return 1.0 / float(self.posterior @ self.posterior)

    @property
    def log_ratio(self) -> Floats:
        """Log of posterior over proposal; a move i -> j has A = log_ratio[j] - log_ratio[i]."""
        tiny = np.finfo(np.float64).tiny
        return np.log(np.maximum(self.posterior, tiny)) - np.log(np.maximum(self.proposal, tiny))

    def subset(self, chosen: Ints) -> WeightedStates:
        """Some of the states."""
        posterior, proposal = self.posterior[chosen], self.proposal[chosen]
        return WeightedStates(self.theta[chosen], posterior / posterior.sum(), proposal / proposal.sum())


class IndependentPairs(NamedTuple):
    """Moves between weighted states, as the pairs of a trial run: every move also in the other direction.

    Attributes
    ----------
    states
        The states.
    old, new
        Numbers of the states that a move leads from and to.
    trial
        The moves as a trial run.

    Examples
    --------
    >>> IndependentPairs._fields
    ('states', 'old', 'new', 'trial')
    """

    states: WeightedStates
    old: Ints
    new: Ints
    trial: TrialRun


class IndependentError(NamedTuple):
    """How the posterior that a test samples with independent proposals differs from the exact one, per coordinate.

    Attributes
    ----------
    bias, bias_se
        Bias of each mean in posterior standard deviations, and its standard error.
    sd_ratio, sd_ratio_se
        Ratio of each sampled standard deviation to the exact one.
    largest, half_width
        Largest |bias|, and the half width of its band, which holds for all coordinates at once (95%).
    upper
        Upper end of the widest such band: no |bias| is larger, with 95% confidence.
    acceptance, mean_abs_delta
        Rate of the chain with errors, and mean |Δ| of the exact chain's steps.
    states, ess
        How many states this rests on, and how many are effective.
    source
        Where the Δ come from.

    Examples
    --------
    >>> IndependentError._fields[:4]
    ('bias', 'bias_se', 'sd_ratio', 'sd_ratio_se')
    """

    bias: Floats
    bias_se: Floats
    sd_ratio: Floats
    sd_ratio_se: Floats
    largest: float
    half_width: float
    upper: float
    acceptance: float
    mean_abs_delta: float
    states: int
    ess: float
    source: str


@one_call
def independent_error(design: Design | Plan, pairs: IndependentPairs, rule: Rule = "metropolis") -> IndependentError:
    """Compare the posterior that a chain with a test and independent proposals samples with the exact one.

    Parameters
    ----------
    design
        The test.
    pairs
        As `samplers.study.independent_pairs` makes them.
    rule
        "metropolis" or "barker".

    Returns
    -------
    IndependentError
        Biases and ratios of standard deviations; their standard errors are a jackknife over groups of states.

    Raises
    ------
    BadInput
        If there is no answer: the weights are too uneven, or Δ of some pairs has no prediction.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> states = WeightedStates.of(rng.standard_normal((200, 1)), np.zeros(200), np.zeros(200))
    >>> old, new = moves(rng, 200)
    >>> trial = TrialRun(10_000, np.zeros(old.size), np.full(old.size, 1e-4), skew=np.zeros(old.size))
    >>> effect = independent_error(Design(10_000, 1000, 0.2), IndependentPairs(states, old, new, trial))
    >>> effect.largest < 1e-3, effect.source
    (True, 'normal theory with skewness')
    """
    states = pairs.states
    if states.ess < FEWEST:
        raise BadInput(
            f"{states.ess:.0f} of {len(states.theta)} draws are effective, too few to stand for the posterior "
            f"(at least {FEWEST:g}): the proposal is poor"
        )
    size = len(states.theta)
    spend(SOLVE * (GROUPS + 1) * size**3, f"{size:,} states", "take fewer")
    found = predict(design, pairs.trial, rule, TOLERANCE)
    if BOUND in found.sources or None in found.sources:
        raise BadInput(f"no prediction of Δ for some pairs: {found.step.remark or found.words}")
    accept = np.clip(found.step.probability + found.step.delta, 0.0, 1.0)
    law = sampled_law(states, pairs.old, pairs.new, accept)
    bias, ratio = _compared(states, law)
    se = _jackknife(pairs, accept)
    width = float(-ndtri(0.5 * (1.0 - LEVEL) / bias.size)) * se[0]
    worst = int(np.abs(bias).argmax())
    flow = states.posterior[pairs.old] * states.proposal[pairs.new]
    rate, error = (float(np.average(x, weights=flow)) for x in (accept, np.abs(found.step.delta)))
    largest = float(abs(bias[worst])), float(width[worst]), float((np.abs(bias) + width).max())
    return IndependentError(
        bias, se[0], ratio, se[1], *largest, rate, error, len(states.theta), states.ess, found.words
    )


def moves(rng: np.random.Generator, states: int, each: int = EACH) -> tuple[Ints, Ints]:
    """Moves between states, in both directions: `each` from every state, to random others (old, new)."""
    start, ends = np.arange(states), [_cycle(rng, states) for _ in range(each // 2)]
    old, new = np.tile(start, len(ends)), np.concatenate(ends)
    return np.concatenate([old, new]), np.concatenate([new, old])


def sampled_law(states: WeightedStates, old: Ints, new: Ints, accept: Floats, steps: float = STEPS) -> Floats:
    """The distribution of a chain with these moves and acceptance probabilities, over runs from the posterior.

    With Q the rates of the moves and runs of `steps` steps on average, law (I / steps - Q) = posterior / steps.
    """
    size = len(states.theta)
    rates = np.zeros((size, size))
    np.add.at(rates, (old, new), states.proposal[new] * accept * (size * size / old.size))
    system = np.diag(1.0 / steps + rates.sum(axis=1)) - rates
    law = np.linalg.solve(system.T, states.posterior / steps)
    return np.asarray(law / law.sum(), dtype=np.float64)


def poisson_solution(states: WeightedStates, values: Floats, rule: Rule = "metropolis") -> Floats:
    """The g with g - P g = f - mean of f, P the exact chain on the states; its posterior mean is 0.

    Parameters
    ----------
    states
        Weighted states.
    values
        f at the states, (S,) or (S, F) for several functions.
    rule
        "metropolis" or "barker".

    Returns
    -------
    array
        g at the states. While Δ is small beside every acceptance probability, the bias of f is the mean of Δ (g' - g).

    Examples
    --------
    >>> f = np.array([1.0, 2.0, 4.0])  # equal weights: every proposal is accepted, and g = f - mean of f
    >>> poisson_solution(WeightedStates.of(f[:, None], np.zeros(3), np.zeros(3)), f).round(3)
    array([-1.333, -0.333,  1.667])
    """
    log_ratio = states.log_ratio
    accept = exact_probability(log_ratio[None, :] - log_ratio[:, None], check_rule(rule) == "barker")
    flow = accept * states.proposal
    np.fill_diagonal(flow, 0.0)
    matrix = np.diag(flow.sum(axis=1)) - flow + states.posterior  # I - P; the posterior mean of g is 0
    solution: Floats = np.linalg.solve(matrix, values - states.posterior @ values).astype(np.float64, copy=False)
    return solution


def _cycle(rng: np.random.Generator, size: int) -> Ints:
    """A random cycle: it leads every state to another one."""
    order = rng.permutation(size)
    ends: Ints = np.empty(size, dtype=np.int64)
    ends[order] = np.roll(order, -1)
    return ends


def _compared(states: WeightedStates, law: Floats) -> tuple[Floats, Floats]:
    """Bias of every mean in exact sds, and ratio of sds."""
    mean, sd = _moments(states.theta, states.posterior)
    seen_mean, seen_sd = _moments(states.theta, law)
    return (seen_mean - mean) / sd, seen_sd / sd


def _jackknife(pairs: IndependentPairs, accept: Floats) -> Floats:
    """Standard errors of biases and ratios, from leaving out groups of states in turn."""
    size, parts = len(pairs.states.theta), []
    for group in range(GROUPS):
        chosen = np.flatnonzero(np.arange(size) % GROUPS != group)
        place = np.full(size, -1)
        place[chosen] = np.arange(chosen.size)
        old, new = place[pairs.old], place[pairs.new]
        both = (old >= 0) & (new >= 0)
        states = pairs.states.subset(chosen)
        parts.append(_compared(states, sampled_law(states, old[both], new[both], accept[both])))
    away = np.array(parts) - np.mean(parts, axis=0)
    se: Floats = np.sqrt((GROUPS - 1.0) / GROUPS * np.sum(away**2, axis=0))
    return se


def _moments(theta: Floats, weight: Floats) -> tuple[Floats, Floats]:
    mean = weight @ theta
    return mean, np.sqrt(weight @ (theta - mean) ** 2)


def _normalised(log_weight: Floats) -> Floats:
    weight = np.exp(log_weight - log_weight.max())
    normalised: Floats = weight / weight.sum()
    return normalised
