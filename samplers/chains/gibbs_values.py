"""Gibbs sampling of K-valued variables with a test (K14 supplement F mentions it as possible).

log P(X = a | the others) = S_a + constant, S_a a sum of many terms. With independent Gumbel variables g_a the value of
the largest S_a + g_a has exactly that distribution. It is found by K - 1 comparisons, each with the best value so far:

    sum of terms of (S_a - S_b) > g_b - g_a

the question of a Gibbs update of two values, for g_b - g_a is a logit of a uniform variable; so K = 2 is that update.
Every test that takes a threshold applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer
from designer.engine.step_error import Rule, acceptance
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan
from samplers.chains.draws import MAX_DRAWS
from samplers.chains.stepping import SteppedChain, check_takes_threshold, decide
from samplers.decide.comparison import Comparison, Decision, LevelTest
from samplers.decide.sequential import check_designed_for
from samplers.models.moments import moments
from samplers.models.mrf_values import Values

__all__ = [
    "Frequencies",
    "ValueDraws",
    "ValueGibbsChain",
    "ValueRisk",
    "ValueUpdate",
    "ValuedField",
    "frequencies",
    "run_values",
    "update_value",
    "value_error",
]


PROBES = 4  # variables whose conditionals tell a field from another


@runtime_checkable
class ValuedField(Protocol):
    """A distribution of variables with values 0 ... n_values - 1; conditional log-odds are sums of n_data terms.

    Examples
    --------
    >>> from samplers.models.mrf_values import ValuedMRF
    >>> field: ValuedField = ValuedMRF.random(np.random.default_rng(1), dimension=20, n_values=4)
    >>> field.n_values, field.n_data
    (4, 171)
    """

    @property
    def dimension(self) -> int:
        """Number of variables."""

    @property
    def n_values(self) -> int:
        """K, values of each."""

    @property
    def n_data(self) -> int:
        """Terms of one conditional."""

    def terms(self, x: Values, site: int, value: int, than: int, indices: Ints) -> Floats:
        """The given terms of log P(X_site = value | ...) - log P(X_site = than | ...); must not depend on x[site]."""


class ValueUpdate(NamedTuple):
    """What an update did.

    Attributes
    ----------
    value
        That it assigned.
    n_used, n_looks
        Terms read and looks taken by its K - 1 comparisons.

    Examples
    --------
    >>> ValueUpdate(value=2, n_used=513, n_looks=3).value
    2
    """

    value: int
    n_used: int
    n_looks: int


class ValueDraws(NamedTuple):
    """A chain of sweeps.

    Attributes
    ----------
    x
        The state after every sweep.
    n_used, n_looks
        Terms read and looks taken in it.

    Examples
    --------
    >>> from samplers import ExactTest, ValuedMRF
    >>> mrf = ValuedMRF.random(np.random.default_rng(1), dimension=10, n_values=3)
    >>> run_values(np.random.default_rng(2), mrf, ExactTest(), start=np.zeros(10), sweeps=2).n_used.tolist()
    [720, 720]
    """

    x: Values
    n_used: Ints
    n_looks: Ints


class Frequencies(NamedTuple):
    """How often each value was assigned.

    Attributes
    ----------
    probability, se
        Shares, and their standard errors.
    usage
        Terms read, as a share of those of K - 1 full sums.

    Examples
    --------
    >>> from samplers import ExactTest, ValuedMRF
    >>> mrf = ValuedMRF.random(np.random.default_rng(1), dimension=10, n_values=3)
    >>> frequencies(np.random.default_rng(2), mrf, ExactTest(), np.zeros(10), 4, repeats=50).usage
    1.0
    """

    probability: Floats
    se: Floats
    usage: float


class ValueRisk(NamedTuple):
    """What a test can do wrong in one update.

    Attributes
    ----------
    probability
        Exact conditional probabilities of the values.
    assigned
        About those under the test: the errors of the K - 1 comparisons are taken for independent.
    bound
        On the total variation distance of the two.
    usage
        Share of the terms that the test reads.

    Examples
    --------
    >>> from samplers.models.mrf_values import ValuedMRF
    >>> mrf = ValuedMRF.random(np.random.default_rng(1), dimension=30, n_values=3)
    >>> risk = value_error(Design(mrf.n_data, 100, 0.01), mrf, np.zeros(30), 7)
    >>> bool(0.5 * np.abs(risk.assigned - risk.probability).sum() <= risk.bound)
    True
    """

    probability: Floats
    assigned: Floats
    bound: float
    usage: float


def update_value(rng: np.random.Generator, field: ValuedField, test: LevelTest, x: Values, site: int) -> ValueUpdate:
    """Draw a value of one variable given the others.

    The Gumbel variables are drawn first, so that exact and sequential tests given the same generator face the same.

    Parameters
    ----------
    rng
        Random numbers.
    field
        The distribution.
    test
        Any that takes a threshold: the exact or the sequential one.
    x
        The state.
    site
        The variable.

    Returns
    -------
    ValueUpdate
        The value, and what was read.

    Examples
    --------
    >>> from samplers.decide.exact import ExactTest
    >>> from samplers.models.mrf_values import ValuedMRF
    >>> mrf = ValuedMRF.random(np.random.default_rng(1), dimension=20, n_values=4)
    >>> update_value(np.random.default_rng(2), mrf, ExactTest(), np.zeros(20, dtype=np.int64), 3).n_used
    513
    """
    gumbel = -np.log(-np.log1p(-rng.random(field.n_values)))
    best, n_used, n_looks = 0, 0, 0
    for value in range(1, field.n_values):
        question = _question(field, x, site, value, best)
        decision = decide(rng, test, question, x, float(gumbel[best] - gumbel[value]))
        best = value if decision.accept else best
        n_used, n_looks = n_used + decision.n_used, n_looks + decision.n_looks
    return ValueUpdate(best, n_used, n_looks)


def run_values(
    rng: np.random.Generator, field: ValuedField, test: LevelTest, *, start: npt.ArrayLike, sweeps: int
) -> ValueDraws:
    """Update every variable once per sweep, in order, and return the state after each sweep.

    Parameters
    ----------
    rng, field, test
        As for `update_value`.
    start
        The state to begin with.
    sweeps
        How many.

    Returns
    -------
    ValueDraws
        The states, and what was read.

    Examples
    --------
    >>> from samplers.decide.sequential import SequentialTest
    >>> from samplers.models.mrf_values import ValuedMRF
    >>> mrf = ValuedMRF.random(np.random.default_rng(1), dimension=30, n_values=3)
    >>> test = SequentialTest.from_design(Design(mrf.n_data, 50, 0.05))
    >>> run_values(np.random.default_rng(2), mrf, test, start=np.zeros(30), sweeps=5).x.shape
    (5, 30)
    """
    draws = ValueGibbsChain(field, test, start, rng).advance(integer("sweeps", sweeps, 1, MAX_DRAWS))
    return ValueDraws(draws.theta.astype(np.int64, copy=False), draws.n_used, draws.n_looks)


class ValueGibbsChain(SteppedChain):
    """One chain of Gibbs sweeps over K-valued variables; it follows the chain protocol (`samplers.chains.protocol`).

    A step updates every variable once, in order. It counts as accepted if the state changed.

    Parameters
    ----------
    field
        The distribution, a `ValuedField`.
    test
        Any that takes a threshold: the exact or the sequential one.
    theta
        The start, whole numbers from 0 to K - 1.
    rng
        Random numbers.

    Examples
    --------
    >>> from samplers import ExactTest, ValuedMRF
    >>> field = ValuedMRF.random(np.random.default_rng(1), dimension=10, n_values=3)
    >>> ValueGibbsChain(field, ExactTest(), np.zeros(10), np.random.default_rng(2)).advance(5).theta.shape
    (5, 10)
    """

    rule: Rule = "barker"

    def __init__(self, field: ValuedField, test: LevelTest, theta: npt.ArrayLike, rng: np.random.Generator) -> None:
        self.model, self.test, self.rng = field, test, rng
        self.theta = checked_state(field, test, theta)

    @property
    def data_per_step(self) -> int:
        """Terms of the K - 1 comparisons of all variables."""
        return int(self.model.dimension) * (int(self.model.n_values) - 1) * self.n_data

    def use_test(self, test: LevelTest) -> None:
        """Go on with another exact or sequential test for the same number of terms."""
        check_takes_threshold(test, "an update of a variable with several values")
        super().use_test(test)

    def probes(self, rng: np.random.Generator) -> Iterator[Comparison]:
        """Comparisons of two values of a few variables, at the state and at random ones."""
        d, k = self.model.dimension, self.model.n_values
        for x in (self.theta, rng.integers(0, k, d)):
            for site in np.linspace(0, d - 1, min(d, PROBES)).astype(np.int64).tolist():
                yield _question(self.model, x, site, k - 1, 0)

    def step(self, rng: np.random.Generator, theta: Values) -> tuple[Values, Decision]:
        """One sweep."""
        x, n_used, n_looks = theta.copy(), 0, 0
        for site in range(self.model.dimension):
            done = update_value(rng, self.model, self.test, x, site)
            x[site], n_used, n_looks = done.value, n_used + done.n_used, n_looks + done.n_looks
        return x, Decision(bool(np.any(x != theta)), n_used, n_looks)


def frequencies(
    rng: np.random.Generator, field: ValuedField, test: LevelTest, x: npt.ArrayLike, site: int, repeats: int = 1000
) -> Frequencies:
    """How often each value is assigned to a variable given the others, by repetition.

    Parameters
    ----------
    rng, field, test, x, site
        As for `update_value`.
    repeats
        Updates to make.

    Returns
    -------
    Frequencies
        With standard errors.

    Examples
    --------
    >>> from samplers import ExactTest, ValuedMRF
    >>> mrf, x = ValuedMRF.random(np.random.default_rng(1), dimension=10, n_values=3), np.zeros(10, dtype=np.int64)
    >>> counted = frequencies(np.random.default_rng(2), mrf, ExactTest(), x, 4)
    >>> bool(np.all(np.abs(counted.probability - mrf.probabilities(x, 4)) < 4 * counted.se))
    True
    """
    state, repeats = checked_state(field, test, x), integer("repeats", repeats, 1, 10**9)
    site = integer("site", site, 0, field.dimension - 1)
    updates = [update_value(rng, field, test, state, site) for _ in range(repeats)]
    share = np.bincount([one.value for one in updates], minlength=field.n_values) / repeats
    se = np.sqrt((share * repeats + 1.0) * ((1.0 - share) * repeats + 1.0) / (repeats + 2.0)) / repeats
    most = (field.n_values - 1) * field.n_data
    return Frequencies(share, se, float(np.mean([one.n_used for one in updates])) / most)


def value_error(design: Design | Plan, field: ValuedField, x: npt.ArrayLike, site: int) -> ValueRisk:
    """What a test can do wrong in one update: a bound on the total variation distance from the exact conditional.

    What is assigned differs from the exact draw with the same Gumbel variables only if some comparison of the exact
    run's is decided wrongly. There the best of the first k values, whichever value that is, has S + g distributed as
    log(sum of e^S over them) + Gumbel: comparison k has the distribution of thresholds of a Barker step with

        A = S_k - log(sum_{a < k} e^(S_a))

    and κ that of the pair (k, b), b with probability in proportion to e^(S_b). So the bound is a sum of
    P(wrong decision) of Barker steps, which the calculator knows (K14 Eqns 40-42).

    Parameters
    ----------
    design
        Of the sequential test.
    field, x, site
        As for `update_value`.

    Returns
    -------
    ValueRisk
        Exact and assigned probabilities, and the bound.

    Examples
    --------
    >>> from samplers.models.mrf_values import ValuedMRF
    >>> mrf = ValuedMRF.random(np.random.default_rng(1), dimension=60, n_values=3, sd=0.05)
    >>> risk = value_error(Design(mrf.n_data, 200, 0.01), mrf, np.zeros(60), 7)
    >>> bool(0.0 < risk.bound < 0.1), bool(np.isclose(risk.probability.sum(), 1.0))
    (True, True)
    """
    state, k = checked_state(field, None, x), field.n_values
    site = integer("site", site, 0, field.dimension - 1)
    scores, mu, sigma = np.zeros(k), np.zeros((k, k)), np.zeros((k, k))
    for a in range(1, k):
        for b in range(a):
            mu[a, b], sigma[a, b], _ = moments(_question(field, state, site, a, b))
        scores[a] = field.n_data * mu[a, 0]
    bound, usage, assigned = 0.0, 0.0, np.ones(k)
    for a in range(1, k):
        n, champions = field.n_data, float(np.logaddexp.reduce(scores[:a]))
        log_ratio = n * mu[a, :a] - (scores[a] - champions)  # A is the same for every b
        tested = np.maximum(sigma[a, :a], np.finfo(float).tiny)  # equal terms: the first look decides correctly
        step = acceptance(design, TrialRun(n, mu[a, :a], tested, log_ratio), "barker")
        share = np.exp(scores[:a] - champions)
        bound += float(share @ step.wrong)
        usage += float(share @ step.usage) / (k - 1)
        wins = float(share @ (step.probability + step.delta))
        assigned[:a] *= 1.0 - wins
        assigned[a] = wins
    return ValueRisk(np.exp(scores - np.logaddexp.reduce(scores)), assigned, min(bound, 1.0), usage)


def checked_state(field: ValuedField, test: LevelTest | None, x: npt.ArrayLike) -> Values:
    """A state of the field as a fresh array, or BadInput; also if the test was made for another number of terms."""
    state = np.asarray(x)
    whole = state.dtype.kind in "iuf" and state.shape == (field.dimension,) and bool(np.all(state == np.round(state)))
    if not whole or state.min() < 0 or state.max() >= field.n_values:
        raise BadInput(f"state: must be {field.dimension} whole numbers from 0 to {field.n_values - 1}")
    if test is not None:
        check_takes_threshold(test, "an update of a variable with several values")
    check_designed_for(test, field.n_data, "an update has", " terms")
    return state.astype(np.int64)


def _question(field: ValuedField, x: Values, site: int, value: int, than: int) -> Comparison:
    """The question whether `value` beats `than`; the threshold is given later."""
    return Comparison(field.n_data, partial(field.terms, x, site, value, than), rule="barker")
