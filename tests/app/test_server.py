"""The server over real HTTP: who is let in, what every answer carries, how it starts and stops."""

from __future__ import annotations

import gzip
import http.client
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.cookies import SimpleCookie

import pytest

from app.server import MOST_MEGABYTES, listen
from tests.serving import Server, running

pytestmark = pytest.mark.xdist_group("server")
UPLOAD = "/_stcore/upload_file/no-such-session/some-file"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as server:
        yield server


def ask(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.text = b"" if answer.status == 101 else answer.read()
    connection.close()
    return answer


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 200),
        ("/explore", {}, 200),
        ("/_stcore/health", {}, 200),
        ("/media/nothing.png", {}, 404),
        ("/static/%2e%2e/secret", {}, 400),
        ("/", {"Host": "evil.example"}, 403),
        ("/", {"Host": "["}, 403),
        ("/", {"Host": "[::1"}, 403),
        ("/", {"Host": "a]:b[:1"}, 403),
    ],
)
def test_every_answer_carries_the_security_headers(server, path, headers, status):
    answer = ask(server, "GET", path, **headers)
    assert answer.status == status
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert answer.headers["Server"] is None


def test_a_foreign_name_that_points_here_is_refused(server):
    """DNS rebinding: the browser believes it talks to evil.example."""
    assert ask(server, "GET", "/_stcore/health", Host=f"localhost:{server.port}").text == b"ok"
    assert ask(server, "GET", "/_stcore/health", Host=f"evil.example:{server.port}").status == 403


def test_other_sites_cannot_open_a_session(server):
    own = f"http://127.0.0.1:{server.port}"
    assert ask(server, "GET", "/_stcore/stream", Origin=own, **HANDSHAKE).status == 101
    assert ask(server, "GET", "/_stcore/stream", Origin="http://evil.example", **HANDSHAKE).status == 403
    assert ask(server, "GET", "/_stcore/stream", Origin="http://[", **HANDSHAKE).status == 403
    assert (
        ask(server, "GET", "/_stcore/stream", Origin=f"http://127.0.0.1:{server.port + 1}", **HANDSHAKE).status == 403
    )


def test_pages_are_compressed(server):
    plain, packed = ask(server, "GET", "/"), ask(server, "GET", "/", Accept_Encoding="gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.text) == plain.text
    assert len(packed.text) < len(plain.text) / 2


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_large_uploads_are_refused_unread(server, method):
    """The answer comes although the body never does."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest(method, UPLOAD)
    connection.putheader("Content-Length", str((MOST_MEGABYTES + 10) * 2**20))
    connection.endheaders(b"start")
    assert connection.getresponse().status == 413
    connection.close()


def test_uploads_need_the_token(server):
    """XSRF: the token in the header must match the one in the cookie, which other sites cannot read."""
    found = SimpleCookie(ask(server, "GET", "/_stcore/health").headers["Set-Cookie"] or "")
    assert "_streamlit_xsrf" in found, "the server gives no token"
    token = found["_streamlit_xsrf"].value
    cookie = f"_streamlit_xsrf={token}"
    assert ask(server, "PUT", UPLOAD, b"mu,sigma").status == 403
    assert ask(server, "PUT", UPLOAD, b"mu,sigma", Cookie=cookie).status == 403
    with_token = ask(server, "PUT", UPLOAD, b"mu,sigma", Cookie=cookie, X_Xsrftoken=token)
    assert with_token.status == 400
    assert b"session" in with_token.text


def test_a_port_in_use_is_one_line(server):
    found = subprocess.run(
        [sys.executable, "-m", "app.cli", "app", "--no-browser", "--port", str(server.port)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert f"cannot listen on 127.0.0.1:{server.port}: address already in use" in line


def test_an_unknown_host_is_one_line(refuses):
    refuses(lambda: listen("no.such.host.invalid", 8501), "no.such.host.invalid:8501", "--port")


def test_listens_on_one_address_only(server):
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.port), timeout=5).close()


def test_stops_when_interrupted():
    with running() as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=30) == 0
        assert "Traceback" not in server.said()
