"""Generalised linear models many rows at a time: predictors first, then the family's functions without branches.

How a predictor is made from a row and θ depends on the type of the *design* alone (`two_products`, `one_product`,
`fill_predictors`). What it means is the family's affair, whose loops are called by their address
(`samplers.models.families.kernels`), so that nothing here is compiled again for another family or prior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from designer.core.arrays import Floats, Ints
from designer.core.jit import kernel, kernel_with
from samplers.compiled.expanded import proxies, rest_rows
from samplers.compiled.logistic import ROOM, SUMS, fill_products, row_dot, two_dots
from samplers.decide._permutation import is_a
from samplers.models.families.joint_sums import plain_sum
from samplers.models.families.kernels import CompiledFamily, call_changes, call_expansions, call_values
from samplers.models.priors import CompiledPrior, compiled_log_prior

Y, EXTRA, WEIGHT = 6, 7, 8  # rows of the workspace
NONE = -1  # no such column


class DenseRows(NamedTuple):
    """Predictors are products of rows with θ; columns after the first θ.size belong to others."""

    rows: Floats


class RowNumbers(NamedTuple):
    """Numbers of each row in a table, and their columns there, NONE if they have none.

    The anchor has three: η*, offset included, slope and curvature at the centre.
    """

    table: Floats
    y: int
    offset: int
    weight: int
    extra: int
    anchor: int


class GLMData(NamedTuple):
    """A generalised linear model, with control variates or without.

    The control variates are stored among the numbers of each row, or else expanded for each drawn row. Heavy rows are
    apart; `holes`, `fillers`, `buckets` and `shift` are those of `parts.LogisticExpanded`.
    """

    design: Any
    numbers: RowNumbers
    family: CompiledFamily
    prior: Any  # a `CompiledPrior`, or one with group effects
    scale: float  # of the log-likelihood: 1 / temperature
    order: int  # of the control variates; 0: none
    centre: Floats
    gradient: Floats
    hessian: Any
    heavy_design: Any
    heavy_numbers: RowNumbers
    holes: Ints
    fillers: Ints
    buckets: Ints
    shift: int
    on_disk: bool


# --- predictors, by the type of the design ----------------------------------------------------------------------------


def two_products(design: Any, i: Any, theta: Any, theta_new: Any) -> Any:
    """Predictors of row i at θ and θ', without its offset."""


def one_product(design: Any, i: Any, theta: Any) -> Any:
    """The predictor of row i at θ."""


def fill_predictors(design: Any, theta: Any, first: Any, out: Any) -> Any:
    """The predictors of consecutive rows."""


@overload(two_products)
def _two_products(design, i, theta, theta_new):
    if is_a(DenseRows, design):
        return lambda design, i, theta, theta_new: two_dots(design.rows, i, theta, theta_new)
    return None


@overload(one_product)
def _one_product(design, i, theta):
    if is_a(DenseRows, design):
        return lambda design, i, theta: row_dot(design.rows, i, theta)
    return None


@overload(fill_predictors)
def _fill_predictors(design, theta, first, out):
    if is_a(DenseRows, design):
        return lambda design, theta, first, out: fill_products(design.rows, theta, first, out)
    return None


def fill_two_products(design: Any, rows: Any, theta: Any, theta_new: Any, old: Any, new: Any) -> Any:
    """The predictors of these rows at θ and θ'."""


@overload(fill_two_products)
def _fill_two_products(design, rows, theta, theta_new, old, new):
    if is_a(DenseRows, design):
        return lambda design, rows, theta, theta_new, old, new: fill_two_dots(
            design.rows, rows, theta, theta_new, old, new
        )

    def one_by_one(design, rows, theta, theta_new, old, new):
        for k in range(old.size):
            old[k], new[k] = two_products(design, rows[k], theta, theta_new)

    return one_by_one


@kernel_with(fastmath=SUMS)
def fill_two_dots(table, rows, theta, theta_new, old, new):
    """Products of these rows with θ and θ'; attributes and views stay out of the loops, since numba counts them."""
    for k in range(old.size):
        i, before, after = rows[k], 0.0, 0.0
        for j in range(theta.size):
            before += table[i, j] * theta[j]
            after += table[i, j] * theta_new[j]
        old[k], new[k] = before, after


@kernel
def fill_column(table, rows, column, default, out):
    """A number of each of these rows, or the default."""
    if column < 0:
        out[:] = default
        return
    for k in range(out.size):
        out[k] = table[rows[k], column]


@kernel
def add_column(table, rows, column, out):
    for k in range(out.size):
        out[k] += table[rows[k], column]


@kernel
def fill_stored(table, rows, at, at_y, old, new, y, out):
    """y, and the change of each row's proxy, from its η*, slope and curvature in the table."""
    for k in range(out.size):
        i, before, after = rows[k], old[k], new[k]
        bend = 0.5 * table[i, at + 2] * (after + before - 2.0 * table[i, at])
        out[k] = (after - before) * (table[i, at + 1] + bend)
        y[k] = table[i, at_y]


@kernel
def fill_stored_dots(design_rows, table, rows, theta, theta_new, at, at_y, old, new, y, out):
    """`fill_two_dots` and `fill_stored` in one pass over the rows, which lie far from each other in memory."""
    for k in range(out.size):
        i = rows[k]
        before, after = two_dots(design_rows, i, theta, theta_new)
        bend = 0.5 * table[i, at + 2] * (after + before - 2.0 * table[i, at])
        old[k], new[k], y[k] = before, after, table[i, at_y]
        out[k] = (after - before) * (table[i, at + 1] + bend)


@kernel
def fill_in_turn(design, numbers, rows, theta, theta_new, room, n):
    """Predictors at θ and θ', y, and the change of each row's stored proxy, into the workspace."""
    old, new, table = room[0, :n], room[1, :n], numbers.table
    fill_two_products(design, rows, theta, theta_new, old, new)
    if numbers.offset >= 0:
        add_column(table, rows, numbers.offset, old)
        add_column(table, rows, numbers.offset, new)
    fill_stored(table, rows, numbers.anchor, numbers.y, old, new, room[Y, :n], room[2, :n])


def fill_with_stored(design: Any, numbers: Any, rows: Any, theta: Any, theta_new: Any, room: Any, n: Any) -> Any:
    """The same, in one pass where that is possible."""


@overload(fill_with_stored)
def _fill_with_stored(design, numbers, rows, theta, theta_new, room, n):
    if is_a(DenseRows, design):

        def at_once(design, numbers, rows, theta, theta_new, room, n):
            if numbers.offset >= 0:
                fill_in_turn(design, numbers, rows, theta, theta_new, room, n)
            else:
                y, at, table = room[Y, :n], numbers.anchor, numbers.table
                old, new, out = room[0, :n], room[1, :n], room[2, :n]
                fill_stored_dots(design.rows, table, rows, theta, theta_new, at, numbers.y, old, new, y, out)

        return at_once
    return lambda design, numbers, rows, theta, theta_new, room, n: fill_in_turn(
        design, numbers, rows, theta, theta_new, room, n
    )


# --- terms of the data that a test has drawn --------------------------------------------------------------------------


@kernel
def fill_numbers(numbers, rows, room, n):
    """Extra number and weight of these rows, into the workspace."""
    table = numbers.table
    if numbers.extra >= 0:
        fill_column(table, rows, numbers.extra, 0.0, room[EXTRA, :n])
    fill_column(table, rows, numbers.weight, 1.0, room[WEIGHT, :n])


@kernel
def glm_terms(model, theta, theta_new, indices, room, out):
    """lᵢ of the drawn rows, or their residuals."""
    n, numbers, table, design, family = out.size, model.numbers, model.numbers.table, model.design, model.family
    stored = numbers.anchor >= 0
    rows = indices if stored else rest_rows(model, indices)
    old, new, proxy = room[0, :n], room[1, :n], room[2, :n]
    y, extra, weight = room[Y, :n], room[EXTRA, :n], room[WEIGHT, :n]
    fill_numbers(numbers, rows, room, n)
    if stored:
        fill_with_stored(design, numbers, rows, theta, theta_new, room, n)
    else:
        fill_two_products(design, rows, theta, theta_new, old, new)
        if numbers.offset >= 0:
            add_column(table, rows, numbers.offset, old)
            add_column(table, rows, numbers.offset, new)
        fill_column(table, rows, numbers.y, 0.0, y)
    if not stored and model.order > 0:
        centre, second = model.centre, float(model.order - 1)
        fill_two_products(design, rows, centre, centre, proxy, out)
        if numbers.offset >= 0:
            add_column(table, rows, numbers.offset, proxy)
        call_expansions(family.expansions, (family.shape, old, new, proxy, y, extra, weight, model.scale, second))
    elif not stored:
        proxy[:] = 0.0
    call_changes(family.changes, (family.shape, old, new, y, extra, weight, model.scale, proxy, out))


# --- log-likelihoods of many rows, log priors -------------------------------------------------------------------------


@kernel
def glm_sum(design, numbers, family, theta, first, size, room):
    """The sum of log p over consecutive rows, at most ROOM."""
    eta, values = room[0, :size], room[1, :size]
    y, extra, weight = room[Y, :size], room[EXTRA, :size], room[WEIGHT, :size]
    fill_predictors(design, theta, first, eta)
    rows = np.arange(first, first + size)
    fill_column(numbers.table, rows, numbers.y, 0.0, y)
    fill_numbers(numbers, rows, room, size)
    if numbers.offset >= 0:
        add_column(numbers.table, rows, numbers.offset, eta)
    call_values(family.values, (family.shape, eta, y, extra, weight, values))
    return plain_sum(values)


@kernel
def glm_heavy(model, theta):
    """The log-likelihood of the heavy rows, which every step reads."""
    n, room, total = model.heavy_numbers.table.shape[0], np.empty((WEIGHT + 1, ROOM)), 0.0
    for first in range(0, n, ROOM):
        size = min(ROOM, n - first)
        total += glm_sum(model.heavy_design, model.heavy_numbers, model.family, theta, first, size, room)
    return model.scale * total


def log_prior_of(prior: Any, theta: Any) -> Any:
    """The log prior, by the type of the prior."""


@overload(log_prior_of)
def _log_prior_of(prior, theta):
    if is_a(CompiledPrior, prior):
        return lambda prior, theta: compiled_log_prior(prior, theta)
    return None


@kernel
def glm_log_prior(model, theta):
    """The log prior, with the sum of the proxies and the heavy rows if there are control variates."""
    total = log_prior_of(model.prior, theta)
    if model.order > 0:
        total += proxies(model, theta)
        if model.heavy_numbers.table.shape[0] > 0:
            total += glm_heavy(model, theta)
    return total


@kernel
def glm_rest(model, theta, total):
    """The log-likelihood of the data of a test, from that of all rows, heavy ones included if they are among them."""
    total *= model.scale
    if model.order > 0:
        total -= proxies(model, theta)
        if model.numbers.anchor < 0 and model.heavy_numbers.table.shape[0] > 0:
            total -= glm_heavy(model, theta)
    return total
