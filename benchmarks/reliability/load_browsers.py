"""Chromium windows for the dashboard under load: they upload files, move sliders, search and download."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Protocol

import numpy as np

from benchmarks.dashboard.streamlit_client import FAILURES
from designer import TrialRun
from tests.browser.driving import Screen, chromium

WINDOWS = 4  # of Chromium, each a process of its own
PAGES = ("Trial run", "Compare tests", "Go further", "Method", "Explore")
PATIENCE = 120_000  # milliseconds
LONG_SEARCH = "design?source=stationary&trial_n=1000000000&pairs=20000"


class Book(Protocol):
    """Where a window records its actions and errors."""

    errors: list[str]

    def note(self, what: str, waited: float) -> None: ...


def patrol(address: str, book: Book, seed: int, until: float) -> None:
    """Drive one window until the time is over."""
    rng = random.Random(seed)
    with chromium() as (browser, reason), tempfile.TemporaryDirectory() as folder:
        if browser is None:
            book.errors.append(reason)
            return
        trial = Path(folder) / "trial.csv"
        TrialRun.at_stationarity(50_000, 0.4, 200, np.random.default_rng(seed)).to_csv(str(trial))
        while time.monotonic() < until:
            screen = Screen(browser, address)
            screen.page.set_default_timeout(PATIENCE)
            try:
                for act in (_slide, _upload, _design, _turn, _cancel):
                    act(screen, book, rng, trial)
                    screen.page.wait_for_timeout(rng.uniform(500, 3000))
                    if time.monotonic() >= until:
                        break
            except Exception as problem:  # any failure counts as an error, and the next window continues
                book.errors.append(f"Chromium: {type(problem).__name__}: {str(problem).splitlines()[0]}")
            book.errors += [f"Chromium: {text}" for text in screen.wrong]
            screen.close()


def _seen(screen: Screen, book: Book, what: str, start: float) -> None:
    """Record an action, and the red boxes that report failures."""
    book.note(what, 1e3 * (time.perf_counter() - start))
    book.errors += [text for text in screen.alarms() if any(words in text for words in FAILURES)]


def _slide(screen: Screen, book: Book, rng: random.Random, trial: Path) -> None:
    start = time.perf_counter()
    screen.go("explore").drawn()
    _seen(screen, book, "Chromium: dashboard opened", start)
    for _ in range(rng.randint(2, 5)):
        start = time.perf_counter()
        screen.slide("Threshold ε", rng.choice((-1, 1)))
        _seen(screen, book, "Chromium: slider moved", start)
        screen.page.wait_for_timeout(rng.uniform(300, 2000))


def _upload(screen: Screen, book: Book, rng: random.Random, trial: Path) -> None:
    start = time.perf_counter()
    screen.go("trial-run?source=upload")
    screen.page.locator("input[type=file]").first.set_input_files(trial)
    screen.page.get_by_text("trial.csv: 200 pairs").first.wait_for()
    _seen(screen.settle(), book, "Chromium: trial run uploaded", start)


def _design(screen: Screen, book: Book, rng: random.Random, trial: Path) -> None:
    start = time.perf_counter()
    screen.turn("Design")
    screen.page.get_by_text("Take it away").first.wait_for()
    _seen(screen.settle(), book, "Chromium: design found", start)
    for name in ("Report (HTML)", "Design (TOML)"):
        start = time.perf_counter()
        with screen.page.expect_download() as waiting:
            screen.page.get_by_role("button", name=name).click()
        assert waiting.value.path().stat().st_size > 100
        _seen(screen, book, "Chromium: file downloaded", start)


def _turn(screen: Screen, book: Book, rng: random.Random, trial: Path) -> None:
    start = time.perf_counter()
    screen.turn(rng.choice(PAGES))
    _seen(screen.settle(), book, "Chromium: page changed", start)


def _cancel(screen: Screen, book: Book, rng: random.Random, trial: Path) -> None:
    start = time.perf_counter()
    screen.page.goto(f"{screen.address}/{LONG_SEARCH}")
    screen.page.locator(".st-key-cancel-search button").click()  # not that of another page's job
    screen.page.get_by_text("The search was cancelled").first.wait_for()
    _seen(screen.settle(), book, "Chromium: search cancelled", start)
