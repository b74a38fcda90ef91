"""The Barker mini-batch test (S17 Alg. 1): the sampling noise of a mini-batch takes the place of u."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.rule.looks import MAX_N_DATA
from samplers.decide import _moments
from samplers.decide.comparison import Comparison, Decision, begin
from samplers.decide.correction import HIGHEST, LOWEST, Correction, correction
from samplers.decide.reading import reading

MOST_SKEW, SKEW_STEP = 0.6, 0.1  # largest skewness of the tables; a more skewed sample is enlarged


class BarkerReport(NamedTuple):
    """A decision of the Barker test with the numbers behind it.

    Attributes
    ----------
    decision
        As `BarkerTest.decide` returns it.
    estimate, variance
        Δ* and its variance s².
    skewness
        Skewness of the lᵢ that were read.
    bound, bound_high
        S17 Eqn 18 with the sample's moments, and the upper end of its bootstrap interval; 0 when all data were read.

    Examples
    --------
    >>> l = np.random.default_rng(1).normal(5e-5, 2e-5, 100_000)
    >>> report = BarkerTest().report(np.random.default_rng(2), Comparison(100_000, l.take, rule="barker"))
    >>> report.decision.n_used, report.bound < report.bound_high
    (100, True)
    """

    decision: Decision
    estimate: float
    variance: float
    skewness: float
    bound: float
    bound_high: float


class _Sample(NamedTuple):
    """What was read: size b, Δ*, its variance, the skewness of lᵢ and, on demand, the lᵢ."""

    size: int
    looks: int
    estimate: float
    variance: float
    skewness: float
    values: Floats


class _Kept:
    """All lᵢ read so far, in an array that grows."""

    def __init__(self) -> None:
        self.room, self.size = np.empty(1024), 0

    def add(self, values: Floats) -> None:
        end = self.size + values.size
        if end > self.room.size:
            self.room = np.concatenate([self.room, np.empty(end)])
        self.room[self.size : end] = values
        self.size = end

    @property
    def values(self) -> Floats:
        return self.room[: self.size]


@dataclass(frozen=True)
class BarkerTest:
    """Accepts iff Δ* + X_nc + X_corr > 0, with just enough data for the variance of Δ* to fall below σ².

    Follows *Barker's* acceptance function 1 / (1 + e^-A); a comparison by Metropolis' rule is refused, because the test
    cannot answer it and a silent change of the rule would invalidate every prediction. If all N data are needed, the
    decision is the exact one, with the same u.

    Parameters
    ----------
    m
        Data in each batch.
    sigma
        Standard deviation of the noise Δ* + X_nc: a larger one needs fewer data, but has a coarser correction.
    skew_corrected
        Correct for the skewness of lᵢ (see Notes).
    table
        Another correction table with the same σ, such as `ridge_correction(1.0, 4000, 10.0)` of S17.
    delta
        Read on until the bound of S17 Eqn 18 (`clt_bound` of what was read) is at most δ, too: the second condition of
        S17 Alg. 1. None, the default, has no such condition.

    Notes
    -----
    The bound is at least 8.4 / √b, so δ needs (8.4 / δ)² data in every decision: 7,056 for 0.1, 705,600 for 0.01. S17's
    own averages (210 and 163 data) are too small for a δ below 0.58.

    Without replacement the variance of Δ* is s² = N² s_l² / b (1 - b / N).

    Skewness γ of lᵢ does two things at order 1 / sqrt(b) (f = b / N), since s² is correlated with Δ*:

    - The third cumulant of Δ* + X_nc is -(2 - f) γ s³ / sqrt(b (1 - f)). This is the term 2 φ'' of S17
      supplement D. Its term 3 φ, a shift, belongs to a Student statistic; Δ* is unbiased at a given b, and X_nc
      has mean 0 given the data. So (γ / sqrt(b), s) act through one number. There is a table for each tenth of it,
      in units of σ³; between two tables one is chosen at random, which is linear interpolation.
    - Stopping when s² is small favours samples with a low mean (if γ > 0): if b adapts in small steps, Δ* has
      bias -γ s sqrt((1 - f) / b). S17 does not mention it; it is the larger effect (acceptance probabilities off by
      0.02 to 0.05 for exponential lᵢ at b = 400 to 100, against 0.003 from the third cumulant).

    `skew_corrected` corrects for both, with the sample's γ. Where b is m or 2 m the second correction is partial.

    Examples
    --------
    >>> l = np.random.default_rng(1).normal(5e-5, 2e-5, 100_000)
    >>> BarkerTest().decide(np.random.default_rng(2), Comparison(100_000, l.take, rule="barker"))
    Decision(accept=True, n_used=100, n_looks=1)
    """

    m: int = 100
    sigma: float = 1.0
    skew_corrected: bool = False
    table: Correction | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", integer("m", self.m, 2, MAX_N_DATA))
        object.__setattr__(self, "sigma", real("sigma", self.sigma, LOWEST, HIGHEST))
        if self.delta is not None:
            object.__setattr__(self, "delta", real("delta", self.delta, 0.0, 1.0, open_low=True))
        if self.table is not None and self.table.sigma != self.sigma:
            raise BadInput(f"table: made for sigma = {self.table.sigma:g}, but the test has sigma = {self.sigma:g}")
        if self.table is not None and self.skew_corrected:
            raise BadInput("table: not allowed together with skew_corrected, which has its own tables")

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept with probability close to 1 / (1 + e^-A)."""
        return self._decide(rng, comparison, keep=False)[0]

    def report(
        self, rng: np.random.Generator, comparison: Comparison, resamples: int = 200, level: float = 0.95
    ) -> BarkerReport:
        """Decide as `decide` does, and report the bound of S17 Eqn 18 with a bootstrap interval (S17 section 5.1)."""
        resamples, level = integer("resamples", resamples, 1, 10**6), real("level", level, 0.5, 1.0, open_high=True)
        decision, sample = self._decide(rng, comparison, keep=True)
        if sample is None:
            return BarkerReport(decision, math.copysign(math.inf, -comparison.log_ratio), 0.0, 0.0, 0.0, 0.0)
        bound, high = 0.0, 0.0
        if sample.size < comparison.n:
            bound = clt_bound(sample.values)
            again = [clt_bound(rng.choice(sample.values, sample.size)) for _ in range(resamples)]
            high = float(np.quantile(again, level))
        return BarkerReport(decision, sample.estimate, sample.variance, sample.skewness, bound, high)

    def _decide(self, rng: np.random.Generator, comparison: Comparison, keep: bool) -> tuple[Decision, _Sample | None]:
        if comparison.rule != "barker":
            raise BadInput(f"rule = {comparison.rule!r}: the Barker mini-batch test needs rule = 'barker'")
        integer("m", self.m, 2, max(2, comparison.n))
        # u first, as in every test; X_corr is a function of it, so the exact test with this generator decides alike
        v, forced = begin(rng, comparison)
        if forced is not None:
            return forced, None
        sample = self._sample(rng, comparison, keep)
        noisy = sample.estimate
        if sample.size == comparison.n:
            return Decision(bool(noisy > v), sample.size, sample.looks), sample
        if self.skew_corrected and sample.looks > 1:  # the bias of stopping by s²
            noisy += sample.skewness * math.sqrt(sample.variance * (1.0 / sample.size - 1.0 / comparison.n))
        noisy += math.sqrt(self.sigma**2 - sample.variance) * rng.standard_normal()
        noisy += self._correction(rng, 1.0 / (1.0 + math.exp(v)), self._skew(sample, comparison.n))
        return Decision(bool(noisy > 0.0), sample.size, sample.looks), sample

    def _sample(self, rng: np.random.Generator, comparison: Comparison, keep: bool) -> _Sample:
        """Read batches until Δ* is precise enough, or all the data."""
        n_data, looks, shift, sums = comparison.n, 0, math.nan, (0.0, 0.0, 0.0)
        kept, seen = _Kept(), np.zeros(4)
        with reading(rng, comparison) as read:
            while True:
                looks += 1
                b = min(looks * self.m, n_data)
                for values in read(b):
                    shift = float(values[0]) if math.isnan(shift) else shift
                    if keep or self.delta is not None:
                        kept.add(values)
                    sums = _moments.add_cubes(values, shift, *sums)
                mean, variance, skewness = _moments.central(*sums, b)
                estimate = n_data * (mean + shift) - comparison.log_ratio
                s2 = n_data**2 * variance / b * (1.0 - b / n_data)
                sample = _Sample(b, looks, estimate, s2, skewness, kept.values)
                if b == n_data:
                    return sample
                if not s2 < self.sigma**2 or abs(self._skew(sample, n_data)) > MOST_SKEW:
                    continue
                second = variance * (b - 1) / b
                if self.delta is None or _moments.near_normal(kept.values, mean + shift, second, self.delta, seen):
                    return sample

    def _skew(self, sample: _Sample, n_data: int) -> float:
        """Skewness of Δ* + X_nc to first order; 0 if not corrected for."""
        if not self.skew_corrected:
            return 0.0
        f = sample.size / n_data
        scale = (math.sqrt(sample.variance) / self.sigma) ** 3 / math.sqrt(sample.size * (1.0 - f))
        return -(2.0 - f) * sample.skewness * scale

    def _correction(self, rng: np.random.Generator, p: float, skew: float) -> float:
        """X_corr: its p-quantile, from the table for this skewness or one of the two nearest."""
        if self.table is not None:
            return self.table.quantile(p)
        if not self.skew_corrected:
            return correction(self.sigma).quantile(p)
        place = abs(skew) / SKEW_STEP
        node = int(place)
        node += rng.random() < place - node
        table = correction(self.sigma, node * SKEW_STEP)
        return table.quantile(p) if skew >= 0.0 else -table.quantile(1.0 - p)  # the mirror image


def clt_bound(values: Floats) -> float:
    """How far from normal the mean of b values may be: (6.4 E|X|³ + 2 E|X|) / sqrt(b), X standardised (S17 Eqn 18).

    S17 omits the standardisation. The bound is at least 8.4 / √b: vacuous below 71 data, weak below 10⁶.

    Parameters
    ----------
    values
        A sample of b numbers.

    Returns
    -------
    float
        A bound on the distance between the distribution functions.

    Examples
    --------
    >>> round(clt_bound(np.tile([-1.0, 1.0], 5000)), 6)
    0.084
    """
    x = np.abs(values - values.mean())
    scale = math.sqrt(float((x * x).mean()))
    if scale == 0.0:
        return 0.0
    x /= scale
    return float((6.4 * (x * x * x).mean() + 2.0 * x.mean()) / math.sqrt(values.size))
