"""What a search takes and returns: `Options` and `SearchResult`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypedDict

from designer.core.progress import Progress
from designer.engine.step_error import Acceptance, Rule
from designer.rule.design import Design
from designer.search.criteria import Cost, Criterion
from designer.search.space import Grid, Space
from designer.search.table import Evaluated

Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


class SearchResult(NamedTuple):
    """The best design, or None with the reason and the smallest tolerance that can be met.

    Attributes
    ----------
    best
        The design, with prediction and provenance; None if there is none.
    evaluated
        Every design that was tried, an `Evaluated`.
    reason, nearest_tolerance
        Why there is no design, in one line, and the smallest tolerance that has one; None if there is a design.
    tolerance, criterion
        As given.
    error, usage, looks, cost
        Of the best design: error by the criterion, data use, number of looks, and cost per step.
    acceptance
        The evaluation of the best design on all pairs, which `best.predicted` is taken from; None without a trial run.
    limit, confidence
        The error's upper limit over the pairs, which is within the tolerance, and its confidence. For a point estimate
        and for the criterion worst-case the limit is the error, and there is no confidence.
    exact_cost
        Cost per step of an exact chain that keeps log p(xᵢ; θ): one likelihood for each datum instead of two.
    remarks
        What to know before using the design; may be empty.

    Examples
    --------
    >>> from designer import Space, search
    >>> narrow = Space(m_low=500, m_high=600, epsilon=(0.01, 0.5))
    >>> found = search(None, 0.001, "worst-case", n_data=10_000, space=narrow)
    >>> found.best, round(found.nearest_tolerance, 3)
    (None, 0.023)
    """

    best: Design | None
    evaluated: Evaluated
    reason: str | None
    nearest_tolerance: float | None
    tolerance: float
    criterion: Criterion
    error: float | None = None
    usage: float | None = None
    looks: float | None = None
    cost: float | None = None
    acceptance: Acceptance | None = None
    limit: float | None = None
    confidence: float | None = None
    exact_cost: float | None = None
    remarks: tuple[str, ...] = ()


class Options(TypedDict, total=False):
    """Keyword arguments of every search.

    n_data
        N, when there is no trial run.
    space, grid
        The ranges to search (a `Space`), or a plain `Grid` to evaluate instead.
    fixed_m
        Batch size of the fixed-m criterion (500).
    cost
        What to minimise, a `Cost`; by default the data read per step.
    rule
        "metropolis" or "barker".
    quantile
        Which quantile of |Δ| the quantile criterion bounds (0.95).
    skew
        By default each pair is predicted by the source that supports it (`designer.predict`), and tests that none
        supports for all pairs are not considered. True: by the normal theory with the skewness that the trial run
        records, within its range; False: by the normal theory alone.
    confidence
        Probability (0.95) with which the error over all pairs of the chain, of which the trial run has only some, is
        within the tolerance: the upper end of a one-sided band must be. None or 0.5 takes the point estimate.
    stationary
        Whether the chain has reached its posterior (True): pairs that cannot come from such a chain are refused.
    workers
        Threads; all cores by default. The result does not depend on it.
    mapper
        Runs the work elsewhere: mapper(function, items) -> function(item) for each, in order. Both can be pickled. The
        result is the same.
    progress, cancelled
        `progress` is called with (done, total). `cancelled` is called between evaluations; if it returns True,
        `Cancelled` is raised.
    """

    n_data: int | None
    space: Space | None
    grid: Grid | None
    fixed_m: int
    cost: Cost | None
    rule: Rule
    quantile: float
    skew: bool | None
    confidence: float | None
    stationary: bool
    workers: int | None
    mapper: Mapper | None
    progress: Progress | None
    cancelled: Callable[[], bool] | None
