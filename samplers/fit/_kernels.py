"""Compiled stochastic gradient steps, which are too fine-grained for NumPy."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from designer.core.jit import kernel

ABSOLUTE, LOGISTIC, QUANTILE, POWER, POISSON = range(5)  # losses


@kernel
def sgd(
    x: npt.NDArray[np.floating],
    y: npt.NDArray[np.float64],
    offset: npt.NDArray[np.float64],
    order: npt.NDArray[np.int64],
    theta: npt.NDArray[np.float64],
    loss: int,
    shape: float,
    t: int,
    c1: float,
    c2: float,
    c3: float,
) -> float:
    """One step per row of `order`, with step sizes c1 (c2 + t)^-c3; θ is updated in place.

    `offset` is empty if there is none; `shape` is the quantile or the power, if the loss has one. Returns the sum of
    losses, each before its row's own step.
    """
    total = 0.0
    for i in order:
        eta = 0.0
        for k in range(theta.size):
            eta += x[i, k] * theta[k]
        if offset.size > 0:
            eta += offset[i]
        if loss == LOGISTIC:
            tail = math.log1p(math.exp(-abs(eta)))  # log(1 + e^η) without overflow
            total += max(eta, 0.0) + tail - y[i] * eta
            score = y[i] - 0.5 * (1.0 + math.tanh(0.5 * eta))
        elif loss == POISSON:
            mu = math.exp(eta)
            total += mu - y[i] * eta + (y[i] * (math.log(y[i]) - 1.0) if y[i] > 0.0 else 0.0)
            score = y[i] - mu
        else:
            residual = y[i] - eta
            size = abs(residual)
            total += size
            score = np.sign(residual)
            if loss == QUANTILE:
                lean = shape - 0.5
                total += lean * residual - 0.5 * size
                score = 0.5 * score + lean
            elif loss == POWER:
                score *= size ** (shape - 1.0)
                total += size**shape / shape - size
        step = c1 * (c2 + t) ** -c3 * score
        for k in range(theta.size):
            theta[k] += step * x[i, k]
        t += 1
    return total
