"""Resampling from kept values against the real test on the full population: right within 10% or 3 standard errors."""

import numpy as np
import pytest

from designer.check.simulate import simulate_step
from designer.core.errors import BadInput
from designer.engine import _resample_kernels as kernels
from designer.engine.resampled import resampled
from designer.engine.step_error import acceptance
from designer.pairs.residuals import Residuals
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design

N = 100_000
RNG = np.random.default_rng(11)
SHAPES = {
    "two points": np.where(np.arange(N) % 20_000 == 0, 1.0, 0.0),  # skewness 141
    "three rows": np.where(np.arange(N) < 3, 1.0, 1e-4 * RNG.standard_normal(N)),
    "one row": np.where(np.arange(N) < 1, -1.0, 1e-3 * RNG.standard_normal(N)),  # skewness about -300
    "Cauchy": RNG.standard_cauchy(N),
    "near separation": -np.exp(2.5 * RNG.standard_normal(N)),
    "exponential": RNG.exponential(size=N),
}


def population(name, kappa):
    """lᵢ of this shape with mean 0 and this κ."""
    shape = SHAPES[name]
    return (shape - shape.mean()) / shape.std() * (kappa * np.sqrt(N - 1.0) / N)


def trial_of(*populations, log_ratio=0.0):
    mean, sigma = (np.array([f(values) for values in populations]) for f in (np.mean, np.std))
    skew = [np.mean(((values - values.mean()) / values.std()) ** 3) for values in populations]
    return TrialRun(N, mean, sigma, log_ratio, skew, Residuals.of(populations))


@pytest.mark.parametrize(("m", "epsilon", "kappa"), [(10, 0.5, 0.004), (20, 0.2, 0.02), (100, 0.05, 0.02)])
@pytest.mark.parametrize(
    ("name", "rule"), [*((name, "metropolis") for name in SHAPES), ("three rows", "barker"), ("Cauchy", "barker")]
)
def test_as_the_real_test_on_all_data(name, m, epsilon, kappa, rule):
    values, design = population(name, kappa), Design(N, m, epsilon)
    seen = simulate_step(np.random.default_rng(5), design, values, 0.3, rule, 40_000)
    step = resampled(design, trial_of(values, log_ratio=0.3), rule, draws=1_000_000)
    apart = abs(step.delta[0] - seen.delta)
    assert apart <= max(0.1 * abs(seen.delta), 4.0 * np.hypot(seen.delta_se, step.delta_se[0]))
    assert step.delta_se[0] < 0.012
    assert step.usage[0] == pytest.approx(seen.usage, rel=0.1, abs=4.0 * np.hypot(seen.usage_se, step.usage_se[0]))
    assert step.wrong[0] == pytest.approx(seen.wrong, rel=0.1, abs=4.0 * np.hypot(seen.wrong_se, step.delta_se[0]))


@pytest.mark.parametrize("name", ["three rows", "Cauchy", "near separation"])
def test_large_mini_batches_are_not_drawn_one_by_one_and_as_right(name):
    values, design = population(name, 0.3), Design(N, 5000, 0.1)
    seen = simulate_step(np.random.default_rng(6), design, values, 0.3, repeats=2000)
    step = resampled(design, trial_of(values, log_ratio=0.3), draws=1_000_000)
    assert abs(step.delta[0] - seen.delta) <= 4.0 * np.hypot(seen.delta_se, step.delta_se[0])
    assert step.usage[0] == pytest.approx(seen.usage, abs=4.0 * np.hypot(seen.usage_se, step.usage_se[0]))
    assert step.delta_se[0] < 0.01


def test_standard_errors_are_right():
    """Over seeds, estimates scatter as their standard errors say."""
    trial = trial_of(population("Cauchy", 0.01), population("exponential", 0.02), log_ratio=0.3)
    steps = [resampled(Design(N, 20, 0.2), trial, draws=60_000, seed=seed) for seed in range(60)]
    for name in ("delta", "usage"):
        scatter = np.std([getattr(step, name) for step in steps], axis=0)
        stated = np.sqrt(np.mean([getattr(step, f"{name}_se") ** 2 for step in steps], axis=0))
        assert np.all((scatter / stated > 0.7) & (scatter / stated < 1.35))


def test_normal_terms_agree_with_the_theory():
    rng = np.random.default_rng(3)
    values = [rng.standard_normal(N) * (kappa * np.sqrt(N - 1.0) / N) for kappa in (0.02, 0.1, 0.1)]
    trial, design = trial_of(*values, log_ratio=[-0.4, 0.5, -0.02]), Design(N, 200, 0.1)
    theory, step = acceptance(design, trial), resampled(design, trial)
    assert np.all(np.abs(step.delta - theory.delta) < 4.0 * step.delta_se + 0.02 * np.abs(theory.delta))
    assert step.looks == pytest.approx(theory.looks, rel=0.1)
    assert step.mean_usage == pytest.approx(theory.mean_usage, rel=0.1)


def test_small_data_are_kept_whole_and_the_last_look_is_exact():
    """N = 40 values, all kept: compare with the real test on the same 40 values, most of which are read."""
    rng = np.random.default_rng(8)
    values = rng.standard_t(3, 40) * 0.05
    trial = TrialRun(40, [values.mean()], [values.std()], 0.1, residuals=Residuals.of([values]))
    for design in (Design(40, 10, 0.05), Design(40, 13, 0.2, growth=1.5), Design(40, 39, 0.01)):
        seen = simulate_step(np.random.default_rng(1), design, values, 0.1, repeats=60_000)
        step = resampled(design, trial)
        assert step.delta[0] == pytest.approx(seen.delta, abs=4.0 * np.hypot(seen.delta_se, step.delta_se[0]))
        assert step.usage[0] == pytest.approx(seen.usage, rel=0.03)
    everything = resampled(Design(40, 40, 0.05), trial)
    assert everything.delta[0] == 0.0
    assert everything.usage[0] == 1.0


def test_the_alias_table_has_the_weights():
    weights = np.array([1.0, 1.0, 5.0, 1e6, 37.0, 1e-3])
    keep, other, stack = np.empty(6), np.empty(6, np.int64), np.empty(6, np.int64)
    kernels.fill_alias(weights, keep, other, stack)
    chance = keep / 6.0
    np.add.at(chance, other, (1.0 - keep) / 6.0)
    assert chance == pytest.approx(weights / weights.sum(), rel=1e-9)


def test_the_number_of_single_rows_is_hypergeometric():
    from scipy.stats import hypergeom

    hits = np.empty(kernels.MOST_HITS)
    none = kernels.fill_hits(5000, 500, 40, hits)
    law = hypergeom(5000, 500, 40)
    assert none == pytest.approx(law.pmf(0), rel=1e-9)
    k = np.arange(1, 31)
    assert hits[:30] == pytest.approx((law.cdf(k) - law.pmf(0)) / law.sf(0), rel=1e-9)


def test_random_numbers_are_uniform_and_paths_differ():
    state, numbers = np.zeros(1, np.uint64), []
    for path in range(2000):
        kernels.seed_path(state, 0, 1, 0, path, 0)
        numbers.append([kernels.uniform(state) for _ in range(3)])
    numbers = np.array(numbers)
    assert np.abs(numbers.mean(axis=0) - 0.5).max() < 4.0 / np.sqrt(12 * 2000)
    assert np.abs(np.corrcoef(np.column_stack([numbers[:-1], numbers[1:]]).T) - np.eye(6)).max() < 5.0 / np.sqrt(2000)


def test_refusals():
    trial = trial_of(population("exponential", 0.1))
    with pytest.raises(BadInput, match="keeps none"):
        resampled(Design(N, 100, 0.1), TrialRun(N, [0.0], [1e-3]))
    with pytest.raises(BadInput, match="at least 5"):
        resampled(Design(N, 4, 0.1), trial)
    with pytest.raises(BadInput, match="must agree"):
        resampled(Design(N + 1, 100, 0.1), trial)


def test_pairs_without_values_or_with_endless_tests_are_nan():
    values = population("exponential", 0.1)
    kept = Residuals.joined([Residuals.of([values]).pair(0), None])
    trial = TrialRun(N, [values.mean()] * 2, [values.std()] * 2, residuals=kept)
    step = resampled(Design(N, 100, 0.1), trial)
    assert np.isnan(step.delta).tolist() == [False, True]
    assert step.remark == "1 of 2 pairs cannot be resampled, no prediction"
    deep = resampled(Design(N, 5, 1e-9), trial, draws=1)
    assert np.isnan(deep.delta).all()
