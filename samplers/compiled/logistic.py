"""Logistic regression many rows at a time: products with θ first, then exp and log without branches or calls.

Only sums whose order does not matter may be reordered (`reassoc`), and products merged into sums (`contract`).
"""

from __future__ import annotations

import math

from designer.core.jit import inlined, kernel, kernel_with
from designer.engine._exp_kernels import fast_exp

ROOM = 256  # rows at a time: their products stay in the nearest cache, and 2^ROOM does not overflow
SUMS = {"reassoc", "contract"}
A3, A5, A7, A9, A11, A13, A15, A17, A19, A21, A23, A25, A27, A29, A31 = (1.0 / k for k in range(3, 33, 2))


# --- products with θ --------------------------------------------------------------------------------------------


@kernel_with(fastmath=SUMS)
def dot(row, theta):
    """A plain sum of products; only its order of summation is free, so that it vectorises."""
    total = 0.0
    for k in range(theta.size):
        total += row[k] * theta[k]
    return total


@kernel_with(fastmath=SUMS)
def weighted_square(weights, theta):
    """The sum of w_k θ_k²."""
    total = 0.0
    for k in range(theta.size):
        total += weights[k] * theta[k] * theta[k]
    return total


@kernel_with(fastmath=SUMS)
def row_dot(rows, i, theta):
    """rows[i] . θ, without a view of the row: numba counts views with instructions that wait for all memory."""
    total = 0.0
    for k in range(theta.size):
        total += rows[i, k] * theta[k]
    return total


@kernel_with(fastmath=SUMS)
def two_dots(rows, i, theta, theta_new):
    """rows[i] . θ and rows[i] . θ', reading the row once."""
    old = new = 0.0
    for k in range(theta.size):
        old += rows[i, k] * theta[k]
        new += rows[i, k] * theta_new[k]
    return old, new


@kernel_with(fastmath=SUMS)
def quadratic(matrix, d):
    total = 0.0
    for i in range(d.size):
        total += d[i] * dot(matrix[i], d)
    return total


@kernel_with(fastmath=SUMS)
def fill_products(rows, theta, first, out):
    """out[i] = rows[first + i] . θ: eight rows in step read θ once, and wait for memory together."""
    n, i = out.size, 0
    while i + 8 <= n:
        r0, r1, r2, r3 = rows[first + i], rows[first + i + 1], rows[first + i + 2], rows[first + i + 3]
        r4, r5, r6, r7 = rows[first + i + 4], rows[first + i + 5], rows[first + i + 6], rows[first + i + 7]
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for k in range(theta.size):
            t = theta[k]
            s0 += r0[k] * t
            s1 += r1[k] * t
            s2 += r2[k] * t
            s3 += r3[k] * t
            s4 += r4[k] * t
            s5 += r5[k] * t
            s6 += r6[k] * t
            s7 += r7[k] * t
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        out[i + 4], out[i + 5], out[i + 6], out[i + 7] = s4, s5, s6, s7
        i += 8
    for j in range(i, n):
        out[j] = dot(rows[first + j], theta)


# --- log-likelihoods ------------------------------------------------------------------------------------------------


@kernel
def log_sigmoid(eta):
    """log p of one datum."""
    if eta > 0.0:
        return -math.log1p(math.exp(-eta))
    return eta - math.log1p(math.exp(eta))


@inlined
def negative_part(eta):
    """min(η, 0), or NaN."""
    return 0.0 if eta > 0.0 else eta


@inlined
def sign(label):
    """1 or -1, without a branch."""
    return 2.0 * (label > 0) - 1.0


@kernel_with(fastmath={"contract"})
def fill_factors(eta, out):
    """1 + exp(-|η|)."""
    for i in range(eta.size):
        out[i] = 1.0 + fast_exp(-abs(eta[i]))


@kernel_with(fastmath=SUMS)
def sum_with_factors(eta, factors):
    """The sum of log sigmoid(η) = min(η, 0) - log(1 + exp(-|η|)): one logarithm, of the factors' product."""
    product, total = 1.0, 0.0
    for i in range(eta.size):
        product *= factors[i]
        total += negative_part(eta[i])
    return total - math.log(product)


@kernel
def sum_log_sigmoid(rows, labels, theta, first, size, room):
    """The sum of log p over consecutive data, at most ROOM."""
    eta, factors = room[0, :size], room[1, :size]
    fill_products(rows, theta, first, eta)
    if labels.size > 0:
        for i in range(size):
            eta[i] *= sign(labels[first + i])
    fill_factors(eta, factors)
    return sum_with_factors(eta, factors)


@kernel_with(fastmath={"contract"})
def fill_proxies(old, new, centre, scale, second):
    """In place of η*, the change of the proxy that is expanded there; its curvature is multiplied by `second`."""
    for i in range(old.size):
        e = fast_exp(-abs(centre[i]))
        slope = scale * (e if centre[i] > 0.0 else 1.0) / (1.0 + e)
        curvature = -second * scale * e / ((1.0 + e) * (1.0 + e))
        centre[i] = (new[i] - old[i]) * (slope + 0.5 * curvature * (new[i] + old[i] - 2.0 * centre[i]))


@kernel_with(fastmath={"contract"})
def fill_residuals(old, new, scale, proxy, out):
    """lᵢ = scale (log sigmoid(new) - log sigmoid(old)), less the change of the proxy.

    log((1 + a) / (1 + b)) = 2 artanh s with s = (a - b) / (2 + a + b), at most 1/3: the series ends at 2e-17.
    """
    for i in range(old.size):
        a, b = fast_exp(-abs(old[i])), fast_exp(-abs(new[i]))
        s = (a - b) / (2.0 + a + b)
        z = s * s
        p = A31 * z + A29
        p = p * z + A27
        p = p * z + A25
        p = p * z + A23
        p = p * z + A21
        p = p * z + A19
        p = p * z + A17
        p = p * z + A15
        p = p * z + A13
        p = p * z + A11
        p = p * z + A9
        p = p * z + A7
        p = p * z + A5
        p = p * z + A3
        change = negative_part(new[i]) - negative_part(old[i]) + 2.0 * (s + s * z * p)
        out[i] = scale * change - proxy[i]
