"""Group effects in compiled chains: predictors, log priors and scales given effects."""

from __future__ import annotations

from typing import NamedTuple

from numba.extending import overload

from designer.core.arrays import Floats, Ints
from designer.core.jit import kernel, kernel_with
from samplers.compiled.glm import fill_predictors, log_prior_of, one_product, two_products
from samplers.compiled.logistic import SUMS
from samplers.decide._permutation import is_a
from samplers.models.groups._scale_kernels import log_prior_of_effects
from samplers.models.priors import CompiledPrior, compiled_log_prior


class GroupedRows(NamedTuple):
    """Rows x_i, then for each term the group and, unless they are ones, the columns z_i.

    `starts` and `widths` say where the effects of a term are in θ, `places` in which column of the rows its group is.
    """

    rows: Floats
    coefficients: int
    starts: Ints
    widths: Ints
    places: Ints
    ones: Ints  # 1: the term has no columns


class GroupedPrior(NamedTuple):
    """The prior of the coefficients, and of effects and scales (`samplers.models.groups.model.Layout`)."""

    coefficients: CompiledPrior
    starts: Ints
    groups: Ints
    widths: Ints
    scales: Floats
    degrees: Floats
    first: int


@kernel_with(fastmath=SUMS)
def grouped_product(design, i, theta):
    """The predictor of row i at θ."""
    rows, total = design.rows, 0.0
    for k in range(design.coefficients):
        total += rows[i, k] * theta[k]
    for t in range(design.starts.size):
        place, width = design.places[t], design.widths[t]
        at = design.starts[t] + width * int(rows[i, place])
        if design.ones[t] > 0:
            total += theta[at]
        else:
            for j in range(width):
                total += rows[i, place + 1 + j] * theta[at + j]
    return total


@kernel_with(fastmath=SUMS)
def grouped_products(design, i, theta, theta_new):
    """The same at θ and θ', reading the row once."""
    rows, old, new = design.rows, 0.0, 0.0
    for k in range(design.coefficients):
        old += rows[i, k] * theta[k]
        new += rows[i, k] * theta_new[k]
    for t in range(design.starts.size):
        place, width = design.places[t], design.widths[t]
        at = design.starts[t] + width * int(rows[i, place])
        if design.ones[t] > 0:
            old += theta[at]
            new += theta_new[at]
        else:
            for j in range(width):
                old += rows[i, place + 1 + j] * theta[at + j]
                new += rows[i, place + 1 + j] * theta_new[at + j]
    return old, new


@kernel
def fill_grouped(design, theta, first, out):
    for k in range(out.size):
        out[k] = grouped_product(design, first + k, theta)


@overload(two_products)
def _two_products(design, i, theta, theta_new):
    if is_a(GroupedRows, design):
        return lambda design, i, theta, theta_new: grouped_products(design, i, theta, theta_new)
    return None


@overload(one_product)
def _one_product(design, i, theta):
    if is_a(GroupedRows, design):
        return lambda design, i, theta: grouped_product(design, i, theta)
    return None


@overload(fill_predictors)
def _fill_predictors(design, theta, first, out):
    if is_a(GroupedRows, design):
        return lambda design, theta, first, out: fill_grouped(design, theta, first, out)
    return None


@overload(log_prior_of)
def _log_prior_of(prior, theta):
    if is_a(GroupedPrior, prior):
        return lambda prior, theta: (
            compiled_log_prior(prior.coefficients, theta)
            + log_prior_of_effects(
                theta, prior.starts, prior.groups, prior.widths, prior.scales, prior.degrees, prior.first
            )
        )
    return None
