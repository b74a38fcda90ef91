"""Gamma functions for shape parameters that are sampled."""

from __future__ import annotations

import math

import numpy as np

from designer.core.jit import inlined, kernel, kernel_with
from samplers.models.families.functions import fast_log, twice_artanh

SHIFT = 10  # asymptotic series are used from here on
LARGEST_TABLE = 256  # smaller counts share their sums
B1, B2, B3, B4, B5, B6 = 1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360360.0


@inlined
def stirling(x):
    """log Γ(x) - (x - ½) log x + x - ½ log 2π, for x >= SHIFT."""
    w = 1.0 / (x * x)
    return (B1 + w * (B2 + w * (B3 + w * (B4 + w * (B5 + w * B6))))) / x


@inlined
def fast_log1p(u):
    """log(1 + u) for u >= 0, to full relative precision where u is small."""
    near = twice_artanh(min(u, 1.0) / (2.0 + min(u, 1.0)))
    return near if u <= 1.0 else fast_log(1.0 + u)


@inlined
def log_gamma_rise(y, r):
    """log Γ(y + r) - log Γ(r) - y log r: small where r is large, and nothing cancels then."""
    a = r + 10.0
    ratios = (y + r) / r * ((y + r + 1.0) / (r + 1.0)) * ((y + r + 2.0) / (r + 2.0)) * ((y + r + 3.0) / (r + 3.0))
    ratios *= (y + r + 4.0) / (r + 4.0) * ((y + r + 5.0) / (r + 5.0)) * ((y + r + 6.0) / (r + 6.0))
    ratios *= (y + r + 7.0) / (r + 7.0) * ((y + r + 8.0) / (r + 8.0)) * ((y + r + 9.0) / (r + 9.0))
    shifted = (a + y - 0.5) * fast_log1p(y / a) - y + stirling(a + y) - stirling(a)
    return shifted + y * fast_log1p(10.0 / r) - fast_log(ratios)


@kernel
def table_size(y, n):
    """One more than the largest count, or LARGEST_TABLE if that is less."""
    largest = 0.0
    for k in range(n):
        largest = max(largest, y[k])
    return int(min(largest + 1.0, LARGEST_TABLE))


@kernel_with(fastmath={"contract"})
def fill_rises(y, n, r, out):
    """log Γ(y + r) - log Γ(r) - y log r of counts y: sums of log(1 + j / r), j < y, and the series for large counts."""
    rises = np.empty(table_size(y, n))
    for j in range(rises.size):
        rises[j] = fast_log1p(j / r)
    total = 0.0
    for j in range(rises.size):
        total, rises[j] = total + rises[j], total
    for k in range(n):
        if y[k] < rises.size:
            out[k] = rises[int(y[k])]
        else:
            out[k] = log_gamma_rise(y[k], r)


@kernel
def harmonic_sums(y, n, r):
    """ψ(y + r) - ψ(r) of the counts 0, 1, ... up to the largest y, or a few: sums of 1 / (r + j), j < y."""
    sums, total = np.empty(table_size(y, n)), 0.0
    for j in range(sums.size):
        sums[j] = total
        total += 1.0 / (r + j)
    return sums


@kernel
def digamma_rest(x):
    """log x - 1 / (2 x) - ψ(x), for x >= SHIFT."""
    w = 1.0 / (x * x)
    return w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132 - w * 691 / 32760)))))


@kernel
def trigamma_rest(x):
    """ψ'(x) - 1 / x - 1 / (2 x²), for x >= SHIFT."""
    w = 1.0 / (x * x)
    return w / x * (1 / 6 - w * (1 / 30 - w * (1 / 42 - w * (1 / 30 - w * (5 / 66 - w * 691 / 2730)))))


@kernel
def digamma(x):
    """ψ(x) for x > 0."""
    total = 0.0
    while x < SHIFT:
        total -= 1.0 / x
        x += 1.0
    return total + math.log(x) - 0.5 / x - digamma_rest(x)


@kernel
def trigamma(x):
    """ψ'(x) for x > 0."""
    total = 0.0
    while x < SHIFT:
        total += 1.0 / (x * x)
        x += 1.0
    return total + 1.0 / x + 0.5 / (x * x) + trigamma_rest(x)


@kernel
def log1p_less(u):
    """log(1 + u) - u, for u > -1."""
    if abs(u) > 0.1:
        return math.log1p(u) - u
    total = 0.0
    for k in range(18, 1, -1):
        total = total * u + (1.0 / k if k % 2 else -1.0 / k)
    return total * u * u


@kernel
def rise_slopes(y, r, mu):
    """First and second derivative in r of log Γ(y + r) - log Γ(r) + r log r - (y + r) log(r + μ)."""
    gap = mu - y
    if r < SHIFT:
        first = digamma(y + r) - digamma(r) + math.log(r / (r + mu)) + gap / (r + mu)
        second = trigamma(y + r) - trigamma(r) + mu / (r * (r + mu)) - gap / ((r + mu) * (r + mu))
        return first, second
    u = -gap / (r + mu)
    first = log1p_less(u) + 0.5 * y / (r * (y + r)) - (digamma_rest(y + r) - digamma_rest(r))
    second = gap * gap / ((y + r) * (r + mu) * (r + mu)) - 0.5 * y * (2.0 * r + y) / (r * r * (y + r) * (y + r))
    return first, second + trigamma_rest(y + r) - trigamma_rest(r)
