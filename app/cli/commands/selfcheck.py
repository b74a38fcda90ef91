"""`austerity selfcheck`: the engine against its reference values, on this machine."""

from __future__ import annotations

import argparse

from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput

SUMMARY = "Compare the engine with its reference values on this machine."
EXAMPLE = "austerity selfcheck"


def add(commands: Commands) -> None:
    """Declare the command."""
    add_command(commands, "selfcheck", run, SUMMARY, EXAMPLE)


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.check.selfcheck import selfcheck

    checks = selfcheck()
    passed = all(check.passed for check in checks)
    data = {
        "passed": passed,
        "checks": [
            {"name": c.name, "difference": c.difference, "allowed": c.allowed, "passed": c.passed} for c in checks
        ],
    }
    lines = [
        *(
            f"{'ok  ' if c.passed else 'FAIL'}  {c.name:<36} {c.difference:.1e} (allowed {c.allowed:.0e})"
            for c in checks
        ),
        "all checks passed" if passed else "the engine does not work correctly on this machine",
    ]
    return CommandOutput(data, lines, 0 if passed else 1)
