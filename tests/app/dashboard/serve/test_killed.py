"""A server that is killed (SIGKILL) leaves no process behind: neither a run nor a live experiment."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from benchmarks.dashboard.streamlit_client import Session
from tests.commands import austerity
from tests.serving import PATIENCE, running

pytestmark = [
    pytest.mark.xdist_group("server"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
]


def children(parent: int) -> dict[int, str]:
    """The processes that a process has started, and their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, its_parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(its_parent) == parent and state not in "ZX":
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:  # it has just ended
            continue
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


async def start_both(address: str) -> None:
    """As a person does, on two pages."""
    session = Session(address)
    await session.open(page="monitor", query="")
    await session.press(session.button("Start"))
    await session.ask("experiment=e3", "experiments")
    async with asyncio.timeout(PATIENCE):
        while session.button("Run it now") is None:  # what has ended may be the strip, which follows the run
            await asyncio.sleep(0.1)
    await session.press(session.button("Run it now"))
    assert session.errors == []
    await session.close()


def test_no_process_is_left(tmp_path):
    command = austerity("app", "--port", 0, "--no-browser", "--runs", tmp_path / "runs")[1:]
    with running(*command) as server:
        asyncio.run(start_both(server.address))
        until(lambda: len(children(server.process.pid)) == 2)
        started = children(server.process.pid)
        assert sorted(words.split(" app.cli.child ")[1].split()[1] for words in started.values()) == [
            "experiment",
            "run",
        ]
        until(lambda: list(tmp_path.glob("runs/*/output/chain-*/state-*.bin")))  # the run has something to save
        below = [pid for child in started for pid in children(child)]
        server.process.kill()
        server.process.wait(PATIENCE)
        until(lambda: not any(map(alive, [*started, *below])))
