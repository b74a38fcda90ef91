"""`austerity summary`: what the pairs of a trial run look like."""

from __future__ import annotations

import argparse
from typing import Any

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput

SUMMARY = "Describe a trial run and check the normal approximation on it."
EXAMPLE = "austerity summary trial.csv --m 500 --epsilon 0.05"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "summary", run, SUMMARY, EXAMPLE, shared.trial_run(), shared.acceptance_rule())
    parser.add_argument(
        "--m", type=shared.integer, default=500, help="mini-batch for the normality check (default: %(default)s)"
    )
    parser.add_argument(
        "--epsilon",
        metavar="ε",
        type=shared.number,
        default=0.05,
        help="ε for the normality check (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.engine.step_error import check_rule
    from designer.pairs.diagnostics import SUMMARY_LEVELS, summarise, worst_tail_check
    from designer.pairs.trial_run import TrialRun

    trial = TrialRun.load(options.trial, n_data=options.n_data)
    summary = summarise(trial, check_rule(options.rule))
    spreads = {name: getattr(summary, name) for name in ("log_acceptance", "kappa", "probability", "skew")}
    spreads = {name: spread for name, spread in spreads.items() if spread is not None}
    data: dict[str, Any] = {
        "pairs": summary.pairs,
        "n_data": summary.n_data,
        "digest": trial.digest,
        **{name: spread._asdict() for name, spread in spreads.items()},
        "remarks": summary.remarks,
    }
    levels = "".join(f"{level:>10.0%}" for level in SUMMARY_LEVELS)
    lines = [f"{summary.pairs:,} pairs, N = {summary.n_data:,}", f"{'':<16}{'mean':>10}{'sd':>10}{levels}"]
    for name, spread in spreads.items():
        cells = "".join(f"{value:>10.3g}" for value in (spread.mean, spread.sd, *spread.quantiles))
        lines.append(f"{name:<16}{cells}")
    if (check := worst_tail_check(trial, options.m, options.epsilon)) is not None:
        data["normal_approximation"] = check._asdict()
        lines.append(f"normal approximation at the most skewed pair: {check.sentence}")
    return CommandOutput(data, [*lines, *summary.remarks])
