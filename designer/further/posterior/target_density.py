"""Standardised densities of one parameter, Gaussian or skewed, at any temperature."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from designer.core.arrays import Floats
from designer.core.errors import real

STRAIGHT = 1e-4  # skewness below which the density is treated as Gaussian
MOST_SKEWED = 1.5


class Moments(NamedTuple):
    """Mean and standard deviation."""

    mean: float
    sd: float


class Target(NamedTuple):
    """A density with mean 0, variance 1 and this skewness: Gaussian, or the logarithm of a gamma variable (mirrored).

    `shape` is that of the gamma variable, infinite for a Gaussian. Log-gamma posteriors are those of
    the log of a rate or a precision: smooth, log-concave, with one long tail.
    """

    skewness: float
    shape: float

    @classmethod
    def with_skewness(cls, skewness: float) -> Target:
        """The target of a skewness between -1.5 and 1.5.

        Examples
        --------
        >>> Target.with_skewness(0.5).tempered(1.0)
        Moments(mean=0.0, sd=1.0)
        """
        skewness = real("skewness", skewness, -MOST_SKEWED, MOST_SKEWED)
        return cls(skewness, math.inf if abs(skewness) < STRAIGHT else _shape(abs(skewness)))

    def log_density(self, x: Floats) -> Floats:
        """Log of the normalised density."""
        if math.isinf(self.shape):
            return -0.5 * x**2 - 0.5 * math.log(2.0 * math.pi)
        sd, y = self._sd, self._log_gamma(x)
        with np.errstate(over="ignore"):  # far in the short tail: minus infinity
            return self.shape * y - np.exp(y) + math.log(sd) - float(scipy.special.gammaln(self.shape))

    def tempered(self, temperature: float) -> Moments:
        """Mean and sd of the density to the power 1 / temperature.

        A Gaussian's sd grows by sqrt(temperature). With shape a, the power b of the density of log G is that of
        log G' - log b, G' of shape a b.
        """
        if math.isinf(self.shape):
            return Moments(0.0, math.sqrt(temperature))
        a = self.shape / temperature
        mean = float(scipy.special.digamma(a)) + math.log(temperature) - float(scipy.special.digamma(self.shape))
        sign = -1.0 if self.skewness > 0 else 1.0
        return Moments(sign * mean / self._sd + 0.0, math.sqrt(float(scipy.special.polygamma(1, a))) / self._sd)

    def log_tempered(self, x: Floats, temperature: float) -> Floats:
        """Log of the normalised density to the power 1 / temperature."""
        power = self.log_density(x) / temperature
        if math.isinf(self.shape):
            return power - _log_mass_gaussian(temperature)
        a = self.shape / temperature
        log_mass = (
            float(scipy.special.gammaln(a))
            + a * math.log(temperature)
            - float(scipy.special.gammaln(self.shape)) / temperature
        )
        return power - log_mass - (1.0 / temperature - 1.0) * math.log(self._sd)

    @property
    def _sd(self) -> float:
        """Standard deviation of the logarithm of the gamma variable."""
        return math.sqrt(float(scipy.special.polygamma(1, self.shape)))

    def _log_gamma(self, x: Floats) -> Floats:
        sign = -1.0 if self.skewness > 0 else 1.0
        return float(scipy.special.digamma(self.shape)) + sign * self._sd * x


def _log_mass_gaussian(temperature: float) -> float:
    """Log of the integral of a standard normal density to the power 1 / temperature."""
    return 0.5 * math.log(temperature) + 0.5 * (1.0 - 1.0 / temperature) * math.log(2.0 * math.pi)


@lru_cache(maxsize=64)
def _shape(skewness: float) -> float:
    """Shape of the gamma variable whose logarithm has skewness -skewness."""

    def excess(log_shape: float) -> float:
        a = math.exp(log_shape)
        return -float(scipy.special.polygamma(2, a)) / math.pow(float(scipy.special.polygamma(1, a)), 1.5) - skewness

    return math.exp(float(scipy.optimize.brentq(excess, -5.0, 25.0)))
