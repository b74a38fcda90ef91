"""What `optimal` finds: a boundary, its rivals of the known families, and how far any boundary could be ahead."""

from __future__ import annotations

from typing import NamedTuple

from designer.rule.design import Design

PROVEN = 2e-3  # of the data, between a rule and the bound, up to which it may be called the best


class Rival(NamedTuple):
    """The best member of a family at the same looks and tolerance.

    Attributes
    ----------
    name
        Of the family.
    design
        None if no member keeps the tolerance, and then so are the numbers.
    error, usage
        Mean |Δ| and mean share of the data.
    largest
        The largest |Δ| of any pair.

    Examples
    --------
    >>> import numpy as np
    >>> from designer import TrialRun, optimal_boundary
    >>> trial = TrialRun.at_stationarity(20_000, 0.45, 30, np.random.default_rng(1))
    >>> [rival.name for rival in optimal_boundary(trial, 0.03, m=4000).rivals]
    ['Pocock', "O'Brien-Fleming", 'best Wang-Tsiatis']
    """

    name: str
    design: Design | None
    error: float | None
    usage: float | None
    largest: float | None


class OptimalBoundary(NamedTuple):
    """The best boundary found, what the engine says of it, and what no boundary of its kind can do better than.

    Attributes
    ----------
    design
        With explicit bounds; it is filed and run like any other.
    error, usage
        Mean |Δ| and mean share of the data.
    lower_bound
        On the share of the data read by any rule that keeps the tolerance and decides by the sign of z (or, if not
        `symmetric`, against it up to |z| = 6; `symmetric`: among rules that treat both signs alike).
    rivals
        The best of the known families, each a `Rival`.
    tolerance
        As asked for.
    price
        lambda: data saved per unit of tolerance.
    symmetric
        As asked for.
    interval
        Whether the best rule, left free, is a boundary at all: goes on everywhere between two bounds at each look.
    evaluated
        Number of rules tried.
    largest
        The largest |Δ| of any pair, which the mean does not see.
    estimate
        A bound on the numerical error of error and usage.

    Examples
    --------
    >>> import numpy as np
    >>> from designer import TrialRun, optimal_boundary
    >>> trial = TrialRun.at_stationarity(20_000, 0.45, 30, np.random.default_rng(1))
    >>> found = optimal_boundary(trial, 0.03, m=4000)
    >>> found.design.explicit, found.proven, found.gap < 0.002
    (True, True, True)
    """

    design: Design
    error: float
    usage: float
    lower_bound: float
    rivals: tuple[Rival, ...]
    tolerance: float
    price: float
    symmetric: bool
    interval: bool
    evaluated: int
    largest: float
    estimate: float

    @property
    def proven(self) -> bool:
        """Whether the boundary is shown to be the best, up to 0.2% of the data."""
        return self.gap <= PROVEN

    @property
    def gap(self) -> float:
        """Data read beyond the lower bound, as a share of all data."""
        return self.usage - self.lower_bound

    @property
    def best_excess(self) -> float:
        """How much more the boundary found reads than the lower bound, relative to it."""
        return self.usage / self.lower_bound - 1.0

    def excess(self, rival: Rival) -> float | None:
        """How much more a rival reads than the lower bound, relative to it."""
        return None if rival.usage is None else rival.usage / self.lower_bound - 1.0
