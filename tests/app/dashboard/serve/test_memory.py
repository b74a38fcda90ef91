"""Sessions that have closed leave nothing behind on the server: objects are counted, since megabytes vary."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from benchmarks.dashboard.streamlit_client import Session
from tests.serving import PATIENCE, Server, running

pytestmark = pytest.mark.xdist_group("server")
# closed sessions and their jobs are kept for a while, here for none; a signal has the server count its objects
PROGRAM = """
import gc, json, pathlib, signal, sys, threading
from collections import Counter
from app.dashboard.jobs import job_queue
from app.dashboard.serve import server

job_queue.GRACE_SECONDS = 0.0
server.SETTINGS["server.disconnectedSessionTTL"] = 0
server.warm = lambda: None

def count(*_):
    for _ in range(3):
        gc.collect()
    kinds = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
    file = pathlib.Path(sys.argv[1])
    file.with_suffix(".part").write_text(json.dumps({"threads": threading.active_count(), **kinds}))
    file.with_suffix(".part").rename(file)

signal.signal(signal.SIGUSR1, count)
server.serve(port=0, runs=sys.argv[2])
"""
WATCHED = ("streamlit", "starlette", "uvicorn", "websockets", "app", "designer", "asyncio", "threading")


def unfinished(server: Server) -> int:
    """Jobs, which have their time to notice that nobody waits for them."""
    with urlopen(f"{server.address}/_austerity/metrics", timeout=PATIENCE) as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(line.split()[-1]) for line in lines if line.startswith("austerity_jobs{"))


def counted(server: Server, file: Path) -> dict[str, int]:
    file.unlink(missing_ok=True)
    end = time.monotonic() + PATIENCE
    while unfinished(server):
        assert time.monotonic() < end
        time.sleep(0.1)
    server.process.send_signal(signal.SIGUSR1)
    while not file.exists():
        assert time.monotonic() < end and server.process.poll() is None, server.said()
        time.sleep(0.05)
    found: dict[str, int] = json.loads(file.read_text())
    return found


async def visits(address: str, number: int) -> list[str]:
    """Sessions that see the first page, with its job, and another one, five at a time; all are the same."""
    errors = list[str]()
    for _ in range(0, number, 5):
        some = [Session(address) for _ in range(5)]
        await asyncio.gather(*(session.open(query="", page="method") for session in some))
        await asyncio.gather(*(session.close() for session in some))
        errors += [error for session in some for error in session.errors]
    return errors


def test_closed_sessions_leave_nothing(tmp_path):
    counts = tmp_path / "counts.json"
    with running("-c", PROGRAM, str(counts), str(tmp_path / "runs")) as server:
        assert asyncio.run(visits(server.address, 5)) == []  # what is cached is so now: all visits are the same
        before = counted(server, counts)
        assert asyncio.run(visits(server.address, 30)) == []
        end = time.monotonic() + PATIENCE
        while left := grown(before, counted(server, counts)):  # the last sessions may still be closing
            assert time.monotonic() < end, left
            time.sleep(0.5)


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """What there is more of: half an object for each session, or a few threads, or a session."""
    ours = {name for name in after if name.partition(".")[0] in WATCHED}
    more = {name: after[name] - before.get(name, 0) for name in ours if after[name] - before.get(name, 0) >= 15}
    sessions = after.get("streamlit.runtime.app_session.AppSession", 0)
    more |= {"sessions": sessions} if sessions > 1 else {}
    return more | ({"threads": after["threads"]} if after["threads"] > before["threads"] + 5 else {})
