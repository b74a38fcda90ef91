"""`austerity frontier`: the best designs over a range of tolerances."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from app.cli import options as shared
from app.cli.files import check_target, write_table
from app.cli.options import Commands, add_command
from app.cli.resolve import cluster_at, search_options
from app.cli.terminal import CommandOutput, progress_bar

if TYPE_CHECKING:
    from designer.search.frontier import FrontierPoint
    from designer.search.search import Options

SUMMARY = "Find the best designs for many tolerances, by three criteria."
EXAMPLE = "austerity frontier trial.csv --tolerances 0.005,0.01,0.02 --output frontier.csv"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "frontier",
        run,
        SUMMARY,
        EXAMPLE,
        shared.trial_run("pairs that the designs are made for"),
        shared.acceptance_rule(),
        shared.skewness(),
        shared.search_space(),
        shared.step_cost(shared.DATA_COST),
        shared.cluster(),
        shared.output_file("FILE.csv", "write the table here"),
    )
    parser.add_argument("--test", metavar="FRESH.csv", help="also measure the designs on these fresh pairs")
    parser.add_argument(
        "--tolerances",
        type=shared.numbers,
        default="0.001,0.002,0.005,0.01,0.02,0.05,0.1",
        help="tolerances, separated by commas (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.pairs.trial_run import TrialRun
    from designer.search.frontier import frontier

    check_target(options.output)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    fresh = None if options.test is None else TrialRun.load(options.test, n_data=options.n_data)
    limits = search_options(options, trial)
    with cluster_at(options.cluster) as cluster, progress_bar(options) as show:
        where: Options = {"progress": show, "mapper": None if cluster is None else cluster.map}
        points = [_row(point) for point in frontier(trial, options.tolerances, fresh, **(limits | where))]
    if options.output:
        write_table(options.output, points)
    head = (
        f"{'criterion':<11} {'tolerance':>10} {'m':>10} {'ε':>10} {'α':>6} {'error':>10} {'limit':>10} {'data use':>9}"
    )
    return CommandOutput({"points": points}, [head, *map(_line, points)])


def _row(point: FrontierPoint) -> dict[str, Any]:
    """The point with the design's settings in place of the design."""
    settings = {name: getattr(point.design, name, None) for name in ("m", "epsilon", "alpha", "growth")}
    fields = point._asdict()
    del fields["design"]
    return {"criterion": fields.pop("criterion"), "tolerance": fields.pop("tolerance"), **settings, **fields}


def _line(row: dict[str, Any]) -> str:
    design = f"{'infeasible':>28}"
    if row["m"] is not None:
        design = f"{row['m']:>10,} {row['epsilon']:>10.4g} {row['alpha']:>6.3f}"
    line = f"{row['criterion']:<11} {row['tolerance']:>10.4g} {design}"
    if row["train_error"] is not None:
        line += f" {row['train_error']:>10.4g} {row['train_limit']:>10.4g} {row['train_usage']:>9.2%}"
    if row["test_error"] is not None:
        line += f"   on fresh pairs {row['test_error']:.4g}, {row['test_usage']:.2%}"
    return line
