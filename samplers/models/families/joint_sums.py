"""Families with several predictors at many states at once: log p of each row, or its sum and gradient.

All rows of a state share its shape parameters, so whatever depends on those alone is computed once for each state, and
no curvature is. The loops are called by their address: what is around them is compiled once for all families.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import int64, types

from designer.core.arrays import Floats
from designer.core.jit import kernel, kernel_with
from designer.engine._exp_kernels import fast_exp
from samplers.models.families.functions import FARTHEST, capped_exp, fast_log, softplus
from samplers.models.families.joint import (
    TABLE,
    CompiledJoint,
    JointFamily,
    call_joint_values,
    compiled_joint,
    scale_of,
    shape_gap,
    student_shapes,
)
from samplers.models.families.kernels import CONTRACT, ROW, Address, by_address
from samplers.models.families.special import SHIFT, digamma, harmonic_sums, rise_slopes

GRADIENTS = types.void(ROW, TABLE, int64, ROW, ROW, ROW, TABLE, ROW)
call_gradients = by_address(GRADIENTS)
SUMS = {"reassoc", "contract"}


class CompiledSums(NamedTuple):
    """The form that the loops over states take."""

    joint: CompiledJoint
    gradients: int


# --- slopes in the linear predictors, and sums of the slopes in the log shapes ----------------------------------------


@kernel_with(fastmath=SUMS)
def gaussian_gradients(shape, eta, n, y, extra, weight, slopes, totals):
    precision, total = 1.0 / scale_of(2.0 * eta[1, 0]), 0.0
    for k in range(n):
        d = y[k] - eta[0, k]
        slopes[0, k] = weight[k] * d * precision
        total += weight[k] * (d * d * precision - 1.0)
    totals[0] = total


@kernel_with(fastmath=SUMS)
def student_gradients(shape, eta, n, y, extra, weight, slopes, totals):
    log_sigma, log_degrees = student_shapes(shape, eta)
    sigma, nu = scale_of(log_sigma), scale_of(log_degrees)
    h1 = 0.5 * (digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu)) - 0.5 / nu
    inverse, factor = 1.0 / sigma, (nu + 1.0) / sigma
    ratios, weights, logs = 0.0, 0.0, 0.0
    for k in range(n):
        x = min(max((y[k] - eta[0, k]) * inverse, -FARTHEST), FARTHEST)
        share = weight[k] * x / (nu + x * x)
        slopes[0, k] = factor * share
        ratios += share * x
        weights += weight[k]
    if shape[0] <= 0.0:
        totals[0] = (nu + 1.0) * ratios - weights
    if shape[1] <= 0.0:
        for k in range(n):
            x = min(abs((y[k] - eta[0, k]) * inverse), FARTHEST)
            logs += weight[k] * fast_log(1.0 + x * x / nu)
        totals[totals.size - 1] = nu * (h1 * weights - 0.5 * logs) + 0.5 * (nu + 1.0) * ratios


@kernel_with(fastmath=SUMS)
def likelihood_part(eta, n, y, weight, r):
    """The sum of w [log(r / (r + μ)) + (μ - y) / (r + μ)]."""
    log_r, total = math.log(r), 0.0
    for k in range(n):
        mu = capped_exp(eta[k])
        total += weight[k] * ((mu - y[k]) / (r + mu) - softplus(eta[k] - log_r))
    return total


@kernel_with(fastmath=CONTRACT)
def negative_binomial_gradients(shape, eta, n, y, extra, weight, slopes, totals):
    r, total = scale_of(-eta[1, 0]), 0.0
    for k in range(n):
        mu = capped_exp(eta[0, k])
        p = mu / (r + mu)
        slopes[0, k] = weight[k] * (y[k] * (1.0 - p) - r * p)
    if r < SHIFT:
        known = harmonic_sums(y, n, r)
        total = likelihood_part(eta[0], n, y, weight, r)
        for k in range(n):
            if y[k] < known.size:
                total += weight[k] * known[int(y[k])]
            else:
                total += weight[k] * (digamma(y[k] + r) - digamma(r))
    else:
        for k in range(n):
            total += weight[k] * rise_slopes(y[k], r, capped_exp(eta[0, k]))[0]
    totals[0] = -r * total


@kernel_with(fastmath=SUMS)
def gamma_gradients(shape, eta, n, y, extra, weight, slopes, totals):
    alpha, total = scale_of(eta[1, 0]), 0.0
    gap = shape_gap(alpha) + 1.0
    for k in range(n):
        ratio = y[k] * capped_exp(-eta[0, k])
        slopes[0, k] = weight[k] * alpha * (ratio - 1.0)
        total += weight[k] * (gap + extra[k] - eta[0, k] - ratio)
    totals[0] = alpha * total


@kernel_with(fastmath=CONTRACT)
def softmax_gradients(shape, eta, n, y, extra, weight, slopes, totals):
    largest, total = np.zeros(n), np.empty(n)
    for j in range(eta.shape[0]):
        for k in range(n):
            largest[k] = max(largest[k], eta[j, k])
    for k in range(n):
        total[k] = fast_exp(-largest[k])
    for j in range(eta.shape[0]):
        for k in range(n):
            e = fast_exp(eta[j, k] - largest[k])
            slopes[j, k] = e
            total[k] += e
    for k in range(n):
        total[k] = weight[k] / total[k]
    for j in range(eta.shape[0]):
        for k in range(n):
            chosen = weight[k] if y[k] == j + 1.0 else 0.0
            slopes[j, k] = chosen - slopes[j, k] * total[k]


GRADIENTS_OF = {
    "gaussian": gaussian_gradients,
    "student-t": student_gradients,
    "negative-binomial": negative_binomial_gradients,
    "gamma": gamma_gradients,
    "softmax": softmax_gradients,
}


# --- loops over states ------------------------------------------------------------------------------------------------


@kernel_with(fastmath=SUMS)
def plain_sum(values):
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@kernel
def fill_predictors(eta, shapes, out):
    """The predictors of a state; the log shapes stand in the first column alone."""
    linear = eta.shape[0]
    out[:linear] = eta
    for j in range(shapes.size):
        out[linear + j, 0] = shapes[j]


@kernel
def fill_values(family, eta, shapes, y, extra, weight, out):
    """out[s]: log p of each row at state s."""
    states, linear, n = eta.shape
    room = np.empty((linear + shapes.shape[1], n))
    for s in range(states):
        fill_predictors(eta[s], shapes[s], room)
        call_joint_values(family.values, (family.shape, room, n, y, extra, weight, out[s]))


@kernel
def fill_sums(family, eta, shapes, y, extra, weight, sums, totals):
    """Sums of log p and of its slopes in the log shapes; in place of η, the slopes in the linear predictors."""
    states, linear, n = eta.shape
    room, values, joint = np.empty((linear + shapes.shape[1], n)), np.empty(n), family.joint
    for s in range(states):
        fill_predictors(eta[s], shapes[s], room)
        call_joint_values(joint.values, (joint.shape, room, n, y, extra, weight, values))
        sums[s] = plain_sum(values)
        call_gradients(family.gradients, (joint.shape, room, n, y, extra, weight, eta[s], totals[s]))


@cache
def _gradients(name: str) -> Address:
    return Address.of(GRADIENTS_OF[name], GRADIENTS)


def joint_values_many(family: JointFamily, eta: Floats, shapes: Floats, numbers: tuple[Floats, ...]) -> Floats:
    """log p of each row at each state, (S, n), from linear predictors (S, linear, n) and log shapes (S, k).

    `numbers` are y, extra and weight of the rows.
    """
    out = np.empty((eta.shape[0], eta.shape[2]))
    fill_values(compiled_joint(family), eta, shapes, *map(np.array, numbers), out)
    return out


def joint_sums(
    family: JointFamily, eta: Floats, shapes: Floats, numbers: tuple[Floats, ...]
) -> tuple[Floats, Floats, Floats]:
    """Sums over the rows of log p (S,) and of its slopes in the log shapes (S, k), and its slopes in η, in place."""
    sums, totals = np.empty(eta.shape[0]), np.empty(shapes.shape)
    compiled = CompiledSums(compiled_joint(family), _gradients(family.name).number)
    fill_sums(compiled, eta, shapes, *map(np.array, numbers), sums, totals)
    return sums, totals, eta
