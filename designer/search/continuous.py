"""The continuous search: scan all shapes, refine the best one, solve it for ε.

For a given schedule and α the cost falls as ε grows, so the best ε is the largest feasible one. Searches run over the
bound G₀ = Φ⁻¹(1 - ε), in which log(error) is nearly linear.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.rule.boundary import threshold
from designer.search.evaluation import SCAN_ACCURACY, SEARCH_ACCURACY, Evaluator
from designer.search.space import Shape
from designer.search.table import EvaluatedDesign

SCAN_STEP = 0.5  # in G₀
MARGIN = 0.7  # a scan stops at this fraction of the smallest target, because its own error is not small
FLAT = 2e-4  # relative differences in cost below this are not worth a step
STARTS = 6  # most promising shapes of the scan, solved again before one is refined
BRACKET = 0.1  # distance in G₀ of the two bounds between which `roughly` interpolates


class Crossing(NamedTuple):
    """A shape with the bound that meets the target and the cost there, both interpolated; ordered by cost."""

    cost: float
    shape: Shape
    bound: float


def solve_all(
    evaluator: Evaluator, targets: list[float], shapes: list[Shape], *, refined: bool
) -> list[EvaluatedDesign | None]:
    """The best design for each target, or None; all targets share one scan."""
    evaluator.total = len(shapes) + 2 * len(targets)
    low, high = evaluator.space.bounds
    bounds = np.append(np.arange(low, high, SCAN_STEP), high)
    scans = []
    for rows in evaluator.each(scan, shapes, bounds, min(targets)):
        evaluator.step()
        scans.append(rows)
    best = list(evaluator.each(best_for, targets, scans, refined))
    evaluator.finish()
    return best


def scan(evaluator: Evaluator, shape: Shape, bounds: Floats, least: float) -> list[EvaluatedDesign]:
    """Rising bounds, until the error is small enough for every target."""
    rows = []
    for bound in bounds:
        rows.append(evaluator.evaluate(shape, float(bound), SCAN_ACCURACY))
        if rows[-1].score.error <= MARGIN * least:
            break
    return rows


def best_for(
    evaluator: Evaluator, target: float, scans: list[list[EvaluatedDesign]], refined: bool
) -> EvaluatedDesign | None:
    """Refine the most promising shape, then solve it for ε."""
    starts = sorted(start for start in (crossing(evaluator, target, rows) for rows in scans) if start is not None)
    if refined:
        near = (roughly(evaluator, target, start.shape, start.bound) for start in starts[:STARTS])
        starts = sorted(start for start in near if start is not None)
    best = starts[0] if starts else None
    if best is not None and refined:
        best = refine(evaluator, target, best)
    evaluator.step()
    solved = None if best is None else solve(evaluator, target, best.shape, best.bound)
    evaluator.step()
    return solved


def crossing(evaluator: Evaluator, target: float, rows: list[EvaluatedDesign]) -> Crossing | None:
    """Where rows with rising bounds first meet the target, by interpolation of log(error)."""
    for low, high in zip([rows[0], *rows], rows, strict=False):
        if high.score.error <= target:
            share = _share(low.score.error, high.score.error, target)
            costs = evaluator.cost_of(low), evaluator.cost_of(high)
            bounds = threshold(low.epsilon), threshold(high.epsilon)
            cost, bound = (a + share * (b - a) for a, b in (costs, bounds))
            return Crossing(cost, high.shape, bound)
    return None


def refine(evaluator: Evaluator, target: float, start: Crossing) -> Crossing:
    """Pattern search in log m and α; each trial is solved for ε roughly, by interpolation."""
    space = evaluator.space
    best, factor, shift = start, 1.4, 0.08 if space.alpha[0] < space.alpha[1] else 0.0
    while factor > 1.04:
        shapes, bound = space.neighbours(best.shape, factor, shift), best.bound
        with ThreadPoolExecutor(evaluator.workers) as pool:
            solved = list(pool.map(lambda shape, bound=bound: roughly(evaluator, target, shape, bound), shapes))
        better = min([best, *(one for one in solved if one is not None)])
        if better.cost > best.cost * (1.0 - FLAT):
            factor, shift = math.sqrt(factor), 0.5 * shift
        best = better
    return best


def roughly(evaluator: Evaluator, target: float, shape: Shape, bound: float) -> Crossing | None:
    """The crossing between two bounds around the given one, BRACKET apart, moved until they enclose it."""
    least, most = evaluator.space.bounds[0], max(evaluator.space.bounds[1] - BRACKET, evaluator.space.bounds[0])
    low = min(max(bound - 0.5 * BRACKET, least), most)
    for _ in range(100):
        rows = [evaluator.evaluate(shape, b, SCAN_ACCURACY) for b in (low, low + BRACKET)]
        if rows[1].score.error > target:
            if low >= most:
                return None
            low = min(low + BRACKET, most)
        elif rows[0].score.error <= target and low > least:
            low = max(low - BRACKET, least)
        else:
            return crossing(evaluator, target, rows)
    return None


def solve(evaluator: Evaluator, target: float, shape: Shape, bound: float) -> EvaluatedDesign | None:
    """The largest ε near the given bound that keeps the error within the target; None if there is none.

    Secant steps on log(error) between an infeasible and a feasible bound, which always enclose the crossing.
    """
    bad: EvaluatedDesign | None = None
    good: EvaluatedDesign | None = None
    least, most = evaluator.space.bounds
    here = min(max(bound, least), most)
    for _ in range(60):
        row = evaluator.evaluate(shape, here, SEARCH_ACCURACY)
        excess = math.log(max(row.score.error, 1e-300) / target)
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
        if high - low < 1e-5 or good.score.error > target * (1.0 - 1e-4):
            return good
        share = _share(bad.score.error, good.score.error, target)
        # a little beyond the estimated crossing, so that the feasible side closes in
        here = low + min(max(share + 0.01, 0.02), 0.98) * (high - low)
    return good


def _share(high: float, low: float, target: float) -> float:
    """Share of the way from an error above to one below at which log(error) meets the target."""
    if not high > target or low >= high or math.isinf(high):
        return 1.0
    floor = 1e-300
    return math.log(high / target) / math.log(high / max(low, floor))
