"""Behind a real nginx, below a path and with a token: pages, figures, uploads, downloads, WebSockets."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from benchmarks.dashboard.streamlit_client import Session
from tests import nginx
from tests.browser.driving import Screen
from tests.commands import austerity
from tests.serving import PATIENCE, Server, running

SECRET = "sixteen characters or more"
BASE = "/austerity"


class Place(NamedTuple):
    """The server, and the address that browsers see."""

    server: Server
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}{BASE}"

    def ask(self, path: str, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        answer.text = answer.read()  # type: ignore[attr-defined]
        connection.close()
        return answer


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Iterator[Place]:
    if nginx.PROGRAM is None:
        pytest.skip("NO NGINX, NOT TESTED BEHIND A PROXY: make servers, or apt-get install nginx-light")
    port = nginx.free_port()
    options = ("--token", SECRET, "--public-url", f"http://127.0.0.1:{port}{BASE}")
    with (
        running(*austerity("app", "--port", 0, "--no-browser", *options)[1:]) as server,
        nginx.nginx(tmp_path_factory.mktemp("nginx"), port, server.port) as log,
    ):
        yield Place(server, port)
        assert "Traceback" not in server.said()
        assert SECRET not in server.said()
        assert "[error]" not in log.read_text()


def test_over_http(place):
    assert place.ask("/austerity").headers["Location"].endswith("/austerity/")
    assert place.ask(f"{BASE}/").status == 401
    assert place.ask(f"{BASE}/_austerity/health").text == b"ok"
    known = {"Authorization": f"Bearer {SECRET}"}
    page = place.ask(f"{BASE}/explore", **known)
    assert b"<title>" in page.text
    for part in page.headers["Link"].split(", "):
        address = part[1 : part.index(">")]
        assert address.startswith(f"{BASE}/")
        assert "javascript" in place.ask(address, **known).headers["Content-Type"]
    entered = place.ask(f"{BASE}/explore?token={SECRET.replace(' ', '+')}")
    assert (entered.status, entered.headers["Location"]) == (303, f"{BASE}/explore")
    assert f"Path={BASE};" in entered.headers["Set-Cookie"]
    assert place.ask(f"{BASE}/_austerity/metrics", **known).status == 200


def test_names_that_are_not_the_public_one_are_refused(place):
    assert place.ask(f"{BASE}/_austerity/health", Host="evil.example").status == 400


def test_a_session_over_websockets(place):
    """Also if nginx hands on a host without the port: the browser's origin is the public one."""

    async def visit() -> Session:
        headers = {"Authorization": f"Bearer {SECRET}", "Origin": f"http://127.0.0.1:{place.port}"}
        for address in (place.address, place.server.address):
            session = Session(address, headers)
            await session.open()
            await session.move(session.sliders()[0], 1)
            await session.close()
            assert session.errors == []
        return session

    assert "ε" in asyncio.run(visit()).last.headline


def test_in_a_browser(place, browser):
    screen = Screen(browser, place.address)
    screen.page.goto(f"{place.address}/explore")
    screen.page.get_by_label("Token").fill("something else, wrong")
    screen.page.get_by_role("button", name="Open").click()
    assert "not the token" in screen.page.inner_text("body")
    screen.page.get_by_label("Token").fill(SECRET)
    screen.wrong.clear()  # Chromium reports 401 and 403
    screen.page.get_by_role("button", name="Open").click()
    screen.drawn()
    assert screen.page.url.startswith(f"{place.address}/explore")
    assert "token" not in screen.page.url
    screen.turn("Start")
    screen.drawn()
    screen.go("trial-run")
    with screen.page.expect_download() as download:
        screen.page.get_by_role("button", name="These pairs as CSV").click()
    assert download.value.path().stat().st_size > 1000
    assert screen.alarms() == []
    assert {urlsplit(url).path.startswith(f"{BASE}/") for url in screen.asked if url.startswith("http")} == {True}
    assert screen.wrong == []
    screen.close()
