"""The concentration test (Bardenet, Doucet and Holmes 2014): empirical Bernstein bounds instead of the normal limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import integer, real
from designer.rule.looks import MAX_N_DATA, Schedule, check_growth
from samplers.decide.comparison import BLOCK, Comparison, Decision, begin, evaluate, total
from samplers.decide.reading import RunningSums, reading

KAPPA = 7.0 / 3.0 + 3.0 / math.sqrt(2.0)  # Bardenet and Maillard 2015, Theorem 4.3


@dataclass(frozen=True)
class ConcentrationTest:
    """Reads geometrically growing samples until |mean - μ₀| exceeds a bound that holds for any lᵢ in [-C, C].

    A decision is wrong with probability at most `delta`, whatever the distribution of the lᵢ. This needs C >= max |lᵢ|:
    the comparison's `range_bound`. Without one, every decision finds C by a pass over all data, which counts in n_used:
    the test then costs more than the exact one.

    Parameters
    ----------
    m
        Data at the first look.
    delta
        Largest probability of a wrong decision, over all looks together.
    p
        Look k gets delta_k = (p - 1) / (p k^p) delta, which add up to at most delta; p > 1.
    growth
        γ: ratio of the data at successive looks.
    replace
        Draw with replacement, as Bardenet et al. analyse it; when N data would not be enough, the exact test decides.

    Examples
    --------
    >>> l = np.random.default_rng(1).normal(0.01, 0.02, 10_000).clip(-0.1, 0.1)
    >>> test = ConcentrationTest(m=1000)
    >>> test.decide(np.random.default_rng(2), Comparison(10_000, l.take, range_bound=0.1))
    Decision(accept=True, n_used=1000, n_looks=1)
    """

    m: int = 100
    delta: float = 0.01
    p: float = 2.0
    growth: float = 1.5
    replace: bool = False

    def __post_init__(self) -> None:
        checked = {
            "m": integer("m", self.m, 2, MAX_N_DATA),
            "delta": real("delta", self.delta, 0.0, 1.0, open_low=True, open_high=True),
            "p": real("p", self.p, 1.0, 1e3, open_low=True),
            "growth": check_growth(self.growth),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def half_width(self, look: int, n: int, n_data: int, deviation: float, bound: float) -> float:
        """c_k: at look k = 1, 2, ..., |mean of n - mean of all| exceeds it with probability at most delta_k.

        With replacement, σ̂ sqrt(2 log(3 / delta_k) / n) + 6 C log(3 / delta_k) / n (Audibert, Munos and
        Szepesvari 2009, for a range of 2 C). Without, the empirical Bernstein-Serfling inequality (Bardenet and
        Maillard 2015, Theorem 4.3), one-sided with probability 1 - 5 delta; both sides give log(10 / delta_k).
        """
        one_in = math.log(self.p / (self.p - 1.0)) - math.log(self.delta) + self.p * math.log(look)  # log(1 / delta_k)
        if self.replace:
            log = math.log(3.0) + one_in
            return deviation * math.sqrt(2.0 * log / n) + 6.0 * bound * log / n
        log = math.log(10.0) + one_in
        rho = 1.0 - (n - 1.0) / n_data if 2 * n <= n_data else (1.0 - n / n_data) * (1.0 + 1.0 / n)
        return deviation * math.sqrt(2.0 * rho * log / n) + KAPPA * 2.0 * bound * log / n

    def looks(self, n_data: int) -> list[int]:
        """Data read at each look; the last are all."""
        return _looks(n_data, self.m, self.growth)

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept iff the mean of the lᵢ exceeds μ₀, by the bound or because all data have been read."""
        n_data, c = comparison.n, comparison.log_ratio
        looks = self.looks(n_data)
        v, forced = begin(rng, comparison)
        if forced is not None:
            return forced
        bound, paid = _range_bound(comparison)
        source = _with_replacement if self.replace else reading
        n, done = 0, RunningSums()
        with source(rng, comparison) as read:
            for k, size in enumerate(looks[:-1], start=1):
                n = size
                done = done.add(read(size))
                mean = done.total / n
                deviation = math.sqrt(max(0.0, done.squares / n - mean * mean))
                distance = mean + done.shift - (v + c) / n_data
                if abs(distance) > self.half_width(k, n, n_data, deviation, bound):
                    return Decision(bool(distance > 0.0), paid + n, k)
            if self.replace:
                return Decision(bool(total(comparison) - c > v), paid + n + n_data, len(looks))
            done = done.add(read(n_data))
        return Decision(bool(n_data * done.shift + done.total - c > v), paid + n_data, len(looks))


@lru_cache(maxsize=64)
def _looks(n_data: int, m: int, growth: float) -> list[int]:
    return [int(n) for n in Schedule.geometric(n_data, m, growth).n]


def _range_bound(comparison: Comparison) -> tuple[float, int]:
    """C >= max |lᵢ|, and the number of data read to find it."""
    if (bound := comparison.known_bound()) is not None:
        return real("range_bound", bound, 0.0, 1e300), 0
    n = comparison.n
    blocks = (np.arange(k, min(k + BLOCK, n)) for k in range(0, n, BLOCK))
    return max(float(np.abs(evaluate(comparison, block)).max()) for block in blocks), n


@contextmanager
def _with_replacement(rng: np.random.Generator, comparison: Comparison) -> Iterator[Callable[[int], Iterator[Floats]]]:
    """Like `reading`, but with replacement."""
    size = 0

    def read(n: int) -> Iterator[Floats]:
        nonlocal size
        while size < n:
            new = min(BLOCK, n - size)
            size += new
            yield evaluate(comparison, rng.integers(comparison.n, size=new))

    yield read
