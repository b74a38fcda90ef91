"""`pairs`: a trial run from the posterior of another tool."""

from __future__ import annotations

import argparse

from app.cli.terminal import Answer, check_target, doing
from app.cli.terminal import integer_argument as whole
from app.cli.terminal import number_argument as number
from designer.core.errors import integer


def add_options(sub: argparse.ArgumentParser) -> None:
    """The options of `pairs`."""
    sub.add_argument("posterior", metavar="POSTERIOR.nc", help="netCDF of ArviZ with the group log_likelihood")
    sub.add_argument("--output", "-o", metavar="TRIAL.csv", required=True, help="also .parquet or .npz")
    sub.add_argument(
        "--pairs",
        default="successive",
        help="successive: draws that follow each other (default); random: any two; nearest: small steps",
    )
    sub.add_argument("--count", type=whole, default=200, help="how many (default: %(default)s)")
    sub.add_argument("--acceptance", type=number, help="rescale the steps to this acceptance rate of a random walk")
    sub.add_argument("--scale", type=number, help="rescale the steps by this factor")
    sub.add_argument(
        "--variable", metavar="NAME", action="append", help="observed variable to use; may be repeated (default: all)"
    )
    sub.add_argument("--seed", type=whole, default=0, help="of the choice of pairs (default: %(default)s)")
    sub.add_argument("--quiet", action="store_true", help="do not say on standard error what is being done")


def pairs_of_posterior(options: argparse.Namespace) -> Answer:
    """`austerity pairs`."""
    from designer.pairs.diagnostics import summarise
    from samplers.study.posterior_files import pairs_of_file

    check_target(options.output)
    with doing(f"reading {options.posterior}", quiet=options.quiet or options.json):
        found = pairs_of_file(
            options.posterior,
            integer("seed", options.seed, 0, 2**63),
            kind=options.pairs,
            count=options.count,
            scale=options.scale,
            acceptance=options.acceptance,
            variables=options.variable,
        )
    found.trial.save(options.output)
    summary = summarise(found.trial)
    remarks = [*found.remarks, *summary.remarks]
    data = {
        "pairs": len(found.trial),
        "n_data": found.trial.n_data,
        "digest": found.trial.digest,
        "kind": options.pairs,
        "scale": found.scale,
        "kappa": summary.kappa._asdict(),
        "acceptance": summary.probability.mean,
        "remarks": remarks,
    }
    lines = [
        f"{len(found.trial):,} pairs, N = {found.trial.n_data:,}: acceptance {summary.probability.mean:.3f}, "
        f"kappa {summary.kappa.mean:.4g} ± {summary.kappa.sd:.2g}",
        *remarks,
        f"written to {options.output}",
    ]
    return Answer(data, lines)
