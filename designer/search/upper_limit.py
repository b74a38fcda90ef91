"""Upper confidence limits of a design's error: a trial run has only some of the pairs that its chain will meet.

A tolerance that the mean |Δ| of the known pairs just meets is exceeded on other pairs in half of all cases. A search
therefore holds the upper end of a one-sided band within it. `docs/numerics.md` has the measured coverage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrik, stdtrit

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real
from designer.pairs.trial_run import TrialRun

USUAL_CONFIDENCE, MOST_CONFIDENCE = 0.95, 0.9999
FEWEST_PAIRS, FEWEST_INDEPENDENT = 20, 10  # fewer say too little of the large |Δ|
EXTRA, EXTRA_OF_FEW = 1.0, 20.0  # the largest |Δ| counts 1 + EXTRA + EXTRA_OF_FEW / n times
BAND_TAIL = 5e-4  # probability that a mean is beyond either end of its band
MOST_LAGS = 1000
SYMMETRIC = 1e-6  # a skewness below this has no effect


@dataclass(frozen=True)
class Limits:
    """The upper limit of the mean of |Δ|, or of a quantile of it, at one confidence.

    Parameters
    ----------
    confidence
        Probability that the limit is not below the truth, over trial runs.
    pairs
        Effective number of pairs: that of independent pairs with as much information.
    quantile
        Limit this quantile instead of the mean.

    Examples
    --------
    >>> Limits(0.95, 100.0).of(np.linspace(0.0, 0.02, 100)) > 0.01
    True
    """

    confidence: float
    pairs: float
    quantile: float | None = None

    def of(self, sizes: Floats) -> float:
        """The limit, given the |Δ| of the pairs or of a part of them that stands for all."""
        if self.quantile is None:
            return mean_limit(sizes, self.pairs, self.confidence)
        level = quantile_level(self.quantile, self.pairs, self.confidence)
        return float(np.sort(sizes)[math.ceil(level * (sizes.size - 1) - 1e-9)])


def limits_of(trial: TrialRun, confidence: float | None, quantile: float | None = None) -> Limits | None:
    """The limits for a trial run; None for the point estimate (`confidence` None or 0.5).

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 100, np.random.default_rng(1))
    >>> limits_of(trial, 0.95).pairs, limits_of(trial, 0.5)
    (100.0, None)
    """
    confidence = check_confidence(confidence)
    if confidence is None:
        return None
    pairs = effective_pairs(trial)
    known = (
        FEWEST_INDEPENDENT if quantile is None else max(FEWEST_INDEPENDENT, pairs_for_quantile(quantile, confidence))
    )
    fewest = max(FEWEST_PAIRS, known)
    if len(trial) < fewest or pairs < known:
        given = "1 pair is" if len(trial) == 1 else f"{len(trial):,} pairs are"
        worth = f" (worth {pairs:.3g} independent ones)" if pairs < len(trial) else ""
        raise BadInput(
            f"{given} too few{worth} for a design that holds with confidence {confidence:g}, which needs {fewest:,}: "
            "take more pairs, preferably 100 or more, or ask for the point estimate (confidence 0.5)"
        )
    return Limits(confidence, pairs, quantile)


def check_confidence(confidence: float | None) -> float | None:
    """The confidence, or None for the point estimate, which 0.5 stands for as well."""
    if confidence is None:
        return None
    confidence = real("confidence", confidence, 0.5, MOST_CONFIDENCE)
    return None if confidence == 0.5 else confidence


def mean_limit(sizes: Floats, pairs: float, confidence: float) -> float:
    """Upper confidence limit of the mean of |Δ|: Hall's transformation of Student's t, the largest |Δ| counted again.

    Student's limit of skewed numbers is too low, because a sample without large numbers has a small mean and a small
    standard deviation. Hall (1992) corrects for the skewness γ: with c = γ / √n, t + c t²/3 + c² t³/27 + c/6 is close
    to Student's t. A small sample also understates γ, so that its largest number gets more weight.
    """
    weight = (EXTRA + EXTRA_OF_FEW / pairs) * sizes.size / pairs
    count, largest = sizes.size + weight, float(sizes.max())
    mean = (float(sizes.sum()) + weight * largest) / count
    gap, top = sizes - mean, largest - mean
    square = gap * gap
    variance = (float(square.sum()) + weight * top**2) / count
    if not variance > 0.0:
        return largest
    skew = (float(square @ gap) + weight * top**3) / count / variance**1.5
    skew *= math.sqrt(count * (count - 1.0)) / (count - 2.0)
    t, c = -float(stdtrit(pairs - 1.0, confidence)), skew / math.sqrt(pairs)
    if abs(c) > SYMMETRIC:
        t = 3.0 * (float(np.cbrt(1.0 + c * (t - c / 6.0))) - 1.0) / c
    width = math.sqrt(variance * count / (count - 1.0) / pairs)
    return max(float(sizes.mean()), mean - width * t)


def mean_band(shares: Floats, pairs: float, tail: float = BAND_TAIL) -> tuple[float, float]:
    """Where the mean of shares in [0, 1] is over all pairs: beyond either end with probability `tail`.

    With fewer than FEWEST_INDEPENDENT effective pairs, it may be anywhere.

    Examples
    --------
    >>> low, high = mean_band(np.random.default_rng(1).random(200), 200.0)
    >>> 0.4 < low < 0.5 < high < 0.6
    True
    """
    if pairs < FEWEST_INDEPENDENT:
        return 0.0, 1.0
    inside = np.clip(shares, 0.0, 1.0)
    mean = float(inside.mean())  # between the ends, despite rounding
    low, high = 1.0 - mean_limit(1.0 - inside, pairs, 1.0 - tail), mean_limit(inside, pairs, 1.0 - tail)
    return max(min(low, mean), 0.0), min(max(high, mean), 1.0)


def quantile_level(quantile: float, pairs: float, confidence: float) -> float:
    """The place of the order statistic that is, with this confidence, no smaller than the quantile of all pairs.

    From 0 for the smallest to 1 for the largest. The k-th smallest of n is no smaller than the quantile if at most
    k - 1 are below: P(Binomial(n, quantile) <= k - 1) >= confidence.
    """
    below = math.ceil(float(bdtrik(confidence, pairs, quantile)) - 1e-9)
    return min(1.0, below / (pairs - 1.0))


def pairs_for_quantile(quantile: float, confidence: float) -> int:
    """The fewest pairs whose largest |Δ| is, with this confidence, no smaller than the quantile of all pairs.

    Examples
    --------
    >>> pairs_for_quantile(0.95, 0.95)
    59
    """
    if quantile >= 1.0:
        raise BadInput("quantile = 1: no number of pairs bounds the largest |Δ|; take a smaller one, or confidence 0.5")
    return math.ceil(math.log1p(-confidence) / math.log(quantile)) if quantile > 0.0 else 1


def effective_pairs(trial: TrialRun) -> float:
    """How many independent pairs carry as much information as these, which one chain may have made.

    Their number divided by 1 + 2 (sum of autocorrelations), of A or of log κ, whichever is slower. The sum ends at the
    first autocorrelation that chance explains.

    Examples
    --------
    >>> slow = np.repeat([0.01, 0.02, 0.015, 0.03], 25)
    >>> effective_pairs(TrialRun(10_000, np.zeros(100), slow)) < 20
    True
    """
    time = max(_correlation_time(series) for series in (trial.log_acceptance, np.log(trial.kappa)))
    return max(1.0, len(trial) / time)


def _correlation_time(series: Floats) -> float:
    gap = series - series.mean()
    variance, time, chance = float(gap @ gap), 1.0, 2.0 / math.sqrt(series.size)
    if not variance > 1e-20 * float(series @ series):  # all equal, but for rounding
        return 1.0
    for lag in range(1, min(series.size // 2, MOST_LAGS)):
        correlation = float(gap[lag:] @ gap[:-lag]) / variance
        if correlation < chance:
            break
        time += 2.0 * correlation
    return time
