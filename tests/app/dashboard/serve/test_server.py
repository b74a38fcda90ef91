"""The server over real HTTP: who is let in, what every answer carries, how it starts and stops."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import http.client
import json
import platform
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.cookies import SimpleCookie
from urllib.request import urlopen

import pytest
from plotly.offline import get_plotlyjs_version

from app.dashboard.serve.assets import FOLDER, SCRIPTS, SOON, Assets
from app.dashboard.serve.server import MOST_MEGABYTES, SCRIPT, listen
from app.dashboard.widgets import plotting
from benchmarks.dashboard.streamlit_client import Session, measure
from benchmarks.reliability.load import complaints
from tests.commands import austerity, finished
from tests.serving import PATIENCE, Server, running

pytestmark = pytest.mark.xdist_group("server")
# SHA-256 of plotly-basic.min.js in plotly.js-basic-dist-min 4.1.1
PUBLISHED = "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
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
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
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
        ("/", {"Host": "[::1]:8501"}, 200),
        ("/", {"Host": "LOCALHOST"}, 200),
        ("/", {"Host": "evil.example"}, 400),
        ("/", {"Host": "localhost.evil.example"}, 400),
        ("/", {"Host": "localhost@evil.example"}, 400),
        ("/", {"Host": ""}, 400),
        ("/", {"Host": "["}, 400),
        ("/", {"Host": "[::1"}, 400),
        ("/", {"Host": "a]:b[:1"}, 400),
    ],
)
def test_every_answer_carries_the_security_headers(server, path, headers, status):
    answer = ask(server, "GET", path, **headers)
    assert answer.status == status
    policy = answer.headers["Content-Security-Policy"]
    rules = {name: value for name, _, value in (part.partition(" ") for part in policy.split("; "))}
    for name in ("default-src", "frame-src", "frame-ancestors", "object-src", "base-uri", "form-action"):
        assert rules[name] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert {word for value in rules.values() for word in value.split() if not word.startswith("'sha256-")} == {
        "'none'",
        "'self'",
        "'unsafe-inline'",
        "data:",
        "blob:",
    }  # and no host, no wildcard, no scheme of the network
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
    assert ask(server, "GET", "/_stcore/health", Host=f"evil.example:{server.port}").status == 400
    names = {"Host": f"evil.example:{server.port}", "Origin": f"http://evil.example:{server.port}"}
    assert ask(server, "GET", "/_stcore/stream", **names, **HANDSHAKE).status == 400


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


def test_scripts_are_packed_once_and_are_what_the_folders_have(server):
    own = [(plotting.ADDRESS, plotting.FOLDER / name) for name in (plotting.MODULE, plotting.LIBRARY)]
    for folder, file in [*own, *((SCRIPTS, file) for file in FOLDER.glob("Slider.*.js"))]:
        address = f"{folder}{file.name}"
        first, again = (ask(server, "GET", address, Accept_Encoding="gzip") for _ in range(2))
        plain = ask(server, "GET", address)
        assert first.text == again.text
        assert len(first.text) < file.stat().st_size / 2
        assert gzip.decompress(first.text) == plain.text == file.read_bytes()
        for answer in (first, again):
            assert answer.headers["Content-Encoding"] == "gzip"
            assert "immutable" in answer.headers["Cache-Control"]
            assert "javascript" in answer.headers["Content-Type"]
            assert answer.headers["Vary"] == "Accept-Encoding"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        known = ask(server, "GET", address, Accept_Encoding="gzip", If_None_Match=plain.headers["ETag"])
        assert known.status == 304


def test_only_the_scripts_of_figures_are_served_from_their_folder(server):
    answer = ask(server, "GET", f"{plotting.ADDRESS}plotly-basic.LICENSE")
    assert "html" in answer.headers["Content-Type"]  # Streamlit's page, as for any other address


def test_scripts_of_figures_can_only_be_read(server):
    address = f"{plotting.ADDRESS}{plotting.MODULE}"
    assert ask(server, "HEAD", address).status == 200
    assert ask(server, "POST", address).status == 405
    assert "Traceback" not in server.said()


def test_the_browser_draws_with_the_published_script_that_the_python_package_is_made_for():
    text = (plotting.FOLDER / plotting.LIBRARY).read_bytes()
    assert hashlib.sha256(text).hexdigest() == PUBLISHED
    assert b"plotly.js (basic - minified) v" + get_plotlyjs_version().split(".")[0].encode() in text[:200]


def test_only_what_never_changes_is_kept():
    """Any other path is answered with the page itself; who asks for many, or for one by many names, fills no memory."""

    async def application(scope, receive, send):
        age = "public, immutable, max-age=9" if scope["path"].endswith("a.js") else "no-cache"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", age.encode())]})
        await send({"type": "http.response.body", "body": b"x" * 999})

    sent = []

    async def send(message):
        sent.append(message)

    assets = Assets(application)
    for path in ("a.js", "b.js", "b.js", "./a.js", "//a.js", "../js/a.js"):
        headers = [(b"accept-encoding", b"gzip")]
        scope = {"type": "http", "method": "GET", "path": f"{SCRIPTS}{path}", "headers": headers}
        asyncio.run(assets(scope, None, send))
    assert list(assets.packed) == [f"{SCRIPTS}a.js"]
    assert [message["body"] for message in sent[3::2]] == [b"x" * 999] * 5
    assert gzip.decompress(sent[1]["body"]) == b"x" * 999


@pytest.mark.parametrize("path", ["/", "/step-error"])
def test_pages_name_the_scripts_they_will_need(server, path):
    named = ask(server, "GET", path).headers["Link"].split(", ")
    own = [f"{plotting.ADDRESS}{name}" for name in (plotting.LIBRARY, plotting.MODULE)]
    wanted = [*own, *(f"{SCRIPTS}{name}." for name in SOON)]
    for start, part in zip(wanted, named, strict=True):
        address = part[1 : part.index(">")]
        assert address.startswith(start)
        assert "javascript" in ask(server, "GET", address).headers["Content-Type"]
    assert ask(server, "GET", "/_stcore/health").headers["Link"] is None


def test_sessions_that_move_a_slider_at_once_see_their_own_page(server):
    times = measure(server.address, server.process.pid, "Threshold ε", sessions=3, moves=2)
    shown = [page.headline for page in times.pages]
    assert all("ε = 0.04:" in headline for headline in shown[:3])
    assert all("ε = 0.03:" in headline for headline in shown[3:])
    assert all(0 < page.figure < page.end and page.size > 10_000 for page in times.pages)


def test_a_file_is_there_for_the_browser_while_others_use_the_server(server):
    """To Streamlit, files that are made on request belong to no session."""

    async def visit(address: str) -> int:
        one, other = Session(address), Session(address)
        await one.open()
        await one.ask(page="trial-run")
        (offer,) = [offer for offer in one.offers() if offer.part.label == "These pairs as CSV"]
        assert offer.part.deferred_file_id
        place = await one.file_path(offer)
        await other.open()
        for _ in range(3):
            await other.move(other.sliders()[0], 1)
        content = await asyncio.to_thread(lambda: urlopen(address + place).read())
        await one.close()
        await other.close()
        assert one.errors == other.errors == []
        return len(content)

    before = len(server.said())
    assert asyncio.run(visit(server.address)) > 1000
    assert complaints(server.said()[before:]) == []


def test_a_warm_server_has_little_to_collect():
    """Everybody waits while garbage is collected."""
    script = (
        "import gc; from app.dashboard.serve.server import warm; warm()\n"
        "from app.dashboard.serve.garbage import exempt_what_is_loaded; exempt_what_is_loaded()\n"
        "from app.dashboard.pages import explore; import pandas, pyarrow\n"
        "print(gc.get_freeze_count(), len(gc.get_objects()))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=True)
    frozen, left = map(int, found.stdout.split()[-2:])
    assert frozen > 100_000
    assert left < 1_000


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_large_uploads_are_refused_unread(server, method):
    """The answer comes although the body never does."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
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


def test_the_script_has_no_pages_beside_it():
    """Streamlit would run the files of such a folder as pages: a first visit to /method would show an empty one."""
    assert SCRIPT.is_file() and not (SCRIPT.parent / "pages").exists()


def test_a_port_in_use_is_one_line(server):
    found = finished(austerity("app", "--no-browser", "--port", server.port))
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
        assert server.process.wait(timeout=PATIENCE) == 0
        assert "Traceback" not in server.said()


def test_runs_of_pages_leave_the_path_of_imports_alone(tmp_path):
    """Streamlit would put the script's directory first for each run: imports of other threads would miss an entry."""
    script, seen = tmp_path / "page.py", tmp_path / "seen"
    script.write_text(f"import pathlib, sys\npathlib.Path({str(seen)!r}).write_text(chr(10).join(sys.path))\n")
    imports = "import pathlib, sys; from app.dashboard.serve.server import serve"
    serve = f"{imports}; serve(port=0, script=pathlib.Path(sys.argv[1]))"
    with running("-c", serve, str(script)) as server:
        session = Session(server.address)
        asyncio.run(_visit(session))
    assert session.errors == []
    places = seen.read_text().splitlines()
    assert places.count(str(tmp_path)) == 1 and places[-1] == str(tmp_path)


async def _visit(session: Session) -> None:
    await session.open()
    await session.close()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such knobs")
def test_freed_memory_goes_back_to_the_system():
    """Large blocks between small ones that stay, after a larger one was freed: glibc would keep all of them."""
    work = """
import ctypes, sys
from pathlib import Path
from app.dashboard.serve.server import return_memory
def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 2**20
return_memory()
blocks, small = [b"x" * (31 << 20)], []
blocks.clear()
before = megabytes()
for _ in range(10):
    blocks.append(b"x" * (20 << 20))
    small.append(ctypes.create_string_buffer(100_000))
most = megabytes() - before
blocks.clear()
print(most, megabytes() - before)
"""
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True)
    most, left = map(int, done.stdout.split())
    assert most > 190 and left < 30


def test_programs_are_answered_beside_the_dashboard(server):
    described = ask(server, "GET", "/api/1/openapi.json")
    assert described.status == 200 and json.loads(described.text)["openapi"] == "3.1.0"
    assert "default-src 'none'" in described.headers["Content-Security-Policy"]
    body = json.dumps({"n_data": 12_214, "m": 500, "epsilon": 0.05, "mu_std": 0})
    answer = ask(server, "POST", "/api/1/evaluate", body, Content_Type="application/json")
    assert answer.status == 200 and json.loads(answer.text)["looks"] == 25
    assert ask(server, "POST", "/api/1/nothing", body, Content_Type="application/json").status == 404
    assert ask(server, "GET", "/api/1/evaluate").status == 405
    foreign = ask(server, "POST", "/api/1/evaluate", body, Content_Type="application/json", Host="evil.example")
    assert foreign.status == 400


def test_a_body_of_unknown_length_is_refused(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    headers = {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}
    connection.request("POST", "/api/1/evaluate", iter([b"{}"]), headers, encode_chunked=True)
    assert connection.getresponse().status == 411
    connection.close()
