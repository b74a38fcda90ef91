"""Scripts, quickly: compressed once and kept, and those a page will need named before it asks.

They never change while the server runs (their addresses carry a hash of what they hold), yet a server would read and
compress them again for each new visitor; and the largest, the one that draws figures, is asked for only when the first
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


class Answer(NamedTuple):
    """A whole answer: its first message and its body."""

    start: Message
    body: bytes


class Assets:
    """Keeps scripts, compressed, and tells browsers with every page to fetch those of its figures."""

    def __init__(self, app: ASGIApp, soon: Sequence[str] = SOON) -> None:
        self.app, self.link = app, preload(soon)
        self.kept: dict[str, Answer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif _wants_a_packed_script(scope):
            await self._packed(scope, receive, send)
        else:
            await self.app(scope, receive, self._naming(send))

    async def _packed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A script from memory; the first time, from the application, and kept if it may be cached for ever."""
        answer = self.kept.get(scope["path"])
        if answer is None:
            answer = await _whole(self.app, scope, receive)
            if answer.start["status"] == 200 and "immutable" in Headers(scope=answer.start).get("cache-control", ""):
                answer = self.kept[scope["path"]] = await asyncio.to_thread(_pack, answer)
        await send(answer.start)
        await send({"type": "http.response.body", "body": answer.body})

    def _naming(self, send: Send) -> Send:
        async def send_with_link(message: Message) -> None:
            if message["type"] == "http.response.start" and self.link:
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers["Link"] = self.link
            await send(message)

        return send_with_link


def preload(names: Sequence[str]) -> str:
    """The header that has a browser fetch at once what draws figures, and modules of Streamlit."""
    found = [path.name for name in names for path in sorted(FOLDER.glob(f"{name}.*.js"))]
    modules = [f"{plotting.ADDRESS}{plotting.MODULE}", *(f"{SCRIPTS}{name}" for name in found)]
    return ", ".join(
        [f"<{plotting.ADDRESS}{plotting.LIBRARY}>; {CLASSIC}", *(f"<{module}>; {MODULE}" for module in modules)]
    )


def _wants_a_packed_script(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    plain = "if-none-match" not in headers and "if-modified-since" not in headers and "range" not in headers
    folder, _, name = scope["path"].rpartition("/")
    # no other folder: /./ and // would give a file any number of names to keep
    named = f"{folder}/" in (SCRIPTS, plotting.ADDRESS) and name != ""
    return scope["method"] == "GET" and named and plain and "gzip" in headers.get("accept-encoding", "")


async def _whole(app: ASGIApp, scope: Scope, receive: Receive) -> Answer:
    """The answer of an application, put together."""
    start: Message = {}
    parts: list[bytes] = []

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, collect)
    return Answer(start, b"".join(parts))


def _pack(answer: Answer) -> Answer:
    """The same, compressed."""
    body = gzip.compress(answer.body, LEVEL, mtime=0)
    headers = MutableHeaders(raw=list(answer.start["headers"]))
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(body))
    headers.add_vary_header("Accept-Encoding")
    return Answer({**answer.start, "headers": headers.raw}, body)
