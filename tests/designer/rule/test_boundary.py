"""Bounds: K14's parametrisation, quantiles into the far tail."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from designer.rule.boundary import Boundary, epsilon_of, threshold
from designer.rule.looks import Schedule
from designer.rule.plan import Plan

PI = np.array([0.1, 0.25, 0.9])
EVERY = np.arange(3)


@pytest.mark.parametrize(
    ("epsilon", "quantile"),
    [(0.5, 0.0), (0.05, 1.6448536269514722), (0.01, 2.3263478740408408), (0.001, 3.090232306167813)],
)
def test_published_quantiles(epsilon, quantile):
    assert threshold(epsilon) == pytest.approx(quantile, abs=1e-14)


@given(st.floats(-300, math.log10(0.5)).map(lambda x: min(10.0**x, 0.5)))
def test_threshold_and_its_inverse(epsilon):
    bound = threshold(epsilon)
    assert bound == pytest.approx(-ndtri(epsilon), rel=1e-13, abs=1e-15)
    assert epsilon_of(bound) == pytest.approx(epsilon, rel=1e-11)


def test_pocock_is_constant():
    lower, upper = Boundary.pocock(0.05).at(EVERY, PI)
    assert upper.tolist() == [threshold(0.05)] * 3
    assert lower.tolist() == (-upper).tolist()


def test_obrien_fleming_falls_with_the_root_of_the_fraction():
    _, upper = Boundary.obrien_fleming(0.05).at(EVERY, PI)
    np.testing.assert_allclose(upper, threshold(0.05) / np.sqrt(PI), rtol=1e-15)


def test_wang_tsiatis_is_a_power_of_the_fraction():
    _, upper = Boundary.wang_tsiatis(0.01, 0.7).at(EVERY, PI)
    np.testing.assert_allclose(upper, threshold(0.01) * PI**-0.2, rtol=1e-15)


def test_explicit_bounds_come_back_as_given():
    lower, upper = Boundary.explicit([-1.0, -math.inf, 0.5], [2.0, 1.5, 0.5]).at(np.array([2, 0, 1]), PI)
    assert lower.tolist() == [0.5, -1.0, -math.inf]
    assert upper.tolist() == [0.5, 2.0, 1.5]


@pytest.mark.parametrize(
    ("lower", "upper", "symmetric"),
    [([-1, -2], [1, 2], True), ([-1, -2], [1, 2.5], False), ([-math.inf], [math.inf], True), ([0.0], [0.0], True)],
)
def test_symmetry_is_noticed(lower, upper, symmetric):
    assert Boundary.explicit(lower, upper).symmetric is symmetric
    assert Boundary.pocock(0.05).symmetric


@pytest.mark.parametrize(
    "epsilon", [0.0, -0.1, 5e-324, 9.9e-17, 0.5000001, 1.0, math.nan, math.inf, None, "0.05", True]
)
def test_bad_epsilon(epsilon, refuses):
    refuses(lambda: Boundary.pocock(epsilon), f"epsilon = {epsilon!r}", "[1e-16, 0.5]")


@pytest.mark.parametrize("alpha", [0.0, 0.4999, 1.0001, -1, math.nan, math.inf, None])
def test_bad_alpha(alpha, refuses):
    refuses(lambda: Boundary.wang_tsiatis(0.05, alpha), f"alpha = {alpha!r}", "[0.5, 1]")


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        ([0.0, 1.0], [1.0, 0.0], ["look 2", "lower = 1", "upper = 0", "lower <= upper"]),
        ([math.nan], [1.0], ["look 1", "nan"]),
        ([math.inf], [math.inf], ["look 1", "lower < inf"]),  # would reject everything
        ([-math.inf], [-math.inf], ["look 1", "upper > -inf"]),
        ([0.0], [1.0, 2.0], ["(1,)", "(2,)"]),
        ([[0.0]], [[1.0]], ["(1, 1)"]),
    ],
)
def test_bad_bounds(lower, upper, words, refuses):
    refuses(lambda: Boundary.explicit(lower, upper), "bounds", *words)


def test_bounds_must_match_the_interim_looks(refuses):
    refuses(lambda: Plan(Schedule.equal(100, 10), Boundary.explicit([-1.0] * 10, [1.0] * 10)), "10 given for 9")
