"""Numbers behind the pictures of a trial run: histograms, made-up populations, Q-Q points, halves."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput, Design, TrialRun, student_check
from designer.pairs.diagnostics import (
    MADE_UP,
    histogram,
    histograms_of,
    skewed_population,
    summarise,
    worst_student_check,
)
from designer.search.resample import halves


def test_a_histogram_counts_everything_once():
    x = np.random.default_rng(1).standard_cauchy(5000)
    found = histogram(x, 40)
    assert found.counts.sum() + found.below + found.above == x.size
    assert 0 < found.below + found.above < 0.02 * x.size  # stragglers do not squeeze the rest
    for low, high, count in zip(found.edges[:-1], found.edges[1:], found.counts, strict=True):
        last = high == found.edges[-1]
        assert count == np.count_nonzero((x >= low) & ((x <= high) if last else (x < high)))


def test_a_histogram_of_equal_values():
    found = histogram(np.full(7, 3.0))
    assert found.counts.sum() == 7 and np.all(np.diff(found.edges) > 0)
    with pytest.raises(BadInput, match="finite"):
        histogram([1.0, np.nan])


@pytest.mark.parametrize("skew", [-2.6, -1.0, 0.0, 0.5, 2.0])
def test_a_made_up_population_is_as_skewed_as_asked(skew):
    values = skewed_population(100_000, skew)
    assert values.mean() == pytest.approx(0.0, abs=1e-12)
    assert values.std() == pytest.approx(1.0)
    assert np.mean(values**3) == pytest.approx(skew, rel=2e-3, abs=1e-6)


def test_the_check_takes_the_most_skewed_pair():
    sigma = np.full(3, 0.01)
    trial = TrialRun(50_000, np.zeros(3), sigma, skew=[0.3, -2.0, 1.0])
    found = worst_student_check(np.random.default_rng(5), trial, 300, 0.05)
    same = student_check(np.random.default_rng(5), Design(50_000, 300, 0.05), skewed_population(50_000, -2.0))
    assert found.sentence == same.sentence and np.array_equal(found.t, same.t)
    assert found.accept > found.reject  # negative skewness: too many false acceptances
    assert worst_student_check(np.random.default_rng(5), TrialRun(50_000, np.zeros(3), sigma), 300, 0.05) is None


def test_large_data_are_made_up_in_part():
    trial = TrialRun(10**9, [0.0], [1e-5], skew=[1.0])
    found = worst_student_check(np.random.default_rng(5), trial, 500, 0.05)
    same = student_check(np.random.default_rng(5), Design(MADE_UP, 500, 0.05), skewed_population(MADE_UP, 1.0))
    assert np.array_equal(found.t, same.t)


def test_q_q_points_are_of_the_sample_and_reach_both_ends():
    found = student_check(np.random.default_rng(5), Design(5000, 100, 0.05), skewed_population(5000, 1.0))
    x, y = found.curve(100)
    assert y[0] == found.t[0] and y[-1] == found.t[-1]
    assert 100 <= x.size <= 140 and np.all(np.diff(x) > 0) and np.all(np.isin(y, found.t))


def test_an_outlier_is_left_out_of_the_q_q_points_and_counted():
    found = student_check(np.random.default_rng(5), Design(5000, 100, 0.05), skewed_population(5000, 1.0))
    assert found.outside == 0
    far = found._replace(t=np.concatenate([[-300.0, -40.0], found.t[2:]]))
    x, y = far.curve()
    assert far.outside == 2 and y[0] == found.t[2] and x[0] == found.theoretical[2]


def test_halves_are_a_partition():
    trial = TrialRun.at_stationarity(1000, 0.3, 51, np.random.default_rng(0))
    first, second = halves(np.random.default_rng(1), trial)
    assert (len(first), len(second)) == (26, 25)
    assert np.array_equal(np.sort(np.concatenate([first.mu, second.mu])), np.sort(trial.mu))
    with pytest.raises(BadInput, match="cannot be split"):
        halves(np.random.default_rng(1), trial.subset([0]))


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_histograms_are_of_what_the_summary_describes(rule):
    trial = TrialRun(1000, [-1e-3, 2e-4, 5e-4], [0.01, 0.02, 0.03], skew=[0.0, 1.0, -1.0])
    found, described = histograms_of(trial, rule), summarise(trial, rule)
    assert list(found) == ["log_acceptance", "kappa", "probability", "skew"]
    for name, histogram_of_one in found.items():
        quantiles = getattr(described, name).quantiles
        assert quantiles[0] >= histogram_of_one.edges[0] and quantiles[-1] <= histogram_of_one.edges[-1]
        assert histogram_of_one.counts.sum() == 3
    assert "skew" not in histograms_of(TrialRun(1000, [0.0], [1.0]))
