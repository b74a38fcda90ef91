"""What stands between the network and the dashboard: who may ask, how much they may send, and security headers.

It wraps the whole application, so that refusals and server errors carry the headers too.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.dashboard.serve.proxy import PublicAddress
from app.dashboard.serve.tally import Refusal, Tally
from app.dashboard.state.visitor import new_cookie, visitor_of

LOOPBACK = ("localhost", "127.0.0.1", "::1")

# Streamlit and Plotly write style attributes, draw from data: and blob: images, need no eval, frames or other hosts.
# In connect-src, 'self' includes WebSockets of the same host and port.
# The script of an element of our own Streamlit loads from a blob:, which nothing but a running script can make.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "worker-src": "'self' blob:",
    "manifest-src": "'self'",
    "frame-src": "'none'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
UNUSED_POWERS = "accelerometer camera display-capture geolocation gyroscope hid microphone midi payment serial usb"


class Guard:
    """Refuses foreign hosts, foreign origins and bodies over `most_bytes`; puts security headers on every response.

    `hosts` are the names the server answers to, or empty for any: a server bound to the loopback address must not be
    reached through a foreign name that was made to point to it (DNS rebinding).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        most_bytes: int,
        tally: Tally | None = None,
        public: PublicAddress | None = None,
    ) -> None:
        names = [in_address(host) for host in hosts]
        self.app = TrustedHostMiddleware(app, names or ["*"], www_redirect=False)
        self.most_bytes, self.tally, self.public = most_bytes, tally or Tally(), public
        self.headers = security_headers()
        self.base, self.secure = (public.base, public.scheme == "https") if public else ("", False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        asked = Headers(scope=scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(scope=message)
                own = headers.get("content-security-policy")  # of the page that asks for the token
                headers.update(self.headers | ({"Content-Security-Policy": own} if own else {}))
                page = headers.get("content-type", "").startswith("text/html")
                if page and not visitor_of(asked.get("cookie", "")):
                    headers.append("set-cookie", new_cookie(self.base, secure=self.secure))
            await send(message)

        refusal = self.refusal(scope["type"], asked)
        if refusal is None:
            with suppress(ClientDisconnect):  # it ended its upload half-way, or was too slow
                await self.app(self._named(scope, asked), receive, send_with_headers)
        else:
            self.tally.refuse(refusal, str((scope.get("client") or ("",))[0]))
            await PlainTextResponse(refusal.line, refusal.status)(scope, receive, send_with_headers)

    def refusal(self, kind: str, headers: Headers) -> Refusal | None:
        """Why a request is refused that is from a foreign origin, or too large."""
        host, origin = headers.get("host", ""), headers.get("origin")
        # Streamlit would look up this machine's address on the internet to judge a foreign origin
        if kind == "websocket" and origin is not None and not self._is_public(origin) and _split(origin).netloc != host:
            return Refusal("foreign origin", 403, "foreign origin")
        if "transfer-encoding" in headers:  # a body of unknown length; no browser sends one
            return Refusal("no length", 411, "the length of the body must be given")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 20 and int(length) <= self.most_bytes):
            return Refusal("too large", 413, "too large")
        return None

    def _is_public(self, origin: str) -> bool:
        return self.public is not None and origin == self.public.origin

    def _named(self, scope: Scope, headers: Headers) -> Scope:
        """With the public name as its host if it comes from there: a proxy may have left out the port."""
        if self.public is None or not self._is_public(headers.get("origin", "")):
            return scope
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        return {**scope, "headers": [*others, (b"host", self.public.host.encode())]}


def in_address(host: str) -> str:
    """A host as it is written in an address: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


def _split(address: str) -> SplitResult:
    """The parts of an address; none of them if it is malformed, as `//[` is."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def security_headers() -> dict[str, str]:
    """The headers of every response."""
    policy = POLICY | {"script-src": " ".join([POLICY["script-src"], *_inline_scripts()])}
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "Cross-Origin-Embedder-Policy": "require-corp",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": ", ".join(f"{power}=()" for power in UNUSED_POWERS.split()),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }


def _inline_scripts() -> list[str]:
    """Hashes of the scripts inside Streamlit's own page, the only inline ones a browser may run."""
    page = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_text(encoding="utf-8")
    texts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
