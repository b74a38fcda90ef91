"""Connections: how many there may be, and how long a slow client may keep one.

This is decided where bytes arrive, below the application: a client that never ends its request, or never reads the
answer, does not reach it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from http import HTTPStatus
from typing import Any, ClassVar, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.dashboard.jobs.addresses import client_of
from app.dashboard.serve.limits import Limits
from app.dashboard.serve.tally import Refusal, Tally

PARTING_SECONDS = 2.0  # that a refused client gets to read why


class Door:
    """Counts the open connections, in all and of each client (`client_of`), and decides who may come in.

    The proxies in front of the server bring many clients from one address.
    """

    def __init__(self, limits: Limits, tally: Tally, proxies: frozenset[str] = frozenset()) -> None:
        self.limits, self.tally, self.proxies = limits, tally, proxies
        self.inside: dict[asyncio.BaseTransport, str] = {}
        self.leaving = 0  # refused ones that read why
        self._of_one: Counter[str] = Counter()

    def refusal(self, client: str) -> Refusal | None:
        """Why another connection from this address may not come in."""
        if len(self.inside) >= self.limits.connections:
            line = f"this server has {self.limits.connections} connections, its limit; try again in a minute"
            return Refusal("connections", 503, line)
        if client not in self.proxies and self._of_one[client_of(client)] >= self.limits.connections_of_one:
            line = f"your address has {self.limits.connections_of_one} connections, the limit; close some"
            return Refusal("connections of one address", 429, line)
        return None

    def enter(self, transport: asyncio.BaseTransport, client: str) -> None:
        """A connection begins; once only, also if it becomes a WebSocket."""
        if transport not in self.inside:
            self.inside[transport] = client_of(client)
            self._of_one[self.inside[transport]] += 1

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """A connection has ended."""
        client = self.inside.pop(transport, None)
        if client is not None:
            self._of_one[client] -= 1
            if not self._of_one[client]:
                del self._of_one[client]


def protocols(door: Door) -> tuple[type[HttpConnection], type[WebSocketConnection]]:
    """The classes of connections that come in by this door."""
    with_door = {"door": door}
    return type("Http", (HttpConnection,), with_door), type("WebSocket", (WebSocketConnection,), with_door)


def answer(status: int, line: str) -> bytes:
    """A whole HTTP response of one line."""
    body = f"{line}\n".encode()
    head = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: text/plain; charset=utf-8",
        "X-Content-Type-Options: nosniff",
        f"Content-Length: {len(body)}",
        *(["Retry-After: 60"] if status in (429, 503) else []),
        "Connection: close",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def address_of(transport: asyncio.BaseTransport) -> str:
    """The address of the other end."""
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""


class Reader:
    """Watches that a client takes what it is sent: one that does not would keep it in memory for ever."""

    def __init__(self, door: Door, transport: asyncio.Transport) -> None:
        self.door, self.transport = door, transport
        self._timer: asyncio.TimerHandle | None = None

    def wait(self) -> None:
        """The client has much to take."""
        self.done()
        size = self.transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(self.door.limits.taking_seconds, self._look, size)

    def done(self) -> None:
        """It has taken it, or has gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, before: int) -> None:
        if self.transport.get_write_buffer_size() > before - self.door.limits.taking_bytes:
            self.door.tally.drop("does not read", address_of(self.transport))
            self.transport.abort()
        else:
            self.wait()


class HttpConnection(H11Protocol):
    """An HTTP connection that is refused if there are too many, and ends if its request takes too long."""

    door: ClassVar[Door]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._refused = False
        self._part = ""  # of a request that is on its way
        self._timer: asyncio.TimerHandle | None = None
        self._reader: Reader | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in, or say why not."""
        client = address_of(transport)
        if refusal := self.door.refusal(client):
            self._refuse(transport, self.door.tally.refuse(refusal, client))
            return
        self.door.enter(transport, client)
        self._reader = Reader(self.door, transport)
        super().connection_made(transport)
        self._expect("head", self.door.limits.head_seconds)

    def data_received(self, data: bytes) -> None:
        """Pass it on, and look how far the request has got."""
        if self._refused:
            return
        super().data_received(data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:  # it is a WebSocket now
            self._expect("", 0.0)
        elif self.conn.their_state is h11.IDLE:
            self._expect("head", self.door.limits.head_seconds)
        elif self.conn.their_state is h11.SEND_BODY:
            self._expect("body", self.door.limits.body_seconds)
        else:
            self._expect("", 0.0)

    def on_response_complete(self) -> None:
        """Between two requests uvicorn ends a connection that is not used."""
        self._expect("", 0.0)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not take all that it is sent."""
        super().pause_writing()
        if self._reader is not None:
            self._reader.wait()

    def resume_writing(self) -> None:
        """The client has taken it."""
        if self._reader is not None:
            self._reader.done()
            super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        if self._timer is not None:
            self._timer.cancel()
        if self._refused:
            self.door.leaving -= 1
            return
        self.door.leave(self.transport)
        if self._reader is not None:
            self._reader.done()
        super().connection_lost(exc)

    def _refuse(self, transport: asyncio.Transport, refusal: Refusal) -> None:
        """Answer, and end a little later: a connection that ends before its request is read may lose the answer."""
        self._refused = True
        self.door.leaving += 1
        if self.door.leaving > self.door.limits.at_once:
            transport.abort()
            return
        transport.write(answer(refusal.status, refusal.line))
        if transport.can_write_eof():
            transport.write_eof()
        self._timer = asyncio.get_running_loop().call_later(PARTING_SECONDS, transport.abort)

    def _expect(self, part: str, seconds: float) -> None:
        """This part of a request is on its way, since now or already before."""
        if part == self._part:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._part, self._timer = part, None
        if part:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self.door.tally.drop(f"slow {self._part}", address_of(self.transport))
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # no answer has begun
            self.transport.write(answer(408, "this request took too long"))
        self.transport.close()


class WebSocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket that ends if its client does not take what it is sent, or does not answer."""

    door: ClassVar[Door]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It was an HTTP connection."""
        self._reader = Reader(self.door, cast(asyncio.Transport, transport))
        super().connection_made(transport)

    def pause_writing(self) -> None:
        """The client does not take all that it is sent."""
        super().pause_writing()
        self._reader.wait()

    def resume_writing(self) -> None:
        """The client has taken it."""
        self._reader.done()
        super().resume_writing()

    def keepalive_timeout(self) -> None:
        """The client does not answer; what it was sent last may never leave."""
        super().keepalive_timeout()
        self.door.tally.drop("does not answer", address_of(self.transport))
        self.loop.call_later(PARTING_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._reader.done()
        self.door.leave(self.transport)
        super().connection_lost(exc)
