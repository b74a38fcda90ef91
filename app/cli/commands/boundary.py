"""`austerity boundary`: the best of all stopping boundaries for a trial run, and how near the usual ones come."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from app.cli import options as shared
from app.cli.files import DESIGN_FILES, check_target
from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput, progress_bar

if TYPE_CHECKING:
    from designer.further.optimal_boundary.result import OptimalBoundary

SUMMARY = "Find the best possible stopping boundary, and rank the usual ones."
EXAMPLE = "austerity boundary trial.csv --tolerance 0.02 --m 1000 --output boundary.toml"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "boundary",
        run,
        SUMMARY,
        EXAMPLE,
        shared.trial_run(),
        shared.tolerance("largest mean |Δ| over the pairs"),
        shared.acceptance_rule(),
        shared.output_file("FILE.toml", "write the boundary here (or .json), for `austerity run --design`"),
    )
    parser.add_argument(
        "--m",
        type=shared.numbers,
        help="size of the first mini-batch; several, separated by commas, to choose the best (default: the smallest "
        "that can be computed)",
    )
    parser.add_argument(
        "--growth",
        type=shared.number,
        default=1.0,
        help="factor by which looks grow, at least 1.05; 1: equal mini-batches (default: 1)",
    )
    parser.add_argument("--asymmetric", action="store_true", help="let the two bounds of a look differ")


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.engine.step_error import check_rule
    from designer.further.optimal_boundary.boundary import optimal_boundaries
    from designer.pairs.trial_run import TrialRun

    check_target(options.output, *DESIGN_FILES)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    with progress_bar(options) as show:
        boundaries = optimal_boundaries(
            trial,
            options.tolerance,
            options.m or [None],
            options.growth,
            symmetric=not options.asymmetric,
            rule=check_rule(options.rule),
            progress=show,
        )
    best, lines = boundaries[0], _lines(boundaries[0])
    if len(boundaries) > 1:
        sizes = (f"m = {one.design.m:,}: {one.usage:.2%} (bound {one.lower_bound:.2%})" for one in boundaries)
        lines.append("data use by mini-batch: " + "; ".join(sizes))
    if options.output:
        best.design.save(options.output)
        lines.append(f"written to {options.output}")
    return CommandOutput(_data(best) | {"sizes": [_size(one) for one in boundaries]}, lines)


def _size(boundary: OptimalBoundary) -> dict[str, Any]:
    return {
        "m": boundary.design.m,
        "error": boundary.error,
        "usage": boundary.usage,
        "lower_bound": boundary.lower_bound,
    }


def _data(boundary: OptimalBoundary) -> dict[str, Any]:
    design = boundary.design
    assert design.lower is not None and design.upper is not None
    rivals = [
        {
            "name": rival.name,
            "epsilon": rival.design.epsilon if rival.design else None,
            "alpha": rival.design.alpha if rival.design else None,
            "error": rival.error,
            "usage": rival.usage,
            "excess": boundary.excess(rival),
            "largest": rival.largest,
        }
        for rival in boundary.rivals
    ]
    return {
        "n_data": design.n_data,
        "m": design.m,
        "growth": design.growth,
        "lower": list(design.lower),
        "upper": list(design.upper),
        "tolerance": boundary.tolerance,
        "error": boundary.error,
        "usage": boundary.usage,
        "lower_bound": boundary.lower_bound,
        "largest": boundary.largest,
        "price": boundary.price,
        "symmetric": boundary.symmetric,
        "interval": boundary.interval,
        "proven": boundary.proven,
        "estimate": boundary.estimate,
        "rivals": rivals,
    }


def _lines(boundary: OptimalBoundary) -> list[str]:
    design, kind = boundary.design, "symmetric" if boundary.symmetric else "asymmetric"
    assert design.lower is not None and design.upper is not None
    lines = [
        f"N = {design.n_data:,}, m = {design.m:,}, growth = {design.growth:g}: {len(design.upper):,} interim looks, "
        f"{kind} bounds",
        f"{'':<20} {'mean |Δ|':>12} {'data use':>10} {'above the bound':>16} {'largest |Δ|':>16}",
        f"{'lower bound':<20} {boundary.tolerance:>12.6f} {boundary.lower_bound:>10.3%}",
    ]
    best = ("best boundary", boundary.error, boundary.usage, boundary.best_excess, boundary.largest)
    rivals = [(r.name, r.error, r.usage, boundary.excess(r), r.largest) for r in boundary.rivals]
    for name, error, usage, excess, largest in (best, *rivals):
        row = f"{name:<20} cannot meet the tolerance"
        if usage is not None:
            row = f"{name:<20} {error:>12.6f} {usage:>10.3%} {excess:>16.3%} {largest:>16.4f}"
        lines.append(row)
    if not boundary.interval:
        lines.append("the best rule is not a boundary (it also stops between the bounds); this is the nearest boundary")
    if not boundary.proven:
        lines.append(
            f"not proven optimal: this boundary reads up to {boundary.gap:.2%} more of the data than the bound"
        )
    return [*lines, f"numerical error below {boundary.estimate:.0e}"]
