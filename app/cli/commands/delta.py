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
    from designer.engine.step_error import acceptance, check_rule
    from designer.pairs.trial_run import TrialRun

    trial = TrialRun.load(options.trial, n_data=options.n_data)
    design, rule = chosen_design(options, trial.n_data), check_rule(options.rule)
    step = acceptance(design, trial, rule, skew=options.skew)
    data = {
        "log_acceptance": trial.log_acceptance.tolist(),
        "kappa": trial.kappa.tolist(),
        "probability": step.probability.tolist(),
        **_per_pair(step),
        "estimate": step.estimate,
    }
    head = f"{len(trial):,} pairs, N = {design.n_data:,}, {knobs_line(design)}"
    if options.skew:
        gaussian = acceptance(design, trial, rule)
        data |= {"gaussian": _per_pair(gaussian), "remark": step.remark}
        return CommandOutput(data, [head, *_skewed_lines(step, gaussian)])
    lines = [
        head,
        f"mean |Δ|                {step.mean_abs_delta:.6f}",
        f"largest |Δ|             {step.max_abs_delta:.6f}",
        f"mean data use per step  {step.mean_usage:.4%}",
        f"numerical error below {step.estimate:.0e}",
    ]
    return CommandOutput(data, lines)


def _per_pair(step: Acceptance) -> dict[str, Any]:
    """Δ and data use of every pair and on average; null where there is no prediction."""
    columns = {"delta": step.delta.tolist(), "usage": step.usage.tolist()}
    data: dict[str, Any] = {name: [_or_none(value) for value in values] for name, values in columns.items()}
    return data | {"mean_abs_delta": _or_none(step.mean_abs_delta), "mean_usage": _or_none(step.mean_usage)}


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
    cells = ["-" if math.isnan(value) else format(value, style) for value in (skewed, gaussian)]
    return f"{name:<24}{cells[0]:>14}{cells[1]:>12}"
