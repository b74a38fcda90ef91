"""Means of correlated numbers with their standard errors and confidence limits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats


class Mean(NamedTuple):
    """A mean, its standard error, the effective number of values, and their skewness.

    Examples
    --------
    >>> round(Mean(0.5, 0.01, 100.0).upper(0.975), 3)
    0.52
    """

    value: float
    se: float
    draws: float
    skewness: float = 0.0

    @classmethod
    def of(cls, values: Floats) -> Mean:
        """Of values in the order of a chain, which may be correlated; infinite error for fewer than two."""
        mean = float(values.mean()) if values.size else math.nan
        if values.size < 2:
            return cls(mean, math.inf, float(values.size))
        return cls._with(values, mean, effective(values))

    @classmethod
    def independent(cls, values: Floats) -> Mean:
        """Of values that are not correlated, at least two of them."""
        return cls._with(values, float(values.mean()), float(values.size))

    @classmethod
    def _with(cls, values: Floats, mean: float, draws: float) -> Mean:
        away, sd = values - mean, float(values.std(ddof=1))
        skewness = float((away**3).mean()) / float((away**2).mean()) ** 1.5 if sd > 0.0 else 0.0
        return cls(mean, sd / math.sqrt(draws), draws, skewness)

    def upper(self, level: float) -> float:
        """A limit that the expectation exceeds with probability 1 - level, by Student's t.

        Skewed values, of which a few carry the mean, would make it too low; Johnson's correction (1978) raises it.
        """
        t = self._quantile(level)
        shift = self.skewness * self.se / (6.0 * math.sqrt(max(self.draws, 1.0))) * (1.0 + 2.0 * t * t)
        return self.value + t * self.se + max(0.0, shift)

    def lower(self, level: float) -> float:
        """A limit that the expectation falls short of with probability 1 - level; skewness makes it cautious."""
        return self.value - self._quantile(level) * self.se

    def _quantile(self, level: float) -> float:
        from scipy.special import stdtrit

        return float(stdtrit(max(self.draws - 1.0, 1.0), level))


def effective(values: Floats) -> float:
    """How many independent values are worth as much: Geyer's initial monotone sequence (1992); at most their number.

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(size=4000)
    >>> round(effective(noise), -3), round(effective(np.repeat(noise, 4)[:4000]), -2)
    (4000.0, 1000.0)
    """
    n = values.size
    away = values - values.mean()
    variance = float(away @ away)
    if n < 4 or variance == 0.0:
        return float(n)
    spectrum = np.fft.rfft(away, 2 * n)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum), 2 * n)[:n] / variance
    sums = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    below = np.flatnonzero(sums <= 0.0)
    sums = np.minimum.accumulate(sums[: below[0] if below.size else sums.size])
    time = max(1.0, 2.0 * float(sums.sum()) - 1.0)
    return max(1.0, n / time)
