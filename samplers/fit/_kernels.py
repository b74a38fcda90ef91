"""Compiled stochastic gradient steps, which are too fine-grained for NumPy."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from designer.core.jit import kernel


@kernel
def sgd(
    x: npt.NDArray[np.floating],
    y: npt.NDArray[np.float64],
    order: npt.NDArray[np.int64],
    theta: npt.NDArray[np.float64],
    logistic: bool,
    t: int,
    c1: float,
    c2: float,
    c3: float,
) -> float:
    """One step per row of `order`, with step sizes c1 (c2 + t)^-c3; θ is updated in place.

    Returns the sum of losses, each before its row's own step.
    """
    total = 0.0
    for i in order:
        eta = 0.0
        for k in range(theta.size):
            eta += x[i, k] * theta[k]
        if logistic:
            tail = math.log1p(math.exp(-abs(eta)))  # log(1 + e^η) without overflow
            total += max(eta, 0.0) + tail - y[i] * eta
            score = y[i] - 0.5 * (1.0 + math.tanh(0.5 * eta))
        else:
            residual = y[i] - eta
            total += abs(residual)
            score = np.sign(residual)
        step = c1 * (c2 + t) ** -c3 * score
        for k in range(theta.size):
            theta[k] += step * x[i, k]
        t += 1
    return total
