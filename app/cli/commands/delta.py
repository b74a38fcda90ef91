"""`austerity delta`: the acceptance error Δ of a test on the pairs of a trial run."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.resolve import chosen_design, knobs_line
from app.cli.terminal import CommandOutput

if TYPE_CHECKING:
    from designer.core.arrays import Floats
    from designer.engine.step_error import Acceptance

SUMMARY = "Compute the acceptance error Δ of a test on a trial run."
EXAMPLE = "austerity delta trial.csv --m 500 --epsilon 0.05"


def add(commands: Commands) -> None:
    """Declare the command."""
    trial = shared.trial_run("pairs of a trial run: columns mu, sigma and optionally log_ratio, skew")
    parents = (trial, shared.acceptance_rule(), shared.skewness(), shared.sequential_test())
    add_command(commands, "delta", run, SUMMARY, EXAMPLE, *parents)


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    import numpy as np

    from designer.engine.predict import predict
    from designer.engine.step_error import acceptance, check_rule
    from designer.pairs.trial_run import TrialRun

    trial = TrialRun.load(options.trial, n_data=options.n_data)
    design, rule = chosen_design(options, trial.n_data), check_rule(options.rule)
    found = predict(design, trial, rule) if options.skew is None else None
    step = acceptance(design, trial, rule, skew=options.skew) if found is None else found.step
    data = {
        "log_acceptance": trial.log_acceptance.tolist(),
        "kappa": trial.kappa.tolist(),
        "probability": step.probability.tolist(),
        **_per_pair(step),
        "estimate": step.estimate,
        "source": step.source if found is None else found.words,
        "remark": step.remark,
    }
    head = f"{len(trial):,} pairs, N = {design.n_data:,}, {knobs_line(design)}"
    if options.skew:
        gaussian = acceptance(design, trial, rule)
        data |= {"gaussian": _per_pair(gaussian)}
        return CommandOutput(data, [head, *_skewed_lines(step, gaussian)])
    if found is not None and step.delta_se is not None:
        data |= {"delta_se": _listed(step.delta_se), "mean_abs_delta_se": _or_none(step.mean_abs_delta_se)}
    if found is not None and np.isfinite(found.bound).all():
        data["one_look_bound"] = found.bound.tolist()
    return CommandOutput(data, [head, *_lines(step, data["source"])])


def _lines(step: Acceptance, source: str) -> list[str]:
    """The numbers, where they come from, and how accurate they are."""
    unsure = f" ± {step.mean_abs_delta_se:.6f}" if step.mean_abs_delta_se else ""
    lines = [
        f"mean |Δ|                {_shown(step.mean_abs_delta, '.6f')}{unsure}",
        f"largest |Δ|             {_shown(step.max_abs_delta, '.6f')}",
        f"mean data use per step  {_shown(step.mean_usage, '.4%')}",
        f"source                  {source}",
    ]
    if step.remark is not None:
        return [*lines, step.remark]
    return lines if unsure else [*lines, f"numerical error below {step.estimate:.0e}"]


def _per_pair(step: Acceptance) -> dict[str, Any]:
    """Δ and data use of every pair and on average; null where there is no prediction."""
    data: dict[str, Any] = {"delta": _listed(step.delta), "usage": _listed(step.usage)}
    return data | {"mean_abs_delta": _or_none(step.mean_abs_delta), "mean_usage": _or_none(step.mean_usage)}


def _listed(values: Floats) -> list[float | None]:
    return [_or_none(value) for value in values.tolist()]


def _shown(value: float, style: str) -> str:
    return "-" if math.isnan(value) else format(value, style)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _skewed_lines(skewed: Acceptance, gaussian: Acceptance) -> list[str]:
    """The numbers with the correction for skewness beside those without."""
    lines = [
        f"{'':<24}{'with skewness':>14}{'without':>12}",
        _beside("mean |Δ|", skewed.mean_abs_delta, gaussian.mean_abs_delta, ".4f"),
        _beside("largest |Δ|", skewed.max_abs_delta, gaussian.max_abs_delta, ".4f"),
        _beside("mean data use per step", skewed.mean_usage, gaussian.mean_usage, ".2%"),
    ]
    return [*lines, skewed.remark] if skewed.remark else lines


def _beside(name: str, skewed: float, gaussian: float, style: str) -> str:
    cells = [_shown(value, style) for value in (skewed, gaussian)]
    return f"{name:<24}{cells[0]:>14}{cells[1]:>12}"
