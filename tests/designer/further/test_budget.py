"""Risk in a time: closed forms, brute force, what must grow and what must fall."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer import BadInput, Cost, Quantity, TrialRun, best_epsilon, best_step, time_schedule
from designer.further.budget import epsilon
from designer.further.budget.epsilon import Option, best_option, sensitivity, time_options
from designer.further.budget.phases import anytime_schedule, risk_curves, risk_over_time, weighted

COST = Cost(fixed=1e-6, per_datum=1e-8)


def option(bias: float, spread: float) -> Option:
    return Option(None, bias, spread, 1e-3, 1.0 + bias, 0.5, 0.5)


@pytest.fixture(scope="module")
def known():
    trial = TrialRun.at_stationarity(20_000, 0.9, 60, np.random.default_rng(1))
    return time_options(trial, COST, Quantity(500.0, 0.3), m=[200], epsilons=[0.01, 0.05, 0.1, 0.2, 0.4])


def test_options_follow_their_definition(known):
    exact, *tests = known
    assert exact.design is None
    assert exact.spread**2 == pytest.approx(500.0 * (1e-6 + 0.5 * 1e-8 * 20_000))
    for test in tests:
        assert test.bias == pytest.approx(0.3 * (test.temperature - 1.0))
        want = test.temperature**2 * 500.0 * (exact.acceptance / test.acceptance) * test.seconds
        assert test.spread**2 == pytest.approx(want)
        assert test.seconds == pytest.approx(1e-6 + 1e-8 * 20_000 * test.usage)
        assert test.risk(2.0) == pytest.approx(test.bias**2 + test.spread**2 / 2.0)
    biases = [test.bias for test in tests]
    assert biases == sorted(biases)


def test_more_time_means_less_bias(known):
    best = [best_option(known, seconds) for seconds in np.geomspace(1e-3, 1e6, 30)]
    epsilons = [found.epsilon for found in best]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[0] > 0.1 and epsilons[-1] == 0.0


def test_the_best_epsilon_is_no_worse_than_any_on_the_grid():
    trial = TrialRun.at_stationarity(20_000, 0.9, 30, np.random.default_rng(1))
    quantity = Quantity(500.0, 0.3)
    found = best_epsilon(trial, 0.5, COST, quantity, m=[200])
    grid = time_options(trial, COST, quantity, m=[200], epsilons=[0.05, 0.1, 0.2])
    assert found.design is not None and found.design.m == 200
    assert found.risk(0.5) <= min(other.risk(0.5) for other in grid)


def test_weights_are_those_of_least_risk():
    """Against a fine search over the simplex."""
    spent = [(option(0.3, 0.2), 3.0), (option(0.1, 0.5), 5.0), (option(0.0, 1.0), 10.0)]
    plan = weighted(spent)
    assert plan.weights.sum() == pytest.approx(1.0)
    grid = np.linspace(0.0, 1.0, 201)
    first, second = np.meshgrid(grid, grid)
    w = np.stack([first, second, 1.0 - first - second])[:, first + second <= 1.0]
    b = np.array([o.bias for o, _ in spent])
    v = np.array([o.spread**2 / t for o, t in spent])
    risks = (b @ w) ** 2 + v @ w**2
    assert plan.risk <= risks.min() + 1e-12
    assert plan.risk == pytest.approx(risks.min(), rel=1e-2)


def test_a_phase_whose_bias_would_need_a_negative_weight_is_left_out():
    plan = weighted([(option(5.0, 0.01), 1.0), (option(0.1, 0.1), 1.0)])
    assert plan.weights == pytest.approx([0.0, 1.0])
    assert plan.risk == pytest.approx(0.1**2 + 0.1**2)


def test_biases_of_the_other_sign_are_weighed_alike():
    spent = [(0.3, 0.05, 1.0), (0.1, 0.1, 1.0), (0.02, 0.3, 2.0)]
    plans = [weighted([(option(sign * b, s), t) for b, s, t in spent]) for sign in (1.0, -1.0)]
    assert plans[0].weights == pytest.approx(plans[1].weights)
    assert min(plans[0].weights) == 0.0


def test_the_best_epsilon_at_an_end_of_the_grid_is_sought_next_to_it(monkeypatch):
    """Of three epsilons the smallest is best, and one between it and the second is better."""
    trial, quantity = TrialRun.at_stationarity(20_000, 0.9, 30, np.random.default_rng(1)), Quantity(500.0, 0.3)
    monkeypatch.setattr(epsilon, "EPSILONS", (0.02, 0.45, 0.5))
    monkeypatch.setitem(epsilon.time_options.__kwdefaults__, "epsilons", epsilon.EPSILONS)
    grid = time_options(trial, COST, quantity, m=[200], exact_seconds=math.inf)
    seconds = 2.0
    assert best_option(grid, seconds).epsilon == 0.02
    found = best_epsilon(trial, seconds, COST, quantity, m=[200], exact_seconds=math.inf)
    assert 0.02 < found.epsilon < 0.45
    assert found.risk(seconds) < 0.99 * best_option(grid, seconds).risk(seconds)


def test_two_tests_beat_either_where_they_tie():
    exact, cheap = option(0.0, 1.0), option(0.1, 0.5)
    seconds = 75.0  # both have risk 1/75
    plan = time_schedule([exact, cheap], seconds)
    assert plan.risk == pytest.approx(0.75 / 75.0)
    assert [phase.option.bias for phase in plan.phases] == [0.1, 0.0]  # the hot one first
    assert sum(phase.seconds for phase in plan.phases) == pytest.approx(seconds)


def test_no_schedule_is_above_a_fixed_test(known):
    for seconds in np.geomspace(1e-3, 1e4, 15).tolist():
        plan, fixed = time_schedule(known, seconds), best_option(known, seconds).risk(seconds)
        assert plan.risk <= fixed * (1.0 + 1e-9)
        assert risk_over_time(plan, [seconds])[0] == pytest.approx(plan.risk)


def test_the_anytime_schedule_is_near_the_best_at_every_time_and_no_fixed_test_is(known):
    seconds = 500.0
    plan, times = anytime_schedule(known, seconds), seconds * np.geomspace(1 / 128, 1, 40)
    best = np.array([best_option(known, time).risk(time) for time in times])
    epsilons = [phase.option.epsilon for phase in plan.phases]
    assert len(epsilons) > 1 and epsilons == sorted(epsilons, reverse=True)
    worst = float((risk_over_time(plan, times.tolist()) / best).max())
    fixed = [float((np.array([o.risk(t) for t in times]) / best).max()) for o in known]
    assert worst < 1.3
    assert worst < min(fixed)


def test_curves_for_a_figure(known):
    found = risk_curves(known, 10.0, points=12)
    best = np.array([best_option(known, time).risk(time) for time in found.times.tolist()])
    assert np.all(found.risks["best for each time"] <= best * (1 + 1e-9))
    assert "exact" in found.risks


def test_sensitivity_of_gaussian_moments():
    theta = np.random.default_rng(2).standard_normal((50_000, 2))
    log_posterior = -0.5 * (theta**2).sum(axis=1)
    se = 1.0 / math.sqrt(50_000)
    assert sensitivity(theta, log_posterior) < 8 * se
    assert sensitivity(theta**2, log_posterior) == pytest.approx(math.sqrt(0.5), abs=8 * se)


def test_noise_is_no_sensitivity():
    """Of 50 symmetric parameters, from so few draws that the root mean square of the covariances alone is about .5."""
    theta = np.random.default_rng(4).standard_normal((100, 50))
    log_posterior = -0.5 * (theta**2).sum(axis=1)
    away = theta - theta.mean(axis=0)
    raw = (away * (log_posterior - log_posterior.mean())[:, None]).mean(axis=0)
    assert np.sqrt(np.mean(raw**2) / np.mean(away**2)) > 0.4
    # the product of two halves has mean 0 and sd (D / 2) / (draws / 2) / sqrt(D) = 0.07
    assert sensitivity(theta, log_posterior) < math.sqrt(4 * 0.07)
    several = [sensitivity(theta, -0.5 * (theta**2).sum(axis=1)) for theta in _normal_draws(40)]
    assert np.median(several) < 0.25


def _normal_draws(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(6)
    return [rng.standard_normal((100, 50)) for _ in range(count)]


def test_an_exact_step_costs_what_both_predictions_say():
    """One place for it: a fixed part, half the likelihoods of all data, one look."""
    cost, trial = Cost(3.0, 0.5, 2.0), TrialRun.at_stationarity(1000, 0.5, 20, np.random.default_rng(1))
    assert cost.exact(1000) == 3.0 + 250.0 + 2.0
    (exact,) = time_options(trial, cost, Quantity(10.0, 0.1), epsilons=())
    assert exact.seconds == cost.exact(1000)
    (row,) = best_step(trial, 0.1, [1.0], cost=cost, refine=False).rows
    assert row.exact_efficiency == pytest.approx(row.exact_jump / cost.exact(1000))


def test_what_cannot_be_is_refused(known):
    trial = TrialRun.at_stationarity(1000, 0.5, 20, np.random.default_rng(1))
    with pytest.raises(BadInput, match="seconds = 0: must lie in"):
        best_option(known, 0)
    with pytest.raises(BadInput, match="autocorrelation = -1"):
        time_options(trial, COST, Quantity(-1.0, 0.1))
    with pytest.raises(BadInput, match="dimension = 1: must be a whole number from 2"):
        time_options(trial, COST, Quantity(1.0, 0.1), dimension=1)
    with pytest.raises(BadInput, match="m = 1001"):
        time_options(trial, COST, Quantity(1.0, 0.1), m=[1001])
    with pytest.raises(BadInput, match="at least four draws"):
        sensitivity(np.ones((3, 2)), np.ones(2))
    with pytest.raises(BadInput, match="all the same"):
        sensitivity(np.ones(4), np.ones(4))
    with pytest.raises(BadInput, match="no test to choose from"):
        best_option([], 1.0)
    with pytest.raises(BadInput, match="exact_seconds = 0"):
        time_options(trial, COST, Quantity(1.0, 0.1), exact_seconds=0.0)
