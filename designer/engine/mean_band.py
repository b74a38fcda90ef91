"""Where the mean of a share over all steps of a chain is, given its values at a few of them: the pairs of a trial run.

The pairs of a chain are autocorrelated, few and skewed (a few of them need all the data), so the usual t interval would
be too narrow, and too low.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from designer.core.arrays import Floats

TAIL = 5e-4  # probability that the mean is beyond either end
FEWEST = 8  # effective values; fewer say nothing


def mean_band(values: Floats, tail: float = TAIL) -> tuple[float, float]:
    """The two ends, within [0, 1], of an interval for the mean of values in [0, 1] that a chain met, in their order.

    The number of values is divided by their integrated autocorrelation time; Hall's transformation of the t statistic
    corrects for skewness (Hall 1992, On the removal of skewness by transformation, section 2).

    Examples
    --------
    >>> low, high = mean_band(np.random.default_rng(1).random(200))
    >>> 0.4 < low < 0.5 < high < 0.6
    True
    """
    mean, n = float(values.mean()), values.size / autocorrelation_time(values)
    centred = values - mean
    sd = math.sqrt(float(centred @ centred) / max(values.size - 1, 1))
    if n < FEWEST:
        return 0.0, 1.0
    if sd < 1e-12:
        return min(max(mean, 0.0), 1.0), min(max(mean, 0.0), 1.0)
    skew = float(np.mean(centred**3)) / sd**3 / math.sqrt(n)
    quantile = -float(stdtrit(n - 1.0, tail))
    low, high = (mean - _untransformed(end, skew, n) * sd / math.sqrt(n) for end in (quantile, -quantile))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def _untransformed(x: float, skew: float, n: float) -> float:
    """The T whose transform T + γT²/3 + γ²T³/27 + γ/6 is x, where γ = skewness / √n."""
    if abs(skew) < 1e-6:
        return x
    inside = 1.0 + skew * (x - skew / 6.0)
    return 3.0 / skew * (math.copysign(abs(inside) ** (1.0 / 3.0), inside) - 1.0)


def autocorrelation_time(values: Floats) -> float:
    """Integrated autocorrelation time, at least 1: sums of neighbouring autocorrelations until one is negative.

    Geyer's (1992) initial positive sequence.

    Examples
    --------
    >>> autocorrelation_time(np.repeat(np.random.default_rng(1).random(500), 10)) > 5
    True
    """
    centred = values - values.mean()
    variance = float(centred @ centred)
    total, lag = -1.0, 0
    while variance > 0.0 and lag + 1 < values.size // 2:
        pair = sum(float(centred[: values.size - k] @ centred[k:]) / variance for k in (lag, lag + 1))
        if pair <= 0.0:
            break
        total, lag = total + 2.0 * pair, lag + 2
    return max(total, 1.0)
