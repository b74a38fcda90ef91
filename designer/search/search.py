"""The best design for a tolerance: least cost subject to an error no larger (K14 §5.2, supplement D).

For a given schedule and alpha, cost falls as epsilon grows, so the best epsilon is the largest feasible one: the search
runs over m (log-spaced), alpha and growth, solves for epsilon, then refines around the best. `grid` instead evaluates
a plain grid, as the paper does.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.core.progress import Cancelled, Progress
from designer.engine.skew import in_range, out_of_range, skew_of
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import epsilon_of, threshold
from designer.rule.design import Design
from designer.rule.looks import MAX_N_DATA
from designer.rule.plan import as_plan
from designer.search.annotate import documented
from designer.search.criteria import Cost, Criterion, check_criterion, measure_of
from designer.search.result import Options, SearchResult
from designer.search.space import Shape, Space
from designer.search.table import Evaluated, Row, tabulated

SCAN_ACCURACY = 4e-4  # of the first look around; merges neighbouring looks
ACCURACY = 3e-7  # of everything that decides between feasible and not
SCAN_STEP = 0.5  # in G_0
LEAST_TOLERANCE = 1e-6  # below, the numerical error would count
FLAT = 2e-4  # relative differences in cost below this are not worth a step

__all__ = [
    "ACCURACY",
    "LEAST_TOLERANCE",
    "SCAN_ACCURACY",
    "Cancelled",
    "Options",
    "Progress",
    "SearchResult",
    "search",
    "searches",
]


def search(
    trial: TrialRun | None, tolerance: float, criterion: Criterion = "average", **options: Unpack[Options]
) -> SearchResult:
    """Find the design of least cost whose error is at most `tolerance` (K14 section 5.2).

    Parameters
    ----------
    trial
        Pairs from a trial run; None is enough for the worst-case criterion, with `n_data`.
    tolerance
        Largest error, by the criterion; from 1e-6 on.
    criterion
        average: mean |Delta| over the pairs (Eqn 7). worst-case: E(mu_std = 0) (Eqn 8). quantile: that quantile of
        |Delta|. fixed-m: K14's heuristic, constant bounds and the largest epsilon that keeps the average.
    **options
        See `designer.search.search.Options`: n_data, space, grid, fixed_m, cost, rule, quantile, skew, workers, mapper,
        progress, cancelled.

    Returns
    -------
    SearchResult
        The best design; an infeasible search is a result, too, with the reason.

    Raises
    ------
    BadInput
        If an argument cannot be used.
    Cancelled
        If `cancelled` said so.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(200_000, 0.45, 50, np.random.default_rng(1))
    >>> found = search(trial, tolerance=0.02)
    >>> found.error <= 0.02
    True
    """
    return searches(trial, [tolerance], criterion, **options)[0]


def searches(
    trial: TrialRun | None, tolerances: Iterable[float], criterion: Criterion = "average", **options: Unpack[Options]
) -> list[SearchResult]:
    """`search` for several tolerances, which share the first look around."""
    criterion = check_criterion(criterion)
    targets = [real("tolerance", t, LEAST_TOLERANCE, 1.0) for t in tolerances]
    if not targets:
        raise BadInput("tolerances: give at least one")
    n_data = _agreed_n_data(trial, options.get("n_data"))
    space = (options.get("space") or Space()).checked(n_data)
    job = _Job(trial, n_data, criterion, space, options)
    if grid := options.get("grid"):
        return job.on_grid(targets, grid.designs(n_data))
    if criterion == "fixed-m":
        m = min(integer("fixed_m", options.get("fixed_m", 500), 2, MAX_N_DATA), n_data)
        return job.continuous(targets, [Shape(n_data, m, 0.5, 1.0)], refine=False)
    return job.continuous(targets, space.shapes(n_data), refine=True)


def _agreed_n_data(trial: TrialRun | None, n_data: int | None) -> int:
    if trial is None and n_data is None:
        raise BadInput("n_data: needed when there is no trial run")
    if trial is not None and n_data is not None and n_data != trial.n_data:
        raise BadInput(f"n_data = {n_data:,} does not agree with the trial run's {trial.n_data:,}")
    return integer("n_data", trial.n_data if trial is not None else n_data, 2, MAX_N_DATA)


class _Guess(NamedTuple):
    """A shape with the bound that meets the target and the cost there, both interpolated; ordered by cost."""

    cost: float
    shape: Shape
    bound: float


@dataclass(frozen=True)
class _Elsewhere:
    """A method of a job, called in another process: what it returns, and every design that it evaluated."""

    job: _Job
    method: str
    more: tuple[Any, ...]

    def __call__(self, item: Any) -> tuple[Any, list[Row]]:
        job = self.job.apart()  # calls at the same time share what they were given, not what they find
        return getattr(job, self.method)(item, *self.more), job.rows


class _Job:
    """One call of `searches`: evaluates, counts, collects."""

    def __init__(
        self, trial: TrialRun | None, n_data: int, criterion: Criterion, space: Space, options: Options
    ) -> None:
        self.trial, self.n_data, self.criterion, self.space = trial, n_data, criterion, space
        self.rule = options.get("rule", "metropolis")
        self.skew = options.get("skew", False) and trial is not None
        self.measure = measure_of(criterion, trial, self.rule, options.get("quantile", 0.95), skew=self.skew)
        self.small = self.measure.small()
        self.cost = (options.get("cost") or Cost()).checked()
        self.workers = integer("workers", options.get("workers") or os.cpu_count() or 1, 1, 1000)
        self.mapper = options.get("mapper")
        self.progress = options.get("progress") or _unheard
        self.cancelled = options.get("cancelled") or _never
        self.done = self.total = 0
        self.lock = threading.Lock()
        self.rows: list[Row] = []

    # -- evaluating ---------------------------------------------------------------------------------------------------

    def evaluate(self, shape: Shape, bound: float, accuracy: float) -> Row:
        """Measure one design, coarsely (on part of the pairs) or for good."""
        if self.cancelled():
            raise Cancelled
        measure = self.small if accuracy > ACCURACY else self.measure
        row = Row(shape, epsilon_of(bound), measure(shape.plan(bound), accuracy), accuracy)
        self.rows.append(row)
        return row

    def each(self, method: str, items: Sequence[Any], *more: Any) -> Iterator[Any]:
        """method(item, *more) of every item, in their order, and so everything after: on all cores, or elsewhere."""
        if self.mapper is not None:
            for found, rows in self.mapper(_Elsewhere(self.apart(), method, more), items):
                self.rows += rows
                yield found
            return
        with ThreadPoolExecutor(self.workers) as pool:
            yield from pool.map(lambda item: getattr(self, method)(item, *more), items)

    def apart(self) -> _Job:
        """The same question with nothing evaluated, for another process: of what it does nobody here hears."""
        other = copy(self)
        other.mapper, other.progress, other.cancelled, other.rows = None, _unheard, _never, []
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=threading.Lock())

    def stepped(self, rows: list[Row]) -> list[Row]:
        """Rows that are done, after telling so."""
        self.step()
        return rows

    def step(self) -> None:
        with self.lock:
            self.done += 1
            self.progress(self.done, max(self.done, self.total))

    def cost_of(self, row: Row) -> float:
        return self.cost.of(self.n_data, row.found.usage, row.found.looks)

    # -- the continuous search ----------------------------------------------------------------------------------------

    def continuous(self, targets: list[float], shapes: list[Shape], *, refine: bool) -> list[SearchResult]:
        """Scan, then for each target refine around the best and solve for epsilon."""
        self.total = len(shapes) + 2 * len(targets)
        least = min(targets)
        low, high = self.space.bounds
        bounds = np.append(np.arange(low, high, SCAN_STEP), high)

        scans = [self.stepped(rows) for rows in self.each("scan", shapes, bounds, least)]
        found = list(self.each("best_for", targets, scans, refine))
        if self.mapper is not None:  # whose steps were not heard
            self.progress(self.total, self.total)
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(self.answer, targets, found))

    def scan(self, shape: Shape, bounds: Floats, least: float) -> list[Row]:
        """Rising bounds, until the error is small enough for every target."""
        rows = []
        for bound in bounds:
            rows.append(self.evaluate(shape, float(bound), SCAN_ACCURACY))
            if rows[-1].found.error <= 0.7 * least:  # margin for the scan's own error
                break
        return rows

    def best_for(self, target: float, scans: list[list[Row]], refine: bool) -> Row | None:
        """Refine the most promising shape, then solve it for epsilon."""
        starts = sorted(guess for guess in (self.crossing(target, rows) for rows in scans) if guess is not None)
        if refine:
            near = (self.roughly(target, start.shape, start.bound) for start in starts[:6])
            starts = sorted(guess for guess in near if guess is not None)
        best = starts[0] if starts else None
        if best is not None and refine:
            best = self.refine(target, best)
        self.step()
        found = None if best is None else self.solve(target, best.shape, best.bound)
        self.step()
        return found

    def crossing(self, target: float, rows: list[Row]) -> _Guess | None:
        """Where rows with rising bounds first meet the target, by interpolation of log(error)."""
        for low, high in zip([rows[0], *rows], rows, strict=False):
            if high.found.error <= target:
                share = _share(low.found.error, high.found.error, target)
                costs, bounds = (
                    (self.cost_of(low), self.cost_of(high)),
                    (threshold(low.epsilon), threshold(high.epsilon)),
                )
                cost, bound = (a + share * (b - a) for a, b in (costs, bounds))
                return _Guess(cost, high.shape, bound)
        return None

    def refine(self, target: float, start: _Guess) -> _Guess:
        """Pattern search in log m and alpha; each trial is solved for epsilon roughly, by interpolation."""
        space = self.space
        best, factor, shift = start, 1.4, 0.08 if space.alpha[0] < space.alpha[1] else 0.0
        while factor > 1.04:
            tries = space.neighbours(best.shape, factor, shift)
            bound = best.bound
            with ThreadPoolExecutor(self.workers) as pool:
                solved = list(pool.map(lambda shape, bound=bound: self.roughly(target, shape, bound), tries))
            better = min([best, *(guess for guess in solved if guess is not None)])
            if better.cost > best.cost * (1.0 - FLAT):
                factor, shift = math.sqrt(factor), 0.5 * shift
            best = better
        return best

    def roughly(self, target: float, shape: Shape, bound: float) -> _Guess | None:
        """The crossing between two bounds 0.1 apart around the given one, moved until they enclose it."""
        least, most = self.space.bounds[0], max(self.space.bounds[1] - 0.1, self.space.bounds[0])
        low = min(max(bound - 0.05, least), most)
        for _ in range(100):
            rows = [self.evaluate(shape, b, SCAN_ACCURACY) for b in (low, low + 0.1)]
            if rows[1].found.error > target:
                if low >= most:
                    return None
                low = min(low + 0.1, most)
            elif rows[0].found.error <= target and low > least:
                low = max(low - 0.1, least)
            else:
                return self.crossing(target, rows)
        return None

    def solve(self, target: float, shape: Shape, bound: float) -> Row | None:
        """The largest epsilon near the given bound that keeps the error within the target; None if there is none.

        Secant steps on log(error) between an infeasible and a feasible bound, which always stay on both sides.
        """
        bad: Row | None = None
        good: Row | None = None
        least, most = self.space.bounds
        here = min(max(bound, least), most)
        for _ in range(60):
            row = self.evaluate(shape, here, ACCURACY)
            excess = math.log(max(row.found.error, 1e-300) / target)
            if excess <= 0:
                good = row
                if here == least:
                    return good
            else:
                bad = row
                if here == most:
                    return None
            if good is None or bad is None:
                # log(error) falls by about G per unit of G: go to the crossing and somewhat beyond, ever farther
                step = 1.3 * abs(excess) / max(here, 0.5) + 1e-4
                here = min(max(here + math.copysign(min(step, 1.0), excess), least), most)
                continue
            low, high = threshold(bad.epsilon), threshold(good.epsilon)
            if high - low < 1e-5 or good.found.error > target * (1.0 - 1e-4):
                return good
            share = _share(bad.found.error, good.found.error, target)
            # a little beyond the estimated crossing, so that the feasible side closes in
            here = low + min(max(share + 0.01, 0.02), 0.98) * (high - low)
        return good

    # -- the plain grid -----------------------------------------------------------------------------------------------

    def on_grid(self, targets: list[float], designs: list[Design]) -> list[SearchResult]:
        """Evaluate every design of a grid."""
        by_shape: dict[Shape, list[Design]] = {}
        for design in designs:
            by_shape.setdefault(Shape(self.n_data, design.m, design.alpha, design.growth), []).append(design)
        self.total = len(by_shape)

        rows = [row for rows in self.each("whole", list(by_shape.items())) for row in self.stepped(rows)]
        chosen = [row._replace(epsilon=design.epsilon) for row, design in zip(rows, _flat(by_shape), strict=True)]
        self.rows = list(chosen)
        results = []
        for target in targets:
            feasible = [row for row in chosen if row.found.error <= target]
            best = min(feasible, key=lambda row: (self.cost_of(row), row.shape), default=None)
            results.append(self.answer(target, best, rounded=False))
        return results

    def whole(self, one: tuple[Shape, list[Design]]) -> list[Row]:
        """All designs of a shape."""
        return [self.evaluate(one[0], threshold(design.epsilon), ACCURACY) for design in one[1]]

    # -- answers ------------------------------------------------------------------------------------------------------

    def answer(self, target: float, best: Row | None, *, rounded: bool = True) -> SearchResult:
        """The best design, with what is predicted of it."""
        if best is None:
            return self.infeasible(target)
        shape, epsilon = best.shape, best.epsilon
        if rounded:
            epsilon = max(_rounded_down(epsilon), self.space.epsilon[0])
        design = Design(self.n_data, shape.m, epsilon, shape.alpha, shape.growth)
        found = self.measure(as_plan(design), ACCURACY)
        if rounded and found.error > target:  # where the error is not monotone a rounded epsilon may leave the target
            epsilon = best.epsilon
            design = Design(self.n_data, shape.m, epsilon, shape.alpha, shape.growth)
            found = self.measure(as_plan(design), ACCURACY)
        design = documented(design, target, self.criterion, self.trial, self.rule, skew=self.skew)
        cost = self.cost.of(self.n_data, found.usage, found.looks)
        table = self.table(target, Row(shape, epsilon, found, ACCURACY))
        return SearchResult(design, table, None, None, target, self.criterion, *found, cost)

    def infeasible(self, target: float) -> SearchResult:
        """No design, why, and the smallest tolerance that could be met."""
        closest = min(self.rows, key=lambda row: (row.found.error, row.shape, row.epsilon))
        plan = closest.shape.plan(threshold(closest.epsilon))
        nearest = self.measure(plan, ACCURACY).error * (1.0 + 1e-6)
        if math.isinf(nearest) and self.trial is not None:
            return SearchResult(None, self.table(target), self.too_skewed(self.trial), None, target, self.criterion)
        name = "E(0)" if self.criterion == "worst-case" else "|Delta|"
        sizes, smallest = [row.shape.m for row in self.rows], min(row.epsilon for row in self.rows)
        reason = (
            f"no design with m from {min(sizes):,} to {max(sizes):,} and epsilon from {smallest:.2g} keeps "
            f"{name} ({self.criterion}) within {target:g}; the smallest found is {nearest:.3g}, "
            f"at m = {closest.shape.m:,}, epsilon = {closest.epsilon:.2g}: raise the tolerance, or allow larger m or "
            "smaller epsilon"
        )
        return SearchResult(None, self.table(target), reason, nearest, target, self.criterion)

    def too_skewed(self, trial: TrialRun) -> str:
        """Why no error at all is known: the correction for skewness holds for none of the tests."""
        largest, skew = max(row.shape for row in self.rows), skew_of(trial)
        plan = largest.plan(self.space.bounds[0])
        return out_of_range(plan, skew, in_range(plan, skew)) or "the correction for skewness holds for no test tried"

    def table(self, target: float, *more: Row) -> Evaluated:
        """All evaluations of the search, and `more`."""
        return tabulated([*self.rows, *more], target, self.cost_of)


def _unheard(done: int, total: int) -> None:
    pass


def _never() -> bool:
    return False


def _flat(groups: dict[Shape, list[Design]]) -> list[Design]:
    return [design for designs in groups.values() for design in designs]


def _share(high: float, low: float, target: float) -> float:
    """Share of the way from an error above to one below at which log(error) meets the target."""
    if not high > target or low >= high or math.isinf(high):
        return 1.0
    floor = 1e-300
    return math.log(high / target) / math.log(high / max(low, floor))


def _rounded_down(epsilon: float) -> float:
    """To four significant digits, towards zero: readable, and on the safe side."""
    scale = 10.0 ** (3 - math.floor(math.log10(epsilon)))
    return float(f"{math.floor(epsilon * scale + 1e-9) / scale:.4g}")
