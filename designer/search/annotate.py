"""A chosen design evaluated to full accuracy, and the notes that its file carries: prediction and provenance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from designer.engine.predict import BOUND, predict, trusted
from designer.engine.skew import skew_of, worst_effect
from designer.engine.step_error import Acceptance, Rule, acceptance_and_worst
from designer.engine.walk import worst_case
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design, Predicted, Provenance
from designer.rule.plan import as_plan
from designer.search.criteria import DesignScore, OverPairs
from designer.search.upper_limit import effective_pairs, mean_band

PREDICTION_ACCURACY = 1e-9  # of the predictions, which carry their own error estimate


class Evaluation(NamedTuple):
    """What a design does: in the worst case, and to every pair of a trial run (None without one)."""

    design: Design
    trial: TrialRun | None
    predicted: Predicted
    step: Acceptance | None

    def judged_by(self, measure: OverPairs) -> Evaluation:
        """The same with the error that a criterion judges, and its upper limit if there is one."""
        if self.step is None or self.step.remark is not None:
            return self
        error, limit = measure.judged(np.abs(self.step.delta))
        judged = {"error": error, "error_limit": None if measure.limits is None else limit}
        return self._replace(predicted=self.predicted.model_copy(update=judged))

    @property
    def score(self) -> DesignScore | None:
        """The score of a search, from this evaluation; None before it is judged, and without a trial run."""
        step, error, limit = self.step, self.predicted.error, self.predicted.error_limit
        if step is None or error is None:
            return None
        return DesignScore(error, step.mean_usage, float(step.looks.mean()), error if limit is None else limit)

    def annotated(self, tolerance: float, criterion: str, confidence: float | None = None) -> Design:
        """The same design with `predicted` and `provenance`."""
        from importlib.metadata import version

        provenance = Provenance(
            version=version("austerity"),
            tolerance=tolerance,
            criterion=criterion,
            confidence=confidence,
            trial=None if self.trial is None else self.trial.digest,
            pairs=None if self.trial is None else len(self.trial),
        )
        return self.design.model_copy(update={"predicted": self.predicted, "provenance": provenance})


def hardest_error(design: Design, trial: TrialRun, rule: Rule = "metropolis") -> float | None:
    """The error of the hardest decision, μ_std = 0, for the most skewed pair; None where the theory does not hold.

    Examples
    --------
    >>> plain, skewed, extreme = (TrialRun(20_000, [0.0], [0.01], skew=[s]) for s in (0.0, 2.0, 200.0))
    >>> hardest_error(Design(20_000, 500, 0.05), plain) < hardest_error(Design(20_000, 500, 0.05), skewed)
    True
    >>> hardest_error(Design(20_000, 500, 0.05), extreme)
    """
    plan = as_plan(design)
    if not trusted(plan, trial, rule == "barker").all():
        return None
    error = float(worst_case(design, PREDICTION_ACCURACY).error[0])
    return error if trial.skew is None else error + worst_effect(plan, skew_of(trial))


def evaluate(design: Design, trial: TrialRun | None, rule: Rule, *, skew: bool | None = None) -> Evaluation:
    """Evaluate a design once, for its notes and for anyone who shows it; `skew` as for a search."""
    predicted: dict[str, Any]
    if trial is None:
        alone = worst_case(design, PREDICTION_ACCURACY)
        predicted = {"worst_error": float(alone.error[0]), "worst_usage": float(alone.usage[0])}
        return Evaluation(design, None, Predicted(**predicted, estimate=alone.estimate), None)
    plan, skewed = as_plan(design), trial.skew is not None if skew is None else skew
    step, worst = acceptance_and_worst(plan, trial, rule, PREDICTION_ACCURACY, skew=skewed)
    if skew is None and (step.remark is not None or not trusted(plan, trial, rule == "barker").all()):
        found = predict(plan, trial, rule, PREDICTION_ACCURACY)
        step, predicted = found.step, {"source": found.words}  # the hardest decision is beyond the theory
    else:
        predicted = {"worst_error": worst[0], "worst_usage": worst[1], "source": step.source}
        if skewed:
            predicted["worst_error"] += worst_effect(plan, skew_of(trial))
    if step.remark is None:
        predicted |= {"mean_abs_delta": step.mean_abs_delta, "mean_usage": step.mean_usage}
        accepts, pairs = np.clip(step.probability + step.delta, 0.0, 1.0), effective_pairs(trial)
        if BOUND not in predicted["source"]:  # then Δ is known, and not only bounded
            predicted |= {"acceptance": float(accepts.mean()), "acceptance_band": mean_band(accepts, pairs)}
        predicted["usage_band"] = mean_band(step.usage, pairs)
    return Evaluation(design, trial, Predicted(**predicted, estimate=step.estimate), step)
