"""One accept/reject step: Δ, usage and looks against quadrature over u, published values and bounds."""

import math
import sys

import numpy as np
import pytest

from designer.engine.curves import curves, cut, integrate
from designer.engine.step_error import acceptance, reach_of
from designer.engine.walk import characteristics, outcomes, worst_case
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import Boundary
from designer.rule.design import Design
from designer.rule.looks import Schedule
from designer.rule.plan import Plan, as_plan
from tests import naive

RULES = ["metropolis", "barker"]
ROUNDING = 2e-13  # of the two sums over u
LOOKS = np.linspace(0.0, 1.0, 9)
PLANS = {
    "Pocock": as_plan(Design(20_000, 500, 0.05)),
    "O'Brien-Fleming": as_plan(Design(20_000, 500, 0.05, 1.0)),
    "growing": as_plan(Design(10**6, 100, 0.02, 0.8, 1.5)),
    "two looks": as_plan(Design(1000, 700, 0.1)),
    "short last batch": as_plan(Design(20_001, 5000, 0.05)),
    "all the data": as_plan(Design(1000, 1000, 0.05)),
    "first look": as_plan(Design(1000, 100, 0.5)),
    "tiny epsilon": as_plan(Design(1000, 100, 1e-12)),
    "asymmetric": Plan(Schedule.equal(1000, 100), Boundary.explicit(-1.0 - LOOKS, 2.5 - LOOKS)),
    "beyond zero": Plan(Schedule.equal(1000, 100), Boundary.explicit(0.2 + LOOKS, 2.5 + LOOKS)),
}
EXTREME = [  # (A, κ)
    *[(a, 1.3) for a in (-1e4, -700.0, -50.0, -10.0, -3.0, -0.7, -0.1, -1e-8, 0.0, 1e-8, 0.5, 2.0, 10.0, 1e4)],
    *[(a, kappa) for a in (-0.7, 0.0, 0.5) for kappa in (1e-6, 1e-4, 0.01, 0.1, 10.0, 100.0, 1e4, 1e6)],
    *[(-1e4, 1e3), (1e4, 1e4), (-40.0, 20.0), (40.0, 20.0), (-1e4, 1e6), (1e4, 1e-6)],
]


def pairs(n_data, log_acceptance, kappa):
    """A trial run whose pairs have these A and κ."""
    a, k = np.broadcast_arrays(np.atleast_1d(np.asarray(log_acceptance, dtype=float)), kappa)
    return TrialRun(n_data, a / n_data, k * math.sqrt(n_data - 1) / n_data)


def over_u(plan, a, kappa, rule):
    """P_a, Δ, E_u[usage] and E_u[looks] by quadrature over u."""
    found = {}

    def curves(mu):
        found["outcome"] = outcomes(plan, mu, 1e-10)[0]
        return found["outcome"].error(mu)

    probability, delta, usage = naive.step(curves, lambda mu: found["outcome"].usage, a, kappa, barker=rule == "barker")
    looks = naive.step(np.zeros_like, lambda mu: found["outcome"].looks, a, kappa, barker=rule == "barker")[2]
    return probability, delta, usage, looks


@pytest.mark.parametrize(
    ("m", "a", "delta"), [(500, -0.7, 0.0264), (100, 0.5, -0.1968), (500, 0.5, -0.1152), (100, -0.7, 0.0282)]
)
def test_theory_of_the_simulated_table(m, a, delta):
    """The Gaussian Δ of docs/skewness.md: N = 20,000, κ = 1.3, ε = 0.05."""
    result = acceptance(Design(20_000, m, 0.05), pairs(20_000, a, 1.3))
    assert result.delta[0] == pytest.approx(delta, abs=5e-5)


def test_delta_is_not_monotone_in_epsilon():
    """Wrong acceptances and wrong rejections cancel, more or less completely (docs/numerics.md)."""
    trial = pairs(20_000, -0.7, 1.3)
    deltas = [acceptance(Design(20_000, 500, epsilon), trial).delta[0] for epsilon in (0.05, 0.15, 0.4)]
    assert deltas == pytest.approx([0.0264, 0.0367, 0.0210], abs=5e-5)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", PLANS)
def test_against_quadrature_over_u(name, rule):
    plan = PLANS[name]
    trial = pairs(plan.schedule.n_data, *np.transpose(EXTREME))
    result = acceptance(plan, trial, rule)
    slack = result.estimate + ROUNDING
    for i, (a, kappa) in enumerate(zip(trial.log_acceptance, trial.kappa, strict=True)):
        probability, delta, usage, looks = over_u(plan, a, kappa, rule)
        label = f"A = {a:g}, kappa = {kappa:g}"
        assert result.probability[i] == pytest.approx(probability, rel=1e-13, abs=1e-300), label
        assert result.delta[i] == pytest.approx(delta, abs=slack), label
        assert result.usage[i] == pytest.approx(usage, abs=slack), label
        assert result.looks[i] == pytest.approx(looks, abs=slack * plan.schedule.size), label


@pytest.mark.parametrize("rule", RULES)
def test_against_the_literal_equations(rule):
    """Both steps by their definitions: the recursion per μ_std, then the integral over u."""
    n, lower, upper = [250, 500, 1000], [-1.0, -1.4], [1.8, 0.9]
    plan = Plan(Schedule.explicit(1000, n), Boundary.explicit(lower, upper))
    result = acceptance(plan, pairs(1000, [-0.7, 0.4], [1.3, 0.8]), rule)
    for i, (a, kappa) in enumerate([(-0.7, 1.3), (0.4, 0.8)]):
        cache = {}

        def curves(mu, cache=cache):
            cache.update({x: naive.characteristics(n, lower, upper, x) for x in mu})
            return np.array([cache[x][0] for x in mu])

        _, delta, usage = naive.step(
            curves, lambda mu, cache=cache: np.array([cache[x][1] for x in mu]), a, kappa, barker=rule == "barker"
        )
        assert result.delta[i] == pytest.approx(delta, abs=1e-11)
        assert result.usage[i] == pytest.approx(usage, abs=1e-11)


@pytest.mark.parametrize("a", [1e6, -1e6, 1e8, 1e12])
def test_a_very_noisy_pair_faces_a_single_mean(a):
    """As κ grows with A / κ fixed, μ_std no longer depends on u and the step is one point of the curves."""
    design = Design(20_000, 500, 0.05)
    curve, result = characteristics(design, math.copysign(0.1, a)), acceptance(design, pairs(20_000, a, 10 * abs(a)))
    slack = result.estimate + 0.1 / abs(a)
    assert result.delta[0] == pytest.approx(-math.copysign(float(curve.error), a), abs=slack)
    assert result.usage[0] == pytest.approx(float(curve.usage), abs=slack)


def test_a_noiseless_pair_is_decided_at_the_first_look():
    result = acceptance(Design(20_000, 500, 0.05), pairs(20_000, [-1.0, 1.0], 1e-9))
    np.testing.assert_allclose(result.delta, 0.0, atol=1e-9)
    np.testing.assert_allclose(result.usage, 0.025, atol=1e-8)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", [name for name, plan in PLANS.items() if plan.boundary.symmetric])
def test_cancellation_makes_delta_smaller_than_the_errors(name, rule):
    plan = PLANS[name]
    result = acceptance(plan, pairs(plan.schedule.n_data, *np.transpose(EXTREME)), rule)
    slack = 2 * result.estimate + ROUNDING
    assert np.all(np.abs(result.delta) <= result.wrong + slack)
    assert result.wrong.max() <= worst_case(plan).error[0] + slack
    assert np.all(result.probability + result.delta >= -slack)
    assert np.all(result.probability + result.delta <= 1 + slack)
    assert result.usage.min() >= plan.schedule.m / plan.schedule.n_data - slack
    assert result.usage.max() <= worst_case(plan).usage[0] + slack


def test_the_means_are_over_pairs():
    design, trial = Design(20_000, 500, 0.05), pairs(20_000, [-0.7, 0.5, 3.0], [1.3, 1.3, 2.0])
    result = acceptance(design, trial)
    single = [acceptance(design, trial.subset([i])) for i in range(3)]
    assert result.mean_abs_delta == pytest.approx(np.mean([abs(s.delta[0]) for s in single]), abs=1e-10)
    assert result.mean_usage == pytest.approx(np.mean([s.usage[0] for s in single]), abs=1e-10)


def test_the_log_ratio_moves_a():
    design = Design(20_000, 500, 0.05)
    plain, shifted = pairs(20_000, -0.7, 1.3), pairs(20_000, 0.3, 1.3)
    moved = TrialRun(20_000, shifted.mu, shifted.sigma, log_ratio=1.0)
    assert acceptance(design, moved).delta[0] == pytest.approx(acceptance(design, plain).delta[0], abs=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_barker_is_odd_and_metropolis_is_not(rule):
    """Swapping θ and θ' turns A into -A, and Barker's Δ into -Δ."""
    result = acceptance(Design(20_000, 500, 0.05), pairs(20_000, [-0.7, 0.7], 1.3), rule)
    assert bool(abs(result.delta.sum()) < 1e-13) is (rule == "barker")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", PLANS)
def test_the_estimate_covers_what_finer_panels_change(name, rule, monkeypatch):
    plan, module = PLANS[name], sys.modules["designer.engine.curves"]
    trial = pairs(plan.schedule.n_data, *np.transpose(EXTREME))
    result = acceptance(plan, trial, rule)
    for constant, value in {"ORDER": 24, "RATIO": 1.4, "WIDTH": 2.0, "MOST_PANELS": 2000}.items():
        monkeypatch.setattr(module, constant, value)
    finer = acceptance(plan, trial, rule)
    for one, other in ((result.delta, finer.delta), (result.usage, finer.usage), (result.wrong, finer.wrong)):
        assert np.abs(one - other).max() <= result.estimate + ROUNDING


@pytest.mark.parametrize("tolerance", [0.01, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("name", ["Pocock", "O'Brien-Fleming", "growing", "asymmetric"])
def test_the_estimate_at_loose_tolerances(name, tolerance):
    plan = PLANS[name]
    trial = pairs(plan.schedule.n_data, *np.transpose(EXTREME))
    best, loose = acceptance(plan, trial), acceptance(plan, trial, tolerance=tolerance)
    for one, other in ((best.delta, loose.delta), (best.usage, loose.usage), (best.wrong, loose.wrong)):
        assert np.abs(one - other).max() <= loose.estimate + best.estimate


def test_a_trial_run_of_other_data(refuses):
    refuses(lambda: acceptance(Design(20_000, 500, 0.05), pairs(10_000, 0.0, 1.0)), "20,000", "10,000")


def test_an_unknown_rule(refuses):
    refuses(lambda: acceptance(Design(1000, 100, 0.05), pairs(1000, 0.0, 1.0), "gibs"), "rule = 'gibs'", *RULES)


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_bad_sigma(sigma, refuses):
    refuses(lambda: TrialRun(1000, mu=[0.1, 0.1], sigma=[1.0, sigma]), "sigma", f"{sigma!r}")


@pytest.mark.parametrize("tolerance", [0.0, 1e-13, 0.02, math.nan])
def test_bad_tolerances(tolerance, refuses):
    design, trial = Design(1000, 100, 0.05), pairs(1000, 0.0, 1.0)
    refuses(lambda: acceptance(design, trial, tolerance=tolerance), f"tolerance = {tolerance!r}", "[1e-12, 0.01]")


@pytest.mark.parametrize(
    "design",
    [
        Design(10**9, 500, 0.01, 1.0, 2.0),
        Design(10**6, 100, 1e-6, 1.0, 1.5),
        Design(27_432_543, 6, 1e-16, 1.0, 54.0),
        Design(403_219_958, 18, 1e-15, 0.73, 10.7),
    ],
)
def test_steep_curves_are_resolved(design):
    """O'Brien-Fleming bounds at growing looks: the usage falls by much where μ_std grows by little, far from zero."""
    trial = pairs(design.n_data, [0.0, -0.7, 0.0, 0.5, 0.0], [10.0, 1e-3, 1e-4, 1e-5, 1e-6])
    found, plan = acceptance(design, trial), as_plan(design)
    curve = curves(plan, reach_of(trial), 1e-10)
    finer = cut(plan, curve, np.ones(curve.doubt.size, dtype=bool), 1e-10)
    delta, usage, looks, wrong, doubt = integrate(finer, trial.log_acceptance, trial.kappa, barker=False)
    assert found.estimate < 3e-6 and doubt.max() < 0.1 * found.estimate
    for one, other in zip((found.delta, found.usage, found.wrong), (delta, usage, wrong), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=found.estimate)
    np.testing.assert_allclose(found.looks, looks, rtol=0, atol=found.estimate * plan.schedule.size)
