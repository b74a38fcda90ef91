"""The bounds of a test: at look j it accepts when z_j > upper_j and rejects when z_j < lower_j."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, real

NORMAL = NormalDist()
ANY_BOUND = 1e6
ROUGH = 1e-3  # looks are not merged if second differences of the bounds exceed this
# The smallest ε. Below it 1 - ε is 1 in floating point, and the u of a step, which has 53 bits, is coarser than ε:
# a test that errs so rarely cannot be told from one that reads all data.
LEAST_EPSILON = 1e-16


@dataclass(frozen=True, eq=False)
class Boundary:
    """Bounds of the standardised statistic z at the interim looks: the test stops where z leaves (lower, upper).

    Make one with `pocock`, `obrien_fleming`, `wang_tsiatis` or `explicit`.

    Parameters
    ----------
    epsilon, alpha
        ε and α of the Wang-Tsiatis family; None and the default for explicit bounds.
    lower, upper
        Explicit bounds, one per interim look; None for the family.

    Notes
    -----
    K14 supplement D writes the family as G_j = G_0 π_j^(0.5 - α), with G_0 = Φ⁻¹(1 - ε): α = 0.5 is Pocock (constant
    bounds) and α = 1 is O'Brien-Fleming. The power is taken of the *share of the data* π, not of the information
    t = π / (1 - π) of the group-sequential textbooks.

    Examples
    --------
    >>> lower, upper = Boundary.pocock(0.05).at(np.array([0]), np.array([0.1]))
    >>> round(float(upper[0]), 6)
    1.644854
    >>> Boundary.obrien_fleming(0.05).at(np.array([0]), np.array([0.25]))[1].round(6)
    array([3.289707])
    """

    epsilon: float | None = None
    alpha: float = 0.5
    lower: Floats | None = None
    upper: Floats | None = None

    @classmethod
    def wang_tsiatis(cls, epsilon: float, alpha: float) -> Boundary:
        """G_j = G_0 π_j^(0.5 - α)."""
        return cls(check_epsilon(epsilon), real("alpha", alpha, 0.5, 1.0))

    @classmethod
    def pocock(cls, epsilon: float) -> Boundary:
        """The same bound at each look: the test of K14."""
        return cls.wang_tsiatis(epsilon, 0.5)

    @classmethod
    def obrien_fleming(cls, epsilon: float) -> Boundary:
        """Wide bounds at early looks: G_j = G_0 / √π_j."""
        return cls.wang_tsiatis(epsilon, 1.0)

    @classmethod
    def explicit(cls, lower: Sequence[float] | Floats, upper: Sequence[float] | Floats) -> Boundary:
        """Any lower <= upper at each interim look; an infinite bound means no stopping on that side."""
        try:
            low, high = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
        except (TypeError, ValueError):
            raise BadInput("bounds: lower and upper must be lists of numbers") from None
        if low.ndim != 1 or low.shape != high.shape:
            raise BadInput(f"bounds: lower has shape {low.shape} and upper {high.shape}; must be lists of equal length")
        wrong = np.flatnonzero(~((low <= high) & (low < np.inf) & (high > -np.inf)))
        if wrong.size:
            j = wrong[0]
            allowed = "must be lower <= upper, lower < inf and upper > -inf"
            raise BadInput(f"bounds at look {j + 1}: lower = {low[j]:g}, upper = {high[j]:g}: {allowed}")
        return cls(None, 0.5, low, high)

    @property
    def symmetric(self) -> bool:
        """Whether lower = -upper at every look."""
        return self.lower is None or self.upper is None or bool(np.array_equal(self.lower, -self.upper))

    @cached_property
    def smooth(self) -> bool:
        """Whether the bounds are smooth enough to merge neighbouring looks."""
        if self.lower is None or self.upper is None:
            return True
        bounds = np.clip([self.lower, self.upper], -ANY_BOUND, ANY_BOUND)  # infinite bounds count as very wide
        return bool(np.all(np.abs(np.diff(bounds, n=2)) <= ROUGH))

    def at(self, index: Ints, pi: Floats) -> tuple[Floats, Floats]:
        """Lower and upper bounds at interim looks with these indices and shares of the data."""
        if self.lower is not None and self.upper is not None:
            return self.lower[index], self.upper[index]
        assert self.epsilon is not None
        bound = threshold(self.epsilon) * pi ** (0.5 - self.alpha)
        return -bound, bound


def check_epsilon(epsilon: float) -> float:
    """ε, the tail probability at one look, if it is allowed."""
    return real("epsilon", epsilon, LEAST_EPSILON, 0.5)


def threshold(epsilon: float) -> float:
    """G = Φ⁻¹(1 - ε) (K14 supplement A prints Φ(1 - ε))."""
    return abs(NORMAL.inv_cdf(epsilon))


def epsilon_of(bound: float) -> float:
    """The tail probability beyond a bound: the inverse of `threshold`."""
    return 0.5 * math.erfc(bound * math.sqrt(0.5))
