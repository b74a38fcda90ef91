"""A look at all thresholds at once decides each of them as `verdict` does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer.rule.levels import levels, narrowed, probability_below
from designer.rule.t_test import threshold, verdict


@pytest.mark.parametrize("bounds", [(-2.0, 2.0), (-math.inf, 1.5), (-1.0, math.inf), (0.0, 0.0)])
@pytest.mark.parametrize("spread", [0.02, 0.0])
def test_every_threshold_is_decided_as_by_the_verdict(bounds, spread):
    rng, n_data, n, shift, c = np.random.default_rng(1), 1000, 60, 0.01, 0.4
    x = rng.normal(0.0, spread, n)
    sums = float(x.sum()), float((x * x).sum())
    below, above = levels(*sums, n, n_data, shift, c, *bounds)
    for v in np.concatenate([np.linspace(-30.0, 30.0, 41), [-1e6, 1e6]]):
        wanted = verdict(*sums, n, n_data, shift - (v + c) / n_data, *bounds)
        assert (1 if v < below else -1 if v > above else 0) == wanted


def test_an_interval_that_vanishes_is_one_level():
    assert narrowed(-1.0, 2.0, -5.0, 5.0) == (-1.0, 2.0)
    assert narrowed(-1.0, 2.0, 0.0, 1.0) == (0.0, 1.0)
    assert narrowed(-1.0, 2.0, 3.0, 4.0) == (2.0, 2.0)  # all accepted
    assert narrowed(-1.0, 2.0, -4.0, -3.0) == (-1.0, -1.0)  # all rejected


@pytest.mark.parametrize("barker", [False, True])
def test_probability_below_is_that_of_the_threshold(barker):
    u = (np.arange(100_000) + 0.5) / 100_000
    v = np.array([threshold(value, barker) for value in u])
    for level in (-math.inf, -800.0, -3.0, -0.2, 0.0, 1.5, math.inf):
        assert probability_below(level, barker) == pytest.approx(np.mean(v < level), abs=1e-5)
