"""Too many clients, and slow ones: each gets one clear line, or its connection ends; the server goes on."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from websockets.exceptions import InvalidStatus

from benchmarks.dashboard.streamlit_client import Session
from tests.app.dashboard.serve.small_server import answer_to, connected, rest, small
from tests.serving import PATIENCE, Server

pytestmark = pytest.mark.xdist_group("server")
LIMITS = """limits=Limits(connections=40, connections_of_one=20, sessions=3, sessions_of_one=2,
    head_seconds=1.0, body_seconds=1.0, taking_seconds=1.0)"""
HEALTH = "/_austerity/health"


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with small(tmp_path_factory.mktemp("small"), LIMITS) as server:
        yield server
        assert "Traceback" not in server.said()


def metric(server: Server, name: str) -> float:
    lines = answer_to(server, "/_austerity/metrics").decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"austerity_{name}"))


def until(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(server: Server) -> bool:
    return answer_to(server, HEALTH).endswith(b"\r\n\r\nok")


def test_more_connections_than_files(tmp_path):
    """With few files left the server refuses in one line, says so once, and recovers when the others leave."""
    few = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))"
    with small(tmp_path, first=few) as server:
        assert metric(server, "connections_limit") == 128
        with ExitStack() as stack:
            crowd = [stack.enter_context(connected(server, f"127.0.0.{2 + k % 8}")) for k in range(400)]
            answers = [rest(one) for one in crowd[200:]]
            assert any(b"503" in one and b"this server has 128 connections" in one for one in answers)
            assert answers.count(b"") > 50  # too many even to be told
            assert server.process.poll() is None
        until(lambda: alive(server))
        said = server.said()
        assert "Traceback" not in said and "Too many open files" not in said
        lines = [line for line in said.splitlines() if "reason=connections" in line]
        assert 1 <= len(lines) < 10


def test_one_address_cannot_take_all_connections(server):
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connected(server, "127.0.0.2"))
        until(lambda: b"429" in answer_to(server, HEALTH, "127.0.0.2"))
        assert b"your address has 20 connections" in answer_to(server, HEALTH, "127.0.0.2")
        assert alive(server)
    until(lambda: answer_to(server, HEALTH, "127.0.0.2").endswith(b"ok"))


def test_sessions_have_a_limit(server):
    """The page is refused too, since no browser shows why a WebSocket was."""

    async def visit() -> None:
        sessions = [Session(server.address) for _ in range(3)]
        for one in sessions[:2]:
            await one.open(page="")
        with pytest.raises(InvalidStatus) as refused:
            await sessions[2].open(page="")
        assert refused.value.response.status_code == 429
        page = await asyncio.to_thread(answer_to, server, "/", "127.0.0.1", "Accept: text/html")
        assert b"429" in page and b"your address has 2 windows open here, the limit; close some" in page
        other = await asyncio.to_thread(answer_to, server, "/", "127.0.0.2", "Accept: text/html")
        assert b"<title>" in other
        for one in sessions[:2]:
            await one.close()
        assert [one.errors for one in sessions[:2]] == [[], []]

    asyncio.run(visit())
    until(lambda: b"<title>" in answer_to(server, "/", "127.0.0.1", "Accept: text/html"))
    assert metric(server, "sessions ") == 0


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127"], ids=["nothing", "half a head"])
def test_slow_requests_end(server, sent):
    before = metric(server, "dropped_total")
    with connected(server) as connection:
        connection.sendall(sent)
        got = rest(connection)
    assert got.endswith(b"this request took too long\n") and b" 408 " in got
    assert metric(server, "dropped_total") == before + 1
    assert alive(server)


def test_a_second_request_has_as_long_as_the_first(server):
    with connected(server) as connection:
        connection.sendall(f"GET {HEALTH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        got = b""
        while not got.endswith(b"ok"):
            got += connection.recv(65_536)
        connection.sendall(b"GET / HT")
        assert rest(connection).endswith(b"this request took too long\n")


def test_a_client_that_sends_bytes_now_and_then_is_slow_too(server):
    with connected(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        connection.settimeout(0.05)
        end, got = time.monotonic() + PATIENCE, b""
        while b"this request took too long" not in got:
            assert time.monotonic() < end
            connection.sendall(b"x")
            with suppress(TimeoutError):
                got += connection.recv(65_536)
    assert alive(server)


def test_a_websocket_that_does_not_read_ends(server):
    """It is sent more than the buffers between the two hold."""
    before = metric(server, 'dropped_total{reason="does not read"}')

    async def visit() -> None:
        session = Session(server.address)
        await session.open(page="")
        session._listening.cancel()
        transport = session._connection.transport
        transport.pause_reading()
        await asyncio.wait([asyncio.create_task(session.ask("much=1"))], timeout=1.0)
        end = time.monotonic() + PATIENCE
        while await asyncio.to_thread(metric, server, 'dropped_total{reason="does not read"}') == before:
            assert time.monotonic() < end
            await asyncio.sleep(0.1)
        transport.abort()

    asyncio.run(visit())
    until(lambda: metric(server, "sessions ") == 0)
    assert alive(server)


def test_the_limit_on_open_files_is_raised():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (300, 1000));"
        "from app.dashboard.serve.limits import Limits, open_files; files = open_files();"
        "print(files, resource.getrlimit(resource.RLIMIT_NOFILE)[0], Limits().within(files)[:2])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=2) == ["1000", "1000", "(500, 250)\n"]


def test_too_few_files_are_refused_in_one_line():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100));"
        "from app.dashboard.serve.limits import open_files; open_files()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "this process may open 100 files, and a server needs 256" in done.stderr.splitlines()[-1]


def test_a_broken_client_leaves_no_trace(server):
    """It ends in the middle of an upload, or speaks no HTTP."""
    for sent in (b"\x16\x03\x01 not http\r\n\r\n", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx"):
        with connected(server) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            rest(connection)
    assert alive(server)
    assert "Traceback" not in server.said()
