"""`austerity audit`: how wrong a test is in the steps of a chain, against its tolerance."""

from __future__ import annotations

import argparse

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.resolve import chain_of, given
from app.cli.terminal import CommandOutput, as_json, progress_bar

SUMMARY = "Measure a chain's acceptance error against its tolerance."
EXAMPLE = "austerity audit config.toml --design design.toml --passes 200"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "audit",
        run,
        SUMMARY,
        EXAMPLE,
        shared.chain_config(),
        shared.seed(),
        shared.tolerance("largest mean |Δ| to tolerate (default: the design's)", required=False),
    )
    parser.add_argument(
        "--passes",
        type=shared.integer,
        default=400,
        help="audit at most this many steps, each a pass over the data; stop early once the answer is clear "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--steps", type=shared.integer, help="instead of --passes: run the chain for exactly this many steps"
    )
    parser.add_argument(
        "--every",
        type=shared.integer,
        default=10,
        help="steps from one audited step to the next (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.errors import integer
    from samplers.runs.run import audit_config

    config = chain_of(options, **given(options, "seed"))
    steps = None if options.steps is None else integer("steps", options.steps, 1, 10**9)
    every, passes = integer("every", options.every, 1, 10**6), integer("passes", options.passes, 1, 10**6)
    with progress_bar(options) as show:
        audit = audit_config(config, steps, every, passes=passes, tolerance=options.tolerance, progress=show)
    return CommandOutput(as_json(audit), [audit.sentence, audit.details])
