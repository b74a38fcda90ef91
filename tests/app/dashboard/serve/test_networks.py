"""The addresses of one IPv6 network are one client to the limits."""

from __future__ import annotations

import asyncio

import pytest

from app.dashboard.jobs.addresses import client_of
from app.dashboard.serve.connections import Door
from app.dashboard.serve.limits import Limits
from app.dashboard.serve.sessions import Sessions
from app.dashboard.serve.tally import Tally

LIMITS = Limits(connections_of_one=2, sessions_of_one=2)


@pytest.mark.parametrize("address", ["2001:db8:1:2::", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::1%eth0"])
def test_addresses_of_one_network(address):
    assert client_of(address) == "2001:db8:1:2::/64"


@pytest.mark.parametrize("address", ["", "192.0.2.7", "::1", "unix"])
def test_other_addresses_are_clients_of_their_own(address):
    assert client_of(address) == address


def test_connections_of_one_network_are_counted_together():
    door = Door(LIMITS, Tally())
    transports = [asyncio.BaseTransport() for _ in range(2)]
    for number, transport in enumerate(transports):
        assert door.refusal("2001:db8::9") is None
        door.enter(transport, f"2001:db8::{number}")
    refusal = door.refusal("2001:db8::9")
    assert refusal is not None and refusal.status == 429
    assert door.refusal("2001:db8:0:1::9") is None
    door.leave(transports[0])
    assert door.refusal("2001:db8::9") is None
    door.leave(transports[1])
    assert not door._of_one


def test_sessions_of_one_network_are_counted_together():
    async def opened() -> None:
        held = asyncio.Event()

        async def app(scope, receive, send):
            await held.wait()

        sessions = Sessions(app, LIMITS, Tally())
        windows = [
            asyncio.create_task(sessions({"type": "websocket", "client": (f"2001:db8::{k}", 1)}, None, None))
            for k in range(2)
        ]
        await asyncio.sleep(0)
        refusal = sessions.refusal("2001:db8::9")
        assert refusal is not None and refusal.status == 429
        assert sessions.refusal("2001:db8:0:1::9") is None
        held.set()
        await asyncio.gather(*windows)
        assert sessions.open == 0 and not sessions.of_one

    asyncio.run(opened())
