"""Families of y around η: normal errors, and Student-t errors for data with outliers."""

from __future__ import annotations

import math
from typing import NamedTuple

from designer.core.jit import inlined, kernel
from samplers.models.families.functions import FARTHEST, fast_log
from samplers.models.families.scalar import (
    change,
    curvature,
    is_a,
    overload,
    second_bound,
    slope,
    third,
    third_bound,
    value,
)

INNER, OUTER = math.sqrt(2.0) - 1.0, math.sqrt(2.0) + 1.0  # |x| of the largest third derivatives of log(1 + x²)
TURN = math.sqrt(3.0)  # and of the largest second derivative of the other sign


class Gaussian(NamedTuple):
    """y = η + noise with variance 1 / precision."""

    precision: float


class Student(NamedTuple):
    """y = η + Student-t noise: log p = -half log(1 + ((y - η) inverse)²), inverse = 1 / (σ √ν), half = (ν + 1) / 2."""

    half: float
    inverse: float


@inlined
def one_plus_square(family, eta, y):
    x = abs((y - eta) * family.inverse)
    x = FARTHEST if x > FARTHEST else x  # NaN stays
    return 1.0 + x * x


@kernel
def second_of(x):
    """|Second derivative| of log(1 + x²) / 2."""
    a = 1.0 + x * x
    return abs(1.0 - x * x) / (a * a)


@kernel
def third_of(x):
    """|Third derivative| of log(1 + x²) / 4."""
    a = 1.0 + x * x
    return abs(x * (3.0 - x * x)) / (a * a * a)


@kernel
def nearest(family, low, high, y):
    """The least and the largest |x| for η in [low, high]."""
    one, other = (y - high) * family.inverse, (y - low) * family.inverse
    return max(max(one, -other), 0.0), min(max(abs(one), abs(other)), FARTHEST)


@overload(value, inline="always")
def _value(family, eta, y, extra):
    if is_a(Gaussian, family):
        return lambda family, eta, y, extra: -0.5 * family.precision * (y - eta) * (y - eta)
    if is_a(Student, family):
        return lambda family, eta, y, extra: -family.half * fast_log(one_plus_square(family, eta, y))
    return None


@overload(change, inline="always")
def _change(family, old, new, y, extra):
    if is_a(Gaussian, family):
        return lambda family, old, new, y, extra: family.precision * (new - old) * (y - 0.5 * (new + old))
    if is_a(Student, family):
        return lambda family, old, new, y, extra: (
            family.half * fast_log(one_plus_square(family, old, y) / one_plus_square(family, new, y))
        )
    return None


@overload(slope)
def _slope(family, eta, y, extra):
    if is_a(Gaussian, family):
        return lambda family, eta, y, extra: family.precision * (y - eta)
    if is_a(Student, family):

        def student(family, eta, y, extra):
            x = (y - eta) * family.inverse
            return 2.0 * family.half * family.inverse * x / (1.0 + x * x)

        return student
    return None


@overload(curvature)
def _curvature(family, eta, y, extra):
    if is_a(Gaussian, family):
        return lambda family, eta, y, extra: -family.precision
    if is_a(Student, family):

        def student(family, eta, y, extra):
            x = min(abs((y - eta) * family.inverse), FARTHEST)
            a = 1.0 + x * x
            return -2.0 * family.half * family.inverse * family.inverse * ((1.0 - x * x) / a) / a

        return student
    return None


@overload(third)
def _third(family, eta, y, extra):
    if is_a(Gaussian, family):
        return lambda family, eta, y, extra: 0.0
    if is_a(Student, family):

        def student(family, eta, y, extra):
            x = max(min((y - eta) * family.inverse, FARTHEST), -FARTHEST)
            a = 1.0 + x * x
            return -4.0 * family.half * family.inverse**3 * (x / a) * ((3.0 - x * x) / a) / a

        return student
    return None


@overload(second_bound)
def _second_bound(family, low, high, y, extra):
    if is_a(Gaussian, family):
        return lambda family, low, high, y, extra: family.precision
    if is_a(Student, family):

        def student(family, low, high, y, extra):
            least, most = nearest(family, low, high, y)
            largest = max(second_of(least), second_of(most))
            if least < TURN < most:
                largest = max(largest, 0.125)
            return 2.0 * family.half * family.inverse * family.inverse * largest

        return student
    return None


@overload(third_bound)
def _third_bound(family, low, high, y, extra):
    if is_a(Gaussian, family):
        return lambda family, low, high, y, extra: 0.0
    if is_a(Student, family):

        def student(family, low, high, y, extra):
            least, most = nearest(family, low, high, y)
            largest = max(third_of(least), third_of(most))
            if least < INNER < most:
                largest = max(largest, third_of(INNER))
            if least < OUTER < most:
                largest = max(largest, third_of(OUTER))
            return 4.0 * family.half * family.inverse**3 * largest

        return student
    return None
