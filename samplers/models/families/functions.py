"""Elementary functions for families: without branches or calls, so that loops over rows vectorise."""

from __future__ import annotations

import math

from designer.core.jit import inlined
from designer.engine._exp_kernels import LN2_HIGH, LN2_LOW, LOG2_E, ROUND, _bits, _from_bits, fast_exp, muladd

LARGEST = 300.0  # exponents are cut off here: e^300 already rules a state out, and its square does not overflow
FARTHEST = 1e60  # and distances here
A3, A5, A7, A9, A11, A13, A15, A17, A19, A21, A23, A25, A27, A29, A31 = (1.0 / k for k in range(3, 33, 2))
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14 = (1.0 / math.factorial(k) for k in range(2, 15))
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD  # of the square root of 1 / 2
ROOT_2_PI = math.sqrt(2.0 * math.pi)
# (4 + z) times Mills' ratio Φ(-z) / (√(2π) φ(z)), for z >= 0, by powers of (z - 4) / (z + 4): relative error 3e-16
M0, M1, M2, M3 = 0.7552851304157515, -0.6078966419718923, 0.38713740074221453, -0.18652185795963533
M4, M5, M6 = 0.06039657489093607, -0.007540188967419565, -0.0034796923673884156
M7, M8 = 0.0016308184678064444, 0.00013334431270030784
M9, M10, M11, M12 = -0.00023109501999200649, -1.908265085342679e-06, 3.5145122560125815e-05, 7.167263978705016e-07
M13, M14, M15, M16 = -5.921638801978817e-06, -6.299974265164222e-07, 1.0248325060946323e-06, 2.727176083262385e-07
M17, M18, M19, M20 = -1.5982676610438677e-07, -8.713294621467491e-08, 1.7881872409503415e-08, 2.1604426842720404e-08
M21, M22, M23, M24 = -6.021003727951476e-10, -3.798041859957449e-09, -1.1742107539247065e-10, 3.51569242668093e-10


@inlined
def capped_exp(x):
    """exp(x), and e^300 beyond 300."""
    return fast_exp(min(x, LARGEST))


@inlined
def twice_artanh(s):
    """2 artanh s = log((1 + s) / (1 - s)) for |s| <= 1/3: the series ends at 2e-17."""
    z = s * s
    p = muladd(A31, z, A29)
    p = muladd(p, z, A27)
    p = muladd(p, z, A25)
    p = muladd(p, z, A23)
    p = muladd(p, z, A21)
    p = muladd(p, z, A19)
    p = muladd(p, z, A17)
    p = muladd(p, z, A15)
    p = muladd(p, z, A13)
    p = muladd(p, z, A11)
    p = muladd(p, z, A9)
    p = muladd(p, z, A7)
    p = muladd(p, z, A5)
    p = muladd(p, z, A3)
    return 2.0 * (s + s * z * p)


@inlined
def fast_log(x):
    """log(x) to 2e-16 (absolutely near 1, else relatively), for normal positive x."""
    bits = _bits(x)
    k = (bits - ROOT_HALF_BITS) >> 52
    m = _from_bits(bits - (k << 52))  # from √½ to √2
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = muladd(A21, z, A19)
    p = muladd(p, z, A17)
    p = muladd(p, z, A15)
    p = muladd(p, z, A13)
    p = muladd(p, z, A11)
    p = muladd(p, z, A9)
    p = muladd(p, z, A7)
    p = muladd(p, z, A5)
    p = muladd(p, z, A3)
    power = float(k)
    return muladd(power, LN2_HIGH, muladd(power, LN2_LOW, 2.0 * (s + s * z * p))) + (x - x)  # NaN stays


@inlined
def minus_expm1(x):
    """1 - exp(-x), to full relative precision, for 0 <= x."""
    x = -min(x, 700.0)
    shifted = muladd(x, LOG2_E, ROUND)
    k = shifted - ROUND
    y = muladd(k, -LN2_LOW, muladd(k, -LN2_HIGH, x))
    p = muladd(E14, y, E13)
    p = muladd(p, y, E12)
    p = muladd(p, y, E11)
    p = muladd(p, y, E10)
    p = muladd(p, y, E9)
    p = muladd(p, y, E8)
    p = muladd(p, y, E7)
    p = muladd(p, y, E6)
    p = muladd(p, y, E5)
    p = muladd(p, y, E4)
    p = muladd(p, y, E3)
    p = muladd(p, y, E2)
    p = muladd(p, y, 1.0)
    power = _from_bits(_bits(1.0) + (_bits(shifted) << 52))
    return (1.0 - power) - power * y * p


@inlined
def positive_part(eta):
    """max(η, 0), or NaN."""
    return 0.0 if eta < 0.0 else eta


@inlined
def softplus(eta):
    """log(1 + e^η)."""
    e = fast_exp(-abs(eta))
    return positive_part(eta) + twice_artanh(e / (2.0 + e))


@inlined
def softplus_change(old, new):
    """The change of log(1 + e^η): log((1 + a) / (1 + b)) = 2 artanh s with s = (a - b) / (2 + a + b), at most 1/3."""
    a, b = fast_exp(-abs(old)), fast_exp(-abs(new))
    return positive_part(new) - positive_part(old) - twice_artanh((a - b) / (2.0 + a + b))


@inlined
def sigmoid(eta):
    e = fast_exp(-abs(eta))
    return (1.0 if eta > 0.0 else e) / (1.0 + e)


@inlined
def mills(z):
    """Φ(-z) exp(z² / 2) for z >= 0."""
    t = (z - 4.0) / (z + 4.0)
    p = muladd(M24, t, M23)
    p = muladd(p, t, M22)
    p = muladd(p, t, M21)
    p = muladd(p, t, M20)
    p = muladd(p, t, M19)
    p = muladd(p, t, M18)
    p = muladd(p, t, M17)
    p = muladd(p, t, M16)
    p = muladd(p, t, M15)
    p = muladd(p, t, M14)
    p = muladd(p, t, M13)
    p = muladd(p, t, M12)
    p = muladd(p, t, M11)
    p = muladd(p, t, M10)
    p = muladd(p, t, M9)
    p = muladd(p, t, M8)
    p = muladd(p, t, M7)
    p = muladd(p, t, M6)
    p = muladd(p, t, M5)
    p = muladd(p, t, M4)
    p = muladd(p, t, M3)
    p = muladd(p, t, M2)
    p = muladd(p, t, M1)
    p = muladd(p, t, M0)
    return p / (z + 4.0)


@inlined
def scaled_cdf(z):
    """Φ(z), times exp(z² / 2) where z is negative."""
    m = mills(abs(z))
    return m if z < 0.0 else 1.0 - fast_exp(-0.5 * z * z) * m


@inlined
def half_square_below(z):
    """z² / 2 where z is negative, else 0."""
    low = max(min(z, 0.0), -FARTHEST)
    return 0.5 * low * low
