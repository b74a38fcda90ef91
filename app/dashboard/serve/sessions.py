"""Sessions: each window with the dashboard is one, and a client may have only so many."""

from __future__ import annotations

import logging
from collections import Counter

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.dashboard.jobs.addresses import client_of
from app.dashboard.serve.limits import Limits
from app.dashboard.serve.tally import Refusal, Tally

log = logging.getLogger("austerity")


class Sessions:
    """Counts open WebSockets, which are sessions, and refuses more of them than the limits allow.

    A browser does not show why a WebSocket was refused, so the page that would open it is refused, too.
    """

    def __init__(self, app: ASGIApp, limits: Limits, tally: Tally) -> None:
        self.app, self.limits, self.tally = app, limits, tally
        self.of_one: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """How many there are."""
        return self.of_one.total()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = str((scope.get("client") or ("",))[0])
        refusal = self.refusal(client) if scope["type"] == "websocket" or _asks_for_a_page(scope) else None
        if refusal is not None:
            self.tally.refuse(refusal, client)
            wait = {"Retry-After": "60"}
            await PlainTextResponse(f"{refusal.line}\n", refusal.status, wait)(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._session(client, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def refusal(self, client: str) -> Refusal | None:
        """Why this client may not have another session."""
        if self.of_one[client_of(client)] >= self.limits.sessions_of_one:
            line = f"your address has {self.limits.sessions_of_one} windows open here, the limit; close some"
            return Refusal("sessions of one address", 429, line)
        if self.open >= self.limits.sessions:
            line = f"this server has {self.limits.sessions} windows open, its limit; try again in a minute"
            return Refusal("sessions", 503, line)
        return None

    async def _session(self, client: str, scope: Scope, receive: Receive, send: Send) -> None:
        one = client_of(client)
        self.of_one[one] += 1
        log.info("session opened", extra={"fields": {"client": client, "sessions": self.open}})
        try:
            await self.app(scope, receive, send)
        finally:
            self.of_one[one] -= 1
            if not self.of_one[one]:
                del self.of_one[one]
            log.info("session closed", extra={"fields": {"client": client, "sessions": self.open}})


def _asks_for_a_page(scope: Scope) -> bool:
    return scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")
