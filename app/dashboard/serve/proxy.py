"""Behind a reverse proxy: the address that browsers see, and the path below which the dashboard is."""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from designer.core.errors import BadInput


class PublicAddress(NamedTuple):
    """The parts of `https://host:port/path`."""

    scheme: str
    host: str  # as browsers send it: with the port, unless it is the usual one
    name: str
    base: str  # "" or "/path"

    @property
    def origin(self) -> str:
        """As browsers send it."""
        return f"{self.scheme}://{self.host}"


def public_address(given: str) -> PublicAddress:
    """The parts of a public URL; BadInput if it is none."""
    try:
        parts = urlsplit(given)
        port, name = parts.port, parts.hostname
    except ValueError:
        port = name = None
        parts = urlsplit("")
    path = parts.path.rstrip("/")
    plain = all(piece and piece.isascii() and piece.replace("-", "").replace("_", "").isalnum()
                for piece in path.split("/")[1:])  # fmt: skip
    extra = parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in ("http", "https") or not name or extra or not plain:
        raise BadInput(f"--public-url = {given!r}: must be like https://host.example/austerity")
    usual = {"http": 80, "https": 443}[parts.scheme]
    written = f"[{name}]" if ":" in name else name
    return PublicAddress(parts.scheme, written if port in (None, usual) else f"{written}:{port}", name, path)


def proxy_address(given: str) -> str:
    """The address of a proxy; BadInput if it is none: connections are compared with it as it is."""
    try:
        return str(ip_address(given))
    except ValueError:
        raise BadInput(f"--proxy = {given!r}: must be an IP address, such as 192.0.2.7") from None


class Below:
    """Takes the path of the dashboard off the paths of requests; a proxy may have done so already."""

    def __init__(self, app: ASGIApp, base: str) -> None:
        self.app, self.base = app, base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if self.base and (path == self.base or path.startswith(f"{self.base}/")):
            raw: bytes = scope.get("raw_path") or b""
            scope = {
                **scope,
                "path": path[len(self.base) :] or "/",
                "raw_path": raw.removeprefix(self.base.encode()) or b"/",
            }
        await self.app(scope, receive, send)
