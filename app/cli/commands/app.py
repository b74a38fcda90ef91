"""`app`: the dashboard."""

from __future__ import annotations

import argparse
from contextlib import suppress

from app.cli.terminal import Answer


def serve_dashboard(options: argparse.Namespace) -> Answer:
    """`austerity app`."""
    from app.dashboard.serve.server import serve

    with suppress(KeyboardInterrupt):
        serve(options.host, options.port, open_browser=not options.no_browser)
    return Answer({"stopped": True}, ["stopped"])
