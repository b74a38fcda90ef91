"""Families with several predictors: softmax, and families whose shape parameters are sampled on the log scale.

The predictors of a datum are the linear ones, then the logarithms of the shape parameters, which all rows share: these
stand in the first column alone. Second derivatives are the upper triangle, row by row. log p leaves out terms of y
alone. Like the families with one predictor, these are loops that compiled blocks call by their address.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from designer.core.arrays import Floats
from designer.core.jit import kernel, kernel_with
from designer.engine._exp_kernels import fast_exp
from samplers.models.families.functions import FARTHEST, capped_exp, fast_log, softplus
from samplers.models.families.kernels import CONTRACT, ROW, Address, by_address
from samplers.models.families.special import digamma, fill_rises, rise_slopes, trigamma

TABLE = float64[:, ::1]
VALUES = types.void(ROW, TABLE, int64, ROW, ROW, ROW, ROW)
SLOPES = types.void(ROW, TABLE, int64, ROW, ROW, ROW, TABLE, TABLE)
call_joint_values = by_address(VALUES)
SAMPLED = -1.0  # in place of a shape parameter
LARGE = 1e3  # gamma functions of larger shapes come from their series
LIMIT = 80.0  # of |log shape|


class JointFamily(NamedTuple):
    """A family with several predictors: its name, and its shape parameters, SAMPLED or fixed."""

    name: str
    shape: tuple[float, ...]


class CompiledJoint(NamedTuple):
    """The form that compiled blocks take."""

    shape: Floats
    values: int


@kernel
def scale_of(log_scale):
    """A shape parameter, cut off where it would overflow."""
    return math.exp(min(max(log_scale, -LIMIT), LIMIT))


# --- normal errors, sampled sigma -------------------------------------------------------------------------------------


@kernel_with(fastmath=CONTRACT)
def gaussian_values(shape, eta, n, y, extra, weight, out):
    log_sigma = eta[1, 0]
    precision = 1.0 / scale_of(2.0 * log_sigma)
    for k in range(n):
        d = y[k] - eta[0, k]
        out[k] = weight[k] * (-log_sigma - 0.5 * precision * d * d)


@kernel
def gaussian_slopes(shape, eta, n, y, extra, weight, slopes, curves):
    precision = 1.0 / scale_of(2.0 * eta[1, 0])
    for k in range(n):
        d, w = y[k] - eta[0, k], weight[k]
        slopes[0, k], slopes[1, k] = w * d * precision, w * (d * d * precision - 1.0)
        curves[0, k], curves[1, k] = -w * precision, -2.0 * w * d * precision
        curves[2, k] = -2.0 * w * d * d * precision


# --- Student-t errors, sampled sigma, degrees or both -----------------------------------------------------------------


@kernel
def student_shapes(shape, eta):
    """log σ, log ν."""
    row = 1
    log_sigma = math.log(shape[0]) if shape[0] > 0.0 else eta[row, 0]
    row += shape[0] <= 0.0
    log_degrees = math.log(shape[1]) if shape[1] > 0.0 else eta[row, 0]
    return log_sigma, log_degrees


@kernel_with(fastmath=CONTRACT)
def student_values(shape, eta, n, y, extra, weight, out):
    log_sigma, log_degrees = student_shapes(shape, eta)
    nu = scale_of(log_degrees)
    constant = math.lgamma(0.5 * (nu + 1.0)) - math.lgamma(0.5 * nu) - 0.5 * log_degrees - log_sigma
    inverse, half = 1.0 / (scale_of(log_sigma) * math.sqrt(nu)), 0.5 * (nu + 1.0)
    for k in range(n):
        x = abs((y[k] - eta[0, k]) * inverse)
        x = FARTHEST if x > FARTHEST else x
        out[k] = weight[k] * (constant - half * fast_log(1.0 + x * x))


@kernel
def student_slopes(shape, eta, n, y, extra, weight, slopes, curves):
    log_sigma, log_degrees = student_shapes(shape, eta)
    sigma, nu = scale_of(log_sigma), scale_of(log_degrees)
    h1 = 0.5 * (digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu)) - 0.5 / nu
    h2 = 0.25 * (trigamma(0.5 * (nu + 1.0)) - trigamma(0.5 * nu)) + 0.5 / (nu * nu)
    first, both = shape[0] <= 0.0, shape[0] <= 0.0 and shape[1] <= 0.0
    for k in range(n):
        x, w = (y[k] - eta[0, k]) / sigma, weight[k]
        a = nu + x * x
        u, log_a = x * x / a, math.log1p(x * x / nu)
        by_sigma, by_degrees = (nu + 1.0) * u - 1.0, nu * h1 - 0.5 * nu * log_a + 0.5 * (nu + 1.0) * u
        sigma_2 = -2.0 * (nu + 1.0) * nu * u / a
        cross = nu * u * (x * x - 1.0) / a
        degrees_2 = nu * (h1 + nu * h2 - 0.5 * log_a + u - 0.5 * (nu + 1.0) * u / a)
        with_sigma, with_degrees = (
            -2.0 * (nu + 1.0) * nu * x / (sigma * a * a),
            nu * x * (x * x - 1.0) / (sigma * a * a),
        )
        slopes[0, k] = w * (nu + 1.0) * x / (a * sigma)
        curves[0, k] = -w * (nu + 1.0) * (nu - x * x) / (a * a * sigma * sigma)
        slopes[1, k] = w * (by_sigma if first else by_degrees)
        curves[1, k] = w * (with_sigma if first else with_degrees)
        if both:
            slopes[2, k], curves[2, k] = w * by_degrees, w * with_degrees
            curves[3, k], curves[4, k], curves[5, k] = w * sigma_2, w * cross, w * degrees_2
        else:
            curves[2, k] = w * (sigma_2 if first else degrees_2)


# --- negative binomial, sampled dispersion ----------------------------------------------------------------------------


@kernel_with(fastmath=CONTRACT)
def negative_binomial_values(shape, eta, n, y, extra, weight, out):
    r, log_r = scale_of(-eta[1, 0]), -min(max(eta[1, 0], -LIMIT), LIMIT)
    fill_rises(y, n, r, out)
    for k in range(n):
        rest = y[k] * eta[0, k] - (y[k] + r) * softplus(eta[0, k] - log_r)
        out[k] = weight[k] * (out[k] + rest)


@kernel
def negative_binomial_slopes(shape, eta, n, y, extra, weight, slopes, curves):
    r = scale_of(-eta[1, 0])
    for k in range(n):
        mu, w = capped_exp(eta[0, k]), weight[k]
        p = mu / (r + mu)
        first, second = rise_slopes(y[k], r, mu)
        slopes[0, k] = w * (y[k] * (1.0 - p) - r * p)
        slopes[1, k] = -w * r * first
        curves[0, k] = -w * (y[k] + r) * p * (1.0 - p)
        curves[1, k] = w * r * p * ((mu - y[k]) / (r + mu))
        curves[2, k] = w * (r * first + r * r * second)


# --- gamma, sampled shape; `extra` is log y ---------------------------------------------------------------------------


@kernel_with(fastmath=CONTRACT)
def gamma_values(shape, eta, n, y, extra, weight, out):
    alpha = scale_of(eta[1, 0])
    constant = alpha * math.log(alpha) - math.lgamma(alpha)
    for k in range(n):
        out[k] = weight[k] * (constant + alpha * (extra[k] - eta[0, k] - y[k] * capped_exp(-eta[0, k])))


@kernel
def shape_gap(alpha):
    """log α - ψ(α)."""
    return math.log(alpha) - digamma(alpha) if alpha < LARGE else 0.5 / alpha + 1.0 / (12.0 * alpha * alpha)


@kernel
def gamma_slopes(shape, eta, n, y, extra, weight, slopes, curves):
    alpha = scale_of(eta[1, 0])
    gap = shape_gap(alpha)
    bend = alpha * (1.0 - alpha * trigamma(alpha)) if alpha < LARGE else -0.5 - 1.0 / (6.0 * alpha)
    for k in range(n):
        ratio, w = y[k] * capped_exp(-eta[0, k]), weight[k]
        by_shape = alpha * (gap + 1.0 + extra[k] - eta[0, k] - ratio)
        slopes[0, k], slopes[1, k] = w * alpha * (ratio - 1.0), w * by_shape
        curves[0, k], curves[1, k], curves[2, k] = -w * alpha * ratio, w * alpha * (ratio - 1.0), w * (by_shape + bend)


# --- softmax; the first class has predictor 0 -------------------------------------------------------------------------


@kernel_with(fastmath=CONTRACT)
def softmax_values(shape, eta, n, y, extra, weight, out):
    largest, total, chosen = np.zeros(n), np.empty(n), np.zeros(n)
    for j in range(eta.shape[0]):
        for k in range(n):
            largest[k] = max(largest[k], eta[j, k])
            chosen[k] = eta[j, k] if y[k] == j + 1.0 else chosen[k]
    for k in range(n):
        total[k] = fast_exp(-largest[k])
    for j in range(eta.shape[0]):
        for k in range(n):
            total[k] += fast_exp(eta[j, k] - largest[k])
    for k in range(n):
        out[k] = weight[k] * (chosen[k] - largest[k] - fast_log(total[k]))


@kernel
def softmax_slopes(shape, eta, n, y, extra, weight, slopes, curves):
    q = eta.shape[0]
    for k in range(n):
        largest = 0.0
        for j in range(q):
            largest = max(largest, eta[j, k])
        total = math.exp(-largest)
        for j in range(q):
            total += math.exp(eta[j, k] - largest)
        at = 0
        for j in range(q):
            p = math.exp(eta[j, k] - largest) / total
            slopes[j, k] = weight[k] * ((y[k] == j + 1.0) - p)
            curves[at, k] = -weight[k] * p * (1.0 - p)
            for i in range(j + 1, q):
                curves[at + i - j, k] = weight[k] * p * (math.exp(eta[i, k] - largest) / total)
            at += q - j


JOINT = {
    "gaussian": (gaussian_values, gaussian_slopes),
    "student-t": (student_values, student_slopes),
    "negative-binomial": (negative_binomial_values, negative_binomial_slopes),
    "gamma": (gamma_values, gamma_slopes),
    "softmax": (softmax_values, softmax_slopes),
}


@cache
def _address(name: str) -> Address:
    return Address.of(JOINT[name][0], VALUES)


def compiled_joint(family: JointFamily) -> CompiledJoint:
    """The form that compiled blocks take."""
    return CompiledJoint(np.array(family.shape, dtype=np.float64), _address(family.name).number)


def joint_values(family: JointFamily, eta: Floats, y: Floats, extra: Floats, weight: Floats) -> Floats:
    """log p of each row at its predictors, (q, n)."""
    out = np.empty(y.size)
    if y.size:
        JOINT[family.name][0](np.array(family.shape, dtype=np.float64), eta, y.size, y, extra, weight, out)
    return out


def joint_slopes(family: JointFamily, eta: Floats, y: Floats, extra: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """First derivatives (q, n) and second ones (q (q + 1) / 2, n) in the predictors."""
    q = eta.shape[0]
    slopes, curves = np.zeros((q, y.size)), np.zeros((q * (q + 1) // 2, y.size))
    if y.size:
        shape = np.array(family.shape, dtype=np.float64)
        JOINT[family.name][1](shape, eta, y.size, y, extra, weight, slopes, curves)
    return slopes, curves
