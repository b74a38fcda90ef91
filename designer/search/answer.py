"""The answer of a search: the best design with its predictions, or the reason why there is none."""

from __future__ import annotations

import math

import numpy as np

from designer.engine.skew import in_range, out_of_range, skew_of
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import threshold
from designer.rule.design import Design
from designer.search.annotate import PREDICTION_ACCURACY, evaluate
from designer.search.criteria import OverPairs
from designer.search.evaluation import SEARCH_ACCURACY, Evaluator
from designer.search.remarks import remarks_on
from designer.search.result import SearchResult
from designer.search.table import EvaluatedDesign

MOST_SKEWED = 20.0  # beyond it a few rows matter, which should be read always


def answer(evaluator: Evaluator, target: float, best: EvaluatedDesign | None) -> SearchResult:
    """The result for one target."""
    if best is None:
        return infeasible(evaluator, target)
    shape, n_data = best.shape, evaluator.n_data
    design = Design(n_data, shape.m, best.epsilon, shape.alpha, shape.growth)
    evaluation = evaluate(design, evaluator.trial, evaluator.rule, skew=evaluator.skew)
    if isinstance(evaluator.measure, OverPairs) and evaluation.step is not None:
        evaluation = evaluation.judged_by(evaluator.measure)
    more = []
    if evaluator.resamples and evaluation.score is not None:  # more careful than the search
        best = EvaluatedDesign(shape, best.epsilon, evaluation.score, PREDICTION_ACCURACY)
        more = [best]
    score = best.score
    result = SearchResult(
        evaluation.annotated(target, evaluator.criterion, evaluator.confidence),
        evaluator.table(target, *more),
        None,
        None,
        target,
        evaluator.criterion,
        *score[:3],
        evaluator.cost_of(best),
        evaluation.step,
        score.limit,
        evaluator.confidence,
        evaluator.cost.exact(n_data),
    )
    return result._replace(remarks=remarks_on(result, evaluator.trial))


def infeasible(
    evaluator: Evaluator, target: float, careful: tuple[float, EvaluatedDesign] | None = None
) -> SearchResult:
    """No design, the reason, and the smallest tolerance that could be met.

    `careful` is the smallest limit known, and its design, where that is not for the search to say.
    """
    rows, criterion = evaluator.rows, evaluator.criterion
    smallest, near = careful or _smallest(evaluator)
    nearest = smallest * (1.0 + 1e-6)
    if math.isinf(nearest) and evaluator.trial is not None:
        reason = too_skewed(evaluator, evaluator.trial)
        return SearchResult(None, evaluator.table(target), reason, None, target, criterion)
    name = "E(0)" if criterion == "worst-case" else "|Δ|"
    if evaluator.confidence is not None:
        name = f"the upper limit of |Δ| (confidence {evaluator.confidence:g})"
    sizes, least = [row.shape.m for row in rows], min(row.epsilon for row in rows)
    reason = (
        f"no design with m from {min(sizes):,} to {max(sizes):,} and ε from {least:.2g} keeps {name} "
        f"({criterion}) within {target:g}; the smallest found is {nearest:.3g}, at m = {near.shape.m:,}, "
        f"ε = {near.epsilon:.2g}: raise the tolerance, or allow larger m or smaller ε"
    )
    reason += advice_on(evaluator.trial)
    unsure = evaluator.confidence is not None and _point_estimate(evaluator, near) <= target
    reason += "; or take more pairs: the expected error is small enough" if unsure else ""
    result = SearchResult(None, evaluator.table(target), reason, nearest, target, criterion)
    return result._replace(confidence=evaluator.confidence, exact_cost=evaluator.cost.exact(evaluator.n_data))


def _smallest(evaluator: Evaluator) -> tuple[float, EvaluatedDesign]:
    near = closest(evaluator)
    return evaluator.measure(near.shape.plan(threshold(near.epsilon)), SEARCH_ACCURACY).limit, near


def closest(evaluator: Evaluator) -> EvaluatedDesign:
    """The design with the smallest limit of all that were evaluated."""
    return min(list(evaluator.rows), key=lambda row: (row.score.limit, row.shape, row.epsilon))


def advice_on(trial: TrialRun | None) -> str:
    """What else would help if a few rows carry the pairs, which no batch is sure to meet."""
    if trial is None or trial.skew is None or trial.notes.get("n_heavy"):
        return ""
    most = float(np.abs(trial.skew).max())
    if most <= MOST_SKEWED:
        return ""
    return f"; or read the heaviest rows in every decision (model.heavy): the pairs' skewness is up to {most:.3g}"


def _point_estimate(evaluator: Evaluator, row: EvaluatedDesign) -> float:
    return evaluator.measure(row.shape.plan(threshold(row.epsilon)), SEARCH_ACCURACY).error


def too_skewed(evaluator: Evaluator, trial: TrialRun) -> str:
    """Why no error at all is known: no source supports a prediction for any of the designs."""
    largest, skew = max(row.shape for row in evaluator.rows), skew_of(trial)
    if evaluator.skew is None and evaluator.criterion != "worst-case":
        return (
            f"no prediction up to m = {largest.m:,}: the pairs are too skewed for the theory (up to "
            f"{float(np.abs(skew).max()):.3g}) and cannot be resampled; keep their residuals (a trial run in "
            ".parquet or .npz), read the heaviest rows in every decision (model.heavy), or allow larger m"
        )
    plan = largest.plan(evaluator.space.bounds[0])
    return out_of_range(plan, skew, in_range(plan, skew)) or "the correction for skewness holds for no design tried"
