"""`austerity laplace`: need the posterior be sampled at all?"""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.resolve import given
from app.cli.terminal import CommandOutput, status

SUMMARY = "Find out whether the Laplace approximation is good enough."
EXAMPLE = "austerity laplace config.toml --wish 0.05 --output draws"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "laplace",
        run,
        SUMMARY,
        EXAMPLE,
        shared.seed(),
        shared.output_file("DIR", "write the draws here, if no chain is needed"),
    )
    parser.add_argument(
        "config", metavar="CONFIG.toml", help="config with [data] and a [model] of kind logistic or glm"
    )
    parser.add_argument(
        "--wish",
        type=shared.number,
        default=0.05,
        help="largest error of a mean or sd that is good enough, in posterior sds (default: %(default)s)",
    )
    parser.add_argument(
        "--draws", type=shared.integer, default=200, help="draws of the approximation to judge (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from samplers.config.config import SamplerConfig
    from samplers.runs.laplace import laplace_config
    from samplers.runs.results import summary

    config = SamplerConfig.load(options.config, exact=True, **given(options, "seed"))
    with status("judging the Laplace approximation", options):
        judged = laplace_config(config, options.draws, options.wish, options.output)
    verdict, lines = judged.verdict, [judged.verdict.sentence]
    columns = ("mean_error", "mean_se", "sd_error", "sd_se")
    data = verdict.facts() | {name: getattr(verdict, name).tolist() for name in columns}
    if options.output is not None and judged.results is not None:
        data["results"] = str(Path(options.output) / "results.nc")
        lines += [summary(judged.results).worst(10).text(), f"written to {data['results']}"]
    elif options.output is not None:
        lines.append("nothing written: the posterior needs a chain (`austerity trial`, `design`, `run`)")
    return CommandOutput(data, lines)
