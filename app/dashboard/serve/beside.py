"""Other applications on the same server, each below a path of its own."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send


class Beside:
    """Passes requests below the path of another application to it, without that path, and all others to `app`."""

    def __init__(self, app: ASGIApp, others: Mapping[str, ASGIApp]) -> None:
        self.app, self.others = app, others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        for prefix, other in self.others.items():
            if path.startswith(f"{prefix}/"):
                await other({**scope, "path": path.removeprefix(prefix)}, receive, send)
                return
        await self.app(scope, receive, send)
