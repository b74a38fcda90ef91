"""`boundary`: the best of all stopping boundaries for a trial run, and how near Pocock and the others come."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from app.cli.terminal import DESIGN_FILES, Answer, check_target, progress_bar, write_design
from app.cli.terminal import integer_argument as whole
from app.cli.terminal import number_argument as number
from app.cli.terminal import numbers_argument as numbers

if TYPE_CHECKING:
    from designer.further.optimal_boundary.result import OptimalBoundary


def add_options(sub: argparse.ArgumentParser) -> None:
    """The options of `boundary`."""
    sub.add_argument("trial", metavar="TRIAL.csv", help="pairs of a trial run")
    sub.add_argument("--tolerance", type=number, required=True, help="largest mean |Delta| over the pairs")
    sub.add_argument(
        "--m", type=numbers, help="data in the first batch; several, separated by commas: the best (default: smallest)"
    )
    sub.add_argument("--growth", type=number, default=1.0, help="1: equal batches (default); from 1.05: looks grow")
    sub.add_argument("--asymmetric", action="store_true", help="let the two bounds of a look differ")
    sub.add_argument("--n-data", type=whole, help="N, the number of data, if the file does not say")
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")
    sub.add_argument(
        "--output", "-o", metavar="FILE.toml", help="write the boundary here (or .json), for `run --design`"
    )
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")


def boundary(options: argparse.Namespace) -> Answer:
    """`austerity boundary`."""
    from designer.engine.step_error import check_rule
    from designer.further.optimal_boundary.boundary import optimal_boundaries
    from designer.pairs.trial_run import TrialRun

    check_target(options.output, *DESIGN_FILES)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    with progress_bar(quiet=options.quiet or options.json) as progress:
        found = optimal_boundaries(
            trial,
            options.tolerance,
            options.m or [None],
            options.growth,
            symmetric=not options.asymmetric,
            rule=check_rule(options.rule),
            progress=progress,
        )
    best = found[0]
    answer = Answer(_data(best) | {"sizes": [_size(one) for one in found]}, _lines(best))
    if len(found) > 1:
        sizes = (f"m = {one.design.m:,}: {one.usage:.2%} (bound {one.lower_bound:.2%})" for one in found)
        answer.lines.append("batch sizes: " + "; ".join(sizes))
    if options.output:
        write_design(options.output, best.design)
        answer.lines.append(f"written to {options.output}")
    return answer


def _size(found: OptimalBoundary) -> dict[str, Any]:
    return {"m": found.design.m, "error": found.error, "usage": found.usage, "lower_bound": found.lower_bound}


def _data(found: OptimalBoundary) -> dict[str, Any]:
    design = found.design
    assert design.lower is not None and design.upper is not None
    rivals = [
        {
            "name": rival.name,
            "epsilon": rival.design.epsilon if rival.design else None,
            "alpha": rival.design.alpha if rival.design else None,
            "error": rival.error,
            "usage": rival.usage,
            "excess": found.excess(rival),
            "largest": rival.largest,
        }
        for rival in found.rivals
    ]
    return {
        "n_data": design.n_data,
        "m": design.m,
        "growth": design.growth,
        "lower": list(design.lower),
        "upper": list(design.upper),
        "tolerance": found.tolerance,
        "error": found.error,
        "usage": found.usage,
        "lower_bound": found.lower_bound,
        "largest": found.largest,
        "price": found.price,
        "symmetric": found.symmetric,
        "interval": found.interval,
        "proven": found.proven,
        "estimate": found.estimate,
        "rivals": rivals,
    }


def _lines(found: OptimalBoundary) -> list[str]:
    design, kind = found.design, "symmetric" if found.symmetric else "asymmetric"
    assert design.lower is not None and design.upper is not None
    lines = [
        f"N = {design.n_data:,}, m = {design.m:,}, growth = {design.growth:g}: {len(design.upper):,} interim looks, "
        f"{kind} bounds",
        f"{'':<20} {'mean |Delta|':>12} {'data used':>10} {'above the bound':>16} {'largest |Delta|':>16}",
        f"{'lower bound':<20} {found.tolerance:>12.6f} {found.lower_bound:>10.3%}",
    ]
    best = ("best boundary", found.error, found.usage, found.best_excess, found.largest)
    rivals = [(r.name, r.error, r.usage, found.excess(r), r.largest) for r in found.rivals]
    for name, error, usage, excess, largest in (best, *rivals):
        row = f"{name:<20} cannot keep the tolerance"
        if usage is not None:
            row = f"{name:<20} {error:>12.6f} {usage:>10.3%} {excess:>16.3%} {largest:>16.4f}"
        lines.append(row)
    if not found.interval:
        lines.append("the best rule of all is no boundary (it also stops in between); shown is the nearest that is one")
    if not found.proven:
        lines.append(f"not proven the best: {found.gap:.2%} of the data lie between this boundary and the bound")
    return [*lines, f"numerical error below {found.estimate:.0e}"]
