"""Priors, terms l_i, log-likelihoods and gradients of the built-in models, chosen by type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from designer._jit import JIT, kernel
from samplers._permutation import is_a
from samplers.fused.parts import (
    Hot,
    ICARows,
    LassoRows,
    LogisticExpanded,
    LogisticMapped,
    LogisticResiduals,
    LogisticRows,
    MixtureData,
)
from samplers.models._kernels import (
    ORTHONORMAL,
    departure,
    ica_term,
    ica_value,
    lasso_gradient,
    lasso_term,
    lasso_value,
    mixture_term,
    mixture_value,
)


def log_prior(model: Any, theta: Any) -> Any: ...
def term(model: Any, theta: Any, theta_new: Any, i: Any) -> Any: ...
def log_likelihood(model: Any, theta: Any, i: Any) -> Any: ...
def gradient(model: Any, theta: Any, indices: Any, scale: Any, out: Any) -> Any: ...


@njit(fastmath={"reassoc", "contract"}, **JIT)
def dot(row, theta):
    """A plain sum of products; only its order of summation is free, so that it vectorises."""
    total = 0.0
    for k in range(theta.size):
        total += row[k] * theta[k]
    return total


@njit(fastmath={"reassoc", "contract"}, **JIT)
def quadratic(matrix, d):
    total = 0.0
    for i in range(d.size):
        total += d[i] * dot(matrix[i], d)
    return total


@kernel
def log_sigmoid(eta):
    if eta > 0.0:
        return -math.log1p(math.exp(-eta))
    return eta - math.log1p(math.exp(eta))


@kernel
def signed(labels, i, eta):
    """eta of a datum whose label is 1, -eta of one whose label is 0 or -1."""
    return eta if labels.size == 0 or labels[i] > 0 else -eta


@kernel
def expanded_prior(model, theta):
    """The prior's and the sum of the proxies."""
    d = theta - model.centre
    prior = -0.5 * model.prior_precision * dot(theta, theta)
    return prior + dot(model.gradient, d) + 0.5 * quadratic(model.hessian, d)


@kernel
def expansion(model, i):
    """eta*, slope and curvature of a datum's log-likelihood at the centre."""
    eta = signed(model.labels, i, dot(model.rows[i], model.centre))
    slope = math.exp(log_sigmoid(-eta))
    return eta, model.scale * slope, -model.second * model.scale * slope * (1.0 - slope)


@overload(log_prior)
def _log_prior(model, theta):
    if is_a(LogisticRows, model) or is_a(LogisticMapped, model):
        return lambda model, theta: -0.5 * model.prior_precision * dot(theta, theta)
    if is_a(LogisticResiduals, model) or is_a(LogisticExpanded, model):
        return lambda model, theta: expanded_prior(model, theta)
    if is_a(ICARows, model):
        return lambda model, theta: 0.0 if departure(theta, model.rows.shape[1]) <= ORTHONORMAL else -math.inf
    if is_a(MixtureData, model):
        return lambda model, theta: -0.5 * (theta[0] ** 2 / model.first_prior + theta[1] ** 2 / model.second_prior)
    if is_a(LassoRows, model):
        return lambda model, theta: -model.penalty * np.abs(theta).sum()
    if is_a(Hot, model):
        return lambda model, theta: log_prior(model.model, theta)
    return None


@overload(term)
def _term(model, theta, theta_new, i):
    if is_a(LogisticRows, model):

        def plain(model, theta, theta_new, i):
            row = model.rows[i]
            return log_sigmoid(dot(row, theta_new)) - log_sigmoid(dot(row, theta))

        return plain
    if is_a(LogisticMapped, model):

        def mapped(model, theta, theta_new, i):
            row = model.rows[i]
            new = log_sigmoid(signed(model.labels, i, dot(row, theta_new)))
            return new - log_sigmoid(signed(model.labels, i, dot(row, theta)))

        return mapped
    if is_a(LogisticResiduals, model):

        def controlled(model, theta, theta_new, i):
            row, n = model.rows[i], theta.size
            old, new = dot(row, theta), dot(row, theta_new)
            proxy = (new - old) * (row[n + 1] + 0.5 * row[n + 2] * (new + old - 2.0 * row[n]))
            return model.scale * (log_sigmoid(new) - log_sigmoid(old)) - proxy

        return controlled
    if is_a(LogisticExpanded, model):

        def expanded(model, theta, theta_new, i):
            row = model.rows[i]
            old, new = signed(model.labels, i, dot(row, theta)), signed(model.labels, i, dot(row, theta_new))
            centre, slope, curvature = expansion(model, i)
            proxy = (new - old) * (slope + 0.5 * curvature * (new + old - 2.0 * centre))
            return model.scale * (log_sigmoid(new) - log_sigmoid(old)) - proxy

        return expanded
    if is_a(ICARows, model):
        return lambda model, theta, theta_new, i: ica_term(model.rows[i], theta, theta_new)
    if is_a(MixtureData, model):
        return lambda model, theta, theta_new, i: (
            model.beta * mixture_term(model.x[i], theta, theta_new, model.variance)
        )
    if is_a(LassoRows, model):
        return lambda model, theta, theta_new, i: lasso_term(model.rows[i], theta, theta_new, model.precision)
    if is_a(Hot, model):
        return lambda model, theta, theta_new, i: model.scale * term(model.model, theta, theta_new, i)
    return None


@overload(log_likelihood)
def _log_likelihood(model, theta, i):
    if is_a(LogisticRows, model):
        return lambda model, theta, i: log_sigmoid(dot(model.rows[i], theta))
    if is_a(LogisticMapped, model):
        return lambda model, theta, i: log_sigmoid(signed(model.labels, i, dot(model.rows[i], theta)))
    if is_a(LogisticResiduals, model):

        def controlled(model, theta, i):
            row, n = model.rows[i], theta.size
            eta = dot(row, theta)
            d = eta - row[n]
            return model.scale * log_sigmoid(eta) - d * (row[n + 1] + 0.5 * row[n + 2] * d)

        return controlled
    if is_a(LogisticExpanded, model):

        def expanded(model, theta, i):
            eta = signed(model.labels, i, dot(model.rows[i], theta))
            centre, slope, curvature = expansion(model, i)
            d = eta - centre
            return model.scale * log_sigmoid(eta) - d * (slope + 0.5 * curvature * d)

        return expanded
    if is_a(ICARows, model):
        return lambda model, theta, i: ica_value(model.rows[i], theta)
    if is_a(MixtureData, model):
        return lambda model, theta, i: model.beta * mixture_value(model.x[i], theta, model.variance)
    if is_a(LassoRows, model):
        return lambda model, theta, i: lasso_value(model.rows[i], theta, model.precision)
    if is_a(Hot, model):
        return lambda model, theta, i: model.scale * log_likelihood(model.model, theta, i)
    return None


@overload(gradient)
def _gradient(model, theta, indices, scale, out):
    if is_a(LassoRows, model):

        def lasso(model, theta, indices, scale, out):
            """Of the log posterior, with that of the data scaled up from a mini-batch."""
            lasso_gradient(model.rows, theta, model.precision, indices, out)
            for k in range(theta.size):
                out[k] = scale * out[k] - model.penalty * np.sign(theta[k])

        return lasso
    if is_a(Hot, model):
        return lambda model, theta, indices, scale, out: gradient(model.model, theta, indices, scale * model.scale, out)
    return None
