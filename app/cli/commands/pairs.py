"""`austerity pairs`: a trial run from the posterior of another tool."""

from __future__ import annotations

import argparse

from app.cli import options as shared
from app.cli.files import check_target
from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput, status

SUMMARY = "Make a trial run from PyMC, Stan or NumPyro draws."
EXAMPLE = "austerity pairs posterior.nc --acceptance 0.3 --output trial.csv"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "pairs",
        run,
        SUMMARY,
        EXAMPLE,
        shared.seed("seed for the choice of pairs (default: %(default)s)", default=0),
        shared.output_file("TRIAL.csv", "write the trial run here (or .parquet, .npz)", required=True),
    )
    parser.add_argument("posterior", metavar="POSTERIOR.nc", help="ArviZ netCDF file with a log_likelihood group")
    parser.add_argument(
        "--pairs",
        metavar="KIND",
        default="successive",
        help="successive: draws that follow each other; random: any two draws; nearest: draws close to each other "
        "(default: %(default)s)",
    )
    parser.add_argument("--count", type=shared.integer, default=200, help="number of pairs (default: %(default)s)")
    parser.add_argument(
        "--acceptance",
        metavar="RATE",
        type=shared.number,
        help="rescale the steps to this acceptance rate of a random walk (default: leave them as they are)",
    )
    parser.add_argument(
        "--scale", type=shared.number, help="rescale the steps by this factor (default: leave them as they are)"
    )
    parser.add_argument(
        "--variable", metavar="NAME", action="append", help="observed variable to use; may be repeated (default: all)"
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.errors import integer
    from designer.pairs.diagnostics import summarise
    from samplers.study.other_tools.posterior_files import pairs_of_file

    check_target(options.output)
    with status(f"reading {options.posterior}", options):
        pairs = pairs_of_file(
            options.posterior,
            integer("seed", options.seed, 0, 2**63),
            kind=options.pairs,
            count=options.count,
            scale=options.scale,
            acceptance=options.acceptance,
            variables=options.variable,
        )
    trial = pairs.trial
    trial.save(options.output)
    summary = summarise(trial)
    remarks = [*pairs.remarks, *summary.remarks]
    data = {
        "pairs": len(trial),
        "n_data": trial.n_data,
        "digest": trial.digest,
        "kind": options.pairs,
        "scale": pairs.scale,
        "kappa": summary.kappa._asdict(),
        "acceptance": summary.probability.mean,
        "remarks": remarks,
    }
    lines = [
        f"{len(trial):,} pairs, N = {trial.n_data:,}: acceptance {summary.probability.mean:.3f}, "
        f"mean κ {summary.kappa.mean:.4g} (sd {summary.kappa.sd:.2g})",
        *remarks,
        f"written to {options.output}",
    ]
    return CommandOutput(data, lines)
