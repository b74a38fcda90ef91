"""Monotone maps of single coordinates, with their slopes and inverses.

Each map is a rational quadratic in every interval between knots (Gregory and Delbourgo 1982), through given values with
given slopes; it is monotone and smooth whatever these are, its inverse has a closed form, and beyond the last knots it
goes on in straight lines.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.jit import kernel


@kernel
def bend(at: Floats, values: Floats, slopes: Floats, v: float) -> tuple[float, float]:
    """u = T(v), and log T'(v)."""
    last = at.size - 1
    if not (at[0] < v < at[last]):  # also what is not a number
        end = last if v >= at[last] else 0
        return values[end] + slopes[end] * (v - at[end]), math.log(slopes[end])
    k = np.searchsorted(at, v) - 1
    rise, mean, x = _interval(at, values, k, v)
    first, second, rest = slopes[k], slopes[k + 1], 1.0 - x
    below = mean + (first + second - 2.0 * mean) * x * rest
    u = values[k] + rise * (mean * x * x + first * x * rest) / below
    return u, _log_slope(mean, first, second, x, below)


@kernel
def unbend(at: Floats, values: Floats, slopes: Floats, u: float) -> tuple[float, float]:
    """v with T(v) = u, and log T'(v)."""
    last = at.size - 1
    if not (values[0] < u < values[last]):
        end = last if u >= values[last] else 0
        return at[end] + (u - values[end]) / slopes[end], math.log(slopes[end])
    k = np.searchsorted(values, u) - 1
    rise, mean, _ = _interval(at, values, k, at[k])
    first, second, up = slopes[k], slopes[k + 1], u - values[k]
    curve = first + second - 2.0 * mean
    a, b, c = rise * (mean - first) + up * curve, rise * first - up * curve, -mean * up
    x = 2.0 * c / (-b - math.sqrt(max(b * b - 4.0 * a * c, 0.0)))  # the form that loses no digits
    below = mean + curve * x * (1.0 - x)
    return at[k] + x * (at[k + 1] - at[k]), _log_slope(mean, first, second, x, below)


@kernel
def _interval(at: Floats, values: Floats, k: int, v: float) -> tuple[float, float, float]:
    """Rise of the values, mean slope, and where v is in the interval, from 0 to 1."""
    width, rise = at[k + 1] - at[k], values[k + 1] - values[k]
    return rise, rise / width, (v - at[k]) / width


@kernel
def _log_slope(mean: float, first: float, second: float, x: float, below: float) -> float:
    rest = 1.0 - x
    return math.log(mean * mean * (second * x * x + 2.0 * mean * x * rest + first * rest * rest) / (below * below))


@kernel
def bend_all(profile: Any, centre: Floats, y: Floats, out: Floats) -> float:
    """θ = y + follow' δ, δ the moves of the bent functionals; returns log |dθ/dy|, the sum of their log T'."""
    out[:], total = y, 0.0
    for i in range(profile.sds.size):
        v = _along(profile.functionals[i], centre, y) / profile.sds[i]
        u, log_slope = bend(profile.at[i], profile.values[i], profile.slopes[i], v)
        total += log_slope
        for k in range(y.size):
            out[k] += profile.follow[i, k] * (profile.sds[i] * (u - v))
    return total


@kernel
def unbend_all(profile: Any, centre: Floats, theta: Floats, out: Floats) -> float:
    """y with θ = y + follow' δ; returns log |dθ/dy| there."""
    out[:], total = theta, 0.0
    for i in range(profile.sds.size):
        u = _along(profile.functionals[i], centre, theta) / profile.sds[i]
        v, log_slope = unbend(profile.at[i], profile.values[i], profile.slopes[i], u)
        total += log_slope
        for k in range(theta.size):
            out[k] -= profile.follow[i, k] * (profile.sds[i] * (u - v))
    return total


@kernel
def _along(functional: Floats, centre: Floats, theta: Floats) -> float:
    total = 0.0
    for k in range(theta.size):
        total += functional[k] * (theta[k] - centre[k])
    return total
