"""`austerity app`: the dashboard."""

from __future__ import annotations

import argparse
from contextlib import suppress

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput

SUMMARY = "Serve the dashboard on this machine and open it in a browser."
EXAMPLE = "austerity app --port 8600 --no-browser"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "app", run, SUMMARY, EXAMPLE)
    parser.add_argument(
        "--port", type=shared.integer, default=8501, help="port to listen on; 0: any free port (default: %(default)s)"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)"
    )
    parser.add_argument(
        "--runs",
        metavar="DIR",
        default="austerity-runs",
        help="folder of the runs that the Monitor page shows and starts; made when needed (default: %(default)s)",
    )
    parser.add_argument("--no-browser", action="store_true", help="serve only; do not open a browser")


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from app.dashboard.serve.server import serve

    with suppress(KeyboardInterrupt):
        serve(options.host, options.port, runs=options.runs, open_browser=not options.no_browser)
    return CommandOutput({"stopped": True}, ["stopped"])
