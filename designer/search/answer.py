"""The answer of a search: the best design with its predictions, or the reason why there is none."""

from __future__ import annotations

import math

from designer.engine.skew import in_range, out_of_range, skew_of
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import threshold
from designer.rule.design import Design
from designer.rule.plan import as_plan
from designer.search.annotate import evaluate
from designer.search.criteria import DesignScore
from designer.search.evaluation import SEARCH_ACCURACY, Evaluator
from designer.search.result import SearchResult
from designer.search.table import EvaluatedDesign


def answer(evaluator: Evaluator, target: float, best: EvaluatedDesign | None, *, rounded: bool) -> SearchResult:
    """The result for one target; `rounded` rounds ε to four digits if the target is still met."""
    if best is None:
        return infeasible(evaluator, target)
    design, score = _scored(evaluator, best, _rounded_down(evaluator, best.epsilon) if rounded else best.epsilon)
    if rounded and score.error > target:  # where the error is not monotone, a rounded ε may miss the target
        design, score = _scored(evaluator, best, best.epsilon)
    evaluation = evaluate(design, evaluator.trial, evaluator.rule, skew=evaluator.skew)
    return SearchResult(
        evaluation.annotated(target, evaluator.criterion),
        evaluator.table(target, EvaluatedDesign(best.shape, design.epsilon, score, SEARCH_ACCURACY)),
        None,
        None,
        target,
        evaluator.criterion,
        *score,
        evaluator.cost.of(evaluator.n_data, score.usage, score.looks),
        evaluation.step,
    )


def _scored(evaluator: Evaluator, best: EvaluatedDesign, epsilon: float) -> tuple[Design, DesignScore]:
    """A design of the best shape, and its score."""
    shape = best.shape
    design = Design(evaluator.n_data, shape.m, epsilon, shape.alpha, shape.growth)
    return design, evaluator.measure(as_plan(design), SEARCH_ACCURACY)


def _rounded_down(evaluator: Evaluator, epsilon: float) -> float:
    """To four significant digits, towards zero: readable, and on the safe side."""
    scale = 10.0 ** (3 - math.floor(math.log10(epsilon)))
    rounded = float(f"{math.floor(epsilon * scale + 1e-9) / scale:.4g}")
    return max(rounded, evaluator.space.epsilon[0])


def infeasible(evaluator: Evaluator, target: float) -> SearchResult:
    """No design, the reason, and the smallest tolerance that could be met."""
    rows, criterion = evaluator.rows, evaluator.criterion
    closest = min(rows, key=lambda row: (row.score.error, row.shape, row.epsilon))
    nearest = evaluator.measure(closest.shape.plan(threshold(closest.epsilon)), SEARCH_ACCURACY).error * (1.0 + 1e-6)
    if math.isinf(nearest) and evaluator.trial is not None:
        reason = too_skewed(evaluator, evaluator.trial)
        return SearchResult(None, evaluator.table(target), reason, None, target, criterion)
    name = "E(0)" if criterion == "worst-case" else "|Δ|"
    sizes, smallest = [row.shape.m for row in rows], min(row.epsilon for row in rows)
    reason = (
        f"no design with m from {min(sizes):,} to {max(sizes):,} and ε from {smallest:.2g} keeps {name} "
        f"({criterion}) within {target:g}; the smallest found is {nearest:.3g}, at m = {closest.shape.m:,}, "
        f"ε = {closest.epsilon:.2g}: raise the tolerance, or allow larger m or smaller ε"
    )
    return SearchResult(None, evaluator.table(target), reason, nearest, target, criterion)


def too_skewed(evaluator: Evaluator, trial: TrialRun) -> str:
    """Why no error at all is known: the correction for skewness holds for none of the designs."""
    largest, skew = max(row.shape for row in evaluator.rows), skew_of(trial)
    plan = largest.plan(evaluator.space.bounds[0])
    return out_of_range(plan, skew, in_range(plan, skew)) or "the correction for skewness holds for no design tried"
