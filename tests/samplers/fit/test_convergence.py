"""What `irls` means by "converged": seeds by the dozen, data that look settled by luck, and the limit behind it."""

import math

import numpy as np
import pytest
from scipy.special import ndtri

from samplers.fit import LAD, Logistic, irls
from samplers.fit.loop import negligible
from samplers.fit.update import direction
from tests.samplers.fit.test_fit import LOSSES, filled, made, near_the_solution


def gain_left(x, y, loss, theta):
    """What an update by all data gains at θ, as a fraction of the objective."""
    equations = filled(loss, theta, x, y)
    return direction(equations, y.size).decrement / equations.objective


def constant_lad(n=3001):
    return np.ones((n, 1)), np.random.default_rng(2).exponential(size=n), LAD(0.001)


@pytest.mark.parametrize("block", range(4))
def test_lad_of_a_constant_is_the_median(block):
    x, y, loss = constant_lad(1001)
    for seed in range(10 * block, 10 * block + 10):
        fit = irls(np.random.default_rng(seed), x, y, loss, tolerance=1e-10, max_iterations=1000)
        assert fit.reason == "converged"
        assert fit.theta[0] == pytest.approx(np.median(y), abs=2e-3)


@pytest.mark.parametrize(("tolerance", "seeds"), [(1e-3, 50), (1e-2, 150)])
def test_what_converged_says_on_part_of_the_data_is_true(tolerance, seeds):
    """One parameter and weights with a heavy tail: where a sample is most easily in balance by luck."""
    x, y, loss = constant_lad()
    wrong = partial = 0
    for seed in range(seeds):
        fit = irls(np.random.default_rng(seed), x, y, loss, increment=15, tolerance=tolerance)
        assert fit.reason == "converged"
        partial += fit.trace.n[-1] < y.size
        wrong += gain_left(x, y, loss, fit.theta) > tolerance
    assert wrong / seeds <= 0.01 + 4 * math.sqrt(0.01 * 0.99 / seeds)
    assert partial > 0.9 * seeds


@LOSSES
@pytest.mark.parametrize(("tolerance", "in_part"), [(1e-2, True), (1e-6, False)])
def test_five_parameters_arrive_within_the_tolerance(loss, tolerance, in_part):
    x, y = made(loss, 10_000, 5)
    for seed in range(10):
        fit = irls(np.random.default_rng(seed), x, y, loss, increment=50, tolerance=tolerance)
        assert fit.reason == "converged"
        assert (fit.trace.n[-1] < y.size) == in_part
        assert gain_left(x, y, loss, fit.theta) <= tolerance


def test_rare_ones_are_not_overlooked():
    """A hundred rows in ten thousand: most first batches hold none, and say minus infinity with one voice."""
    y = (np.arange(10_000) % 100 == 0).astype(float)
    x = np.ones((10_000, 1))
    for seed in range(15):
        for tolerance, off in ((1e-2, 0.5), (1e-8, 1e-3)):
            fit = irls(np.random.default_rng(seed), x, y, Logistic(), increment=200, tolerance=tolerance)
            assert fit.reason == "converged"
            assert fit.theta[0] == pytest.approx(math.log(1 / 99), abs=off)


@LOSSES
@pytest.mark.parametrize(("rule", "d"), [("descent", 1), ("descent", 15), ("euclidean", 4)])
def test_the_limit_of_what_is_left_to_gain_holds(loss, rule, d):
    """The share of samples whose limit is below the gain that all data have is at most ε."""
    n_data, n = 6000, 400
    x, y, theta, update, score = near_the_solution(loss, d, n_data, n, 2.0)
    gain = 0.5 * update @ score / n_data
    rng, below = np.random.default_rng(5), 0
    for _ in range(400):
        rows = rng.choice(n_data, n, replace=False)
        below += direction(filled(loss, theta, x[rows], y[rows]), n_data, rule, -ndtri(0.05)).decrement < gain
    assert below / 400 <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("y", [[-3.5, -0.5, 0.5, 3.5], [-3.1, -0.7, 0.3, 0.9]])
def test_a_small_sample_that_balances_by_luck_does_not_stop_it(y):
    """Scores that cancel exactly, or but for rounding: LAD's are r/|r|."""
    equations = filled(LAD(), np.full(1, 1e-3), np.ones((4, 1)), np.array(y) + 1e-3)
    found = direction(equations, 1000)
    assert abs(found.update[0]) <= 1e-16
    assert found.decrement > 0.05 * equations.objective
    assert not negligible(found, equations, 1e-3)
    assert negligible(direction(equations, 4), equations, 1e-3)


def test_an_end_is_confirmed_by_another_sample():
    x, y = made(LAD(), 20_000, 3)
    trace = irls(np.random.default_rng(1), x, y, LAD(), tolerance=3e-3).trace
    assert trace.n[-1] == trace.n[-2] < 20_000
    assert trace.looks[-1] == 1
    assert np.all((trace.decrement <= 3e-3 * trace.objective)[-2:])


def test_after_all_data_come_all_data():
    x, y = made(LAD(), 3000, 3)
    trace = irls(np.random.default_rng(1), x, y, LAD(), tolerance=1e-9).trace
    whole = np.flatnonzero(trace.n == 3000)
    assert whole.size > 3 and np.all(np.diff(whole) == 1) and whole[-1] == trace.n.size - 1
    assert np.all(np.diff(trace.objective[whole]) < 1e-7)  # the floor of the weights has another minimum, nearby
