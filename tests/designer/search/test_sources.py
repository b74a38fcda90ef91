"""Searches go as low in m as the trial run supports, and say where their numbers come from, or refuse."""

import numpy as np
import pytest

from designer.engine.predict import predict, smallest_batch
from designer.pairs.residuals import Residuals
from designer.pairs.trial_run import TrialRun
from designer.search import criteria
from designer.search.search import search
from designer.search.space import Grid, Space

N = 20_000


def trial(*, residuals, outlier=0.0, pairs=24, kappa=0.002):
    rng = np.random.default_rng(4)
    values = rng.exponential(size=(pairs, N))
    values[:, 0] += outlier
    values -= values.mean(axis=1, keepdims=True)
    values *= kappa * np.sqrt(N - 1.0) / N / values.std(axis=1, keepdims=True)
    sigma = values.std(axis=1)
    skew = np.mean((values / sigma[:, None]) ** 3, axis=1)
    kept = Residuals.of(values) if residuals else None
    return TrialRun(N, values.mean(axis=1), sigma, rng.normal(0.0, 0.2, pairs), skew, kept)


def test_with_residuals_a_search_begins_at_ten():
    kept = trial(residuals=True)
    assert smallest_batch(kept) == 10
    result = search(kept, 0.02, space=Space(m_high=1000, alpha=(0.5, 0.5)))
    assert result.best.m < 100
    assert result.best.predicted.source == "resampling"
    assert result.limit <= 0.02
    again = predict(result.best, kept, seed=5).step
    assert again.mean_abs_delta == pytest.approx(result.error, rel=0.1, abs=4.0 * again.mean_abs_delta_se)


def test_without_residuals_it_begins_where_the_theory_holds():
    bare = trial(residuals=False)
    assert smallest_batch(bare) == min(500, int(np.ceil((np.abs(bare.skew).max() / 0.125) ** 2)))
    assert search(bare, 0.02, space=Space(m_high=1000)).best.predicted.source == "normal theory with skewness"
    assert smallest_batch(bare, skew=False) == 500


def test_the_hardest_decision_is_predicted_by_theory_only_where_that_holds():
    kept = trial(residuals=True)
    assert smallest_batch(kept, by_theory=True) == smallest_batch(trial(residuals=False))
    found = search(kept, 0.05, "worst-case", space=Space(m_high=2000, alpha=(0.5, 0.5)))
    assert found.best.m >= (np.abs(kept.skew).max() / 0.125) ** 2
    assert found.best.predicted.worst_error == pytest.approx(found.error, abs=1e-5)  # with skewness, both
    assert found.best.predicted.worst_error <= 0.05
    refused = search(trial(residuals=True, outlier=3000.0), 0.05, "worst-case", space=Space(alpha=(0.5, 0.5)))
    assert refused.best is None
    assert "too skewed" in refused.reason


def test_pairs_that_nothing_supports_are_refused_with_what_to_do():
    result = search(trial(residuals=False, outlier=3000.0), 0.001, space=Space(m_high=600, epsilon=(0.01, 0.3)))
    assert result.best is None
    assert "keep their residuals" in result.reason
    assert "heaviest rows" in result.reason


NARROW = Space(m_high=1000, alpha=(0.5, 0.5))


def hasty(monkeypatch, share):
    """Rough resampling finds this share of the error."""
    found = criteria.resampled_rows

    def fewer(*given, rough):
        rows = found(*given, rough=rough)
        rows[0, 0] *= share
        return rows

    monkeypatch.setattr(criteria, "resampled_rows", fewer)


@pytest.mark.parametrize("grid", [None, Grid(m=(10, 20, 40, 80, 160), epsilon=(0.05, 0.1, 0.2, 0.3, 0.4))])
def test_a_design_that_does_not_hold_when_evaluated_carefully_is_solved_again(monkeypatch, grid):
    kept = trial(residuals=True, kappa=0.01)
    hasty(monkeypatch, 0.7)
    result = search(kept, 0.02, space=NARROW, grid=grid)
    step = predict(result.best, kept).step
    assert result.best.predicted.error_limit == pytest.approx(result.limit)
    assert result.limit <= 0.02
    assert result.error == pytest.approx(step.mean_abs_delta) and result.usage == pytest.approx(step.mean_usage)
    here = (result.evaluated.m == result.best.m) & (result.evaluated.epsilon == result.best.epsilon)
    assert result.evaluated.limit[here] == [result.limit]  # the table has the careful numbers, too


def test_if_no_design_holds_carefully_the_nearest_tolerance_is_one_that_does(monkeypatch):
    kept = trial(residuals=True, kappa=0.05)
    tight = Space(m_low=10, m_high=20, alpha=(0.5, 0.5), epsilon=(0.2, 0.5))
    smallest = search(kept, 1e-4, space=tight).nearest_tolerance
    hasty(monkeypatch, 0.3)
    result = search(kept, 0.5 * smallest, space=tight)
    assert result.best is None
    assert result.nearest_tolerance == pytest.approx(smallest, rel=0.05)
    assert search(kept, result.nearest_tolerance, space=tight).best is not None


def test_what_is_evaluated_does_not_depend_on_the_number_of_threads():
    kept = trial(residuals=True, kappa=0.05)
    alone, two = (search(kept, 0.02, space=Space(m_high=2000), workers=workers) for workers in (1, 2))
    assert alone.best == two.best
    for name in ("m", "epsilon", "error", "usage"):
        assert np.array_equal(getattr(alone.evaluated, name), getattr(two.evaluated, name))
