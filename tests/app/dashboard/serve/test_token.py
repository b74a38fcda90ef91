"""The token: nothing but the health of the server is to be had without it, and no log has it."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator
from http.cookies import SimpleCookie

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from app.dashboard.serve.assets import FOLDER, SCRIPTS
from app.dashboard.serve.server import serve
from app.dashboard.serve.token import COOKIE, FORM, chosen
from app.dashboard.widgets import plotting
from tests.app.dashboard.serve.small_server import connected, rest, small
from tests.commands import austerity, finished
from tests.serving import PATIENCE, Server

pytestmark = pytest.mark.xdist_group("server")
RIGHT = "of at least 16 characters; ünusual"  # spaces, a semicolon and an umlaut, which cookies have not
OPTIONS = f'token={RIGHT!r}, log_level="debug", log_format="json", limits=Limits(body_seconds=1.0)'
SCRIPT = next(FOLDER.glob("Slider.*.js")).name


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with small(tmp_path_factory.mktemp("token"), OPTIONS) as server:
        yield server
        said = server.said()
        assert "Traceback" not in said
        assert RIGHT not in said and "%C3%BCnusual" not in said
        events = [json.loads(line) for line in said.splitlines()]
        assert all({"time", "level", "from", "event"} <= event.keys() for event in events)
        assert {"session opened", "session closed", "refused"} <= {event["event"] for event in events}


def ask(server, path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.text = answer.read().decode()
    connection.close()
    return answer


def bearer(token: str = RIGHT) -> dict[str, bytes]:
    return {"Authorization": b"Bearer " + token.encode()}


def cookie_of(answer) -> dict[str, str]:
    for line in answer.headers.get_all("Set-Cookie", []):
        if line.startswith(COOKIE):
            assert "HttpOnly" in line and "SameSite=Lax" in line and "Path=/" in line
            return {"Cookie": f"{COOKIE}={SimpleCookie(line)[COOKIE].value}"}
    return {}


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/explore",
        f"{SCRIPTS}{SCRIPT}",
        f"{plotting.ADDRESS}{plotting.MODULE}",
        "/_stcore/health",
        "/_stcore/host-config",
        "/_stcore/metrics",
        "/_austerity/metrics",
        "/media/x.png",
        "/_austerity/health/",
        "//_austerity/health",
    ],
)
def test_every_address_asks_for_it(server, path):
    answer = ask(server, path)
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.text == "This server asks for a token. Whoever runs it has it.\n"
    assert answer.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
def test_uploads_ask_for_it(server, method):
    assert ask(server, "/_stcore/upload_file/a/b", method, b"mu,sigma").status == 401


def test_health_does_not(server):
    assert (ask(server, "/_austerity/health").status, ask(server, "/_austerity/health").text) == (200, "ok")


def test_websockets_ask_for_it(server):
    async def visit(**headers: bytes) -> bytes | str:
        address = f"ws://127.0.0.1:{server.port}/_stcore/stream"
        given = {name: value.decode("latin-1") for name, value in headers.items()}
        async with connect(address, subprotocols=["streamlit"], additional_headers=given):
            return "open"

    without, wrong = {}, bearer("not the token of it")
    for headers, status in ((without, 401), (wrong, 403), ({"Cookie": f"{COOKIE}=x".encode()}, 401)):
        with pytest.raises(InvalidStatus) as refused:
            asyncio.run(visit(**headers))
        assert refused.value.response.status_code == status
    assert asyncio.run(visit(Cookie=cookie_of(_entered(server))["Cookie"].encode())) == "open"


def _entered(server, path="/explore?eps=0.1&token="):
    return ask(server, path + "of%20at%20least%2016%20characters%3B%20%C3%BCnusual")


def test_a_link_sets_a_cookie_and_leads_away_from_the_token(server):
    answer = _entered(server)
    assert (answer.status, answer.headers["Location"]) == (303, "/explore?eps=0.1")
    assert RIGHT not in str(answer.headers)
    kept = cookie_of(answer)
    assert "<title>" in ask(server, "/explore", **kept).text
    assert _entered(server, "//evil.example/?token=").headers["Location"] == "/evil.example/"
    assert _entered(server, "/%5Cevil.example?token=").headers["Location"] == "/evil.example"
    again = ask(server, "/?token=wrong", **kept)
    assert (again.status, cookie_of(again)) == (403, {})


def test_the_form_does_the_same(server):
    page = ask(server, "/explore", Accept="text/html")
    assert page.status == 401 and '<form method="post">' in page.text
    assert "form-action 'self'" in page.headers["Content-Security-Policy"]
    assert "script-src" not in page.headers["Content-Security-Policy"]
    body = "token=of+at+least+16+characters%3B+%C3%BCnusual"
    answer = ask(server, "/explore?a=1", "POST", body, Content_Type=FORM)
    assert (answer.status, answer.headers["Location"]) == (303, "/explore?a=1")
    assert ask(server, "/", **cookie_of(answer)).status == 200
    wrong = ask(server, "/explore", "POST", "token=<script>", Content_Type=FORM, Accept="text/html")
    assert wrong.status == 403 and "This is not the token of this server." in wrong.text
    assert "<script>" not in wrong.text


def test_programs_send_a_header(server):
    text = ask(server, "/_austerity/metrics", **bearer()).text
    assert "# TYPE austerity_sessions gauge\nausterity_sessions " in text
    assert 'austerity_jobs{state="running"} 0' in text
    assert 'austerity_refusals_total{reason="no token"} ' in text
    assert ask(server, "/_austerity/metrics", **bearer("not the token of it")).status == 403


def test_half_a_form_ends(server):
    with connected(server) as connection:
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: 99\r\n\r\ntoken="
        connection.sendall(head.encode())
        assert rest(connection).endswith(b"this request took too long\n")


def test_a_token_must_be_long_enough(refuses):
    refuses(lambda: chosen("short"), "--token", "at least 16 characters")
    refuses(lambda: chosen(" " * 20), "--token")
    assert len(chosen("auto")) >= 32 and chosen("auto") != chosen("auto")
    assert (chosen(""), chosen(RIGHT)) == ("", RIGHT)


def test_bad_settings_are_one_line(refuses):
    found = finished(austerity("app", "--no-browser", "--port", 0, "--token", "short"))
    (line,) = found.stderr.splitlines()
    assert found.returncode == 2 and "--token: must be auto, or have at least 16 characters" in line
    refuses(lambda: serve(proxies=["192.0.2.7"]), "--proxy", "needs --public-url")
    refuses(lambda: serve(proxies=["192.0.2.0/24"], public_url="https://host"), "must be an IP address")
    refuses(lambda: serve(token="auto", log_format="json"), "give a token in AUSTERITY_TOKEN")
    for given in (
        "host/austerity",
        "https://host/a?b",
        "https://host/a/../b",
        "https://[host/a",
        "ftp://host",
        "https://",
    ):
        refuses(lambda given=given: serve(public_url=given), f"--public-url = {given!r}", "must be like https://")


def test_everybody_is_warned_of_a_server_without_a_token(tmp_path):
    with small(tmp_path, 'host="0.0.0.0", token="auto"') as closed:
        with small(tmp_path, 'host="0.0.0.0"') as opened:
            assert "http://0.0.0.0" in opened.said()
            assert "is open to everybody who can reach it: there is no --token" in opened.said()
        made = closed.said().partition("the token is ")[2].partition(":")[0]
        assert "there is no --token" not in closed.said()
        assert ask(closed, "/").status == 401
        assert ask(closed, f"/?token={made}").status == 303
        assert ask(closed, "/", Authorization=f"Bearer {made}").status == 200
