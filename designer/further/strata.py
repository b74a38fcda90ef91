"""The best designs by kappa: strata of pairs, each with its own test, one tolerance on the error of all together.

The best m and epsilon of a pair depend on its kappa, which the spread of the first batch tells to about
1 / sqrt(2 m_0). So the first batch can choose the test. One evaluation of a candidate test serves all pairs; from the
table of them the strata and the shares of the error are chosen together, by one Lagrange multiplier.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from designer.acceptance import Rule, check_rule, curves, integrate, reach_of
from designer.boundary import epsilon_of, threshold
from designer.errors import BadInput, integer
from designer.further.strata_records import MOST_STRATA, Stratified
from designer.records import Design, TrialRun
from designer.schedule import Floats, Ints
from designer.search import ACCURACY, LEAST_TOLERANCE, SCAN_ACCURACY, Cancelled, Progress, SearchResult, search
from designer.space import Shape, Space

STEP = 0.4  # in G_0, from one candidate to the next
DEEPEST = 0.05  # of the tolerance: candidates with a smaller error are not needed
MOST_BLOCKS, LEAST_PAIRS = 12, 5  # strata are runs of blocks: at most so many, of at least so many pairs
TABLE_PAIRS = 400  # on which candidates are compared; the chosen designs are measured on all
WORTH = 1e-3  # relative saving below which one design is preferred
ROUNDS = 60  # of bisection


class Options(TypedDict, total=False):
    """Keyword arguments of `stratified`.

    space
        Where to search, as in `search`.
    rule
        "metropolis" or "barker".
    workers
        Threads; all cores by default. The result does not depend on it.
    progress, cancelled
        Called with (done, total); asked between evaluations, and `Cancelled` is raised when it says True.
    """

    space: Space | None
    rule: Rule
    workers: int | None
    progress: Progress | None
    cancelled: Callable[[], bool] | None


def stratified(trial: TrialRun, tolerance: float, strata: int = 3, **options: Unpack[Options]) -> Stratified:
    """Designs by kappa that read the least data with mean |Delta| over all pairs at most `tolerance`.

    There are fewer strata than asked for if the pairs are too few or more strata save nothing: in the end one, with the
    best single design. BadInput if there is no such design at all.

    Parameters
    ----------
    trial
        Pairs of a trial run.
    tolerance
        Largest mean |Delta| over all pairs.
    strata
        How many at most.
    **options
        See `Options`.

    Returns
    -------
    Stratified
        The test in strata, with its predictions and the single design it saves against (docs/strata.md).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> kappa = np.exp(rng.uniform(np.log(0.1), np.log(5.0), 100))
    >>> n, a = 100_000, rng.normal(-(kappa**2) / 2, kappa)
    >>> trial = TrialRun(n, a / n, kappa * (n - 1) ** 0.5 / n)
    >>> found = stratified(trial, 0.02, strata=2)
    >>> len(found.designs), found.error <= 0.02, 0.0 < found.gain < 1.0
    (2, True, True)
    """
    strata, rule = integer("strata", strata, 1, MOST_STRATA), check_rule(options.get("rule", "metropolis"))
    single = _search(trial, tolerance, options)
    if single.best is None or single.usage is None:
        raise BadInput(f"{single.reason}")
    alone = _alone(single.best)
    if strata == 1 or _block_ends(np.sort(trial.kappa)).size == 2:  # nothing to divide
        return alone
    table = _Table.of(trial, single, options)
    groups = table.partition(strata)
    if len(groups) == 1:
        return alone
    edges = tuple(_between(table.kappa[low.stop - 1], table.kappa[low.stop]) for low in groups[:-1])
    designs = [_polished(trial, edges, k, group, table, options) for k, group in enumerate(groups)]
    found = _within(trial, single.tolerance, edges, designs, rule)
    if found is None or found.usage is None or found.usage > single.usage * (1.0 - WORTH):
        return alone
    return Stratified(found.first, edges, found.designs, found.error, found.usage, single.best)


def _alone(best: Design) -> Stratified:
    """One stratum with the best single design."""
    assert best.predicted is not None
    return Stratified(best.m, (), (best,), best.predicted.mean_abs_delta, best.predicted.mean_usage, best)


class _Candidate(NamedTuple):
    """A shape with a bound, and what it does to every pair."""

    shape: Shape
    bound: float
    error: Floats
    usage: Floats


class _Group(NamedTuple):
    """Pairs start .. stop in the order of kappa, and the candidate chosen for them, with its mean |Delta|."""

    start: int
    stop: int
    candidate: int
    error: float


class _Table:
    """|Delta| and data use of all candidates on all pairs, in the order of kappa."""

    def __init__(self, kappa: Floats, candidates: list[_Candidate], tolerance: float) -> None:
        self.kappa, self.candidates, self.tolerance = kappa, candidates, tolerance
        self.ends = _block_ends(kappa)
        zero = np.zeros((len(candidates), 1))
        # sums over the first b blocks, so that those of any run of blocks are differences
        self.error, self.usage = (
            np.hstack([zero, np.cumsum([getattr(c, name) for c in candidates], axis=1)[:, self.ends[1:] - 1]])
            for name in ("error", "usage")
        )

    @classmethod
    def of(cls, trial: TrialRun, single: SearchResult, options: Options) -> _Table:
        """Evaluate all candidates; of very many pairs, some."""
        order = np.argsort(trial.kappa, kind="stable")
        if order.size > TABLE_PAIRS:
            order = order[np.linspace(0, order.size - 1, TABLE_PAIRS).astype(int)]
        pairs = trial.subset(order)
        space = (options.get("space") or Space()).checked(trial.n_data)
        shapes = space.shapes(trial.n_data)
        scan = _Scan(pairs, single.tolerance, space, options, len(shapes))
        with ThreadPoolExecutor(integer("workers", options.get("workers") or os.cpu_count() or 1, 1, 1000)) as pool:
            found = [row for rows in pool.map(scan, shapes) for row in rows]
        return cls(pairs.kappa, found, single.tolerance)

    def partition(self, strata: int) -> list[_Group]:
        """Groups with the least data, their errors together within the tolerance.

        Minimises data + lambda |Delta|, for which groups can be judged one by one; lambda is the smallest that keeps
        the tolerance.
        """
        low, high = -10.0, 10.0  # of log10(lambda)
        best = self._grouped(10.0**high, strata)
        for _ in range(ROUNDS):
            middle = 0.5 * (low + high)
            groups = self._grouped(10.0**middle, strata)
            if self._mean_error(groups) <= self.tolerance:
                best, high = groups, middle
            else:
                low = middle
            if high - low < 1e-6:
                break
        return best

    def _mean_error(self, groups: list[_Group]) -> float:
        return sum(group.error * (group.stop - group.start) for group in groups) / self.kappa.size

    def _grouped(self, multiplier: float, strata: int) -> list[_Group]:
        """The best groups of consecutive blocks for this multiplier, by dynamic programming over their last edge."""
        cost = self.usage + multiplier * self.error
        blocks = self.ends.size - 1
        least, chosen = np.full((blocks + 1, blocks + 1), math.inf), np.zeros((blocks + 1, blocks + 1), dtype=int)
        for start in range(blocks):
            runs = cost[:, start + 1 :] - cost[:, start : start + 1]
            chosen[start, start + 1 :], least[start, start + 1 :] = runs.argmin(axis=0), runs.min(axis=0)
        total, last = [least[0]], []
        for _ in range(min(strata, blocks) - 1):
            every = total[-1][:, None] + least
            last.append(every.argmin(axis=0))
            total.append(every.min(axis=0))
        count = int(np.argmin([row[-1] for row in total]))  # no more strata than pay
        edges = [blocks]
        for k in range(count, 0, -1):
            edges.insert(0, int(last[k - 1][edges[0]]))
        groups = []
        for start, stop in zip([0, *edges], edges, strict=False):
            c, pairs = int(chosen[start, stop]), (int(self.ends[start]), int(self.ends[stop]))
            groups.append(_Group(*pairs, c, float(self.error[c, stop] - self.error[c, start]) / (pairs[1] - pairs[0])))
        return groups


class _Scan:
    """Evaluates the candidates of a shape: bounds from low to high, until the error is small enough for any stratum."""

    def __init__(self, pairs: TrialRun, tolerance: float, space: Space, options: Options, total: int) -> None:
        self.pairs, self.tolerance, self.reach = pairs, tolerance, reach_of(pairs)
        self.barker = options.get("rule", "metropolis") == "barker"
        low, high = space.bounds
        self.bounds = np.append(np.arange(low, high, STEP), high)
        self.accuracy = min(SCAN_ACCURACY, max(0.02 * tolerance, ACCURACY))
        self.progress = options.get("progress") or (lambda done, total: None)
        self.cancelled = options.get("cancelled") or (lambda: False)
        self.done, self.total = 0, total

    def __call__(self, shape: Shape) -> list[_Candidate]:
        found: list[_Candidate] = []
        for bound in self.bounds:
            if self.cancelled():
                raise Cancelled
            curve = curves(shape.plan(float(bound)), self.reach, self.accuracy, verify=False)
            delta, usage, *_ = integrate(curve, self.pairs.log_acceptance, self.pairs.kappa, self.barker)
            found.append(_Candidate(shape, float(bound), np.abs(delta), usage))
            if found[-1].error.mean() <= DEEPEST * self.tolerance:
                break
        self.done += 1
        self.progress(min(self.done, self.total), self.total)
        return found


def _block_ends(kappa: Floats) -> Ints:
    """Where the blocks of sorted pairs end, from 0 to their number; never between equal values."""
    blocks = max(1, min(MOST_BLOCKS, kappa.size // LEAST_PAIRS))
    ends = np.unique(np.linspace(0, kappa.size, blocks + 1).astype(np.int64))
    inner = ends[1:-1]
    apart = kappa[inner] > kappa[inner - 1] * (1.0 + 1e-9)
    return np.concatenate([ends[:1], inner[apart], ends[-1:]])


def _between(low: float, high: float) -> float:
    """An edge between two values of kappa, in few digits if they allow it."""
    for digits in range(2, 17):
        edge = float(f"{math.sqrt(low * high):.{digits}g}")
        if low < edge < high:
            return edge
    return float(high)


def _search(trial: TrialRun, tolerance: float, options: Options) -> SearchResult:
    """The best single design."""
    rule, space = options.get("rule", "metropolis"), options.get("space")
    common = {"workers": options.get("workers"), "cancelled": options.get("cancelled")}
    return search(trial, tolerance, rule=rule, space=space, **common)  # type: ignore[arg-type]


def _polished(
    trial: TrialRun, edges: tuple[float, ...], number: int, group: _Group, table: _Table, options: Options
) -> Design:
    """The best design of a stratum for the error that the table gives it, which need not be one of the candidates."""
    kappa = trial.kappa
    ends = (0.0, *edges, math.inf)
    mine = trial.subset((kappa >= ends[number]) & (kappa < ends[number + 1]))
    found = _search(mine, min(max(group.error, LEAST_TOLERANCE), 1.0), options).best
    candidate = table.candidates[group.candidate]
    return found or _with_bound(candidate.shape, candidate.bound)


def _with_bound(shape: Shape, bound: float) -> Design:
    epsilon = min(float(f"{epsilon_of(max(bound, 0.0)):.6g}"), 0.5)
    return Design(shape.n_data, shape.m, epsilon, shape.alpha, shape.growth)


def _within(
    trial: TrialRun, tolerance: float, edges: tuple[float, ...], designs: list[Design], rule: Rule
) -> Stratified | None:
    """The designs with all bounds moved alike until the error, misjudged strata included, just meets the tolerance."""
    first = min(design.m for design in designs)

    def moved(shift: float) -> Stratified:
        shapes = [Shape(d.n_data, d.m, d.alpha, d.growth) for d in designs]
        bounds = [threshold(d.epsilon) + shift for d in designs]
        test = Stratified(first, edges, tuple(map(_with_bound, shapes, bounds)))
        step = test.acceptance(trial, rule, ACCURACY)
        return Stratified(first, edges, test.designs, step.mean_abs_delta, step.mean_usage)

    good: Stratified | None = None
    low, high = -0.5, 0.5
    for _ in range(16):
        middle = 0.5 * (low + high)
        found = moved(middle)
        assert found.error is not None
        if found.error <= tolerance:
            good, high = found, middle
            if found.error > tolerance * (1.0 - 1e-4):
                break
        else:
            low = middle
    return good
