"""Models with several predictors (`samplers.models.multi_glm`), many rows at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.jit import kernel, kernel_with
from samplers.compiled.expanded import proxies
from samplers.compiled.glm import EXTRA, WEIGHT, RowNumbers, Y, number, plain_sum
from samplers.compiled.logistic import ROOM, SUMS
from samplers.models.families.joint import CompiledJoint
from samplers.models.priors import CompiledPrior, compiled_log_prior


class MultiData(NamedTuple):
    """Several predictors: `linear` products with the rows, class by class in θ, then the last entries of θ themselves.

    The anchor of a row has its predictors, slopes and curvatures at the centre. Heavy rows are apart.
    """

    rows: Floats
    numbers: RowNumbers
    columns: int  # D
    linear: int
    family: CompiledJoint
    prior: CompiledPrior
    scale: float
    order: int  # of the control variates; 0: none
    centre: Floats
    gradient: Floats
    hessian: Any
    heavy_rows: Floats
    heavy_numbers: RowNumbers
    on_disk: bool


@kernel_with(fastmath=SUMS)
def part_dots(rows, i, theta, theta_new, start, size):
    """rows[i] times a part of θ, and of θ', reading the row once."""
    old = new = 0.0
    for k in range(size):
        old += rows[i, k] * theta[start + k]
        new += rows[i, k] * theta_new[start + k]
    return old, new


@kernel
def proxy_change(table, i, at, q, old, new, k):
    """The change of row i's proxy between the predictors old[:, k] and new[:, k]."""
    change, place = 0.0, at + 2 * q
    for j in range(q):
        d = new[j, k] - old[j, k]
        middle = new[j, k] + old[j, k] - 2.0 * table[i, at + j]
        change += d * (table[i, at + q + j] + 0.5 * table[i, place] * middle)
        place += 1
        for m in range(j + 1, q):
            d_m = new[m, k] - old[m, k]
            middle_m = new[m, k] + old[m, k] - 2.0 * table[i, at + m]
            change += 0.5 * table[i, place] * (d * middle_m + d_m * middle)
            place += 1
    return change


@kernel
def multi_terms(model, theta, theta_new, indices, room, out):
    """lᵢ of the drawn rows, or their residuals."""
    n, d, linear, numbers = out.size, model.columns, model.linear, model.numbers
    q = linear + theta.size - linear * d
    old, new, table, family = np.empty((q, n)), np.empty((q, n)), numbers.table, model.family
    y, extra, weight = room[Y, :n], room[EXTRA, :n], room[WEIGHT, :n]
    before, proxy = room[0, :n], room[2, :n]
    for k in range(n):
        i = indices[k]
        offset = number(numbers, i, numbers.offset, 0.0)
        for j in range(linear):
            one, other = part_dots(model.rows, i, theta, theta_new, j * d, d)
            old[j, k], new[j, k] = one + offset, other + offset
        for j in range(linear, q):
            old[j, k], new[j, k] = theta[linear * d + j - linear], theta_new[linear * d + j - linear]
        proxy[k] = proxy_change(table, i, numbers.anchor, q, old, new, k) if model.order > 0 else 0.0
        y[k] = table[i, numbers.y]
        extra[k] = number(numbers, i, numbers.extra, 0.0)
        weight[k] = number(numbers, i, numbers.weight, 1.0)
    family.values(family.shape, old, n, y, extra, weight, before)
    family.values(family.shape, new, n, y, extra, weight, out)
    for k in range(n):
        out[k] = model.scale * (out[k] - before[k] - proxy[k])


@kernel
def multi_sum(model, rows, numbers, theta, first, size, room):
    """The sum of log p over consecutive rows, at most ROOM."""
    d, linear = model.columns, model.linear
    q = linear + theta.size - linear * d
    eta, values, table = np.empty((q, size)), room[1, :size], numbers.table
    y, extra, weight = room[Y, :size], room[EXTRA, :size], room[WEIGHT, :size]
    for k in range(size):
        i = first + k
        offset = number(numbers, i, numbers.offset, 0.0)
        for j in range(linear):
            eta[j, k] = part_dots(rows, i, theta, theta, j * d, d)[0] + offset
        for j in range(linear, q):
            eta[j, k] = theta[linear * d + j - linear]
        y[k] = table[i, numbers.y]
        extra[k] = number(numbers, i, numbers.extra, 0.0)
        weight[k] = number(numbers, i, numbers.weight, 1.0)
    model.family.values(model.family.shape, eta, size, y, extra, weight, values)
    return plain_sum(values)


@kernel
def multi_heavy(model, theta):
    """The log-likelihood of the heavy rows, which every step reads."""
    n, room, total = model.heavy_numbers.table.shape[0], np.empty((WEIGHT + 1, ROOM)), 0.0
    for first in range(0, n, ROOM):
        total += multi_sum(model, model.heavy_rows, model.heavy_numbers, theta, first, min(ROOM, n - first), room)
    return model.scale * total


@kernel
def multi_log_prior(model, theta):
    """The log prior, with the sum of the proxies and the heavy rows if there are control variates."""
    total = compiled_log_prior(model.prior, theta)
    if model.order > 0:
        total += proxies(model, theta)
        if model.heavy_numbers.table.shape[0] > 0:
            total += multi_heavy(model, theta)
    return total


@kernel
def multi_rest(model, theta, total):
    """The log-likelihood of the data of a test, from that of their rows."""
    total *= model.scale
    return total - proxies(model, theta) if model.order > 0 else total
