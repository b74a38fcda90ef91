"""`austerity demo`: a short tour."""

from __future__ import annotations

import argparse
from typing import Any

from app.cli.commands import selfcheck
from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput

SUMMARY = "Take a short tour: self-check, one test, one design."
EXAMPLE = "austerity demo"
STOPS = (
    "evaluate --n-data 12214 --m 500 --epsilon 0.05",
    "design --n-data 12214 --acceptance 0.5 --tolerance 0.02 --quiet",
)


def add(commands: Commands) -> None:
    """Declare the command."""
    add_command(commands, "demo", run, SUMMARY, EXAMPLE)


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from app.cli.main import build_parser  # which imports this module

    checks = selfcheck.run(options)
    data: dict[str, Any] = {"selfcheck": checks.data}
    lines = ["The engine on this machine:", *checks.lines]
    for text in STOPS:
        stop = build_parser().parse_args(text.split())
        output: CommandOutput = stop.run(stop)
        data[text.split()[0]] = output.data
        lines += ["", f"$ austerity {text}", *output.lines]
    return CommandOutput(data, lines, checks.code)
