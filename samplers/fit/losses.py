"""Losses of a linear predictor in the form IRLS needs: weights, scores and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from designer.core.arrays import Floats
from designer.core.errors import real


class Working(NamedTuple):
    """Weight, score and loss of each datum at the current θ.

    Attributes
    ----------
    weight
        w_i².
    score
        w_i² (z_i - η_i), minus the slope of the loss.
    value
        Value of the loss.

    Examples
    --------
    >>> LAD().working(np.zeros(1), np.array([2.0]), unit=0.1).value.tolist()
    [2.0]
    """

    weight: Floats
    score: Floats
    value: Floats


class Loss(Protocol):
    """What IRLS needs from a loss of the linear predictor η = x' θ.

    Examples
    --------
    >>> loss: Loss = LAD()
    >>> loss.steepest
    1.0
    """

    @property
    def steepest(self) -> float:
        """An upper bound on the scores, also of rows that have not been read."""

    def unit(self, eta: Floats, y: Floats) -> float:
        """The smallest scale of this iteration, from its first data."""

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Weights, scores and values."""


@dataclass(frozen=True)
class LAD:
    """Least absolute deviations, sum |y_i - η_i| (K16 Eqn 14), by weights 1/max(|r_i|, c).

    The fixed point is Huber's estimator with threshold c, whose loss differs from |r| by at most c/2. K16's w_i =
    1/sqrt|r_i| has no floor: one residual of zero breaks it.

    Parameters
    ----------
    floor
        c as a fraction of the mean absolute residual, so that the answer does not depend on the units of y.

    Examples
    --------
    >>> LAD(floor=0.5).working(np.zeros(3), np.array([-2.0, 0.0, 0.25]), unit=0.5).weight.tolist()
    [0.5, 2.0, 2.0]
    """

    floor: float = 0.01
    steepest: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        real("floor", self.floor, 0.0, 1.0, open_low=True)

    def unit(self, eta: Floats, y: Floats) -> float:
        """The floor c; any constant when all residuals are zero."""
        return float(self.floor * np.mean(np.abs(y - eta))) or 1.0

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Weights and scores of K16 §4.1.1, floored."""
        residual = y - eta
        value = np.abs(residual)
        weight = 1.0 / np.maximum(value, unit)
        return Working(weight, residual * weight, value)


@dataclass(frozen=True)
class Logistic:
    """Logistic regression, y in {0, 1}, by weights max(μ (1 - μ), floor).

    Parameters
    ----------
    floor
        Lower bound on the weights. It does not move the fixed point (the score stays y - μ); it bounds the step where
        the data are separable and μ (1 - μ) underflows.

    Examples
    --------
    >>> Logistic().working(np.array([0.0, 800.0]), np.array([1.0, 1.0]), unit=1.0).weight.tolist()
    [0.25, 0.0001]
    """

    floor: float = 1e-4
    steepest: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        real("floor", self.floor, 0.0, 0.25, open_low=True)

    def unit(self, eta: Floats, y: Floats) -> float:
        """Probabilities have no units."""
        return 1.0

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Weights and scores of K16 §4.1.2, floored."""
        mu = expit(eta)
        return Working(np.maximum(mu * (1.0 - mu), self.floor), y - mu, np.logaddexp(0.0, eta) - y * eta)
