"""Designs found by rough resampling, evaluated carefully, and solved again until they hold.

A search that resamples compares designs on few draws. The chosen one is evaluated on all pairs with more draws; if its
error is then beyond the tolerance, the search goes on with a working tolerance that is smaller by as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from designer.rule.boundary import threshold
from designer.search.answer import answer, closest, infeasible
from designer.search.continuous import SCAN_STEP, Crossing, crossing, solve
from designer.search.evaluation import SEARCH_ACCURACY, Evaluator
from designer.search.result import SearchResult
from designer.search.space import Shape
from designer.search.table import EvaluatedDesign

TRIES = 3  # most designs that are found again
SPARE = 0.995  # of the working tolerance: noise should not ask for one more
OTHERS = 3  # other shapes that are solved if the best one cannot be

Again = Callable[[Evaluator, float, EvaluatedDesign], EvaluatedDesign | None]


def careful_answer(evaluator: Evaluator, again: Again, target: float, best: EvaluatedDesign | None) -> SearchResult:
    """The result for one target; `again` finds another design for a working tolerance."""
    if not evaluator.resamples or evaluator.criterion == "worst-case":
        return answer(evaluator, target, best)
    working, known = target, []
    for tries in range(TRIES + 1):
        last = best is None or tries == TRIES
        found = closest(evaluator) if best is None or last else best  # the last one that might hold
        result = answer(evaluator, target, found)
        limit = math.inf if result.limit is None else result.limit
        if limit <= target:
            return result
        known.append((limit, found))
        if last:
            break
        working = SPARE * min(working, found.score.limit) * target / limit
        best = again(evaluator, working, found)
    return infeasible(evaluator, target, min(known, key=lambda one: one[0]))


def solved_again(evaluator: Evaluator, working: float, best: EvaluatedDesign) -> EvaluatedDesign | None:
    """The same shape with a smaller ε, or another shape that the search has evaluated."""
    bound = threshold(best.epsilon)
    found = solve(evaluator, working, Crossing(0.0, best.shape, bound, -max(bound, 0.5)))
    if found is not None:
        return found
    by_shape: dict[Shape, list[EvaluatedDesign]] = {}
    for row in list(evaluator.rows):  # searches for other tolerances may add to it
        by_shape.setdefault(row.shape, []).append(row)
    others = [sorted(rows, key=lambda row: -row.epsilon) for shape, rows in by_shape.items() if shape != best.shape]
    starts = sorted(start for rows in others if (start := crossing(evaluator, working, rows)) is not None)[:OTHERS]
    if others:
        starts.append(_beyond(evaluator, min((rows[-1] for rows in others), key=lambda row: row.score.limit)))
    solved = (solve(evaluator, working, start) for start in starts)
    return next((one for one in solved if one is not None), None)


def _beyond(evaluator: Evaluator, row: EvaluatedDesign) -> Crossing:
    """Where to begin with a shape whose scan ended before the working tolerance was met."""
    bound = threshold(row.epsilon)
    return Crossing(evaluator.cost_of(row), row.shape, bound + SCAN_STEP, -max(bound, 0.5))


def chosen_again(evaluator: Evaluator, working: float, best: EvaluatedDesign) -> EvaluatedDesign | None:
    """The cheapest design of a grid for a smaller tolerance."""
    held = [row for row in list(evaluator.rows) if row.accuracy <= SEARCH_ACCURACY and row.score.limit <= working]
    return min(held, key=lambda row: (evaluator.cost_of(row), row.shape), default=None)
