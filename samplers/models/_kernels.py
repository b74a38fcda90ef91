"""Compiled likelihoods of ICA, the Gaussian mixture and L1 regression, and the rotation of the Stiefel walk.

A `..._term` is lᵢ of one datum, for θ and θ' together, so that its row is read once; `..._terms` fills an
array for many data. `..._value` is log p of one datum.
"""

from __future__ import annotations

import math

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.jit import kernel

LOG_2PI = math.log(2.0 * math.pi)
ORTHONORMAL = 1e-6  # departure from W'W = I that still counts as rounding
NEAR = 64  # rows of a random sample fetched together, so that their waits for memory overlap
TAYLOR = 10  # terms of exp(B) for |B| <= 1/8: the next one is below 1e-17


# --- ICA: -log p = sum_j log 4 + 2 log cosh(a_j / 2) = sum_j |a_j| + 2 log(1 + e^-|a_j|), a = W x -------------------


@kernel
def ica_term(row: Floats, w: Floats, w_new: Floats) -> float:
    """lᵢ, with one logarithm for all sources, of a product of factors between 1/2 and 2."""
    d = row.size
    linear, ratio = 0.0, 1.0
    for j in range(d):
        a, b = 0.0, 0.0
        for k in range(d):
            a += w[j * d + k] * row[k]
            b += w_new[j * d + k] * row[k]
        a, b = abs(a), abs(b)
        linear += a - b
        ratio *= (1.0 + math.exp(-a)) / (1.0 + math.exp(-b))
    return linear + 2.0 * math.log(ratio)


@kernel
def ica_value(row: Floats, w: Floats) -> float:
    d = row.size
    linear, product = 0.0, 1.0
    for j in range(d):
        a = 0.0
        for k in range(d):
            a += w[j * d + k] * row[k]
        linear += abs(a)
        product *= 1.0 + math.exp(-abs(a))  # at most 2^D, D <= 1000
    return -linear - 2.0 * math.log(product)


@kernel
def ica_terms(rows: Floats, w: Floats, w_new: Floats, indices: Ints, out: Floats) -> None:
    near = np.empty((NEAR, rows.shape[1]))
    for first in range(0, indices.size, NEAR):
        some = indices[first : first + NEAR]
        for k in range(some.size):
            near[k] = rows[some[k]]
        for k in range(some.size):
            out[first + k] = ica_term(near[k], w, w_new)


@kernel
def ica_values(rows: Floats, w: Floats, indices: Ints, out: Floats) -> None:
    for i in range(indices.size):
        out[i] = ica_value(rows[indices[i]], w)


# --- mixture: with r = x - theta1 - theta2 / 2, h = theta2 / 2 and v = variance, log p = ----------------------------
# --- -(r² + h²) / (2 v) + log cosh(r h / v) + constant ------------------------------------------------------------


@kernel
def mixture_term(x: float, theta: Floats, theta_new: Floats, variance: float) -> float:
    """lᵢ at temperature 1; differences of squares are factored, so that a distant x does not cancel."""
    h, h_new = 0.5 * theta[1], 0.5 * theta_new[1]
    r, r_new = x - (theta[0] + h), x - (theta_new[0] + h_new)
    z, z_new = abs(r * h) / variance, abs(r_new * h_new) / variance
    centre = theta_new[0] - theta[0] + (h_new - h)
    squares = centre * (r + r_new) + (h - h_new) * (h + h_new)
    tails = math.log((1.0 + math.exp(-2.0 * z_new)) / (1.0 + math.exp(-2.0 * z)))
    term: float = 0.5 * squares / variance + (z_new - z) + tails
    return term


@kernel
def mixture_value(x: float, theta: Floats, variance: float) -> float:
    """log p, from the nearer component: the other, of the same weight 1/2, adds log(1 + e^-2z)."""
    h = 0.5 * theta[1]
    r = abs(x - (theta[0] + h)) - abs(h)
    z = abs((x - (theta[0] + h)) * h) / variance
    half = math.log1p(math.exp(-2.0 * z)) - math.log(2.0)
    value: float = -0.5 * (r * r / variance + LOG_2PI + math.log(variance)) + half
    return value


@kernel
def mixture_terms(
    x: Floats, theta: Floats, theta_new: Floats, variance: float, beta: float, indices: Ints, out: Floats
) -> None:
    near = np.empty(NEAR)
    for first in range(0, indices.size, NEAR):
        some = indices[first : first + NEAR]
        for k in range(some.size):
            near[k] = x[some[k]]
        for k in range(some.size):
            out[first + k] = beta * mixture_term(near[k], theta, theta_new, variance)


@kernel
def mixture_values(x: Floats, theta: Floats, variance: float, beta: float, indices: Ints, out: Floats) -> None:
    for i in range(indices.size):
        out[i] = beta * mixture_value(x[indices[i]], theta, variance)


# --- L1 regression: a row is x_i followed by y_i, log p = -precision / 2 (y - x . θ)² --------------------------


@kernel
def lasso_term(row: Floats, theta: Floats, theta_new: Floats, precision: float) -> float:
    """lᵢ, with factored squares, so that only the difference is rounded."""
    old, move = 0.0, 0.0
    for k in range(theta.size):
        old += row[k] * theta[k]
        move += row[k] * (theta_new[k] - theta[k])
    term: float = precision * move * (row[theta.size] - old - 0.5 * move)
    return term


@kernel
def lasso_terms(rows: Floats, theta: Floats, theta_new: Floats, precision: float, indices: Ints, out: Floats) -> None:
    for i in range(indices.size):
        out[i] = lasso_term(rows[indices[i]], theta, theta_new, precision)


@kernel
def lasso_value(row: Floats, theta: Floats, precision: float) -> float:
    residual = row[theta.size]
    for k in range(theta.size):
        residual -= row[k] * theta[k]
    value: float = -0.5 * precision * residual * residual
    return value


@kernel
def lasso_values(rows: Floats, theta: Floats, precision: float, indices: Ints, out: Floats) -> None:
    for i in range(indices.size):
        out[i] = lasso_value(rows[indices[i]], theta, precision)


@kernel
def lasso_gradient(rows: Floats, theta: Floats, precision: float, indices: Ints, out: Floats) -> None:
    """Sum of precision (y_i - x_i . θ) x_i."""
    out[:] = 0.0
    for i in range(indices.size):
        row = rows[indices[i]]
        residual = row[theta.size]
        for k in range(theta.size):
            residual -= row[k] * theta[k]
        for k in range(theta.size):
            out[k] += precision * residual * row[k]


# --- the Stiefel walk -----------------------------------------------------------------------------------------------


@kernel
def multiply(a: Floats, b: Floats, out: Floats) -> None:
    d = a.shape[0]
    for i in range(d):
        for j in range(d):
            total = 0.0
            for k in range(d):
                total += a[i, k] * b[k, j]
            out[i, j] = total


@kernel
def rotation(xi: Floats, scale: float, out: Floats) -> None:
    """out = exp(scale A), A skew-symmetric with xi above its diagonal: Taylor series, scaling and squaring."""
    d = out.shape[0]
    b, work = np.zeros((d, d)), np.empty((d, d))
    place = 0
    for i in range(d):
        for j in range(i + 1, d):
            b[i, j], b[j, i] = scale * xi[place], -scale * xi[place]
            place += 1
    norm = 0.0
    for i in range(d):
        norm = max(norm, np.abs(b[i]).sum())
    halvings = max(0, math.ceil(math.log2(8.0 * norm))) if norm > 0.0 else 0
    b *= 0.5**halvings
    out[:] = np.eye(d)
    for order in range(TAYLOR, 0, -1):  # Horner: I + B (I + B / 2 (I + B / 3 (...)))
        multiply(b, out, work)
        out[:] = work / order
        for i in range(d):
            out[i, i] += 1.0
    for _ in range(halvings):
        multiply(out, out, work)
        out[:] = work


@kernel
def rotate(xi: Floats, scale: float, w: Floats, out: Floats) -> float:
    """out = w exp(scale A), then projected to the nearest orthonormal matrix; returns its departure from one.

    A Newton step W (3 I - W'W) / 2 squares the departure from W'W = I, so that rounding errors never add up.
    """
    d = w.shape[0]
    moved, work = np.empty((d, d)), np.empty((d, d))
    rotation(xi, scale, work)
    multiply(w, work, moved)
    departure = 0.0
    for i in range(d):
        for j in range(d):
            inner = 0.0
            for k in range(d):
                inner += moved[k, i] * moved[k, j]
            target = 1.0 if i == j else 0.0
            if abs(inner - target) > departure or math.isnan(inner):  # NaN is a departure, and stays one
                departure = abs(inner - target)
            work[i, j] = 1.5 * target - 0.5 * inner
    multiply(moved, work, out)
    return departure


@kernel
def departure(w: Floats, d: int) -> float:
    """Largest entry of |W W' - I|, for W flattened."""
    largest = 0.0
    for i in range(d):
        for j in range(i + 1):
            inner = -1.0 if i == j else 0.0
            for k in range(d):
                inner += w[i * d + k] * w[j * d + k]
            if abs(inner) > largest or math.isnan(inner):
                largest = abs(inner)
    return largest
