"""Default starts of chains: near the posterior mode, found in a few passes over the data."""

from __future__ import annotations

import math

import numpy as np

from designer.core.arrays import Floats
from samplers.models.arrays import blocks
from samplers.models.lasso import Lasso
from samplers.models.mixture import Mixture
from samplers.models.rj_logistic import RJLogistic

MOST_SWEEPS = 1000


def lasso_mode(model: Lasso, temperature: float = 1.0) -> Floats:
    """The posterior mode, by coordinate descent on the normal equations: one pass over the data.

    Examples
    --------
    >>> model = Lasso.from_data([[1.0, 0.0], [0.0, 2.0]], [3.0, 0.1], precision=1.0, penalty=1.0)
    >>> lasso_mode(model)
    array([2., 0.])
    """
    products = np.zeros((model.dimension + 1, model.dimension + 1))
    for block in blocks(model.n_data):
        rows = np.asarray(model.rows[block], dtype=np.float64)
        products += model.precision / temperature * (rows.T @ rows)
    gram, score = products[:-1, :-1], products[:-1, -1]
    width, theta = np.sqrt(np.diag(gram)), np.zeros(model.dimension)
    for _ in range(MOST_SWEEPS):
        before = theta.copy()
        for j in np.flatnonzero(width):
            rest = score[j] - gram[j] @ theta + gram[j, j] * theta[j]
            theta[j] = math.copysign(max(abs(rest) - model.penalty, 0.0), rest) / gram[j, j]
        if float(np.max(np.abs(theta - before) * width, initial=0.0)) < 1e-6:  # in conditional standard deviations
            break
    return theta


def mixture_moments(model: Mixture) -> Floats:
    """The parameters that give the mean and the variance of the data: close to one of the two modes.

    Examples
    --------
    >>> mixture_moments(Mixture.from_data([-3.0, -1.0, 1.0, 3.0], variance=1.0))
    array([-2.,  4.])
    """
    pieces = blocks(model.n_data)
    mean = sum(float(model.x[piece].sum(dtype=np.float64)) for piece in pieces) / model.n_data
    spread = sum(float(np.sum((model.x[piece] - mean) ** 2, dtype=np.float64)) for piece in pieces) / model.n_data
    apart = 2.0 * math.sqrt(max(0.0, spread - model.variance))
    return np.array([mean - 0.5 * apart, apart])


def best_single(model: RJLogistic) -> Floats:
    """The one coefficient with the largest score statistic at 0, set to where one Newton step leads.

    Examples
    --------
    >>> best_single(RJLogistic.from_data([[1.0, 0.1], [1.0, -2.0], [1.0, 1.0]], [1, 0, 1]))
    array([0.        , 1.23752495])
    """
    sums, squares = model.rows.sum(axis=0), np.einsum("ij,ij->j", model.rows, model.rows)
    scores = np.divide(np.abs(sums), np.sqrt(squares), out=np.zeros_like(sums), where=squares > 0.0)
    best, theta = int(np.argmax(scores)), np.zeros(model.dimension)
    step = 2.0 * float(sums[best] / squares[best]) if squares[best] > 0.0 else 0.0  # slope 1/2, curvature 1/4
    least = 2.0 * model.floor if model.floor else 0.1
    theta[best] = math.copysign(max(abs(step), least), step) if abs(step) <= model.floor else step
    return theta
