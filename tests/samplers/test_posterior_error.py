"""The predicted error of the posterior against chains with the real test, on a posterior that is known."""

from __future__ import annotations

import pytest

from benchmarks.posterior import N_DATA, M, Regression, measure
from designer import Design, posterior_error


@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 0.1), (20, 0.1)])
def test_chains_have_the_predicted_standard_deviation(dimension, epsilon):
    problem = Regression.make(dimension)
    predicted = posterior_error(Design(N_DATA, M, epsilon), problem.trial(200), dimension=dimension)
    seen = measure(problem, epsilon, steps=30_000)
    assert predicted.sd_ratio > 1.1
    assert abs(seen.sd_ratio - predicted.sd_ratio) < 4.0 * seen.se + 0.02  # the pairs' own error


def test_an_exact_chain_has_the_exact_one():
    seen = measure(Regression.make(1), 0.0, steps=30_000)
    assert abs(seen.sd_ratio - 1.0) < 4.0 * seen.se
