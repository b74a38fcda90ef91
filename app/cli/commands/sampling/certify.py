"""`austerity certify`: how far a chain's posterior is from the exact one."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.options import Commands, add_command
from app.cli.resolve import design_file
from app.cli.terminal import CommandOutput, as_json, progress_bar

SUMMARY = "Bound how far a run's posterior is from the exact one."
EXAMPLE = "austerity certify out --passes 1000"
SHOWN = 8  # coordinates with the largest errors; --json has all


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands, "certify", run, SUMMARY, EXAMPLE, shared.seed("seed of the random numbers (default: 0)", default=0)
    )
    parser.add_argument(
        "source",
        metavar="DIR|CONFIG.toml|NAME",
        help=f"directory of a run, a config with a [test], or with --design a built-in chain: {shared.BUILT_IN_NAMES}",
    )
    parser.add_argument(
        "--design", metavar="DESIGN.toml", help="replace the config's [test] with this design (or .json)"
    )
    parser.add_argument(
        "--passes",
        type=shared.integer,
        default=1000,
        help="passes over the data to spend; more give a tighter bound (default: %(default)s)",
    )
    parser.add_argument(
        "--wish",
        type=shared.number,
        default=0.05,
        help="largest error of means and sds to certify, in posterior sds (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from samplers.config.built_in import CHAINS, built_in
    from samplers.config.config import SamplerConfig
    from samplers.study.certify import certify

    source = Path(options.source)
    named = options.source in CHAINS and not source.is_dir()
    if not source.exists() and not named:
        raise UsageError(f"{source}: no such directory or config, and not a built-in chain ({', '.join(CHAINS)})")
    if named and options.design is None:
        raise UsageError(f"{source}: the test of a built-in chain is exact; --design gives one to certify")
    if source.is_dir() and options.design is not None:
        raise UsageError("design: the run in a directory has its own test; --design is for a config")
    design = design_file(options)
    given: Path | SamplerConfig = source
    if named:
        given = SamplerConfig.from_toml(built_in(options.source).to_toml(), design)
    elif not source.is_dir():
        given = SamplerConfig.load(source, design)
    with progress_bar(options) as show:
        found = certify(given, options.passes, wish=options.wish, seed=options.seed, progress=show)
    width = max(map(len, found.names))
    rows = sorted(range(len(found.names)), key=lambda j: -max(abs(found.bias[j]), abs(found.sd_change[j])))[:SHOWN]
    lines = [found.sentence, f"{'':<{width}}  {'mean off, sd':>16}  {'sd off':>16}  distance at most"]
    for j in rows:
        mean, sd = (
            f"{value[j]:+.3f} ± {se[j]:.3f}"
            for value, se in ((found.bias, found.bias_se), (found.sd_change, found.sd_change_se))
        )
        lines.append(f"{found.names[j]:<{width}}  {mean:>16}  {sd:>16}  {found.wasserstein[j]:>16.3f}")
    return CommandOutput(as_json(found), lines)
