"""Models with several predictors (`samplers.models.multi_glm`), many rows at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.jit import kernel
from samplers.compiled.expanded import proxies
from samplers.compiled.glm import (
    EXTRA,
    WEIGHT,
    RowNumbers,
    Y,
    add_column,
    fill_column,
    fill_numbers,
    fill_two_dots,
)
from samplers.compiled.logistic import ROOM
from samplers.models.families.joint import CompiledJoint, call_joint_values
from samplers.models.families.joint_sums import plain_sum
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


@kernel
def fill_proxies(table, rows, at, old, new, out):
    """The change of each row's proxy, from predictors, slopes and curvatures in the table."""
    q, n = old.shape[0], out.size
    d, middle, place = np.empty((q, n)), np.empty((q, n)), at + 2 * q
    for j in range(q):
        for k in range(n):
            d[j, k] = new[j, k] - old[j, k]
            middle[j, k] = 0.5 * (new[j, k] + old[j, k]) - table[rows[k], at + j]
    out[:] = 0.0
    for j in range(q):
        for k in range(n):
            out[k] += d[j, k] * (table[rows[k], at + q + j] + table[rows[k], place] * middle[j, k])
        place += 1
        for m in range(j + 1, q):
            for k in range(n):
                out[k] += table[rows[k], place] * (d[j, k] * middle[m, k] + d[m, k] * middle[j, k])
            place += 1


@kernel
def fill_shapes(theta, first, linear, out):
    """The last predictors: the same for all rows."""
    for j in range(linear, out.shape[0]):
        for k in range(out.shape[1]):
            out[j, k] = theta[first + j - linear]


@kernel
def multi_predictors(table, numbers, rows, theta, theta_new, d, linear, old, new):
    """All predictors of these rows at θ and θ'."""
    for j in range(linear):
        part = slice(j * d, (j + 1) * d)
        fill_two_dots(table, rows, theta[part], theta_new[part], old[j], new[j])
        if numbers.offset >= 0:
            add_column(numbers.table, rows, numbers.offset, old[j])
            add_column(numbers.table, rows, numbers.offset, new[j])
    fill_shapes(theta, linear * d, linear, old)
    fill_shapes(theta_new, linear * d, linear, new)


@kernel
def multi_terms(model, theta, theta_new, indices, room, out):
    """lᵢ of the drawn rows, or their residuals."""
    n, d, linear, numbers, family = out.size, model.columns, model.linear, model.numbers, model.family
    q = linear + theta.size - linear * d
    old, new = np.empty((q, n)), np.empty((q, n))
    y, extra, weight = room[Y, :n], room[EXTRA, :n], room[WEIGHT, :n]
    before, proxy = room[0, :n], room[2, :n]
    multi_predictors(model.rows, numbers, indices, theta, theta_new, d, linear, old, new)
    fill_column(numbers.table, indices, numbers.y, 0.0, y)
    fill_numbers(numbers, indices, room, n)
    if model.order > 0:
        fill_proxies(numbers.table, indices, numbers.anchor, old, new, proxy)
    else:
        proxy[:] = 0.0
    call_joint_values(family.values, (family.shape, old, n, y, extra, weight, before))
    call_joint_values(family.values, (family.shape, new, n, y, extra, weight, out))
    for k in range(n):
        out[k] = model.scale * (out[k] - before[k] - proxy[k])


@kernel
def multi_sum(model, table, numbers, theta, first, size, room):
    """The sum of log p over consecutive rows, at most ROOM."""
    d, linear, family = model.columns, model.linear, model.family
    q = linear + theta.size - linear * d
    eta, other, values = np.empty((q, size)), np.empty((q, size)), room[1, :size]
    y, extra, weight = room[Y, :size], room[EXTRA, :size], room[WEIGHT, :size]
    rows = np.arange(first, first + size)
    multi_predictors(table, numbers, rows, theta, theta, d, linear, eta, other)
    fill_column(numbers.table, rows, numbers.y, 0.0, y)
    fill_numbers(numbers, rows, room, size)
    call_joint_values(family.values, (family.shape, eta, size, y, extra, weight, values))
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
