"""The dashboard under load: `python -m benchmarks.load [--sessions 20] [--minutes 10]`.

A few sessions are real Chromium windows, the others guests that speak Streamlit's protocol, as twenty browsers would
take the server's processors away. All do what people do, with pauses to think; then they leave. What went wrong, what
they waited for and what the server's memory did is told, and what one greedy session does to the others.
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

from benchmarks.guests import Guest
from benchmarks.load_windows import WINDOWS, patrol
from benchmarks.visitors import processor_time
from tests.serving import Server, running

THINKING = 3.0  # mean seconds between two actions of a session
KEPT = 150.0  # seconds after which the server has forgotten who left: Streamlit keeps a session for 120
EVERY = 5.0  # seconds between two looks at the server
LARGEST = "source=stationary&trial_n=1000000000&pairs=20000&frontier=true&folds=true"


class Sample(NamedTuple):
    """The server at a moment: seconds since the beginning, megabytes in memory, threads, processor time so far (ms)."""

    at: float
    memory: float
    threads: int
    processor: float


class Done(NamedTuple):
    """Something a session did: seconds since the beginning, what, and milliseconds that it waited."""

    at: float
    what: str
    waited: float


class Diary:
    """What all sessions did and saw, from any thread."""

    def __init__(self) -> None:
        self.begin, self.done, self.wrong = time.monotonic(), list[Done](), list[str]()

    def note(self, what: str, waited: float) -> None:
        """Something was done."""
        self.done.append(Done(time.monotonic() - self.begin, what, waited))


class Load(NamedTuple):
    """All that is known of a run: with the sessions, and after they had left."""

    diary: Diary
    samples: list[Sample]
    after: list[Sample]
    said: str


# --- what a guest does ------------------------------------------------------------------------------------------------


async def stay(guest: Guest, diary: Diary, rng: random.Random, until: float) -> None:
    """Visit the dashboard until the time is over; now and then close the window and come back."""
    try:
        await guest.arrive()
        while time.monotonic() < until:
            act = rng.choices([_move, _turn, _search, _take, _come_back], [60, 18, 8, 10, 4])[0]
            await act(guest, diary, rng)
            await asyncio.sleep(min(rng.expovariate(1 / THINKING), 5 * THINKING, max(0.0, until - time.monotonic())))
    except (OSError, URLError, KeyError, AssertionError) as problem:
        guest.wrong.append(f"{type(problem).__name__}: {problem}")
    await guest.leave()
    diary.wrong += guest.wrong


async def _move(guest: Guest, diary: Diary, rng: random.Random) -> None:
    """Move one of the page's sliders."""
    sliders = guest.sliders()
    if not sliders:
        await _turn(guest, diary, rng)
        return
    diary.note("slider moved", await guest.move(rng.choice(sliders), rng.choice((-2, -1, 1, 2))))


async def _turn(guest: Guest, diary: Diary, rng: random.Random) -> None:
    """Turn to another page."""
    diary.note("page changed", await guest.ask(page=rng.choice(sorted(guest.pages))))


async def _search(guest: Guest, diary: Diary, rng: random.Random) -> None:
    """Search a design on pairs of one's own; every third search is cancelled after a while."""
    query = f"source=stationary&trial_n={rng.choice((10_000, 100_000, 1_000_000))}&pairs={rng.randint(20, 500)}"
    diary.note("page changed", await guest.ask(query, "design"))
    find, start = guest.button("Find the design"), time.perf_counter()
    if find is None:
        return
    diary.note("search started", await guest.press(find))
    if rng.random() < 1 / 3:
        await asyncio.sleep(0.5)
        cancel = guest.button("Cancel")
        if cancel is not None:
            await guest.press(cancel)
            diary.note("search cancelled", 0.0)
    if not await guest.until_done(60.0):
        guest.wrong.append("a search took more than a minute")
    diary.note("search ended", 1e3 * (time.perf_counter() - start))


async def _take(guest: Guest, diary: Diary, rng: random.Random) -> None:
    """Take a file away, if the page has one."""
    offers = guest.offers()
    if offers:
        start = time.perf_counter()
        assert await guest.fetch(rng.choice(offers)) > 0
        diary.note("file taken", 1e3 * (time.perf_counter() - start))


async def _come_back(guest: Guest, diary: Diary, rng: random.Random) -> None:
    """Close the window and open another, which is a new session."""
    await guest.leave()
    start = time.perf_counter()
    await guest.arrive()
    diary.note("dashboard opened", 1e3 * (time.perf_counter() - start))


# --- all together -----------------------------------------------------------------------------------------------------


def load(sessions: int, minutes: float, *, windows: int = WINDOWS, kept: float = KEPT, seed: int = 1) -> Load:
    """So many sessions for so long, `windows` of them in Chromium; then the server is watched for `kept` seconds."""
    with running() as server:
        diary, samples, stop = Diary(), list[Sample](), threading.Event()
        watch = threading.Thread(target=_watch, args=(server, diary, samples, stop))
        watch.start()
        until = time.monotonic() + 60.0 * minutes
        people = [
            threading.Thread(target=patrol, args=(server.address, diary, seed + n, until)) for n in range(windows)
        ]
        for person in people:
            person.start()
        asyncio.run(_crowd(server.address, diary, sessions - windows, seed, until))
        for person in people:
            person.join()
        left = len(samples)
        stop.wait(kept)
        stop.set()
        watch.join()
        return Load(diary, samples[:left], samples[left:], server.said())


async def _crowd(address: str, diary: Diary, number: int, seed: int, until: float) -> None:
    await asyncio.gather(*(stay(Guest(address), diary, random.Random(f"{seed}-{n}"), until) for n in range(number)))


def _watch(server: Server, diary: Diary, samples: list[Sample], stop: threading.Event) -> None:
    """Look at the server every few seconds."""
    while not stop.wait(EVERY):
        samples.append(look(server.process.pid, time.monotonic() - diary.begin))


def look(process: int, at: float) -> Sample:
    """The state of a process now, by Linux's own account."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return Sample(at, int(lines["VmRSS"].split()[0]) / 1024, int(lines["Threads"]), processor_time(process))


# --- a greedy session among others ------------------------------------------------------------------------------------


def greed(quiet: int = 5, seconds: float = 60.0) -> tuple[list[float], list[float], list[float], list[float]]:
    """What quiet sessions wait for: sliders and small searches without a greedy session, and the same with one."""
    with running() as server:
        alone, small = asyncio.run(_quiet(server.address, quiet, seconds, greedy=False))
        beside, small_beside = asyncio.run(_quiet(server.address, quiet, seconds, greedy=True))
        return alone, small, beside, small_beside


async def _quiet(address: str, number: int, seconds: float, *, greedy: bool) -> tuple[list[float], list[float]]:
    until, moves, searches = time.monotonic() + seconds, list[float](), list[float]()
    glutton = asyncio.create_task(_devour(address, until)) if greedy else None
    if glutton is not None:
        await asyncio.sleep(3.0)
    await asyncio.gather(*(_modest(address, n, until, moves, searches) for n in range(number)))
    if glutton is not None:
        await glutton
    return moves, searches


async def _modest(address: str, number: int, until: float, moves: list[float], searches: list[float]) -> None:
    """Moves a slider about once a second; the first guest searches small designs instead."""
    guest, rng = Guest(address), random.Random(number)
    await guest.arrive()
    while time.monotonic() < until:
        if number == 0:
            query = f"source=stationary&trial_n=100000&pairs={rng.randint(50, 99)}"
            start = time.perf_counter()
            await guest.ask(query, "design")
            await guest.until_done(120.0)
            searches.append(1e3 * (time.perf_counter() - start))
        else:
            moves.append(await guest.move(rng.choice(guest.sliders()), rng.choice((-1, 1))))
        await asyncio.sleep(rng.uniform(0.5, 1.5))
    await guest.leave()
    assert guest.wrong == [], guest.wrong


async def _devour(address: str, until: float) -> None:
    """The largest search that is allowed, with all that can be had beside it, again and again."""
    guest = Guest(address)
    await guest.arrive()
    while time.monotonic() < until:
        await guest.ask(LARGEST, "design")
        find = guest.button("Find the design")
        if find is not None:
            await guest.press(find)
        await guest.until_done(min(20.0, max(1.0, until - time.monotonic())))
    await guest.leave()


# --- in words ---------------------------------------------------------------------------------------------------------


def report(sessions: int = 20, minutes: float = 10.0) -> list[str]:
    """Tables of a run under load, and of a greedy session among others."""
    found = load(sessions, minutes)
    return ["## Load", "", *told(found, sessions, minutes), *_told_of_greed(*greed())]


def told(found: Load, sessions: int, minutes: float) -> list[str]:
    """The run in words and a table, minute by minute."""
    counts = [f"{what} {number:,}" for what, number in sorted(Counter(done.what for done in found.diary.done).items())]
    rows = [_minute(found, minute) for minute in range(int(minutes) or 1)]
    return [
        f"{sessions} sessions for {minutes:g} minutes, {WINDOWS} of them windows of Chromium, all on the server's own "
        f"machine, with {THINKING:g} s between two actions on average: {', '.join(counts)}.",
        "",
        "| minute | slider moved to page redrawn: median | 95% | worst | memory of the server | threads |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
        _errors(found),
        _memory(found),
        "",
    ]


def _minute(found: Load, minute: int) -> str:
    waits = [done.waited for done in found.diary.done if done.what == "slider moved" and done.at // 60 == minute]
    samples = [sample for sample in found.samples if sample.at // 60 == minute]
    if not waits or not samples:
        return f"| {minute + 1} | – | – | – | – | – |"
    return f"| {minute + 1} | {_times(waits)} | {samples[-1].memory:,.0f} MB | {samples[-1].threads} |"


def _times(waits: Sequence[float]) -> str:
    return f"{statistics.median(waits):,.0f} ms | {np.quantile(waits, 0.95):,.0f} ms | {max(waits):,.0f} ms"


def complaints(said: str) -> list[str]:
    """Lines of the server's log that tell of something; a look at a job that has just ended tells of nothing."""
    usual = ("austerity is at", "The fragment with id")
    return [line for line in said.splitlines() if line and not any(words in line for words in usual)]


def _errors(found: Load) -> str:
    said = complaints(found.said)
    if not found.diary.wrong and not said:
        return "Errors, red boxes, lost connections, lines in the server's log: none."
    some = "; ".join(sorted(set(found.diary.wrong))[:5])
    return f"**{len(found.diary.wrong)} errors** ({some}), {len(said)} lines in the log."


def _memory(found: Load) -> str:
    """How memory grew in the second half, and what was left when all had gone."""
    half = found.samples[len(found.samples) // 2 :]
    slope = float(np.polyfit([sample.at / 60 for sample in half], [sample.memory for sample in half], 1)[0])
    words = f"Memory grew by {slope:+.1f} MB a minute in the second half."
    if len(found.after) < 3:
        return words
    last, before = found.after[-1], found.after[-3]
    busy = (last.processor - before.processor) / (1e3 * (last.at - before.at))
    return (
        f"{words} {last.at - found.samples[-1].at:.0f} s after all had left: {last.memory:,.0f} MB, {last.threads} "
        f"threads, {busy:.1%} of a processor busy."
    )


def _told_of_greed(
    alone: Sequence[float], small: Sequence[float], beside: Sequence[float], small_beside: Sequence[float]
) -> list[str]:
    return [
        "A greedy session asks for the largest search that is allowed, its frontier and its cross-validation, again "
        "and again, while four others move sliders and one searches small designs.",
        "",
        "| the others wait | median | 95% | worst |",
        "|---|---|---|---|",
        f"| slider moved to page redrawn, among themselves | {_times(alone)} |",
        f"| the same beside the greedy one | {_times(beside)} |",
        f"| small search, among themselves | {_times(small)} |",
        f"| the same beside the greedy one | {_times(small_beside)} |",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description="The dashboard under load.")
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    print("\n".join(report(options.sessions, options.minutes)))


if __name__ == "__main__":
    main()
