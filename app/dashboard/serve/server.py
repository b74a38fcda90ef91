"""Serve the dashboard on this machine: `austerity app`."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st
import uvicorn
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp
from streamlit.config import _config_options_template as known  # of this version of Streamlit
from streamlit.web import bootstrap

from app.dashboard.jobs import jobs
from app.dashboard.jobs import runs as run_processes
from app.dashboard.serve import logs
from app.dashboard.serve.assets import Assets
from app.dashboard.serve.beside import Beside
from app.dashboard.serve.clicks import keep_clicks
from app.dashboard.serve.connections import Door, protocols
from app.dashboard.serve.garbage import collect_now_and_then, exempt_what_is_loaded
from app.dashboard.serve.guard import LOOPBACK, Guard, in_address
from app.dashboard.serve.limits import Limits, open_files
from app.dashboard.serve.monitoring import FORMAT, HEALTH, METRICS, Answer, Figures
from app.dashboard.serve.proxy import Below, PublicAddress, proxy_address, public_address
from app.dashboard.serve.sessions import Sessions
from app.dashboard.serve.tally import Tally
from app.dashboard.serve.token import AUTO, TokenCheck, chosen
from app.dashboard.widgets.plotting import Scripts
from designer.core.errors import BadInput, integer

SCRIPT = Path(__file__).with_name("main.py")  # not beside pages/, which Streamlit would take for scripts of its own
MOST_MEGABYTES = 20  # of an uploaded trial run: some 400,000 pairs as text
ARENAS, LARGE = (-8, 2), (-3, 2**18)  # M_ARENA_MAX, M_MMAP_THRESHOLD of glibc's malloc.h, and what they are set to
SHUTDOWN_SECONDS = 2.0  # that jobs get to clean up when the server stops
RUN_SECONDS = 10.0  # that runs get to save their steps
USUAL = Limits()
OPEN_TO_ALL = "%s is open to everybody who can reach it: there is no --token"

SETTINGS: dict[str, Any] = {
    "browser.gatherUsageStats": False,
    "client.allowedOrigins": [],
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "client.toolbarMode": "minimal",
    # a slider sets the number beside it, which has a default: this is intended, and needs no traceback in the log
    "global.disableWidgetStateDuplicationWarning": True,
    "runner.magicEnabled": False,
    "runner.postScriptGC": False,  # see `garbage`
    "server.enableAgentApi": False,  # from Streamlit 1.67 on
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
    token: str = "",
    public_url: str = "",
    proxies: Collection[str] = (),
    log_level: str = "warning",
    log_format: logs.LogFormat = "text",
    open_browser: bool = False,
    script: Path = SCRIPT,
    limits: Limits = USUAL,
    beside: Mapping[str, ASGIApp] | None = None,
) -> None:
    """Serve until interrupted; `beside` are other applications, by the paths below which they are.

    Raises BadInput if the server cannot listen at the address, or for a bad setting.
    """
    secret, public = chosen(token), public_address(public_url) if public_url else None
    if token == AUTO and log_format == "json":
        raise BadInput("--token auto: is shown in a terminal, not in a log; give a token in AUSTERITY_TOKEN")
    if proxies and public is None:
        raise BadInput("--proxy: needs --public-url, the address at which the proxy serves the dashboard")
    return_memory()
    door = Door(
        limits.within(open_files()),
        Tally(),
        frozenset([*LOOPBACK, *map(proxy_address, proxies)]) if public else frozenset(),
    )
    run_processes.use(runs, local=host in LOOPBACK and public is None)
    with listen(host, integer("port", port, 0, 65_535)) as listening:
        address = f"http://{in_address(host)}:{listening.getsockname()[1]}"

        def ready() -> None:
            logs.configure(log_level, log_format, secret)  # once more: what was loaded since then has its own ways
            asyncio.get_running_loop().set_exception_handler(logs.tell_of_the_loop)
            _tell(address, public, secret if token == AUTO else "", log_format)
            if not secret and (public is not None or host not in LOOPBACK):
                log.warning(OPEN_TO_ALL, public.origin if public else address)
            if open_browser:
                webbrowser.open(address)  # without the token: others here could read it in the list of processes

        hosts = (*LOOPBACK, public.name) if public else LOOPBACK if host in LOOPBACK else ()
        http, websocket = protocols(door)
        app = application(script, hosts, ready, door=door, token=secret, public=public, beside=beside)
        logs.configure(log_level, log_format, secret)
        settings = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            http=http,
            ws=websocket,
            backlog=door.limits.at_once,
            proxy_headers=public is not None,
            forwarded_allow_ips=sorted(door.proxies),
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(settings).run(sockets=[listening])


def _tell(address: str, public: PublicAddress | None, made: str, log_format: logs.LogFormat) -> None:
    """Say where the dashboard is, and the token that was made for it."""
    seen = f"; the public address is {public.origin}{public.base}" if public else ""
    words = f"austerity is at {address} (Ctrl-C stops it){seen}"
    if log_format == "json":
        logs.announce(words, address=address)
        return
    print(words, file=sys.stderr, flush=True)
    if made:
        place = f"{public.origin}{public.base}" if public else address
        print(f"the token is {made}: {place}/?{urlencode({'token': made})}", file=sys.stderr, flush=True)


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


def application(
    script: Path,
    hosts: Collection[str],
    ready: Callable[[], None],
    *,
    door: Door | None = None,
    token: str = "",
    public: PublicAddress | None = None,
    beside: Mapping[str, ASGIApp] | None = None,
) -> ASGIApp:
    """The dashboard behind its guard; calls `ready` when everything is loaded and compiled."""
    # older versions lack some, and would warn
    bootstrap.load_config_options({name: value for name, value in SETTINGS.items() if name in known})
    steady_path(script)
    keep_clicks()
    # files for downloads are made outside of any page, which needs no warning
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").setLevel(logging.ERROR)
    dashboard = st.App(script, lifespan=_warmed(ready), on_script_error=tell_failure)
    door = door or Door(USUAL, Tally())
    base, secure = (public.base, public.scheme == "https") if public else ("", False)
    quick = Assets(Scripts(dashboard), base=base)
    sessions = Sessions(GZipMiddleware(quick, compresslevel=1), door.limits, door.tally)
    app: ASGIApp = Answer(Beside(sessions, beside or {}), METRICS, Figures(door, sessions).text, FORMAT)
    if token:
        app = TokenCheck(app, token, door.tally, base=base, secure=secure)
    app = Below(Answer(app, HEALTH, lambda: "ok"), base)
    return Guard(app, hosts=hosts, most_bytes=MOST_MEGABYTES * 2**20, tally=door.tally, public=public)


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
        exempt_what_is_loaded()
        ready()
        collecting = asyncio.create_task(collect_now_and_then())
        yield
        collecting.cancel()
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
        fit,
        further,
        league,
        learn,
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
