"""Response times of the dashboard, in Chromium and of the server alone: sliders, pages, ten sessions at once."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from benchmarks.dashboard.streamlit_client import SliderTimes, children_time, measure
from tests.browser.driving import Screen, chromium
from tests.browser.test_pages import PAGES
from tests.serving import running

PLOT = ".js-plotly-plot .main-svg"
# pages without a plot: what is waited for instead, their last part, and how to find it
WITHOUT_PLOT = {
    "method": ("self-check", "[data-testid=stTable]"),
    "monitor": ("button", ".st-key-monitor-start button"),
    "stories": ("story", "a[href*='check_m=20']"),
}
LONGEST = 120_000  # milliseconds for a page that computes before it draws
FURTHER = "go further"
PATHS = {**PAGES, FURTHER: "further"}
SLIDER = "Threshold ε"
FIRST = 3  # moves while a browser has compiled little of the page
# from the key press to the first frame with new numbers; polled by a timer, because asking for every frame would make
# ten waiting browsers draw sixty frames a second
WATCH = """() => {
    const shown = () => document.querySelector('.js-plotly-plot')?._fullData?.[0]?.y?.[0];
    const before = shown();
    window.redrawn = new Promise((done, failed) => {
        document.addEventListener('keydown', () => {
            const start = performance.now();
            const timer = setInterval(() => {
                const late = performance.now() - start > 30000;
                if (!late && (shown() === undefined || shown() === before)) return;
                clearInterval(timer);
                if (late) failed(new Error('not redrawn within 30 s'));
                else requestAnimationFrame(() => done(performance.now() - start));
            }, 5);
        }, {capture: true, once: true});
    });
}"""


def report(moves: int = 30, visits: int = 5, people: int = 10) -> list[str]:
    """Tables of waiting times, in Chromium if there is one, and for the server alone."""
    with running() as server:
        one = measure(server.address, server.process.pid, SLIDER, 1, moves)
        crowd = measure(server.address, server.process.pid, SLIDER, people, max(3, moves // people))
        lines = ["## Dashboard", "", *_in_chromium(server.address, moves, visits, people)]
    size = statistics.median(page.size for page in one.pages)
    return [
        *lines,
        f"The server alone, with sessions that draw nothing; it sends {size / 1e3:,.0f} kB per move.",
        "",
        "| from a slider's message to the first redrawn figure | median | worst | processor time of the server |",
        "|---|---|---|---|",
        f"| one session, {moves} moves | {_server_row(one)} |",
        f"| {people} sessions at once | {_server_row(crowd)} |",
        "",
    ]


def _in_chromium(address: str, moves: int, visits: int, people: int) -> list[str]:
    """Rows of a table, or one line if there is no browser."""
    with chromium() as (browser, reason):
        if browser is None:
            return [f"Not measured in a browser: {reason}.", ""]
        opened = {name: _openings(browser, address, name, visits) for name in PATHS}
        alone, one = _moves([Screen(browser, address)], moves)
        together, each = _moves([Screen(browser, address) for _ in range(people)], moves)
    return [
        "The server (warmed up) and headless Chromium share this machine, so ten sessions are ten browsers on its "
        "cores. Streamlit waits 200 ms after the last movement of a slider.",
        "",
        "| what | median | worst | target |",
        "|---|---|---|---|",
        *(f"| {_opened(name)}, {visits} times | {_row(times)} | 3,000 ms |" for name, times in opened.items()),
        f"| slider moved to figure redrawn, {moves} times | {_row(alone)} | 300 ms |",
        f"| the same, {people} sessions moving at once, {moves} times each | {_row(together)} | 1,000 ms |",
        f"| of these, the first {FIRST} moves, while the browsers compile | {_row(together[: FIRST * people])} | |",
        "",
        f"Processor time of the browser for a move: {one:,.0f} ms; of each of {people}: {each:,.0f} ms.",
        "",
    ]


def _opened(name: str) -> str:
    """The description of a measurement."""
    what, _ = WITHOUT_PLOT.get(name, ("figure", PLOT))
    return f"page {name} opened in an empty browser to first {what}"


def _openings(browser: Any, address: str, name: str, visits: int) -> list[float]:
    """Milliseconds from asking for a page to its first figure; the first visit warms the server."""
    return [_opening(browser, address, name) for _ in range(visits + 1)][1:]


def _opening(browser: Any, address: str, name: str) -> float:
    screen = Screen(browser, address)
    start = time.perf_counter()
    screen.page.goto(f"{address}/{PATHS[name]}")
    _, awaited = WITHOUT_PLOT.get(name, ("figure", PLOT))
    screen.page.wait_for_selector(awaited, timeout=LONGEST)
    milliseconds = 1e3 * (time.perf_counter() - start)
    screen.close()
    return milliseconds


def _moves(screens: list[Screen], moves: int) -> tuple[list[float], float]:
    """Milliseconds from key press to redrawn figure; all screens press before any is waited for.

    Also returns the processor time of the browser per move of one screen.
    """
    times: list[float] = []
    for screen in screens:
        screen.go("explore").page.wait_for_selector(PLOT)
        screen.slide(SLIDER, -1)
    before = children_time("chrom")
    for move in range(moves):
        for screen in screens:
            screen.page.evaluate(WATCH)
            screen.page.get_by_role("slider", name=SLIDER).first.focus()
        for screen in screens:
            screen.page.keyboard.press("ArrowLeft" if move % 16 < 8 else "ArrowRight")
        times += [float(screen.page.evaluate("() => window.redrawn")) for screen in screens]
        for screen in screens:
            screen.settle()
    used = children_time("chrom") - before
    for screen in screens:
        screen.close()
    return times, used / len(times)


def _server_row(times: SliderTimes) -> str:
    return f"{_row([page.figure for page in times.pages])} | {times.processor:,.0f} ms"


def _row(times: list[float]) -> str:
    return f"{statistics.median(times):,.0f} ms | {max(times):,.0f} ms"


if __name__ == "__main__":
    print("\n".join(report(*map(int, sys.argv[1:]))))
