"""Memory after many visits: `python -m benchmarks.reliability.visits [--visits 200]`.

Each visit is a session of its own, over a real WebSocket: it opens a page, moves a slider, turns to other pages, and
leaves. Ten are there at a time. Streamlit keeps a closed session for two minutes, in case its browser comes back.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.dashboard.streamlit_client import Session
from benchmarks.reliability.load import FORGOTTEN, complaints, look
from tests.serving import Server, running

TOGETHER = 10
PAGES = ("trial-run", "learn", "league", "experiments", "monitor", "method")  # those that search take their time
EVERY = 50  # visits between two rows of the table


class Memory(NamedTuple):
    """The server after so many visits: megabytes in memory, and threads."""

    visits: int
    megabytes: float
    threads: int


async def visit(address: str, number: int, turns: int) -> list[str]:
    """One visit; returns what went wrong."""
    session, rng = Session(address), random.Random(number)
    await session.open()
    await session.move(rng.choice(session.sliders()), 1)
    for page in rng.sample(PAGES, turns):
        await session.ask(page=page)
    await session.close()
    return session.errors


async def visits(address: str, numbers: Sequence[int], together: int = TOGETHER, turns: int = 3) -> list[str]:
    """Many visits, some at a time, to so many pages."""
    errors = list[str]()
    for first in range(0, len(numbers), together):
        for some in await asyncio.gather(*(visit(address, n, turns) for n in numbers[first : first + together])):
            errors += some
    return errors


def measure(number: int) -> tuple[list[Memory], Memory, list[str]]:
    """The server during and some time after the visits, and what went wrong."""
    with running() as server:
        errors, rows = asyncio.run(visits(server.address, range(-TOGETHER, 0))), [_now(server, 0)]  # caches are filled
        for first in range(0, number, EVERY):
            last = min(first + EVERY, number)
            errors += asyncio.run(visits(server.address, range(first, last)))
            rows.append(_now(server, last))
        time.sleep(FORGOTTEN)
        errors += asyncio.run(visits(server.address, [number]))  # Streamlit drops old sessions when somebody comes
        return rows, _now(server, number + 1), errors + complaints(server.said())


def _now(server: Server, visits: int) -> Memory:
    sample = look(server.process.pid, 0.0)
    return Memory(visits, sample.memory, sample.threads)


def report(number: int = 200) -> list[str]:
    """The table."""
    rows, after, errors = measure(number)
    return [
        f"{number} visits, {TOGETHER} at a time, after {TOGETHER} that are not counted.",
        "",
        "| visits | memory of the server | threads |",
        "|---|---|---|",
        *(f"| {row.visits} | {row.megabytes:,.0f} MB | {row.threads} |" for row in rows),
        f"| {FORGOTTEN:g} s later | {after.megabytes:,.0f} MB | {after.threads} |",
        "",
        f"**{len(errors)} errors**: {'; '.join(sorted(set(errors))[:5])}" if errors else "No errors.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability.visits", description="The memory of the server after many visits."
    )
    parser.add_argument("--visits", type=int, default=200)
    print("\n".join(report(parser.parse_args().visits)))


if __name__ == "__main__":
    main()
