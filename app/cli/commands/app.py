"""`austerity app`: the dashboard."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress

from app.cli import options as shared
from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput

LEVELS, FORMATS = ("debug", "info", "warning", "error"), ("text", "json")
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
    parser.add_argument(
        "--token",
        metavar="TEXT",
        default="",
        help="let in only those who have this text, of at least 16 characters; auto: make one and print it "
        "(default: the environment variable AUSTERITY_TOKEN, or everybody who can reach the server)",
    )
    parser.add_argument(
        "--public-url",
        metavar="URL",
        default="",
        help="where browsers find the dashboard behind a reverse proxy, for example https://host.example/austerity "
        "(default: there is no proxy)",
    )
    parser.add_argument(
        "--proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="address of the reverse proxy, if it is another machine; may be repeated",
    )
    parser.add_argument(
        "--log-level",
        choices=LEVELS,
        default="warning",
        help="events to log, on the standard error (default: %(default)s)",
    )
    parser.add_argument("--log-format", choices=FORMATS, default="text", help="of each line (default: %(default)s)")
    parser.add_argument("--no-browser", action="store_true", help="serve only; do not open a browser")


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from app.cli.http import routes
    from app.dashboard.serve.server import serve

    from_environment = os.environ.pop("AUSTERITY_TOKEN", "")  # processes of runs and experiments need not know it
    with suppress(KeyboardInterrupt):
        serve(
            options.host,
            options.port,
            runs=options.runs,
            token=options.token or from_environment,
            public_url=options.public_url,
            proxies=options.proxy,
            log_level=options.log_level,
            log_format=options.log_format,
            open_browser=not options.no_browser,
            beside={routes.PREFIX: routes.application()},
        )
    return CommandOutput({"stopped": True}, ["stopped"])
