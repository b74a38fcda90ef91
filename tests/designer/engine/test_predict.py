"""Which source a prediction comes from, the bound that needs none, and what is refused."""

import numpy as np
import pytest

from designer.engine.bounds import one_look_bound
from designer.engine.predict import predict
from designer.engine.resampled import DRAWS, resampled
from designer.engine.step_error import acceptance
from designer.pairs.residuals import Residuals
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design

N = 100_000


def populations():
    rng = np.random.default_rng(2)
    shapes = [rng.standard_normal(N), rng.standard_cauchy(N), rng.exponential(size=N), rng.standard_t(3, N)]
    return [(s - s.mean()) / s.std() * (0.02 * np.sqrt(N - 1.0) / N) for s in shapes]


def trial(residuals=True, skew=True):
    values = populations()
    gamma = [float(np.mean((v / v.std()) ** 3)) for v in values] if skew else None
    kept = Residuals.of(values) if residuals else None
    return TrialRun(N, [v.mean() for v in values], [v.std() for v in values], 0.2, gamma, kept)


def test_each_pair_has_the_source_that_supports_it():
    found = predict(Design(N, 500, 0.1), trial())
    skewed = "normal theory with skewness"
    assert found.sources[:3] == (skewed, "resampling", skewed)
    assert found.step.source == "several sources"
    theory = acceptance(Design(N, 500, 0.1), trial(), skew=True)
    assert found.step.delta[0] == theory.delta[0]
    again = resampled(Design(N, 500, 0.1), trial(), draws=DRAWS * 4 // found.sources.count("resampling"))
    assert found.step.delta[1] == pytest.approx(again.delta[1], abs=4.0 * again.delta_se[1])
    assert found.step.delta_se[0] == 0.0 < found.step.delta_se[1]
    assert "resampling (" in found.words


def test_small_batches_are_resampled():
    found = predict(Design(N, 20, 0.3), trial())
    assert found.words == found.step.source == "resampling"
    assert found.step.remark is None


def test_heavy_symmetric_tails_are_noticed():
    """Two opposite outliers: no skewness, but a kurtosis that the theory misses (docs/skewness.md)."""
    values = np.random.default_rng(1).standard_normal(20_000)
    values[:2] = 51.0 * np.sqrt(2.0), -51.0 * np.sqrt(2.0)
    values -= values.mean()
    values *= 1.3 * np.sqrt(19_999.0) / 20_000 / values.std()
    skew = float(np.mean((values / values.std()) ** 3))
    bare = TrialRun(20_000, [values.mean()], [values.std()], -0.5, [skew])
    kept = TrialRun(20_000, [values.mean()], [values.std()], -0.5, [skew], Residuals.of([values]))
    assert predict(Design(20_000, 500, 0.05), bare).words == "normal theory with skewness"
    assert predict(Design(20_000, 500, 0.05), kept).words == "resampling"


def test_without_residuals_theory_or_a_bound_or_nothing():
    bare = trial(residuals=False)
    found = predict(Design(N, 500, 0.1), bare)
    assert found.sources[1] is None
    assert np.isnan(found.step.mean_abs_delta)
    assert "too skewed for m = 500" in found.step.remark
    one = predict(Design(N, 500, 0.5), bare)
    assert one.sources[1] == "distribution-free bound"
    assert one.step.delta[1] == one.bound[1]
    assert one.step.usage[1] == 500 / N
    assert "keep the residuals" in predict(Design(N, 50, 0.1), bare).step.remark
    assert predict(Design(N, 50, 0.1), trial(residuals=False, skew=False)).words == "normal theory"
    assert predict(Design(N, N, 0.1), bare).step.delta.tolist() == [0.0] * 4


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_the_bound_holds_for_two_point_errors_and_is_nearly_reached(rule):
    """Two-point laws of X with mean 0 and sd κ' are the worst there are."""
    n_data, m, largest = 10**6, 100, 0.0
    chance = 1.0 / (1.0 + np.exp(-np.linspace(-12.0, 12.0, 2001)))

    def accept(v):
        return np.exp(-np.logaddexp(0.0, -v)) if rule == "barker" else np.exp(np.minimum(v, 0.0))

    for a in [-5.0, -1.0, -0.3, -1e-3, -1e-6, 0.0, 1e-3, 0.2, 1.0, 5.0]:
        for noise in [1e-3, 0.1, 1.0, 10.0]:
            sigma = noise / np.sqrt((n_data - m) / m) * np.sqrt(n_data - 1.0) / n_data
            bound = one_look_bound(Design(n_data, m, 0.5), TrialRun(n_data, [a / n_data], [sigma]), rule)[0]
            high, low = noise * np.sqrt((1.0 - chance) / chance), -noise * np.sqrt(chance / (1.0 - chance))
            delta = chance * accept(a + high) + (1.0 - chance) * accept(a + low) - accept(a)
            assert np.abs(delta).max() <= bound * (1.0 + 1e-9)
            largest = max(largest, np.abs(delta).max() / bound)
    assert largest > 0.98


def test_the_bound_holds_for_the_real_test_and_needs_one_look():
    whole, design = trial(), Design(N, 20, 0.5)
    step = resampled(design, whole)
    assert np.all(np.abs(step.delta) <= one_look_bound(design, whole) + 3.0 * step.delta_se)
    assert np.isinf(one_look_bound(Design(N, 20, 0.4), whole)).all()
    assert np.all(one_look_bound(Design(N, N, 0.5), whole) == 0.0)
