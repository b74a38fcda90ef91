"""Losses of a linear predictor in the form IRLS needs: weights, scores and values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import expit, xlogy

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
        """An upper bound on the scores, also of rows that have not been read; infinite if there is none."""

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

    def curvature(self, eta: Floats, y: Floats) -> Floats | None:
        """Second derivative in η."""
        mu = expit(eta)
        found: Floats = mu * (1.0 - mu)
        return found


@dataclass(frozen=True)
class Quantile:
    """The quantile `tau` of y given x, by the check loss |r|/2 + (tau - 1/2) r (Koenker and Bassett 1978).

    Its first part is LAD's, with the same weights; the second has a constant slope and no curvature.

    Parameters
    ----------
    tau
        Which quantile: 0.5 is the median, so LAD with half its loss.
    floor
        As for `LAD`: the fixed point minimises a loss that differs from the check loss by at most a quarter of the
        threshold.

    Examples
    --------
    >>> Quantile(0.9).working(np.zeros(2), np.array([-2.0, 2.0]), unit=0.1).value.round(6).tolist()
    [0.2, 1.8]
    """

    tau: float = 0.5
    floor: float = 0.01

    def __post_init__(self) -> None:
        real("tau", self.tau, 0.0, 1.0, open_low=True, open_high=True)
        real("floor", self.floor, 0.0, 1.0, open_low=True)

    @property
    def steepest(self) -> float:
        """The larger of the two slopes."""
        return max(self.tau, 1.0 - self.tau)

    def unit(self, eta: Floats, y: Floats) -> float:
        """The floor, as for LAD."""
        return LAD(self.floor).unit(eta, y)

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Half of LAD's, and the constant slope."""
        residual, lean = y - eta, self.tau - 0.5
        size = np.abs(residual)
        weight = 0.5 / np.maximum(size, unit)
        return Working(weight, residual * weight + lean, 0.5 * size + lean * residual)


@dataclass(frozen=True)
class Lp:
    """The p-th power of the residuals, |r|^p / p: p = 1 is LAD, p = 2 least squares (K16 section 2 names L_p).

    The weights are max(|r|, c)^(p-2), above p = 2 times p - 1: there they are the curvature (Newton's method), below
    they bound the loss from above.

    Parameters
    ----------
    p
        From 1 to 4.
    floor
        As for `LAD`. It changes nothing for p = 2; above, it keeps rows that fit well from losing all their weight,
        and does not move the fixed point.

    Examples
    --------
    >>> Lp(2.0).working(np.zeros(2), np.array([-2.0, 3.0]), unit=0.1).score.tolist()
    [-2.0, 3.0]
    """

    p: float = 1.5
    floor: float = 0.01

    def __post_init__(self) -> None:
        real("p", self.p, 1.0, 4.0)
        real("floor", self.floor, 0.0, 1.0, open_low=True)

    @property
    def steepest(self) -> float:
        """One for p = 1; a large residual has any score."""
        return 1.0 if self.p == 1.0 else math.inf

    def unit(self, eta: Floats, y: Floats) -> float:
        """The floor, as for LAD."""
        return LAD(self.floor).unit(eta, y)

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Weights and scores of |r|^p / p."""
        residual = y - eta
        size = np.abs(residual)
        power = np.maximum(size, unit) ** (self.p - 2.0)
        value = size**self.p / self.p
        if self.p <= 2.0:
            return Working(power, residual * power, value)
        return Working((self.p - 1.0) * power, residual * size ** (self.p - 2.0), value)

    def curvature(self, eta: Floats, y: Floats) -> Floats | None:
        """Second derivative in η; none below p = 2, where it is infinite at a residual of zero."""
        curved: Floats = (self.p - 1.0) * np.abs(y - eta) ** (self.p - 2.0)
        return curved if self.p >= 2.0 else None


@dataclass(frozen=True)
class Poisson:
    """Poisson regression of counts, log link: the loss is the deviance / 2, e^η - y η up to a constant.

    Weights are μ = e^η, but (y - μ) / (log y - η) if y is larger than μ: a row then asks for η = log y at most.
    Newton's weights μ ask for more, and from a start that is too low the first update overflows. The weights do not
    move the fixed point.

    Parameters
    ----------
    floor
        Lower bound on the weights, as a fraction of the mean of y among the first data of an iteration. It does not
        move the fixed point.

    Examples
    --------
    >>> Poisson().working(np.zeros(2), np.array([0.0, 20.0]), unit=0.01).weight.round(3).tolist()
    [1.0, 6.342]
    """

    floor: float = 1e-4
    steepest: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        real("floor", self.floor, 0.0, 1.0, open_low=True)

    def unit(self, eta: Floats, y: Floats) -> float:
        """The lower bound on the weights."""
        return float(self.floor * np.mean(y)) or self.floor

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Weights and scores of the log link."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mu = np.exp(eta)
            low = y > 1.001 * mu  # nearer than that the quotient loses its digits
            secant = (y - mu) / (np.log(np.where(low, y, 1.0)) - eta)
            weight = np.where(low, secant, mu)
            value = mu - y - y * eta + xlogy(y, y)
        return Working(np.maximum(weight, unit), y - mu, value)

    def curvature(self, eta: Floats, y: Floats) -> Floats | None:
        """Second derivative in η."""
        return np.exp(eta)
