"""The concentration test: its promise, its cost."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from samplers.decide import Comparison, ConcentrationTest, draw_threshold
from samplers.decide.concentration import KAPPA

N = 5000


def frozen(test, rng, values, mu_0, bound, rule="metropolis"):
    """A decision at a fixed μ₀: log_ratio cancels the u that the test is about to draw."""
    c = values.size * mu_0 - draw_threshold(copy.deepcopy(rng), rule)
    return test.decide(rng, Comparison(values.size, values.take, c, rule, bound))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_wrong_decisions_are_rarer_than_delta(replace, skewed, rule):
    """Worst when μ₀ is close to the mean; delta is large here so that a violation would show."""
    rng = np.random.default_rng(1)
    values = rng.random(N) < 0.02 if skewed else rng.random(N)
    values = values - values.mean()
    test, bound, repeats = ConcentrationTest(m=50, delta=0.3, replace=replace), float(np.abs(values).max()), 400
    mu_0 = -0.2 * values.std() / math.sqrt(N)
    seen = [frozen(test, rng, values, mu_0, bound, rule) for _ in range(repeats)]
    wrong = np.mean([not decision.accept for decision in seen])
    assert wrong <= 0.3
    assert all(decision.n_used >= 50 for decision in seen)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("n", [20, 400, 900])
def test_coverage_of_the_bound(replace, n):
    """At delta_1 = 0.5 the mean of n leaves the interval in at most half of the cases, and the bound is not silly."""
    rng, size, repeats = np.random.default_rng(2), 1000, 2000
    values = rng.exponential(size=size) * (rng.random(size) < 0.3)
    values -= values.mean()
    test, bound = ConcentrationTest(delta=0.999, p=2.0, replace=replace), float(np.abs(values).max())
    inside = []
    for _ in range(repeats):
        x = values[rng.integers(size, size=n)] if replace else rng.permutation(values)[:n]
        inside.append(abs(x.mean()) <= test.half_width(1, n, size, float(x.std()), bound))
    assert np.mean(inside) >= 0.5
    # with no range term the width is a normal one: P(inside) = P(|Z| < sqrt(2 log(3 or 10 / delta_1)))
    width = test.half_width(1, n, size, 1.0, 0.0)
    spread = math.sqrt(1 / n) if replace else math.sqrt((1 - n / size) / n)
    level = math.sqrt(2 * math.log((3 if replace else 10) / 0.4995))
    assert width / spread == pytest.approx(level, rel=0.03)


def test_half_width_is_the_published_one():
    with_replacement = ConcentrationTest(delta=0.01, p=2.0, replace=True)
    share = 0.01 * 1 / (2 * 3**2)
    expected = 0.7 * math.sqrt(2 * math.log(3 / share) / 400) + 6 * 2.5 * math.log(3 / share) / 400
    assert with_replacement.half_width(3, 400, 10**6, 0.7, 2.5) == pytest.approx(expected, rel=1e-14)
    without, log = ConcentrationTest(delta=0.01, p=2.0), math.log(10 / share)
    for n, rho in ((400, 1 - 399 / 1000), (600, 0.4 * (1 + 1 / 600))):
        expected = 0.7 * math.sqrt(2 * rho * log / n) + (7 / 3 + 3 / math.sqrt(2)) * 5.0 * log / n
        assert without.half_width(3, n, 1000, 0.7, 2.5) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("p", [1.1, 2.0, 5.0])
def test_the_shares_of_the_looks_add_up_to_delta_at_most(p):
    test = ConcentrationTest(delta=0.2, p=p, replace=True)
    # half_width = 6 log(3 / delta_k) at deviation 0, bound 1, n = 1
    shares = [3 * math.exp(-test.half_width(k, 1, 10, 0.0, 1.0) / 6) for k in range(1, 2000)]
    assert 0.05 < sum(shares) <= 0.2


@pytest.mark.parametrize("replace", [False, True])
def test_looks_grow_geometrically_and_a_clear_case_stops_early(replace):
    rng = np.random.default_rng(3)
    values = rng.uniform(-1, 1, N)
    test = ConcentrationTest(m=100, growth=1.5, replace=replace)
    seen = [frozen(test, rng, values, values.mean() + gap, 1.0) for gap in (-0.8, 0.8, 0.45, -0.3, 0.2)]
    assert [decision.accept for decision in seen] == [True, False, False, True, False]
    looks = [100, 150, 225, 338, 507, 761, 1142, 1713, 2570]
    assert all(decision.n_used == looks[decision.n_looks - 1] for decision in seen)
    assert seen[0].n_used <= 150 < seen[-1].n_used


@pytest.mark.parametrize("replace", [False, True])
def test_the_pass_for_the_range_is_counted(replace):
    rng, asked = np.random.default_rng(4), []
    values = rng.uniform(-1, 1, N)
    test = ConcentrationTest(m=100, replace=replace)
    comparison = Comparison(N, lambda indices: (asked.extend(indices), values[indices])[1], -0.8 * N)
    given = Comparison(N, values.take, -0.8 * N, range_bound=float(np.abs(values).max()))
    free, paid = (test.decide(np.random.default_rng(5), c) for c in (given, comparison))
    assert free.n_used < N
    assert paid == (free.accept, N + free.n_used, free.n_looks)
    assert asked[:N] == list(range(N))


def test_a_range_bound_must_be_a_number_from_0_on(refuses):
    for bound in (-1.0, math.nan, math.inf):
        ask = Comparison(N, np.zeros(N).take, range_bound=bound)
        refuses(lambda ask=ask: ConcentrationTest().decide(np.random.default_rng(1), ask), "range_bound")


@pytest.mark.parametrize(
    "option", [{"m": 1}, {"delta": 0.0}, {"delta": 1.0}, {"p": 1.0}, {"growth": 1.01}, {"m": 2.5}], ids=str
)
def test_options_are_checked(option, refuses):
    refuses(lambda: ConcentrationTest(**option), next(iter(option)))


@pytest.mark.parametrize("replace", [False, True])
def test_the_steepest_shares_do_not_overflow(replace):
    """log(1 / delta_k) by hand: k^p itself is 10^1000 here."""
    test = ConcentrationTest(delta=0.01, p=1000.0, replace=replace)
    log = math.log(3.0 if replace else 10.0) + math.log(1000.0 / 999.0 / 0.01) + 1000.0 * math.log(10.0)
    kappa = 6.0 if replace else 2.0 * KAPPA
    assert test.half_width(10, 100, 10**6, 0.0, 1.0) == pytest.approx(kappa * log / 100)
    values = np.random.default_rng(1).normal(0.0, 1.0, 2000).clip(-3.0, 3.0)
    assert test.decide(np.random.default_rng(2), Comparison(2000, values.take, range_bound=3.0)).n_looks > 1
