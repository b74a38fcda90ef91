"""Means of correlated and skewed numbers: their errors are right, their limits cover."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samplers.study.means import Mean, effective


def autoregressive(rng, n, correlation):
    x = np.empty(n)
    x[0] = rng.normal()
    for k in range(1, n):
        x[k] = correlation * x[k - 1] + math.sqrt(1.0 - correlation**2) * rng.normal()
    return x


def test_effective_numbers_are_those_of_an_autoregression():
    rng, n = np.random.default_rng(1), 4000
    for correlation in (0.0, 0.5, 0.9):
        wanted = n * (1.0 - correlation) / (1.0 + correlation)
        found = np.mean([effective(autoregressive(rng, n, correlation)) for _ in range(10)])
        assert found == pytest.approx(wanted, rel=0.15)
    assert effective(autoregressive(rng, n, -0.5)) == pytest.approx(n, rel=0.1)  # never more than there are


@pytest.mark.parametrize("draw", ["exponential", "lognormal"])
def test_limits_of_skewed_numbers_cover(draw):
    rng, repeats = np.random.default_rng(2), 2000
    sample = {"exponential": lambda: rng.exponential(size=60), "lognormal": lambda: rng.lognormal(size=60)}[draw]
    truth = {"exponential": 1.0, "lognormal": math.exp(0.5)}[draw]
    found = [Mean.of(sample()) for _ in range(repeats)]
    above = np.mean([mean.upper(0.95) < truth for mean in found])
    below = np.mean([mean.lower(0.995) > truth for mean in found])
    assert above < (0.08 if draw == "exponential" else 0.12)
    assert np.mean([mean.value + 1.67 * mean.se < truth for mean in found]) > above  # without the correction
    assert below < 0.005


def test_few_values():
    assert Mean.of(np.array([1.0])).se == math.inf
    assert Mean.of(np.zeros(10))[:2] == (0.0, 0.0)
    assert math.isnan(Mean.of(np.empty(0)).value)
