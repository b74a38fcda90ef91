"""Serve scripts quickly: compress each once, and name those that a page will need before it asks for them.

Scripts never change while the server runs (their addresses carry a hash of their content), yet a server would read and
compress them again for each new visitor. The largest, which draws figures, would be requested only when the first
figure has arrived.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.dashboard.widgets import plotting

FOLDER = Path(streamlit.__file__).parent / "static" / "static" / "js"
SCRIPTS = "/static/js/"  # where browsers find that folder
MODULE = "rel=modulepreload; as=script; crossorigin; fetchpriority=low"  # after what the page itself names
CLASSIC = "rel=preload; as=script; fetchpriority=low"
SOON = ("BidiComponent", "Slider", "NumberInput")  # modules of the pages with knobs and figures
LEVEL = 9  # of compression


class WholeResponse(NamedTuple):
    """A whole response: its first message and its body."""

    start: Message
    body: bytes


class Assets:
    """Keeps compressed scripts in memory, and has browsers fetch the scripts of figures with every page."""

    def __init__(self, app: ASGIApp, soon: Sequence[str] = SOON, base: str = "") -> None:
        self.app, self.link = app, preload(soon, base)
        self.packed: dict[str, WholeResponse] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif _wants_a_packed_script(scope):
            await self._packed(scope, receive, send)
        else:
            await self.app(scope, receive, self._naming(send))

    async def _packed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a script from memory; the first time from the application, kept if it may be cached for ever."""
        response = self.packed.get(scope["path"])
        if response is None:
            response = await _whole(self.app, scope, receive)
            if response.start["status"] == 200 and "immutable" in Headers(scope=response.start).get(
                "cache-control", ""
            ):
                response = self.packed[scope["path"]] = await asyncio.to_thread(_pack, response)
        await send(response.start)
        await send({"type": "http.response.body", "body": response.body})

    def _naming(self, send: Send) -> Send:
        async def send_with_link(message: Message) -> None:
            if message["type"] == "http.response.start" and self.link:
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers["Link"] = self.link
            await send(message)

        return send_with_link


def preload(names: Sequence[str], base: str = "") -> str:
    """The header that has a browser fetch at once the scripts of figures and some modules of Streamlit.

    `base` is the path below which the dashboard is.
    """
    files = [path.name for name in names for path in sorted(FOLDER.glob(f"{name}.*.js"))]
    modules = [f"{plotting.ADDRESS}{plotting.MODULE}", *(f"{SCRIPTS}{name}" for name in files)]
    library = f"<{base}{plotting.ADDRESS}{plotting.LIBRARY}>; {CLASSIC}"
    return ", ".join([library, *(f"<{base}{module}>; {MODULE}" for module in modules)])


def _wants_a_packed_script(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    plain = "if-none-match" not in headers and "if-modified-since" not in headers and "range" not in headers
    folder, _, name = scope["path"].rpartition("/")
    # no other folder: /./ and // would give a file any number of names to keep
    named = f"{folder}/" in (SCRIPTS, plotting.ADDRESS) and name != ""
    return scope["method"] == "GET" and named and plain and "gzip" in headers.get("accept-encoding", "")


async def _whole(app: ASGIApp, scope: Scope, receive: Receive) -> WholeResponse:
    """Collect the whole response of an application."""
    start: Message = {}
    parts: list[bytes] = []

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, collect)
    return WholeResponse(start, b"".join(parts))


def _pack(response: WholeResponse) -> WholeResponse:
    """The same response, compressed."""
    body = gzip.compress(response.body, LEVEL, mtime=0)
    headers = MutableHeaders(raw=list(response.start["headers"]))
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(body))
    headers.add_vary_header("Accept-Encoding")
    return WholeResponse({**response.start, "headers": headers.raw}, body)
