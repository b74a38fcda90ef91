"""Priors, terms lᵢ, log-likelihoods and gradients of the built-in models, chosen by type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import overload

from designer.core.jit import kernel
from samplers.compiled.expanded import proxies, rest_rows
from samplers.compiled.glm import GLMData, glm_log_prior, glm_rest, glm_sum, glm_terms
from samplers.compiled.logistic import (
    ROOM,
    fill_proxies,
    fill_residuals,
    row_dot,
    sign,
    sum_log_sigmoid,
    two_dots,
    weighted_square,
)
from samplers.compiled.multi import MultiData, multi_log_prior, multi_rest, multi_sum, multi_terms
from samplers.compiled.parts import (
    Hot,
    ICARows,
    LassoRows,
    LogisticExpanded,
    LogisticResiduals,
    LogisticRows,
    MixtureData,
)
from samplers.decide._permutation import is_a
from samplers.models._kernels import (
    ORTHONORMAL,
    departure,
    ica_terms,
    ica_value,
    lasso_gradient,
    lasso_terms,
    lasso_value,
    mixture_terms,
    mixture_value,
)

LINE = 64  # bytes of a cache line
NO_LABELS = np.empty(0, dtype=np.int8)


def log_prior(model: Any, theta: Any) -> Any: ...
def fill_terms(model: Any, theta: Any, theta_new: Any, indices: Any, room: Any, out: Any) -> Any: ...
def log_likelihood(model: Any, theta: Any, i: Any) -> Any: ...
def sum_block(model: Any, theta: Any, first: Any, size: Any, room: Any) -> Any: ...
def full_log_likelihood(model: Any, theta: Any, n_data: Any, room: Any) -> Any: ...
def gradient(model: Any, theta: Any, indices: Any, scale: Any, out: Any) -> Any: ...


@kernel
def heavy_log_likelihood(model, theta):
    """Of the heavy rows, which every step reads: once, since the block keeps that of the state."""
    rows, room, total = model.heavy, np.empty((2, ROOM)), 0.0
    for first in range(0, rows.shape[0], ROOM):
        total += sum_log_sigmoid(rows, NO_LABELS, theta, first, min(ROOM, rows.shape[0] - first), room)
    return model.scale * total


@overload(log_prior)
def _log_prior(model, theta):
    if is_a(LogisticRows, model):
        return lambda model, theta: -0.5 * weighted_square(model.prior_precision, theta)
    if is_a(LogisticResiduals, model) or is_a(LogisticExpanded, model):

        def known(model, theta):
            total = proxies(model, theta) - 0.5 * weighted_square(model.prior_precision, theta)
            if model.heavy.shape[0] > 0:
                total += heavy_log_likelihood(model, theta)
            return total

        return known
    if is_a(GLMData, model):
        return lambda model, theta: glm_log_prior(model, theta)
    if is_a(MultiData, model):
        return lambda model, theta: multi_log_prior(model, theta)
    if is_a(ICARows, model):
        return lambda model, theta: 0.0 if departure(theta, model.rows.shape[1]) <= ORTHONORMAL else -math.inf
    if is_a(MixtureData, model):
        return lambda model, theta: -0.5 * (theta[0] ** 2 / model.first_prior + theta[1] ** 2 / model.second_prior)
    if is_a(LassoRows, model):
        return lambda model, theta: -model.penalty * np.abs(theta).sum()
    if is_a(Hot, model):
        return lambda model, theta: log_prior(model.model, theta)
    return None


@kernel
def fill_signs(rows, labels, indices, out):
    """1 and -1 by the labels of these data, unless the rows are signed; this also brings the rows into the cache.

    Otherwise each row would be waited for alone: half of the branch predictions at random labels are wrong, and each
    miss discards the work on the following rows.
    """
    if labels.size == 0:
        out[:] = 1.0
        return
    step = LINE // rows.itemsize
    for k in range(indices.size):
        out[k] = rows[indices[k], 0]
        for j in range(step, rows.shape[1], step):
            out[k] += rows[indices[k], j]
    for k in range(indices.size):
        out[k] = sign(labels[indices[k]])


# --- terms of the data that a test has drawn ------------------------------------------------------------------------


@overload(fill_terms)
def _fill_terms(model, theta, theta_new, indices, room, out):
    """The lᵢ of at most ROOM data; `room` has three rows of workspace."""
    if is_a(LogisticRows, model):

        def plain(model, theta, theta_new, indices, room, out):
            old, new, proxy = room[0, : out.size], room[1, : out.size], room[2, : out.size]
            fill_signs(model.rows, model.labels, indices, out)
            for k in range(out.size):
                before, after = two_dots(model.rows, indices[k], theta, theta_new)
                old[k], new[k], proxy[k] = out[k] * before, out[k] * after, 0.0
            fill_residuals(old, new, 1.0, proxy, out)

        return plain
    if is_a(LogisticResiduals, model):

        def controlled(model, theta, theta_new, indices, room, out):
            old, new, proxy = room[0, : out.size], room[1, : out.size], room[2, : out.size]
            rows, n = model.rows, theta.size
            for k in range(out.size):
                i = indices[k]
                before, after = two_dots(rows, i, theta, theta_new)
                old[k], new[k] = before, after
                proxy[k] = (after - before) * (
                    rows[i, n + 1] + 0.5 * rows[i, n + 2] * (after + before - 2.0 * rows[i, n])
                )
            fill_residuals(old, new, model.scale, proxy, out)

        return controlled
    if is_a(LogisticExpanded, model):

        def expanded(model, theta, theta_new, indices, room, out):
            old, new, proxy = room[0, : out.size], room[1, : out.size], room[2, : out.size]
            rows = rest_rows(model, indices)
            fill_signs(model.rows, model.labels, rows, out)
            for k in range(out.size):
                before, after = two_dots(model.rows, rows[k], theta, theta_new)
                at_centre = row_dot(model.rows, rows[k], model.centre)
                old[k], new[k], proxy[k] = out[k] * before, out[k] * after, out[k] * at_centre
            fill_proxies(old, new, proxy, model.scale, model.second)
            fill_residuals(old, new, model.scale, proxy, out)

        return expanded
    if is_a(Hot, model):

        def hot(model, theta, theta_new, indices, room, out):
            fill_terms(model.model, theta, theta_new, indices, room, out)
            for k in range(out.size):
                out[k] *= model.scale

        return hot
    if is_a(GLMData, model):
        return lambda model, theta, theta_new, indices, room, out: glm_terms(
            model, theta, theta_new, indices, room, out
        )
    if is_a(MultiData, model):
        return lambda model, theta, theta_new, indices, room, out: multi_terms(
            model, theta, theta_new, indices, room, out
        )
    if is_a(ICARows, model):
        return lambda model, theta, theta_new, indices, room, out: ica_terms(model.rows, theta, theta_new, indices, out)
    if is_a(MixtureData, model):
        return lambda model, theta, theta_new, indices, room, out: mixture_terms(
            model.x, theta, theta_new, model.variance, model.beta, indices, out
        )
    if is_a(LassoRows, model):
        return lambda model, theta, theta_new, indices, room, out: lasso_terms(
            model.rows, theta, theta_new, model.precision, indices, out
        )
    return None


# --- the log-likelihood of all data ---------------------------------------------------------------------------------


@overload(log_likelihood)
def _log_likelihood(model, theta, i):
    if is_a(ICARows, model):
        return lambda model, theta, i: ica_value(model.rows[i], theta)
    if is_a(MixtureData, model):
        return lambda model, theta, i: model.beta * mixture_value(model.x[i], theta, model.variance)
    if is_a(LassoRows, model):
        return lambda model, theta, i: lasso_value(model.rows[i], theta, model.precision)
    return None


@overload(sum_block)
def _sum_block(model, theta, first, size, room):
    """Log-likelihood of at most ROOM consecutive data; for logistic regression without proxies, at temperature 1."""
    if is_a(LogisticRows, model) or is_a(LogisticExpanded, model):
        return lambda model, theta, first, size, room: sum_log_sigmoid(
            model.rows, model.labels, theta, first, size, room
        )
    if is_a(LogisticResiduals, model):
        return lambda model, theta, first, size, room: sum_log_sigmoid(model.rows, NO_LABELS, theta, first, size, room)
    if is_a(GLMData, model):
        return lambda model, theta, first, size, room: glm_sum(
            model.design, model.numbers, model.family, theta, first, size, room
        )
    if is_a(MultiData, model):
        return lambda model, theta, first, size, room: multi_sum(
            model, model.rows, model.numbers, theta, first, size, room
        )

    def one_by_one(model, theta, first, size, room):
        part = 0.0
        for i in range(first, first + size):
            part += log_likelihood(model, theta, i)
        return part

    return one_by_one


@kernel
def sum_blocks(model, theta, n_data, room):
    """Kahan summation, because totals of 10^8 data are compared with each other."""
    total, lost = 0.0, 0.0
    for first in range(0, n_data, ROOM):
        part = sum_block(model, theta, first, min(ROOM, n_data - first), room) - lost
        longer = total + part
        lost = (longer - total) - part
        total = longer
    return total


@overload(full_log_likelihood)
def _full_log_likelihood(model, theta, n_data, room):
    """The log-likelihood of all data; with proxies, minus their sum, which needs no pass over the data.

    Heavy rows are no data: where they are among the others, they are added up with them and taken off again.
    """
    if is_a(Hot, model):
        return lambda model, theta, n_data, room: model.scale * full_log_likelihood(model.model, theta, n_data, room)
    if is_a(LogisticResiduals, model):
        return lambda model, theta, n_data, room: (
            model.scale * sum_blocks(model, theta, n_data, room) - proxies(model, theta)
        )
    if is_a(LogisticExpanded, model):
        return lambda model, theta, n_data, room: (
            model.scale * sum_blocks(model, theta, model.rows.shape[0], room)
            - heavy_log_likelihood(model, theta)
            - proxies(model, theta)
        )
    if is_a(GLMData, model):
        return lambda model, theta, n_data, room: glm_rest(
            model, theta, sum_blocks(model, theta, model.numbers.table.shape[0], room)
        )
    if is_a(MultiData, model):
        return lambda model, theta, n_data, room: multi_rest(model, theta, sum_blocks(model, theta, n_data, room))
    return lambda model, theta, n_data, room: sum_blocks(model, theta, n_data, room)


# --- gradients ------------------------------------------------------------------------------------------------------


@overload(gradient)
def _gradient(model, theta, indices, scale, out):
    if is_a(LassoRows, model):

        def lasso(model, theta, indices, scale, out):
            """Gradient of the log posterior, the data's part scaled up from a mini-batch."""
            lasso_gradient(model.rows, theta, model.precision, indices, out)
            for k in range(theta.size):
                out[k] = scale * out[k] - model.penalty * np.sign(theta[k])

        return lasso
    if is_a(Hot, model):
        return lambda model, theta, indices, scale, out: gradient(model.model, theta, indices, scale * model.scale, out)
    return None
