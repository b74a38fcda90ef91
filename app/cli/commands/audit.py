"""`austerity audit`: a test's decisions beside exact ones, and beside what its design predicts."""

from __future__ import annotations

import argparse

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.resolve import design_file, given
from app.cli.terminal import CommandOutput, status

SUMMARY = "Compare a test's decisions with exact ones and with its design."
EXAMPLE = "austerity audit config.toml --design design.toml --steps 2000"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "audit", run, SUMMARY, EXAMPLE, shared.chain_config(), shared.seed())
    parser.add_argument("--steps", type=shared.integer, default=2000, help="steps of the chain (default: %(default)s)")
    parser.add_argument(
        "--every",
        type=shared.integer,
        default=4,
        help="steps from one audited decision to the next (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.errors import integer
    from samplers.config.config import SamplerConfig
    from samplers.runs.run import audit_config

    config = SamplerConfig.load(options.config, design_file(options), **given(options, "seed"))
    steps, every = integer("steps", options.steps, 1, 10**9), integer("every", options.every, 1, 10**6)
    with status("auditing the chain", options):
        audit = audit_config(config, steps, every)
    rows = {name: getattr(audit, name)._asdict() for name in ("wrong", "delta", "usage")}
    return CommandOutput({"pairs": audit.pairs, **rows, "agrees": audit.agrees}, [audit.sentence])
