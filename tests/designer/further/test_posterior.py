"""What a test does to the posterior: limits, published figures, consistency of the two ways to compute it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaincinv, ndtri

from designer import BadInput, Design, NumericalFailure, TrialRun, posterior_error, tolerance_for
from designer.further.posterior import temperature
from designer.further.posterior.acceptance_table import quantile_levels, table_curves
from designer.further.posterior.error import marginals
from designer.further.posterior.target_density import Target
from designer.further.posterior.temperature import effective_temperature
from designer.further.posterior.tolerance import inflation_curve
from designer.rule.plan import as_plan

N_DATA = 12_214


def walk(kappa: float, n_data: int = N_DATA) -> TrialRun:
    """Pairs of a walk with A ~ N(-κ²/2, κ²), at its quantiles."""
    a = -0.5 * kappa**2 + kappa * ndtri((np.arange(2000) + 0.5) / 2000)
    return TrialRun(n_data, a / n_data, np.full(2000, kappa * math.sqrt(n_data - 1) / n_data))


@pytest.mark.parametrize(("epsilon", "measured"), [(0.01, 1.07), (0.05, 1.29), (0.1, 1.52)])
def test_measured_inflation_of_the_optimal_walk_in_fifty_dimensions(epsilon, measured):
    """Chains with the real test, logistic regression, D = 50, m = 500: 7%, 29% and 52%."""
    found = posterior_error(Design(N_DATA, 500, epsilon), walk(2.38))
    assert found.sd_ratio == pytest.approx(measured, abs=0.015)
    assert found.temperature == pytest.approx(found.sd_ratio**2)
    assert found.estimate < 1e-6


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
@pytest.mark.parametrize("dimension", [None, 1, 3])
def test_a_test_that_reads_everything_changes_nothing(rule, dimension):
    found = posterior_error(Design(500, 500, 0.05), walk(1.0, 500), rule, dimension=dimension, skewness=0.5)
    assert found.sd_ratio == pytest.approx(1.0, abs=1e-5)
    assert found.bias == pytest.approx(0.0, abs=1e-5)
    assert found.total_variation == pytest.approx(0.0, abs=1e-5)
    assert found.mean_abs_delta == 0.0


def test_symmetric_targets_have_no_bias_and_skewed_ones_move_to_their_long_tail():
    design, trial = Design(N_DATA, 500, 0.05), walk(2.0)
    for dimension in (None, 1):
        straight = posterior_error(design, trial, dimension=dimension)
        right = posterior_error(design, trial, dimension=dimension, skewness=0.5)
        assert straight.bias == pytest.approx(0.0, abs=1e-9)
        assert right.bias > 0.05
    left, right = (posterior_error(design, trial, skewness=skewness) for skewness in (-0.5, 0.5))
    assert left.bias == pytest.approx(-right.bias, rel=1e-6)
    assert left.sd_ratio == pytest.approx(right.sd_ratio, rel=1e-6)


def test_the_bound_of_theorem_1_holds_and_is_loose():
    found = posterior_error(Design(N_DATA, 500, 0.01), walk(2.0), dimension=1)
    assert 0.0 < found.total_variation < found.theorem_1_bound
    assert 0.5 < found.contraction < 1.0


def test_many_parameters_are_the_limit_of_few():
    design, trial = Design(N_DATA, 500, 0.1), walk(1.5)
    ratios = [posterior_error(design, trial, dimension=d).sd_ratio for d in (2, 20, 2000)]
    limit = posterior_error(design, trial).sd_ratio
    apart = [abs(ratio - limit) for ratio in ratios]
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] < 2e-3


def test_the_numerical_error_is_below_the_estimate():
    """Steps of unequal lengths and κ over a decade: against finer tables and averages."""
    from designer.further.posterior.temperature import _Fineness, _temperature

    rng = np.random.default_rng(1)
    kappa = np.exp(rng.normal(0.3, 0.6, 400))
    a = rng.normal(-(kappa**2) / 2.0, kappa)
    trial = TrialRun(20_000, a / 20_000, kappa * math.sqrt(19_999) / 20_000)
    plan = as_plan(Design(20_000, 200, 0.05))
    for dimension in (None, 5):
        found = effective_temperature(plan, trial, dimension=dimension)
        fine, _ = _temperature(table_curves(plan, trial.kappa), trial, False, dimension, _Fineness(40, 201, 0.01))
        assert abs(math.sqrt(fine) - math.sqrt(found.temperature)) < found.estimate < 1e-3


def test_means_over_quantiles():
    """Of a chi-squared and of a lognormal variable."""
    levels, weights = quantile_levels()
    assert weights.sum() == pytest.approx(1.0)
    for dimension in (1, 2, 5, 100):
        square = 2.0 * gammaincinv(0.5 * dimension, levels)
        assert weights @ square == pytest.approx(dimension, rel=1e-4)
        assert weights @ np.exp(-0.25 * square) == pytest.approx(1.5 ** (-dimension / 2.0), rel=2e-3)
    assert weights @ np.exp(ndtri(levels)) == pytest.approx(math.exp(0.5), rel=1e-6)


def said_to_be_a_walk(mu):
    return TrialRun(1000, [mu], [0.1], notes={"proposal": "random-walk"})


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
@pytest.mark.parametrize("mu", [-1.0, 1.0])
@pytest.mark.parametrize("dimension", [None, 1, 2])
def test_pairs_that_are_all_rejected_or_all_accepted_are_refused(rule, mu, dimension):
    with pytest.raises(BadInput, match="of its proposals: too many or too few"):
        posterior_error(Design(1000, 100, 0.05), said_to_be_a_walk(mu), rule, dimension=dimension)


def test_steps_too_short_for_the_grid_are_refused_and_rare_acceptance_is_not():
    short, long = (TrialRun.at_stationarity(2000, rate, 400, np.random.default_rng(1)) for rate in (0.999, 0.005))
    design = Design(2000, 100, 0.05)
    with pytest.raises(NumericalFailure, match=r"too few for steps of 0\.003"):
        posterior_error(design, short, dimension=1)
    assert posterior_error(design, short, dimension=2).sd_ratio == pytest.approx(1.0, abs=1e-3)
    for dimension in (1, 2):
        assert 1.5 < posterior_error(design, long, dimension=dimension).sd_ratio < 2.0


def test_a_tolerance_is_found_where_large_epsilons_heat_beyond_all(monkeypatch):
    trial = TrialRun.at_stationarity(20_000, 0.1, 50, np.random.default_rng(1))
    monkeypatch.setattr(temperature, "HOTTEST", 3.0)
    with pytest.raises(NumericalFailure, match="beyond a temperature of 3"):
        posterior_error(Design(20_000, 100, 0.5), trial)
    wish = tolerance_for(trial, 0.05, m=100)
    assert wish.error.sd_ratio == pytest.approx(1.05, abs=2e-3)
    with pytest.raises(BadInput, match="m = 20001"):
        tolerance_for(trial, 0.05, m=20_001)


def test_a_wish_for_a_skewed_parameter_of_few_data():
    trial = TrialRun.at_stationarity(300, 0.3, 50, np.random.default_rng(1))
    wish = tolerance_for(trial, 0.05, skewness=1.0)
    assert wish.design.m == 15
    assert wish.error == posterior_error(wish.design, trial, skewness=1.0)
    assert wish.error.sd_ratio == pytest.approx(1.05, abs=2e-3) and wish.error.bias > 0.0


def test_temperature_by_the_definition():
    """E[A (P_a + Δ)] over A ~ N(-k²/2, k² T) vanishes, by plain quadrature."""
    from designer import acceptance

    design, k = Design(N_DATA, 500, 0.05), 1.7
    hot = effective_temperature(design, walk(k)).temperature
    a, step = np.linspace(-18.0, 14.0, 4001, retstep=True)
    pairs = TrialRun(N_DATA, a / N_DATA, np.full(a.size, k * math.sqrt(N_DATA - 1) / N_DATA))
    found = acceptance(design, pairs)
    density = np.exp(-0.5 * (a + 0.5 * k**2) ** 2 / (k**2 * hot)) / math.sqrt(2 * math.pi * k**2 * hot)
    assert float(np.sum(density * a * (found.probability + found.delta)) * step) == pytest.approx(0.0, abs=1e-4)


def test_the_tolerance_for_a_wish():
    trial = walk(1.5)
    wish = tolerance_for(trial, 0.05, m=300)
    assert wish.error.sd_ratio == pytest.approx(1.05, abs=1e-3)
    assert wish.error.sd_ratio <= wish.most_ratio == 1.05
    assert wish.design.m == 300
    assert wish.tolerance == pytest.approx(posterior_error(wish.design, trial).mean_abs_delta)
    assert tolerance_for(trial, 0.1, m=300).tolerance > wish.tolerance


def test_curves_for_figures():
    trial = walk(1.5)
    epsilons, errors = inflation_curve(trial, 500, points=4)
    assert [error.sd_ratio for error in errors] == sorted(error.sd_ratio for error in errors)
    assert errors[1] == posterior_error(Design(N_DATA, 500, epsilons[1]), trial)
    drawn = marginals(1.5, 0.4)
    assert float(drawn.sampled.sum() * (drawn.x[1] - drawn.x[0])) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("skewness", [-1.2, 0.0, 0.3, 1.5])
def test_targets_are_standardised_and_heated_as_computed(skewness):
    target = Target.with_skewness(skewness)
    x, step = np.linspace(-40.0, 40.0, 200_001, retstep=True)
    for log_density, want in (
        (target.log_density(x), (0.0, 1.0)),
        (target.log_tempered(x, 1.7), target.tempered(1.7)),
    ):
        p = np.exp(log_density) * step
        mean = float(p @ x)
        assert p.sum() == pytest.approx(1.0, abs=1e-6)
        assert (mean, math.sqrt(float(p @ (x - mean) ** 2))) == pytest.approx(want, abs=1e-5)
    p = np.exp(target.log_density(x)) * step
    assert float(p @ x**3) == pytest.approx(skewness, abs=1e-4)


def test_what_cannot_be_is_refused():
    trial = walk(1.0)
    with pytest.raises(BadInput, match="dimension = 0: must be a whole number"):
        posterior_error(Design(N_DATA, 500, 0.05), trial, dimension=0)
    with pytest.raises(BadInput, match=r"skewness = 2: must lie in \[-1.5, 1.5\]"):
        posterior_error(Design(N_DATA, 500, 0.05), trial, skewness=2)
    with pytest.raises(BadInput, match="the design is for n_data = 1,000"):
        posterior_error(Design(1000, 500, 0.05), trial)
    with pytest.raises(BadInput, match="accepts 1 of its proposals"):
        posterior_error(Design(1000, 100, 0.05), said_to_be_a_walk(1.0))
    with pytest.raises(NumericalFailure, match="beyond a temperature of 100"):
        posterior_error(Design(10**8, 20, 0.5), walk(3.0, 10**8))
