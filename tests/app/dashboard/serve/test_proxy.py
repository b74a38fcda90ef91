"""Behind a real nginx, below a path and with a token; tests/browser has the same in a browser."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from websockets.exceptions import InvalidStatus

from benchmarks.dashboard.streamlit_client import Session
from tests import nginx
from tests.app.dashboard.serve.small_server import small
from tests.serving import PATIENCE, Server

pytestmark = pytest.mark.xdist_group("server")
GIVEN = "sixteen characters or more"
KNOWN = {"Authorization": f"Bearer {GIVEN}"}
BASE = nginx.BASE


class Place(NamedTuple):
    """The server, and the port of nginx."""

    server: Server
    port: int

    def ask(self, path: str, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.text = answer.read()  # type: ignore[attr-defined]
        connection.close()
        return answer


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Iterator[Place]:
    nginx.needed()
    port = nginx.free_port()
    options = f'token={GIVEN!r}, public_url="http://127.0.0.1:{port}{BASE}", limits=Limits(sessions_of_one=1)'
    with (
        small(tmp_path_factory.mktemp("server"), options) as server,
        nginx.nginx(tmp_path_factory.mktemp("nginx"), port, server.port) as log,
    ):
        yield Place(server, port)
        assert "Traceback" not in server.said()
        assert GIVEN not in server.said()
        assert "[error]" not in log.read_text()


def test_over_http(place):
    assert place.ask(BASE).headers["Location"].endswith(f"{BASE}/")
    assert place.ask(f"{BASE}/").status == 401
    assert place.ask(f"{BASE}/_austerity/health").text == b"ok"
    page = place.ask(f"{BASE}/explore", **KNOWN)
    assert b"<title>" in page.text
    for part in page.headers["Link"].split(", "):
        address = part[1 : part.index(">")]
        assert address.startswith(f"{BASE}/")
        assert "javascript" in place.ask(address, **KNOWN).headers["Content-Type"]
    entered = place.ask(f"{BASE}/explore?token={GIVEN.replace(' ', '+')}")
    assert (entered.status, entered.headers["Location"]) == (303, f"{BASE}/explore")
    assert f"Path={BASE};" in entered.headers["Set-Cookie"]
    assert place.ask(f"{BASE}/_austerity/metrics", **KNOWN).status == 200


def test_names_that_are_not_the_public_one_are_refused(place):
    assert place.ask(f"{BASE}/_austerity/health", Host="evil.example").status == 400


def test_sessions_over_websockets(place):
    """Through nginx, and from one that hands on a host without the port: the browser's origin is the public one.

    Clients are told apart by the address that nginx has seen.
    """
    own = KNOWN | {"Origin": f"http://127.0.0.1:{place.port}"}
    outside = f"http://127.0.0.1:{place.port}{BASE}"

    async def visit() -> None:
        first = Session(outside, own)
        await first.open(page="")
        with pytest.raises(InvalidStatus) as refused:
            await Session(outside, own).open(page="")
        assert refused.value.response.status_code == 429
        second = Session(place.server.address, own | {"X-Forwarded-For": "192.0.2.1"})
        await second.open(page="")
        for session in (first, second):
            await session.close()
            assert session.errors == []
        with pytest.raises(InvalidStatus) as refused:
            await Session(outside, KNOWN | {"Origin": "http://evil.example"}).open(page="")
        assert refused.value.response.status_code == 403

    asyncio.run(visit())
