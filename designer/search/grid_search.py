"""The search on a plain grid, as in K14: every design is evaluated."""

from __future__ import annotations

from designer.rule.boundary import threshold
from designer.rule.design import Design
from designer.search.evaluation import SEARCH_ACCURACY, Evaluator
from designer.search.space import Shape
from designer.search.table import EvaluatedDesign


def best_on_grid(evaluator: Evaluator, targets: list[float], designs: list[Design]) -> list[EvaluatedDesign | None]:
    """The cheapest feasible design of a grid for each target, or None."""
    by_shape: dict[Shape, list[Design]] = {}
    for design in designs:
        by_shape.setdefault(Shape(evaluator.n_data, design.m, design.alpha, design.growth), []).append(design)
    evaluator.total = len(by_shape)
    rows: list[EvaluatedDesign] = []
    for group in evaluator.each(_evaluate, list(by_shape.items())):
        evaluator.step()
        rows += group
    return [_cheapest(evaluator, [row for row in rows if row.score.limit <= target]) for target in targets]


def _evaluate(evaluator: Evaluator, group: tuple[Shape, list[Design]]) -> list[EvaluatedDesign]:
    """All designs of one shape."""
    shape, designs = group
    return [evaluator.evaluate(shape, threshold(d.epsilon), SEARCH_ACCURACY, d.epsilon) for d in designs]


def _cheapest(evaluator: Evaluator, feasible: list[EvaluatedDesign]) -> EvaluatedDesign | None:
    return min(feasible, key=lambda row: (evaluator.cost_of(row), row.shape), default=None)
