"""A chosen design with what is predicted of it and where it comes from: the notes that its file carries."""

from __future__ import annotations

from designer.engine.skew import skew_of, worst_effect
from designer.engine.step_error import Rule, acceptance
from designer.engine.walk import worst_case
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design, Predicted, Provenance
from designer.rule.plan import as_plan

ACCURACY = 1e-9  # of the predicted numbers, which come with their estimate


def documented(
    design: Design, tolerance: float, criterion: str, trial: TrialRun | None, rule: Rule, *, skew: bool = False
) -> Design:
    """The same test with `predicted` and `provenance`; `skew` corrects for the skewness that the trial run records."""
    from importlib.metadata import version

    worst = worst_case(design, ACCURACY)
    predicted = {"worst_error": float(worst.error[0]), "worst_usage": float(worst.usage[0])}
    estimate = worst.estimate
    if trial is not None:
        if skew:
            predicted["worst_error"] += worst_effect(as_plan(design), skew_of(trial))
        step = acceptance(design, trial, rule, ACCURACY, skew=skew)
        if step.remark is None:
            predicted |= {"mean_abs_delta": step.mean_abs_delta, "mean_usage": step.mean_usage}
        estimate = max(estimate, step.estimate)
    provenance = Provenance(
        version=version("austerity"),
        tolerance=tolerance,
        criterion=criterion,
        trial=None if trial is None else trial.digest,
        pairs=None if trial is None else len(trial),
    )
    notes = {"predicted": Predicted(**predicted, estimate=estimate), "provenance": provenance}
    return design.model_copy(update=notes)
