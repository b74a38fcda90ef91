"""`austerity evaluate`: error and data use of one sequential test."""

from __future__ import annotations

import argparse

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.resolve import chosen_design, knobs_line
from app.cli.terminal import CommandOutput

SUMMARY = "Compute the error and data use of one sequential test."
EXAMPLE = "austerity evaluate --n-data 12214 --m 500 --epsilon 0.05 --mu-std 0,1,5"


def add(commands: Commands) -> None:
    """Declare the command."""
    size = shared.data_size("number of data N (default: as recorded in the design)")
    parser = add_command(commands, "evaluate", run, SUMMARY, EXAMPLE, size, shared.sequential_test())
    parser.add_argument(
        "--mu-std",
        metavar="μ,…",
        type=shared.numbers,
        default="0,0.5,1,2,5,10",
        help="standardised means, separated by commas (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.engine.walk import characteristics
    from designer.rule.plan import as_plan

    design = chosen_design(options, options.n_data)
    curve = characteristics(design, options.mu_std)
    looks = as_plan(design).schedule.size
    data = {
        "looks": looks,
        "mu_std": curve.mu_std.tolist(),
        "error": curve.error.tolist(),
        "usage": curve.usage.tolist(),
        "estimate": curve.estimate,
    }
    rows = zip(curve.mu_std, curve.error, curve.usage, strict=True)
    lines = [
        f"N = {design.n_data:,}, {knobs_line(design)}: {looks:,} looks",
        f"{'μ_std':>10} {'error':>12} {'data use':>12}",
        *(f"{mu:>10g} {error:>12.6f} {usage:>12.4%}" for mu, error, usage in rows),
        f"numerical error below {curve.estimate:.0e}",
    ]
    return CommandOutput(data, lines)
