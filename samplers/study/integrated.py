"""The error of one step with u integrated out: what a test does to a pair's acceptance probability.

Once all lᵢ of a pair are known, random orders of them cost little. For each order the test accepts the thresholds v
below a level τ (`designer.rule.levels`), so it contributes its acceptance probability and not one bit: the mean over
orders minus the exact probability is Δ. Tests of your own, which may do anything, contribute single decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.engine.step_error import Rule, exact_probability
from samplers.data import memory
from samplers.decide.barker import BarkerTest
from samplers.decide.comparison import Comparison, evaluate
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.correction import Correction, correction
from samplers.decide.sequential import SequentialTest
from samplers.models.arrays import blocks
from samplers.study import _integrated_kernels as kernels

PRECISION = 1e-3  # wanted standard error of Δ of a pair
RELATIVE = 0.05  # the same relative to |Δ|: enough for a step that is clearly wrong
CHUNK = 64  # orders at a time, and at least
MOST_ORDERS = 4096
MOST_READ = 2 * 10**6  # data that the orders of one pair read: about 0.01 s
FIRST_LOOKS = 4096

Paths = Callable[[np.random.Generator, int], tuple[Floats, Floats]]  # acceptance probability and data read


class StepError(NamedTuple):
    """What a test does in one step, all u together.

    Attributes
    ----------
    probability
        The exact acceptance probability.
    delta, se
        Δ, the test's acceptance probability minus the exact one, and the standard error of what is left of chance.
    low
        An estimate of |Δ| whose expectation is at most |Δ|; that of |delta| is at least |Δ|.
    wrong
        Probability of a wrong decision; nan if the test has no threshold that the exact decision shares.
    usage
        Expected share of the data read.
    orders
        How many orders of the data were tried.

    Examples
    --------
    >>> error = StepError(probability=0.5, delta=0.02, se=0.001, low=0.02, wrong=0.05, usage=0.1, orders=64)
    >>> error.delta / error.se
    20.0
    """

    probability: float
    delta: float
    se: float
    low: float
    wrong: float
    usage: float
    orders: int


def all_terms(comparison: Comparison) -> Floats:
    """All lᵢ in memory: one pass over the data."""
    memory.refuse("an audit keeps the log-likelihood differences of a step, which takes", 8 * comparison.n)
    values = np.empty(comparison.n)
    for block in blocks(comparison.n):
        values[block] = evaluate(comparison, np.arange(block.start, block.stop))
    return values


def step_error(
    rng: np.random.Generator,
    test: Any,
    values: Floats,
    log_ratio: float,
    rule: Rule = "metropolis",
    *,
    range_bound: float | None = None,
    precision: float = PRECISION,
) -> StepError:
    """Δ, wrong decisions and data use of a test on one pair, from random orders of its lᵢ.

    Orders are added until the standard error of Δ is at most `precision` or 5% of |Δ|, or there are enough of them.

    Parameters
    ----------
    rng
        For the orders.
    test
        An `AcceptTest`. The sequential, the Barker mini-batch (without correction for skewness and without δ) and the
        concentration test are integrated over u; others decide once per order.
    values
        All lᵢ of the pair.
    log_ratio
        c, minus the usual log ratio of priors and proposals.
    rule
        "metropolis" or "barker".
    range_bound
        A bound on max |lᵢ|, for the concentration test.
    precision
        Wanted standard error of Δ.

    Returns
    -------
    StepError
        The step's Δ with its error.

    Examples
    --------
    >>> from designer import Design, TrialRun, acceptance
    >>> l = np.random.default_rng(1).normal(-5e-5, 0.01, 10_000)
    >>> design = Design(10_000, 500, 0.05)
    >>> found = step_error(np.random.default_rng(2), SequentialTest.from_design(design), l, 0.0)
    >>> theory = acceptance(design, TrialRun(10_000, [l.mean()], [l.std()])).delta[0]
    >>> abs(found.delta - theory) < 4 * found.se + 0.01
    np.True_
    """
    mean, n = float(values.mean()), values.size
    exact = float(exact_probability(np.array([n * mean - log_ratio]), rule == "barker")[0])
    paths = _paths(test, values, mean, log_ratio, rule, range_bound)
    probability, used = np.empty(0), np.empty(0)
    while True:
        more = paths(rng, CHUNK)
        probability, used = np.concatenate([probability, more[0]]), np.concatenate([used, more[1]])
        orders, change = probability.size, probability - exact
        se = float(change.std(ddof=1)) / math.sqrt(orders)
        near = max(precision, RELATIVE * abs(float(change.mean())))
        if se <= near or orders >= MOST_ORDERS or used.sum() >= MOST_READ:
            break
    others = np.sign(change.sum() - change)  # the sign of Δ by all other orders: independent of this one
    low, shared = float(np.mean(others * change)), type(test) in (SequentialTest, ConcentrationTest)
    wrong = float(np.abs(change).mean()) if shared else math.nan
    return StepError(exact, float(change.mean()), se, low, wrong, float(used.mean()) / n, orders)


def _paths(test: Any, values: Floats, mean: float, log_ratio: float, rule: Rule, bound: float | None) -> Paths:
    """How to try a number of orders of the data with this test."""
    if type(test) is SequentialTest:
        return _sequential(test, values - mean, mean, log_ratio, rule == "barker")
    if type(test) is BarkerTest and not test.skew_corrected and test.delta is None and rule == "barker":
        return _barker(test, values - mean, mean, log_ratio)
    if type(test) is ConcentrationTest:
        return _concentration(test, values, log_ratio, rule == "barker", bound)
    return _decisions(test, Comparison(values.size, values.take, log_ratio, rule, bound))


def _sequential(test: SequentialTest, away: Floats, mean: float, log_ratio: float, barker: bool) -> Paths:
    def paths(rng: np.random.Generator, orders: int) -> tuple[Floats, Floats]:
        probability, used, first, path = np.empty(orders), np.empty(orders), 0, kernels.fresh_path()
        looks, asked = min(FIRST_LOOKS, test.n_looks), (rng, away, mean, log_ratio, barker)
        while True:
            first = kernels.sequential_paths(*asked, *test.bounds(looks), first, path, probability, used)
            if first == orders:
                return probability, used
            looks = min(4 * looks, test.n_looks)

    return paths


def _barker(test: BarkerTest, away: Floats, mean: float, log_ratio: float) -> Paths:
    table = correction(test.sigma) if test.table is None else test.table

    def paths(rng: np.random.Generator, orders: int) -> tuple[Floats, Floats]:
        estimate, variance, used = np.empty(orders), np.empty(orders), np.empty(orders)
        kernels.barker_paths(rng, away, mean, log_ratio, test.m, test.sigma, estimate, variance, used)
        noise = np.sqrt(np.maximum(test.sigma**2 - variance, 0.0))
        sampled = _probability_of_sum(estimate, noise, table)
        return np.where(used < away.size, sampled, exact_probability(estimate, True)), used

    return paths


def _probability_of_sum(estimate: Floats, noise: Floats, table: Correction) -> Floats:
    """P(estimate + X_nc + X_corr > 0), X_nc normal with sd `noise`, X_corr by its table of evenly spread cells."""
    from scipy.special import ndtr

    scale = np.maximum(noise, 1e-12)[:, None]

    def antiderivative(x: Floats) -> Floats:  # of Φ(x / scale)
        z = x / scale
        return np.asarray(x * ndtr(z) + scale * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))

    centre = estimate[:, None] + table.x
    if table.width == 0.0:
        return np.asarray(ndtr(centre / scale) @ table.mass)
    half = 0.5 * table.width
    inside = (antiderivative(centre + half) - antiderivative(centre - half)) / table.width
    return np.asarray(np.clip(inside, 0.0, 1.0) @ table.mass)


def _concentration(
    test: ConcentrationTest, values: Floats, log_ratio: float, barker: bool, bound: float | None
) -> Paths:
    """Each look accepts v below N (mean - c_k) - c and rejects v above N (mean + c_k) - c."""
    n_data, looks = values.size, test.looks(values.size)
    paid, most = (n_data, float(np.abs(values).max())) if bound is None else (0, bound)
    n = np.array(looks[:-1], dtype=np.int64)
    exact = n_data * float(values.mean()) - log_ratio

    def one(rng: np.random.Generator) -> tuple[float, float]:
        order = rng.choice(values, n_data) if test.replace else rng.permutation(values)
        mean = np.cumsum(order)[n - 1] / n
        deviation = np.sqrt(np.maximum(np.cumsum(order * order)[n - 1] / n - mean * mean, 0.0))
        width = [test.half_width(k + 1, int(n[k]), n_data, float(deviation[k]), most) for k in range(n.size)]
        low, high, undecided, read, before = -math.inf, math.inf, 1.0, float(paid), 0
        for k in range(n.size):
            read, before = read + (n[k] - before) * undecided, int(n[k])
            here = n_data * mean[k] - log_ratio
            low = min(max(low, here - n_data * width[k]), high)
            high = max(min(high, here + n_data * width[k]), low)
            ends = exact_probability(np.array([low, high]), barker)
            undecided = float(ends[1] - ends[0])
        read += (n_data if test.replace else n_data - before) * undecided
        return float(exact_probability(np.array([min(max(exact, low), high)]), barker)[0]), read

    def paths(rng: np.random.Generator, orders: int) -> tuple[Floats, Floats]:
        found = np.array([one(rng) for _ in range(orders)])
        return found[:, 0], found[:, 1]

    return paths


def _decisions(test: Any, comparison: Comparison) -> Paths:
    """Single decisions, with a u of their own: right for any test, and noisier."""

    def paths(rng: np.random.Generator, orders: int) -> tuple[Floats, Floats]:
        made = [test.decide(rng, comparison) for _ in range(orders)]
        return np.array([float(one.accept) for one in made]), np.array([float(one.n_used) for one in made])

    return paths
