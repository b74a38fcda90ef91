"""Further links of y = 0 or 1: probit, P(1) = Φ(η), and complementary log-log, P(1) = 1 - exp(-e^η)."""

from __future__ import annotations

import math
from typing import NamedTuple

from designer.core.jit import inlined, kernel
from designer.engine._exp_kernels import fast_exp
from samplers.models.families.functions import (
    LARGEST,
    ROOT_2_PI,
    capped_exp,
    fast_log,
    half_square_below,
    mills,
    minus_expm1,
    scaled_cdf,
)
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

FAR = -30.0  # below, derivatives of log Φ come from their series
PROBIT_PEAK, PROBIT_THIRD = (
    1.00236934226837074913,
    0.29571881919312309604,
)  # where the third derivative of log Φ is largest, and how large
# η where derivatives of log(1 - exp(-e^η)) are largest in size: the second, and the third on either side
SECOND_PEAK, SECOND_MOST = 0.620829654565589942969, 0.41253161891314144362
THIRD_PEAKS = (-0.198941566958295784401, 1.42669065358629530698)
THIRD_MOST = (0.195562480337269872268, 0.42605476914548281460)
SMALL = 0.01  # e^η below which these derivatives come from their series


class Probit(NamedTuple):
    """y = 0 or 1, P(1) = Φ(η)."""


class Cloglog(NamedTuple):
    """y = 0 or 1, P(1) = 1 - exp(-e^η)."""


# --- probit -----------------------------------------------------------------------------------------------------------


@inlined
def towards(eta, y):
    """η for a one, -η for a zero."""
    return (2.0 * y - 1.0) * eta


@kernel
def hazard(z):
    """φ(z) / Φ(z)."""
    m = mills(abs(z))
    if z < 0.0:
        return 1.0 / (ROOT_2_PI * m)
    e = fast_exp(-0.5 * z * z)
    return e / (ROOT_2_PI * (1.0 - e * m))


@kernel
def probit_second(z):
    """Minus the second derivative of log Φ: from 1 down to 0."""
    if z < FAR:
        w = 1.0 / (z * z)
        return 1.0 - w * (1.0 - w * (6.0 - w * (50.0 - 518.0 * w)))
    h = hazard(z)
    return h * (z + h)


@kernel
def probit_third(z):
    """The third derivative of log Φ."""
    if z < FAR:
        w = 1.0 / (z * z)
        return -2.0 * w / z * (1.0 - w * (12.0 - w * (150.0 - 2072.0 * w)))
    h = hazard(z)
    return h * ((z + h) * (z + 2.0 * h) - 1.0)


@kernel
def probit_third_bound(low, high):
    """It rises up to PROBIT_PEAK, then falls; far out, 2 / |z|³ is above it."""
    if high < FAR:
        return -2.0 / (high * high * high)
    if low < PROBIT_PEAK < high:
        return PROBIT_THIRD
    return max(probit_third(max(low, FAR)), probit_third(high))


# --- complementary log-log --------------------------------------------------------------------------------------------


@inlined
def share(u):
    """(1 - exp(-u)) / u: between 0 and 1."""
    return minus_expm1(u) / u


@kernel
def cloglog_slope(u):
    """u / (e^u - 1)."""
    return u / math.expm1(u) if u < LARGEST else 0.0


@kernel
def cloglog_second(u):
    """The second derivative of log(1 - exp(-e^η)), u = e^η."""
    if u < SMALL:
        return u * (-0.5 + u * (1.0 / 6.0 - u * u / 180.0))
    b = cloglog_slope(u)
    return b * (1.0 - u - b)


@kernel
def cloglog_third(u):
    if u < SMALL:
        return u * (-0.5 + u * (1.0 / 3.0 - u * u / 45.0))
    b = cloglog_slope(u)
    second = b * (1.0 - u - b)
    return second * (1.0 - u - b) - b * (u + second)


@kernel
def cloglog_second_bound(low, high):
    if low < SECOND_PEAK < high:
        return SECOND_MOST
    return max(-cloglog_second(math.exp(min(low, LARGEST))), -cloglog_second(math.exp(min(high, LARGEST))))


@kernel
def cloglog_third_bound(low, high):
    largest = max(abs(cloglog_third(math.exp(min(low, LARGEST)))), abs(cloglog_third(math.exp(min(high, LARGEST)))))
    for k in range(2):
        if low < THIRD_PEAKS[k] < high:
            largest = max(largest, THIRD_MOST[k])
    return largest


# --- by type ----------------------------------------------------------------------------------------------------------


@overload(value, inline="always")
def _value(family, eta, y, extra):
    if is_a(Probit, family):
        return lambda family, eta, y, extra: fast_log(scaled_cdf(towards(eta, y))) - half_square_below(towards(eta, y))
    if is_a(Cloglog, family):

        def cloglog(family, eta, y, extra):
            u = capped_exp(eta)
            return y * (min(eta, LARGEST) + fast_log(share(u))) - (1.0 - y) * u

        return cloglog
    return None


@overload(change, inline="always")
def _change(family, old, new, y, extra):
    if is_a(Probit, family):

        def probit(family, old, new, y, extra):
            a, b = towards(old, y), towards(new, y)
            return fast_log(scaled_cdf(b) / scaled_cdf(a)) - (half_square_below(b) - half_square_below(a))

        return probit
    if is_a(Cloglog, family):

        def cloglog(family, old, new, y, extra):
            a, b = capped_exp(old), capped_exp(new)
            log_ratio = min(new, LARGEST) - min(old, LARGEST) + fast_log(share(b) / share(a))
            return y * log_ratio - (1.0 - y) * (b - a)

        return cloglog
    return None


@overload(slope)
def _slope(family, eta, y, extra):
    if is_a(Probit, family):
        return lambda family, eta, y, extra: (2.0 * y - 1.0) * hazard(towards(eta, y))
    if is_a(Cloglog, family):

        def cloglog(family, eta, y, extra):
            u = capped_exp(eta)
            return cloglog_slope(u) if y > 0.0 else -u

        return cloglog
    return None


@overload(curvature)
def _curvature(family, eta, y, extra):
    if is_a(Probit, family):
        return lambda family, eta, y, extra: -probit_second(towards(eta, y))
    if is_a(Cloglog, family):

        def cloglog(family, eta, y, extra):
            u = capped_exp(eta)
            return cloglog_second(u) if y > 0.0 else -u

        return cloglog
    return None


@overload(third)
def _third(family, eta, y, extra):
    if is_a(Probit, family):
        return lambda family, eta, y, extra: (2.0 * y - 1.0) * probit_third(towards(eta, y))
    if is_a(Cloglog, family):

        def cloglog(family, eta, y, extra):
            u = capped_exp(eta)
            return cloglog_third(u) if y > 0.0 else -u

        return cloglog
    return None


@overload(second_bound)
def _second_bound(family, low, high, y, extra):
    if is_a(Probit, family):
        return lambda family, low, high, y, extra: probit_second(low if y > 0.0 else -high)
    if is_a(Cloglog, family):
        return lambda family, low, high, y, extra: (
            cloglog_second_bound(low, high) if y > 0.0 else math.exp(min(high, LARGEST))
        )
    return None


@overload(third_bound)
def _third_bound(family, low, high, y, extra):
    if is_a(Probit, family):
        return lambda family, low, high, y, extra: (
            probit_third_bound(low, high) if y > 0.0 else probit_third_bound(-high, -low)
        )
    if is_a(Cloglog, family):
        return lambda family, low, high, y, extra: (
            cloglog_third_bound(low, high) if y > 0.0 else math.exp(min(high, LARGEST))
        )
    return None
