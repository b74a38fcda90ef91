"""The dashboard under load: `python -m benchmarks.reliability.load [--sessions 20] [--minutes 10]`.

A few sessions are real Chromium windows. The others speak Streamlit's protocol without a browser, since twenty browsers
would take the server's processors away. All do what people do, with pauses to think, and then leave. The report gives
errors, waiting times, the server's memory, and what one greedy session does to the others.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError

import numpy as np

from benchmarks.dashboard.streamlit_client import Session, processor_time
from benchmarks.reliability.load_browsers import WINDOWS, patrol
from tests.serving import Server, running

THINKING = 3.0  # mean seconds between two actions of a session
FORGOTTEN = 150.0  # seconds after which the server has dropped a closed session: Streamlit keeps it for 120
EVERY = 5.0  # seconds between two looks at the server
LARGEST = "source=stationary&trial_n=1000000000&pairs=20000&frontier=true&folds=true"


class Sample(NamedTuple):
    """The server at a moment: seconds since the beginning, megabytes in memory, threads, processor time so far (ms)."""

    at: float
    memory: float
    threads: int
    processor: float


class Action(NamedTuple):
    """Something a session did: seconds since the beginning, what, and milliseconds that it waited."""

    at: float
    what: str
    waited: float


class Diary:
    """Actions and errors of all sessions, from any thread."""

    def __init__(self) -> None:
        self.begin, self.actions, self.errors = time.monotonic(), list[Action](), list[str]()

    def note(self, what: str, waited: float) -> None:
        """Record an action."""
        self.actions.append(Action(time.monotonic() - self.begin, what, waited))


class LoadRun(NamedTuple):
    """A run under load: what sessions did, the server while they were there and after they had left, and its log."""

    diary: Diary
    samples: list[Sample]
    after: list[Sample]
    log: str


# --- actions of a session ---------------------------------------------------------------------------------------------


async def stay(session: Session, diary: Diary, rng: random.Random, until: float) -> None:
    """Use the dashboard until the time is over; now and then close the window and come back."""
    try:
        await session.open()
        while time.monotonic() < until:
            act = rng.choices([_move, _turn, _search, _download, _come_back], [60, 18, 8, 10, 4])[0]
            await act(session, diary, rng)
            await asyncio.sleep(min(rng.expovariate(1 / THINKING), 5 * THINKING, max(0.0, until - time.monotonic())))
    except (OSError, URLError, KeyError, AssertionError) as problem:
        session.errors.append(f"{type(problem).__name__}: {problem}")
    await session.close()
    diary.errors += session.errors


async def _move(session: Session, diary: Diary, rng: random.Random) -> None:
    """Move one of the page's sliders."""
    sliders = session.sliders()
    if not sliders:
        await _turn(session, diary, rng)
        return
    diary.note("slider moved", await session.move(rng.choice(sliders), rng.choice((-2, -1, 1, 2))))


async def _turn(session: Session, diary: Diary, rng: random.Random) -> None:
    """Turn to another page."""
    diary.note("page changed", await session.ask(page=rng.choice(sorted(session.pages))))


async def _search(session: Session, diary: Diary, rng: random.Random) -> None:
    """Open a link with pairs of its own, and search; cancel every third search after half a second."""
    query = f"source=stationary&trial_n={rng.choice((10_000, 100_000, 1_000_000))}&pairs={rng.randint(20, 500)}"
    await session.close()
    start = time.perf_counter()
    await session.open(query, "design")
    diary.note("dashboard opened", 1e3 * (time.perf_counter() - start))
    find, start = session.button("Find the design"), time.perf_counter()
    if find is None:
        return
    diary.note("search started", await session.press(find))
    if rng.random() < 1 / 3:
        await asyncio.sleep(0.5)
        cancel = session.button("Cancel")
        if cancel is not None:
            await session.press(cancel)
            diary.note("search cancelled", 0.0)
    if not await session.until_done(60.0):
        session.errors.append("a search took more than a minute")
    diary.note("search ended", 1e3 * (time.perf_counter() - start))


async def _download(session: Session, diary: Diary, rng: random.Random) -> None:
    """Download a file, if the page offers one."""
    offers = session.offers()
    if offers:
        start = time.perf_counter()
        assert await session.download(rng.choice(offers)) > 0
        diary.note("file downloaded", 1e3 * (time.perf_counter() - start))


async def _come_back(session: Session, diary: Diary, rng: random.Random) -> None:
    """Close the window and open another, which is a new session."""
    await session.close()
    start = time.perf_counter()
    await session.open()
    diary.note("dashboard opened", 1e3 * (time.perf_counter() - start))


# --- all together -----------------------------------------------------------------------------------------------------


def load(
    sessions: int, minutes: float, *, windows: int = WINDOWS, watched: float = FORGOTTEN, seed: int = 1
) -> LoadRun:
    """Run so many sessions for so long, `windows` of them in Chromium; then watch the server for `watched` seconds."""
    with running() as server:
        diary, samples, stop = Diary(), list[Sample](), threading.Event()
        watch = threading.Thread(target=_watch, args=(server, diary, samples, stop))
        watch.start()
        until = time.monotonic() + 60.0 * minutes
        browsers = [
            threading.Thread(target=patrol, args=(server.address, diary, seed + n, until)) for n in range(windows)
        ]
        for browser in browsers:
            browser.start()
        asyncio.run(_crowd(server.address, diary, sessions - windows, seed, until))
        for browser in browsers:
            browser.join()
        left = len(samples)
        stop.wait(watched)
        stop.set()
        watch.join()
        return LoadRun(diary, samples[:left], samples[left:], server.said())


async def _crowd(address: str, diary: Diary, number: int, seed: int, until: float) -> None:
    await asyncio.gather(*(stay(Session(address), diary, random.Random(f"{seed}-{n}"), until) for n in range(number)))


def _watch(server: Server, diary: Diary, samples: list[Sample], stop: threading.Event) -> None:
    """Sample the server every few seconds."""
    while not stop.wait(EVERY):
        samples.append(look(server.process.pid, time.monotonic() - diary.begin))


def look(process: int, at: float) -> Sample:
    """The state of a process now, as Linux reports it."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return Sample(at, int(lines["VmRSS"].split()[0]) / 1024, int(lines["Threads"]), processor_time(process))


# --- a greedy session among others ------------------------------------------------------------------------------------


def greed(quiet: int = 5, seconds: float = 60.0) -> tuple[list[float], list[float], list[float], list[float]]:
    """Waiting times of quiet sessions, for sliders and for small searches, without a greedy session and with one."""
    with running() as server:
        alone, small = asyncio.run(_quiet(server.address, quiet, seconds, greedy=False))
        beside, small_beside = asyncio.run(_quiet(server.address, quiet, seconds, greedy=True))
        return alone, small, beside, small_beside


async def _quiet(address: str, number: int, seconds: float, *, greedy: bool) -> tuple[list[float], list[float]]:
    until, moves, searches = time.monotonic() + seconds, list[float](), list[float]()
    greedy_session = asyncio.create_task(_greedy_session(address, until)) if greedy else None
    if greedy_session is not None:
        await asyncio.sleep(3.0)
    await asyncio.gather(*(_quiet_session(address, n, until, moves, searches) for n in range(number)))
    if greedy_session is not None:
        await greedy_session
    return moves, searches


async def _quiet_session(address: str, number: int, until: float, moves: list[float], searches: list[float]) -> None:
    """Move a slider about once a second; the first session searches for small designs instead."""
    session, rng = Session(address), random.Random(number)
    await session.open()
    while time.monotonic() < until:
        if number == 0:
            query = f"source=stationary&trial_n=100000&pairs={rng.randint(50, 99)}"
            start = time.perf_counter()
            await session.close()
            await session.open(query, "design")
            await session.until_done(120.0)
            searches.append(1e3 * (time.perf_counter() - start))
        else:
            moves.append(await session.move(rng.choice(session.sliders()), rng.choice((-1, 1))))
        await asyncio.sleep(rng.uniform(0.5, 1.5))
    await session.close()
    assert session.errors == [], session.errors


async def _greedy_session(address: str, until: float) -> None:
    """Start the largest search that is allowed, with all its options, again and again."""
    session = Session(address)
    await session.open(LARGEST, "design")
    while time.monotonic() < until:
        await asyncio.sleep(0.1)
        find = session.button("Find the design")
        if find is not None:
            await session.press(find)
        await session.until_done(min(20.0, max(1.0, until - time.monotonic())))
    await session.close()


# --- the report -------------------------------------------------------------------------------------------------------


def report(sessions: int = 20, minutes: float = 10.0) -> list[str]:
    """Tables of a run under load, and of a greedy session among others."""
    run = load(sessions, minutes)
    return ["## Load", "", *minutes_table(run, sessions, minutes), *_greed_table(*greed())]


def minutes_table(run: LoadRun, sessions: int, minutes: float) -> list[str]:
    """The run in words and a table, minute by minute."""
    counts = [
        f"{what} {number:,}" for what, number in sorted(Counter(action.what for action in run.diary.actions).items())
    ]
    rows = [_minute(run, minute) for minute in range(int(minutes) or 1)]
    return [
        f"{sessions} sessions for {minutes:g} minutes, {WINDOWS} of them Chromium windows, all on the machine of the "
        f"server, with {THINKING:g} s between two actions on average: {', '.join(counts)}.",
        "",
        "| minute | slider moved to page redrawn: median | 95% | worst | memory of the server | threads |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
        _errors(run),
        _memory(run),
        "",
    ]


def _minute(run: LoadRun, minute: int) -> str:
    waits = [
        action.waited for action in run.diary.actions if action.what == "slider moved" and action.at // 60 == minute
    ]
    samples = [sample for sample in run.samples if sample.at // 60 == minute]
    if not waits or not samples:
        return f"| {minute + 1} | – | – | – | – | – |"
    return f"| {minute + 1} | {_times(waits)} | {samples[-1].memory:,.0f} MB | {samples[-1].threads} |"


def _times(waits: Sequence[float]) -> str:
    return f"{statistics.median(waits):,.0f} ms | {np.quantile(waits, 0.95):,.0f} ms | {max(waits):,.0f} ms"


def complaints(log: str) -> list[str]:
    """Lines of the server's log that report a problem; polling a job that has just ended is none."""
    usual = ("austerity is at", "The fragment with id")
    return [line for line in log.splitlines() if line and not any(words in line for words in usual)]


def _errors(run: LoadRun) -> str:
    lines = complaints(run.log)
    if not run.diary.errors and not lines:
        return "No errors, red boxes, lost connections, or lines in the server's log."
    some = "; ".join(sorted(set(run.diary.errors))[:5])
    return f"**{len(run.diary.errors)} errors** ({some}), {len(lines)} lines in the log."


def _memory(run: LoadRun) -> str:
    """How memory grew in the second half, and how much was left after all sessions had closed."""
    half = run.samples[len(run.samples) // 2 :]
    slope = float(np.polyfit([sample.at / 60 for sample in half], [sample.memory for sample in half], 1)[0])
    words = f"Memory grew by {slope:+.1f} MB a minute in the second half."
    if len(run.after) < 3:
        return words
    last, before = run.after[-1], run.after[-3]
    busy = (last.processor - before.processor) / (1e3 * (last.at - before.at))
    return (
        f"{words} {last.at - run.samples[-1].at:.0f} s after all sessions had closed: {last.memory:,.0f} MB, "
        f"{last.threads} threads, {busy:.1%} of a processor busy."
    )


def _greed_table(
    alone: Sequence[float], small: Sequence[float], beside: Sequence[float], small_beside: Sequence[float]
) -> list[str]:
    return [
        "A greedy session keeps asking for the largest search that is allowed, with frontier and cross-validation, "
        "while four others move sliders and one searches for small designs.",
        "",
        "| waiting time of the others | median | 95% | worst |",
        "|---|---|---|---|",
        f"| slider moved to page redrawn, without the greedy session | {_times(alone)} |",
        f"| the same with the greedy session | {_times(beside)} |",
        f"| small search, without the greedy session | {_times(small)} |",
        f"| the same with the greedy session | {_times(small_beside)} |",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability.load", description="The dashboard under load."
    )
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    print("\n".join(report(options.sessions, options.minutes)))


if __name__ == "__main__":
    main()
