"""What a search runs over: ranges of m, α, growth and ε (`Space`), or a plain grid of them (`Grid`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput, entries, integer, real, several, shown
from designer.rule.boundary import LEAST_EPSILON, Boundary, check_epsilon, epsilon_of, threshold
from designer.rule.design import Design
from designer.rule.looks import MAX_N_DATA, Schedule, check_growth
from designer.rule.plan import Plan

MOST_GRID = 1_000_000


@dataclass(frozen=True)
class Space:
    """Where to search.

    Parameters
    ----------
    m_low, m_high
        Smallest and largest batch. By default 500 (N/20 for small N), where the normal approximation is good, and half
        of the data; a search begins at smaller batches if the trial run supports them
        (`designer.engine.predict.smallest_batch`).
    alpha
        Range of α, the shape of the bounds.
    growth
        Growth factors to try.
    epsilon
        Range of ε; tails beyond 1e-6 are not normal at such m.

    Examples
    --------
    >>> Space(growth=(1.0, 1.5)).checked(20_000).m_range
    (500, 10000)
    """

    m_low: int | None = None
    m_high: int | None = None
    alpha: tuple[float, float] = (0.5, 1.0)
    growth: Sequence[float] = (1.0,)
    epsilon: tuple[float, float] = (1e-6, 0.5)

    def checked(self, n_data: int, smallest: int = 500) -> Space:
        """The same space validated, with defaults filled in for N data; `smallest` is the default of m_low."""
        n_data = integer("n_data", n_data, 2, MAX_N_DATA)
        low = integer("m_low", min(smallest, max(2, n_data // 20)) if self.m_low is None else self.m_low, 2, n_data)
        high = integer("m_high", max(low, n_data // 2) if self.m_high is None else self.m_high, low, n_data)
        flattest, steepest = _ends("alpha", self.alpha)
        flattest = real("alpha", flattest, 0.5, 1.0)
        least, largest = _ends("epsilon", self.epsilon)
        least = check_epsilon(least)
        return Space(
            low,
            high,
            (flattest, real("alpha", steepest, flattest, 1.0)),
            tuple(check_growth(g) for g in several("growth", self.growth)),
            (least, real("epsilon", largest, least, 0.5)),
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of G₀ that corresponds to the range of ε."""
        return threshold(self.epsilon[1]), threshold(self.epsilon[0])

    def shapes(self, n_data: int) -> list[Shape]:
        """The starting points: m log-spaced by about 2, four values of α."""
        low, high = self.m_range
        count = max(1, round(math.log2(high / low))) + 1
        m = np.unique(np.round(np.geomspace(low, high, count)).astype(np.int64))
        alpha = np.unique(np.linspace(*self.alpha, 4))
        return [Shape(n_data, int(a), float(b), float(c)) for a, b, c in product(m, alpha, self.growth)]

    def neighbours(self, shape: Shape, factor: float, shift: float) -> list[Shape]:
        """The shapes one step away from the given one, without repetition."""
        low, high = self.m_range
        sizes = (round(shape.m / factor), round(shape.m * factor))
        moved = [shape._replace(m=min(max(m, low), high)) for m in sizes]
        if shift > 0:
            alphas = (shape.alpha - shift, shape.alpha + shift)
            moved += [shape._replace(alpha=round(min(max(a, self.alpha[0]), self.alpha[1]), 4)) for a in alphas]
        return [near for near in dict.fromkeys(moved) if near != shape]

    @property
    def m_range(self) -> tuple[int, int]:
        """Both ends, once checked."""
        if self.m_low is None or self.m_high is None:
            raise TypeError("call checked() first")
        return self.m_low, self.m_high


@dataclass(frozen=True)
class Grid:
    """A plain grid, as in the paper: every combination is evaluated.

    Parameters
    ----------
    m, epsilon, alpha, growth
        Values to combine.

    Examples
    --------
    >>> len(Grid(m=[500, 1000], epsilon=[0.01, 0.05]).designs(20_000))
    4
    """

    m: Sequence[int]
    epsilon: Sequence[float]
    alpha: Sequence[float] = (0.5,)
    growth: Sequence[float] = (1.0,)

    def designs(self, n_data: int) -> list[Design]:
        """All designs of the grid."""
        values = [several(f"grid.{name}", getattr(self, name)) for name in ("m", "alpha", "growth", "epsilon")]
        size = math.prod(len(some) for some in values)
        if size > MOST_GRID:
            raise BadInput(f"the grid has {size:,} designs: must be 1 to {MOST_GRID:,}")
        combinations = product(*values)
        return [Design(n_data, m, epsilon, alpha, growth) for m, alpha, growth, epsilon in combinations]


class Shape(NamedTuple):
    """A design without its ε."""

    n_data: int
    m: int
    alpha: float
    growth: float

    def plan(self, bound: float) -> Plan:
        """The plan with G₀ = bound."""
        schedule = Schedule.geometric(self.n_data, self.m, self.growth)
        return Plan(schedule, Boundary.wang_tsiatis(min(max(epsilon_of(bound), LEAST_EPSILON), 0.5), self.alpha))


def _ends(name: str, value: object) -> tuple[Any, Any]:
    """The two ends of a range."""
    ends = entries(value)
    if len(ends) != 2:
        raise BadInput(f"{name} = {shown(value)}: must be two numbers, the smallest and the largest")
    return ends[0], ends[1]


def usual_batch(n_data: int) -> int:
    """The smallest m that a search considers by default: 500, or less for small N.

    Examples
    --------
    >>> usual_batch(100_000), usual_batch(1000)
    (500, 50)
    """
    return Space().checked(n_data).m_range[0]
