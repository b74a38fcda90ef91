"""The arithmetic that all implementations of the sequential t-test share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, stdtr

from designer.rule.t_test import fill_thresholds, standard_error, student_bounds, threshold, verdict


def test_student_bounds_have_the_normal_tail_probability():
    bounds = np.array([-2.0, 0.5, 3.0])
    assert stdtr(9.0, student_bounds(bounds, np.full(3, 10))) == pytest.approx(ndtr(bounds), rel=1e-9)
    assert student_bounds(np.array([-np.inf, 0.0, np.inf]), np.full(3, 10)).tolist() == [-np.inf, 0.0, np.inf]
    assert student_bounds(np.array([1.645]), np.array([10**6]))[0] == pytest.approx(1.645, abs=1e-5)


def test_the_standard_error_is_that_of_a_mean_without_replacement():
    """All 3-subsets of 5 numbers: the mean of the squared standard errors is the variance of the sample mean."""
    from itertools import combinations

    population = np.array([0.3, -1.0, 2.0, 0.7, 5.0])
    samples = np.array(list(combinations(population, 3)))
    errors = np.array([standard_error(x.sum(), (x * x).sum(), 3, 5) for x in samples])
    # Eqn 4 has 1 - (n - 1) / (N - 1) where the unbiased factor is 1 - n / N
    unbiased = errors**2 / (1.0 - 2.0 / 4.0) * (1.0 - 3.0 / 5.0)
    assert unbiased.mean() == pytest.approx(samples.mean(axis=1).var(), rel=1e-12)


@pytest.mark.parametrize(
    ("distance", "spread", "expected"),
    [(0.1, 0.0, 1), (-0.1, 0.0, -1), (0.0, 0.0, 0), (0.5, 0.1, 1), (-0.5, 0.1, -1), (0.01, 0.1, 0)],
)
def test_one_look(distance, spread, expected):
    n, bound = 16, 2.0
    squares = n * spread**2  # n / 2 values of ±spread around the shift
    assert verdict(0.0, squares, n, 1000, distance, -bound, bound) == expected
    assert verdict(0.0, squares, n, 1000, distance, -np.inf, np.inf) == 0  # an infinite bound is never crossed


def test_thresholds_have_the_distribution_of_log_u_and_logit_u():
    u = np.array([1e-300, 0.1, 0.5, 0.9, 1.0])
    v = np.empty(u.size)
    fill_thresholds(u, False, v)
    assert np.exp(v) == pytest.approx(u, rel=1e-12)
    fill_thresholds(u, True, v)
    assert 1.0 / (1.0 + np.exp(-v)) == pytest.approx(u, rel=1e-12)
    assert math.isfinite(threshold(1.0, True))
