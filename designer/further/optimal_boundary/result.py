"""The result of `optimal_boundary`: a boundary, its rivals from the known families, and a bound on all boundaries."""

from __future__ import annotations

from typing import NamedTuple

from designer.rule.design import Design

PROVEN = 2e-3  # largest share of the data between a rule and the bound for which the rule counts as the best


class Rival(NamedTuple):
    """The best member of a family at the same looks and tolerance.

    Attributes
    ----------
    name
        Name of the family.
    design
        None if no member meets the tolerance; the numbers are then None as well.
    error, usage
        Mean |Δ| and mean data use.
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
    """The best boundary found, the engine's numbers for it, and a bound that no boundary of its kind can beat.

    Attributes
    ----------
    design
        A design with explicit bounds, saved and run like any other.
    error, usage
        Mean |Δ| and mean data use.
    lower_bound
        Lower bound on the data use of any rule that meets the tolerance and decides by the sign of z (or, if not
        `symmetric`, against it up to |z| = 6; `symmetric`: among rules that treat both signs alike).
    rivals
        The best of the known families, each a `Rival`.
    tolerance
        As given.
    price
        λ: data saved per unit of tolerance.
    symmetric
        As given.
    interval
        Whether the best of all rules is a boundary: it reads on everywhere between two bounds at each look.
    evaluated
        Number of rules tried.
    largest
        The largest |Δ| of any pair.
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
