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
from designer.rule.boundary import epsilon_of, threshold
from designer.search.evaluation import SCAN_ACCURACY, SEARCH_ACCURACY, Evaluator
from designer.search.space import Shape
from designer.search.table import EvaluatedDesign

SCAN_STEP = 0.5  # in G₀
WAVE = 8  # shapes scanned side by side, where scans are slow and may be given up
MARGIN = 0.7  # a scan stops at this fraction of the smallest target, because its own error is not small
FLAT = 2e-4  # relative differences in cost below this are not worth a step
STARTS = 6  # most promising shapes of the scan, solved again before one is refined
BRACKET = 0.1  # distance in G₀ of the two bounds between which `roughly` interpolates
NEAR = 4e-4  # an error this close to the target, relative to it, is close enough


class Crossing(NamedTuple):
    """A shape with the bound that meets the target and the cost there, both interpolated; ordered by cost.

    `slope` is the change of log(error) per unit of the bound there.
    """

    cost: float
    shape: Shape
    bound: float
    slope: float


def solve_all(
    evaluator: Evaluator, targets: list[float], shapes: list[Shape], *, refined: bool
) -> list[EvaluatedDesign | None]:
    """The best design for each target, or None; all targets share one scan."""
    evaluator.total = len(shapes) + 2 * len(targets)
    low, high = evaluator.space.bounds
    bounds = np.append(np.arange(low, high, SCAN_STEP), high)
    scans = []
    for some in _waves(evaluator, shapes):
        wave = []
        for rows in evaluator.each(scan, some, bounds, min(targets)):
            evaluator.step()
            wave.append(rows)
        evaluator.found(rows[-1] for rows in wave if rows[-1].score.limit <= MARGIN * min(targets))
        scans += wave
    best = list(evaluator.each(best_for, targets, scans, refined))
    evaluator.finish()
    return best


def _waves(evaluator: Evaluator, shapes: list[Shape]) -> list[list[Shape]]:
    """Shapes that are scanned side by side; the next wave knows the least cost so far.

    Within a wave nobody does: what is evaluated must not depend on which thread is faster.
    """
    size = WAVE if evaluator.resamples else max(len(shapes), 1)
    return [shapes[k : k + size] for k in range(0, len(shapes), size)]


def scan(evaluator: Evaluator, shape: Shape, bounds: Floats, least: float) -> list[EvaluatedDesign]:
    """Rising bounds, until the error is small enough for every target."""
    rows = []
    for bound in bounds:
        rows.append(evaluator.evaluate(shape, float(bound), SCAN_ACCURACY))
        if rows[-1].score.limit <= MARGIN * least or evaluator.hopeless(rows[-1]):  # larger bounds cost more
            break
    return rows


def best_for(
    evaluator: Evaluator, target: float, scans: list[list[EvaluatedDesign]], refined: bool
) -> EvaluatedDesign | None:
    """Refine the most promising shape, then solve it for ε."""
    starts = sorted(start for start in (crossing(evaluator, target, rows) for rows in scans) if start is not None)
    near = most_promising(evaluator, target, starts[:STARTS]) if refined else starts
    best = near[0] if near else None
    if best is not None and refined:
        best = refine(evaluator, target, best)
    evaluator.step()
    solved = None if best is None else solve(evaluator, target, best)
    others = iter(starts)
    # the scan is rough, and with skewed pairs the error may grow with the bound: then the next one may do
    while solved is None and (start := next(others, None)) is not None:
        solved = solve(evaluator, target, start)
    evaluator.step()
    return solved


def most_promising(evaluator: Evaluator, target: float, starts: list[Crossing]) -> list[Crossing]:
    """The starts solved again, more closely; a list with the cheapest one, empty if none is feasible."""
    best: list[Crossing] = []
    for start in starts:
        near = roughly(evaluator, target, start.shape, start.bound, best[0].cost if best else math.inf)
        best = sorted([*best, *([] if near is None else [near])])[:1]
    return best


def crossing(evaluator: Evaluator, target: float, rows: list[EvaluatedDesign]) -> Crossing | None:
    """Where rows with rising bounds first meet the target, by interpolation of log(error)."""
    for low, high in zip([rows[0], *rows], rows, strict=False):
        if high.score.limit <= target:
            share = _share(low.score.limit, high.score.limit, target)
            costs = evaluator.cost_of(low), evaluator.cost_of(high)
            bounds = threshold(low.epsilon), threshold(high.epsilon)
            cost, bound = (a + share * (b - a) for a, b in (costs, bounds))
            return Crossing(cost, high.shape, bound, _slope(low, high))
    return None


def refine(evaluator: Evaluator, target: float, start: Crossing) -> Crossing:
    """Pattern search in log m and α; each trial is solved for ε roughly, by interpolation."""
    space = evaluator.space
    best, factor, shift = start, 1.4, 0.08 if space.alpha[0] < space.alpha[1] else 0.0
    while factor > 1.04:
        shapes, known = space.neighbours(best.shape, factor, shift), best
        with ThreadPoolExecutor(evaluator.workers) as pool:
            solved = list(pool.map(lambda shape, b=known: roughly(evaluator, target, shape, b.bound, b.cost), shapes))
        better = min([best, *(one for one in solved if one is not None)])
        if better.cost > best.cost * (1.0 - FLAT):
            factor, shift = math.sqrt(factor), 0.5 * shift
        best = better
    return best


def roughly(evaluator: Evaluator, target: float, shape: Shape, bound: float, dearest: float) -> Crossing | None:
    """The crossing between two bounds around the given one, BRACKET apart, moved until they enclose it.

    None as soon as it must cost more than `dearest`: the cost rises with the bound.
    """
    least, most = evaluator.space.bounds[0], max(evaluator.space.bounds[1] - BRACKET, evaluator.space.bounds[0])
    low = min(max(bound - 0.5 * BRACKET, least), most)
    first: EvaluatedDesign | None = None
    second: EvaluatedDesign | None = None
    for _ in range(100):
        first = first or evaluator.evaluate(shape, low, SCAN_ACCURACY)
        if first.score.limit > target and evaluator.cost_of(first) > dearest:
            return None
        if first.score.limit <= target and low > least:
            low, first, second = max(low - BRACKET, least), None, first
            continue
        second = second or evaluator.evaluate(shape, low + BRACKET, SCAN_ACCURACY)
        if second.score.limit <= target:
            return crossing(evaluator, target, [first, second])
        if low >= most:
            return None
        low, first, second = min(low + BRACKET, most), second, None
    return None


def solve(evaluator: Evaluator, target: float, start: Crossing) -> EvaluatedDesign | None:
    """The largest ε near a crossing that keeps the error within the target, in four digits; None if there is none.

    Newton's steps on log(error) with the slope of the crossing, then secants between an infeasible and a feasible
    bound, which always enclose the solution.
    """
    bad: EvaluatedDesign | None = None
    good: EvaluatedDesign | None = None
    least, most = evaluator.space.bounds
    shape, slope, here = start.shape, start.slope, start.bound
    for tries in range(60):
        epsilon = rounded_down(epsilon_of(min(max(here, least), most)), evaluator.space.epsilon)
        if good is not None and epsilon <= good.epsilon:
            epsilon = rounded_down(1.0011 * good.epsilon, evaluator.space.epsilon)  # the next one up
        if (bad is not None and epsilon >= bad.epsilon) or (good is not None and epsilon <= good.epsilon):
            break  # no ε of four digits lies between
        row = evaluator.evaluate(shape, threshold(epsilon), SEARCH_ACCURACY, epsilon)
        excess = math.log(max(row.score.limit, 1e-300) / target)
        if excess <= 0:
            good = row
            if excess > -NEAR or epsilon == evaluator.space.epsilon[1]:
                break
        else:
            bad = row
            if epsilon == evaluator.space.epsilon[0]:
                break
        here = threshold(epsilon)
        if good is not None and bad is not None:
            low, high = threshold(bad.epsilon), threshold(good.epsilon)
            share = _share(bad.score.limit, good.score.limit, target * (1.0 - 0.4 * NEAR))
            here = low + min(max(share, 0.02), 0.98) * (high - low)
        else:  # to the crossing, ever more beyond it
            beyond = math.copysign(0.4 * NEAR if tries < 2 else 0.3 * abs(excess) + NEAR, excess)
            here += min(max((excess + beyond) / abs(slope), -1.0), 1.0)
    return good


def rounded_down(epsilon: float, limits: tuple[float, float]) -> float:
    """To four significant digits, towards zero (readable, and on the safe side), within the limits."""
    scale = 10.0 ** (3 - math.floor(math.log10(epsilon)))
    rounded = float(f"{math.floor(epsilon * scale + 1e-6) / scale:.4g}")
    return min(max(rounded, limits[0]), limits[1])


def _slope(low: EvaluatedDesign, high: EvaluatedDesign) -> float:
    """The change of log(error) per unit of the bound: about minus the bound, unless two designs say better."""
    one, other = low.score.limit, high.score.limit
    gap, bound = threshold(high.epsilon) - threshold(low.epsilon), threshold(high.epsilon)
    if not gap > 0.0 or not 0.0 < other < one < math.inf:
        return -max(bound, 0.5)
    return min(math.log(other / one) / gap, -0.1)


def _share(high: float, low: float, target: float) -> float:
    """Share of the way from an error above to one below at which log(error) meets the target."""
    if not high > target or low >= high or math.isinf(high):
        return 1.0
    floor = 1e-300
    return math.log(high / target) / math.log(high / max(low, floor))
