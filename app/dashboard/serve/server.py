"""Serve the dashboard on this machine: `austerity app`."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import streamlit as st
import uvicorn
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp
from streamlit.web import bootstrap

from app.dashboard.jobs import jobs
from app.dashboard.jobs import runs as run_processes
from app.dashboard.serve.assets import Assets
from app.dashboard.serve.guard import LOOPBACK, Guard, in_address
from app.dashboard.widgets.plotting import Scripts
from designer.core.errors import BadInput, integer

SCRIPT = Path(__file__).with_name("main.py")  # not beside pages/, which Streamlit would take for scripts of its own
MOST_MEGABYTES = 20  # of an uploaded trial run: some 400,000 pairs as text
ARENAS, LARGE = (-8, 2), (-3, 2**18)  # M_ARENA_MAX, M_MMAP_THRESHOLD of glibc's malloc.h, and what they are set to
SHUTDOWN_SECONDS = 2.0  # that jobs get to clean up when the server stops
RUN_SECONDS = 10.0  # that runs get to save their steps

SETTINGS: dict[str, Any] = {
    "browser.gatherUsageStats": False,
    "client.allowedOrigins": [],
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "client.toolbarMode": "minimal",
    # a slider sets the number beside it, which has a default: this is intended, and needs no traceback in the log
    "global.disableWidgetStateDuplicationWarning": True,
    "runner.magicEnabled": False,
    "server.enableXsrfProtection": True,
    "server.fileWatcherType": "none",
    "server.headless": True,
    "server.maxUploadSize": MOST_MEGABYTES,
    "server.showEmailPrompt": False,
    # contrast with the background of 4.5 or more; on buttons of the dark theme text is dark (see chrome)
    "theme.light.primaryColor": "#0b65b0",
    "theme.dark.primaryColor": "#4da3ec",
    "theme.light.linkColor": "#0b65b0",
    "theme.dark.linkColor": "#6cb4f2",
}

log = logging.getLogger("austerity")


def serve(
    host: str = "127.0.0.1",
    port: int = 8501,
    *,
    runs: str = run_processes.FOLDER,
    open_browser: bool = False,
    script: Path = SCRIPT,
) -> None:
    """Serve until interrupted. Raises BadInput if the server cannot listen at the address."""
    return_memory()
    run_processes.use(runs, local=host in LOOPBACK)
    with listen(host, integer("port", port, 0, 65_535)) as listening:
        address = f"http://{in_address(host)}:{listening.getsockname()[1]}"

        def tell() -> None:
            print(f"austerity is at {address} (Ctrl-C stops it)", file=sys.stderr, flush=True)
            if open_browser:
                webbrowser.open(address)

        hosts = LOOPBACK if host in LOOPBACK else ()
        settings = uvicorn.Config(
            application(script, hosts, tell),
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="websockets-sansio",
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(settings).run(sockets=[listening])


def return_memory() -> None:
    """Return freed memory to the system, where the C library is glibc.

    By default it keeps a heap for each thread, with free blocks of up to 32 MB: tens of megabytes on a busy server.
    """
    with suppress(AttributeError, OSError, TypeError):
        for option, value in (ARENAS, LARGE):
            ctypes.CDLL(None).mallopt(option, value)


def listen(host: str, port: int) -> socket.socket:
    """A socket at the address; a port in use is refused before anything starts."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0].lower()
        raise BadInput(f"cannot listen on {in_address(host)}:{port}: {reason}; try another --port") from None


def application(script: Path, hosts: tuple[str, ...], ready: Callable[[], None]) -> ASGIApp:
    """The dashboard behind its guard; calls `ready` when everything is loaded and compiled."""
    bootstrap.load_config_options(SETTINGS)
    steady_path(script)
    # files for downloads are made outside of any page, which needs no warning
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").setLevel(logging.ERROR)
    dashboard = st.App(script, lifespan=_warmed(ready), on_script_error=tell_failure)
    quick = Assets(Scripts(dashboard))
    return Guard(GZipMiddleware(quick, compresslevel=1), hosts=hosts, most_bytes=MOST_MEGABYTES * 2**20)


def steady_path(script: Path) -> None:
    """Add the script's directory to `sys.path` once, so that Streamlit does not add and remove it at each run.

    An import in another thread that iterates over `sys.path` at that moment would miss an entry and fail.
    """
    directory = os.path.dirname(os.path.abspath(script))
    if directory not in sys.path:
        sys.path.append(directory)


def tell_failure(problem: Exception) -> bool:
    """Report an unexpected error: one line in the browser, the traceback in the terminal."""
    log.error("a page failed", exc_info=problem)
    st.error("Something went wrong in this page. See the terminal that runs `austerity app`.")
    return True


def _warmed(ready: Callable[[], None]) -> Callable[[st.App], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: st.App) -> AsyncIterator[None]:
        await asyncio.to_thread(warm)
        _settle()
        ready()
        yield
        await asyncio.to_thread(jobs.end_all, SHUTDOWN_SECONDS)
        await asyncio.to_thread(run_processes.end_all, RUN_SECONDS)

    return lifespan


def warm() -> None:
    """Import and compile what the pages use, before the first visitor waits for it."""
    import numpy as np
    import plotly.graph_objects as go
    from streamlit.dataframe_util import convert_anything_to_arrow_bytes

    from app.dashboard.pages import (  # noqa: F401
        compare,
        design,
        experiments,
        explore,
        further,
        method,
        monitor,
        start,
        trial_run,
    )
    from app.figures.style import layout
    from designer import Design, TrialRun, acceptance, characteristics, simulate, stopping

    test = Design(12_214, 500, 0.05)
    curve = characteristics(test, [0.0, 1.0])
    stopping(test, 1.0)
    acceptance(test, TrialRun.at_stationarity(12_214, 0.5, 10, np.random.default_rng(0)))
    simulate(np.random.default_rng(0), test, [1.0], 10)
    layout(go.Figure(go.Scatter(x=curve.mu_std, y=curve.error)), "", "").to_json()
    convert_anything_to_arrow_bytes({"error": curve.error})  # imports pandas
    start.warm()


def _settle() -> None:
    """Exempt all that is loaded by now from garbage collection.

    Streamlit collects after every run of a page while all sessions wait: 0.1 s if it includes the libraries.
    """
    gc.collect()
    gc.freeze()
