"""The best of all boundaries: dynamic programming against brute force, the engine, simulation; and its promises."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from designer import Boundary, Cancelled, Design, Plan, Schedule, TrialRun, acceptance, characteristics, worst_case
from designer.check.simulate import simulate, simulate_step
from designer.core.errors import BadInput, NumericalFailure
from designer.further.optimal_boundary import boundary
from designer.further.optimal_boundary.boundary import (
    MOST_LOOKS,
    bounds_of,
    optimal_boundaries,
    optimal_boundary,
    smallest_batch,
)
from designer.further.optimal_boundary.dynamic_program import mixture, solve

TRIAL = TrialRun.at_stationarity(20_000, 0.4, 40, np.random.default_rng(3))
TOLERANCE = 0.03


@cache
def found(symmetric: bool, m: int = 2000, rule: str = "metropolis"):
    return optimal_boundary(TRIAL, TOLERANCE, m, symmetric=symmetric, rule=rule)


def lagrangian(plan: Plan, mu: np.ndarray, f: np.ndarray, s: np.ndarray) -> float:
    """The value of a boundary, by the engine: wrong acceptances cost s, wrong rejections -s."""
    curve = characteristics(plan, mu)
    return float(np.sum(f * curve.usage + np.where(mu < 0, s, -s) * curve.error))


MU = np.array([-3.0, -1.0, -0.3, 0.4, 1.2, 2.5, 6.0])
F = np.array([0.1, 0.2, 0.15, 0.15, 0.2, 0.15, 0.05])
COSTS = {
    "fair": 4.0 * np.sign(-MU) * F,
    "wrong acceptances cost more": np.where(MU < 0, 9.0, -3.0) * F,
    "some errors are rewarded": np.array([5.0, 4.0, -1.0, 1.0, -4.0, -5.0, -5.0]) * F,
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("looks", [[300, 1000], [150, 450, 1000]])
def test_no_boundary_found_by_brute_force_is_better(name, looks):
    """Direct minimisation over the bounds, engine in the loop, ends at the value of dynamic programming."""
    schedule, s = Schedule.explicit(1000, looks), COSTS[name]
    solved = solve(schedule, MU, F, s, 9.0)
    interim = len(looks) - 1

    def value(bounds: np.ndarray) -> float:
        low, width = bounds[:interim], np.abs(bounds[interim:])
        return lagrangian(Plan(schedule, Boundary.explicit(low, low + width)), MU, F, s)

    starts = [np.concatenate([np.full(interim, -g), np.full(interim, 2.0 * g)]) for g in (0.5, 1.5, 2.5)]
    options = {"xatol": 1e-6, "fatol": 1e-10, "maxiter": 4000, "maxfev": 4000}
    best = min(minimize(value, start, method="Nelder-Mead", options=options).fun for start in starts)
    assert solved.interval
    assert solved.value == pytest.approx(best, abs=2e-7)
    assert solved.value <= best + 1e-9


def test_a_coarse_grid_of_bounds_is_never_better_and_comes_close():
    schedule, s = Schedule.explicit(1000, [300, 1000]), COSTS["wrong acceptances cost more"]
    solved = solve(schedule, MU, F, s, 9.0)
    grid = np.arange(-3.0, 3.01, 0.25)
    values = [
        lagrangian(Plan(schedule, Boundary.explicit([low], [high])), MU, F, s)
        for low in grid
        for high in grid
        if high >= low
    ]
    assert solved.value <= min(values) <= solved.value + 0.01


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
@pytest.mark.parametrize("growth", [1.0, 1.5])
def test_the_value_is_that_of_the_rule_by_the_engine(rule, growth):
    schedule = Schedule.geometric(20_000, 1000, growth)
    weights = mixture(schedule, TRIAL, rule)
    price, signs = 8.0, np.where(TRIAL.log_acceptance < -0.3, 1.0, -1.0)
    s, f = price * (signs @ weights.weights) / signs.size, weights.weights.mean(axis=0)
    s, f = 0.5 * (s - s[::-1]), 0.5 * (f + f[::-1])
    solved = solve(schedule, weights.mu, f, s, price, 0.0)
    assert solved.interval
    step = acceptance(Plan(schedule, Boundary.explicit(solved.lower, solved.upper)), TRIAL, rule)
    assert solved.value == pytest.approx(step.mean_usage + price * np.mean(signs * step.delta), abs=1e-8)


@pytest.mark.parametrize("barker", [False, True])
def test_the_weights_integrate_over_u(barker):
    weights = mixture(Schedule.equal(20_000, 1000), TRIAL, "barker" if barker else "metropolis")
    i = int(np.argmin(TRIAL.log_acceptance))
    a, kappa = TRIAL.log_acceptance[i], TRIAL.kappa[i]

    def smooth(u: float) -> float:
        v = np.log(u) - np.log1p(-u) if barker else np.log(u)
        return float(np.exp(-0.5 * ((a - v) / kappa - 1.0) ** 2))

    want, _ = quad(smooth, 0.0, 1.0, points=[1e-6, 1e-3, 0.1, 0.5], limit=400)
    got = weights.weights[i] @ np.exp(-0.5 * (weights.mu - 1.0) ** 2)
    assert got == pytest.approx(want, abs=1e-7)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_what_is_promised_holds(symmetric, rule):
    best = found(symmetric, rule=rule)
    step = acceptance(best.design, TRIAL, rule)
    assert best.error == pytest.approx(step.mean_abs_delta, abs=1e-7)
    assert best.usage == pytest.approx(step.mean_usage, abs=1e-6)
    assert best.largest == pytest.approx(step.max_abs_delta, abs=1e-6)
    assert best.error <= TOLERANCE
    assert 0.0 <= best.gap < 1e-3 and best.proven
    assert 0.0 < best.estimate <= 1e-5
    assert all(rival.usage >= best.lower_bound for rival in best.rivals)
    assert all(best.usage <= rival.usage + 1e-4 for rival in best.rivals)
    assert best.design.predicted.mean_usage == pytest.approx(best.usage, abs=1e-6)
    assert (best.design.lower == tuple(-bound for bound in best.design.upper)) == symmetric


def test_no_boundary_at_random_is_below_the_bound():
    """Duality: usage + lambda (mean |Δ| - tolerance) is at least the bound, whatever the boundary."""
    symmetric, free = found(True), found(False)
    rng = np.random.default_rng(5)
    schedule = Schedule.equal(20_000, 2000)
    pi = bounds_of(free.design)[0]
    for _ in range(60):
        shape = rng.uniform(-0.5, 0.6, 2)
        upper = rng.uniform(0.3, 3.0) * pi ** -shape[0] + rng.normal(0.0, 0.1, pi.size)
        lower = -rng.uniform(0.3, 3.0) * pi ** -shape[1]
        both = Plan(schedule, Boundary.explicit(np.minimum(lower, upper), upper))
        step = acceptance(both, TRIAL, tolerance=1e-7)
        assert step.mean_usage + free.price * (step.mean_abs_delta - TOLERANCE) >= free.lower_bound - 1e-3
        mirrored = Plan(schedule, Boundary.explicit(-np.abs(upper), np.abs(upper)))
        step = acceptance(mirrored, TRIAL, tolerance=1e-7)
        assert step.mean_usage + symmetric.price * (step.mean_abs_delta - TOLERANCE) >= symmetric.lower_bound - 1e-4


def test_more_freedom_never_costs():
    assert found(False).lower_bound <= found(True).lower_bound
    assert found(True, 1000).usage <= found(True, 2000).usage + 1e-4  # looks at 1000, 2000, ... contain those at 2000
    several = optimal_boundaries(TRIAL, TOLERANCE, [4000, 2000])
    assert [one.design.m for one in several] == [2000, 4000]


def test_the_real_test_does_as_predicted():
    """Student tests on real samples without replacement, within four standard errors."""
    design, rng = found(False).design, np.random.default_rng(8)
    curve, seen = characteristics(design, [-1.5, 0.5]), simulate(rng, design, [-1.5, 0.5], repeats=8000)
    assert np.all(np.abs(seen.error - curve.error) < 4 * seen.error_se)
    assert np.all(np.abs(seen.usage - curve.usage) < 4 * seen.usage_se)
    values = rng.standard_normal(20_000)
    values = (values - values.mean()) / values.std()
    for i in (int(np.argmin(TRIAL.log_acceptance)), int(np.argmax(TRIAL.log_acceptance))):
        step = simulate_step(rng, design, TRIAL.mu[i] + TRIAL.sigma[i] * values, repeats=4000)
        want = acceptance(design, TRIAL.subset([i]))
        assert abs(step.delta - want.delta[0]) < 4 * step.delta_se
        assert abs(step.usage - want.usage[0]) < 4 * step.usage_se


def test_a_tolerance_that_the_first_look_keeps():
    best = optimal_boundary(TRIAL, 0.6, 2000)
    assert best.usage == pytest.approx(0.1, abs=1e-6)
    assert best.lower_bound == pytest.approx(0.1)


def test_a_gap_is_told():
    """The error of one pair may cancel exactly, and then a rule that tosses coins reads far less than any boundary."""
    one = optimal_boundary(TrialRun(1000, [-7e-4], [0.04]), 0.02, 100)
    assert one.error <= 0.02 and one.usage <= min(rival.usage for rival in one.rivals) + 1e-4
    assert one.lower_bound < one.usage - 0.1 and not one.proven


@pytest.mark.parametrize(("excess", "believed"), [(1e-4, False), (0.01, False), (1e-9, True)])
def test_a_bound_above_what_is_read_is_no_proof(monkeypatch, excess, believed):
    """A dynamic program whose values are too high would otherwise prove whatever it finds to be the best."""

    def too_high(*arguments, **options):
        solved = solve(*arguments, **options)
        return solved._replace(value=solved.value + excess)

    monkeypatch.setattr(boundary, "solve", too_high)
    if believed:
        assert 0.0 <= optimal_boundary(TRIAL, TOLERANCE, 4000).gap < 1e-3
    else:
        with pytest.raises(NumericalFailure, match="the dynamic program is not resolved"):
            optimal_boundary(TRIAL, TOLERANCE, 4000)


def test_the_worse_side_of_an_asymmetric_test_counts():
    design = Design.with_bounds(1000, 300, [-3.0, -3.0, -3.0], [0.5, 0.5, 0.5])
    worst = worst_case(design)
    sides = characteristics(design, [-1e-9, 1e-9]).error
    assert worst.error[0] == pytest.approx(sides.max(), abs=1e-8)
    assert sides[0] > 2 * sides[1]


def test_refusals():
    with pytest.raises(BadInput, match="2,000 looks; at most 400"):
        optimal_boundary(TRIAL, 0.02, 10)
    with pytest.raises(BadInput, match="m = 20000"):
        optimal_boundary(TRIAL, 0.02, 20_000)
    with pytest.raises(BadInput, match="tolerance = 0"):
        optimal_boundary(TRIAL, 0.0)
    with pytest.raises(BadInput, match="n_data = 2: must be a whole number from 3"):
        optimal_boundary(TrialRun(2, [0.1], [0.1]), 0.02)
    with pytest.raises(BadInput, match="growth"):
        optimal_boundary(TRIAL, 0.02, 500, 1.01)
    with pytest.raises(BadInput, match="at least one"):
        optimal_boundaries(TRIAL, 0.02, [])
    with pytest.raises(BadInput, match="at most 20,000"):
        optimal_boundary(TRIAL.subset(np.zeros(20_001, dtype=int)), 0.02, 2000)
    assert Schedule.equal(10**6, smallest_batch(10**6)).size <= MOST_LOOKS


def test_it_can_be_cancelled_and_tells_progress():
    told: list[tuple[int, int]] = []
    with pytest.raises(Cancelled):
        optimal_boundary(TRIAL, 0.02, 4000, progress=lambda *now: told.append(now), cancelled=lambda: len(told) == 4)
    assert [done for done, _ in told] == [1, 2, 3, 4]
    assert all(done <= total for done, total in told)
