"""`austerity audit`: how wrong a test is in the steps of a chain, against its tolerance."""

from __future__ import annotations

import argparse
import math
from typing import Any

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.resolve import design_file, given
from app.cli.terminal import CommandOutput, progress_bar

SUMMARY = "Measure how wrong a chain's test is, against its tolerance."
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
        shared.tolerance("tolerated mean |Δ| (default: the design's)", required=False),
    )
    parser.add_argument(
        "--passes",
        type=shared.integer,
        default=400,
        help="most audited steps, each a pass over the data; fewer if they tell (default: %(default)s)",
    )
    parser.add_argument("--steps", type=shared.integer, help="make exactly this many steps of the chain instead")
    parser.add_argument(
        "--every",
        type=shared.integer,
        default=10,
        help="steps from one audited step to the next (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.errors import integer
    from samplers.config.config import SamplerConfig
    from samplers.runs.run import audit_config

    config = SamplerConfig.load(options.config, design_file(options), **given(options, "seed"))
    steps = None if options.steps is None else integer("steps", options.steps, 1, 10**9)
    every, passes = integer("every", options.every, 1, 10**6), integer("passes", options.passes, 1, 10**6)
    with progress_bar(options) as show:
        audit = audit_config(config, steps, every, passes=passes, tolerance=options.tolerance, progress=show)
    data = {name: _plain(value) for name, value in audit._asdict().items()}
    return CommandOutput(data, [audit.sentence, audit.details])


def _plain(value: Any) -> Any:
    """A record as a dict, and None for what is not known."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
