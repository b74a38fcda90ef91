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
    evaluator.total, rows = len(by_shape), []
    for (_, given), group in zip(by_shape.items(), evaluator.each(_evaluate, list(by_shape.items())), strict=True):
        evaluator.step()
        # the given ε, free of the rounding of its conversion to a bound and back
        rows += [row._replace(epsilon=design.epsilon) for row, design in zip(group, given, strict=True)]
    evaluator.rows = list(rows)
    return [_cheapest(evaluator, [row for row in rows if row.score.error <= target]) for target in targets]


def _evaluate(evaluator: Evaluator, group: tuple[Shape, list[Design]]) -> list[EvaluatedDesign]:
    """All designs of one shape."""
    shape, designs = group
    return [evaluator.evaluate(shape, threshold(design.epsilon), SEARCH_ACCURACY) for design in designs]


def _cheapest(evaluator: Evaluator, feasible: list[EvaluatedDesign]) -> EvaluatedDesign | None:
    return min(feasible, key=lambda row: (evaluator.cost_of(row), row.shape), default=None)
