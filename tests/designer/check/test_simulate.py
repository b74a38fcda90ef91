"""The real test against the theory, and its edges."""

from __future__ import annotations

import numpy as np
import pytest

from designer import (
    BadInput,
    Boundary,
    Design,
    Plan,
    Schedule,
    TrialRun,
    acceptance,
    characteristics,
    simulate,
    simulate_step,
)
from designer.check.simulate import _Tests

N_DATA = 4000


def standardised(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


@pytest.mark.parametrize(
    "design",
    [
        Design(N_DATA, 200, 0.05),
        Design(N_DATA, 150, 0.01, 0.75),
        Design(N_DATA, 100, 0.1, 1.0),
        Design(N_DATA, 100, 0.05, 0.5, 1.5),
    ],
    ids=str,
)
def test_error_and_usage_are_within_four_standard_errors_of_the_theory(design):
    drifts = [-2.0, 0.0, 0.7, 3.0]
    seen = simulate(np.random.default_rng(8), design, drifts, repeats=6000)
    theory = characteristics(design, drifts)
    # at μ_std = 0 exactly, a decision at the last look is a coin toss of rounding: both sides count half in theory
    away = np.array(drifts) != 0
    assert np.all(np.abs(seen.error - theory.error)[away] < 4 * seen.error_se[away])
    assert np.all(np.abs(seen.usage - theory.usage) < 4 * seen.usage_se)


def test_asymmetric_bounds():
    schedule = Schedule.explicit(N_DATA, [200, 500, 1500, 3000])
    plan = Plan(schedule, Boundary.explicit([-1.0, -1.5, -2.0, -1.0], [2.5, 2.0, np.inf, 1.0]))
    seen, theory = simulate(np.random.default_rng(2), plan, [-1.0, 1.0], 8000), characteristics(plan, [-1.0, 1.0])
    assert np.all(np.abs(seen.error - theory.error) < 4 * seen.error_se)
    assert np.all(np.abs(seen.usage - theory.usage) < 4 * seen.usage_se)


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
@pytest.mark.parametrize("a", [-0.7, 0.5])
def test_steps_are_within_four_standard_errors_of_the_theory(rule, a):
    rng, kappa = np.random.default_rng(4), 1.3
    values = standardised(rng.standard_normal(N_DATA)) * kappa * np.sqrt(N_DATA - 1) / N_DATA + a / N_DATA
    trial = TrialRun(N_DATA, [values.mean()], [values.std()], [0.3])
    shifted = values + 0.3 / N_DATA  # the log ratio c moves A by -c: put it back
    design = Design(N_DATA, 150, 0.05)
    theory = acceptance(design, TrialRun(N_DATA, [shifted.mean()], [shifted.std()], [0.3]), rule)
    seen = simulate_step(rng, design, shifted, log_ratio=0.3, rule=rule, repeats=20_000)
    assert trial.log_acceptance[0] == pytest.approx(a - 0.3)
    assert abs(seen.delta - theory.delta[0]) < 4 * seen.delta_se
    assert abs(seen.usage - theory.usage[0]) < 4 * seen.usage_se
    assert abs(seen.wrong - theory.wrong[0]) < 4 * seen.wrong_se
    assert seen.probability == pytest.approx(theory.probability[0])


def test_a_test_that_never_stops_reads_everything_and_is_right():
    seen = simulate(np.random.default_rng(1), Design(N_DATA, 300, 1e-16), [-0.5, 0.5], repeats=50)
    assert np.all(seen.error == 0)
    assert np.all(seen.usage == 1)
    assert np.all(seen.error_se > 0)


def test_the_permutation_stays_one_and_every_datum_can_be_drawn():
    plan = Plan(Schedule.equal(50, 7), Boundary.pocock(0.2))
    tests = _Tests(np.random.default_rng(0), plan, np.random.default_rng(1).standard_normal(50))
    tests.run(np.zeros(200))
    assert sorted(tests.order) == list(range(50))
    assert not np.array_equal(tests.order, np.arange(50))


def test_a_sample_without_spread_decides_by_its_mean_or_goes_on():
    """Two-valued data: the first batches are often constant, s = 0."""
    values = np.zeros(1000)
    values[:20] = 1.0
    plan = Plan(Schedule.equal(1000, 10), Boundary.pocock(0.05))
    tests = _Tests(np.random.default_rng(0), plan, values)
    above, below = tests.run(np.full(400, -0.5)), tests.run(np.full(400, 0.0))
    assert np.all(above[0])  # every sample mean exceeds -0.5
    assert above[1].mean() < 0.02  # constant samples decided at once
    assert below[1].min() > 0.01  # a constant sample at its own threshold says nothing: go on


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mu_std": [np.nan]}, "mu_std"),
        ({"repeats": 0}, "repeats = 0"),
        ({"population": np.zeros(N_DATA)}, "not all equal"),
        ({"population": np.arange(5.0)}, "population: has shape"),
        ({"population": np.full(N_DATA, np.inf)}, "finite"),
        ({"design": Design(10**9, 500, 0.1)}, "too large to simulate"),
    ],
)
def test_bad_input_is_named(arguments, message):
    call = {"design": Design(N_DATA, 200, 0.05), "mu_std": [0.0], "repeats": 10} | arguments
    with pytest.raises(BadInput, match=message):
        simulate(np.random.default_rng(0), **call)
