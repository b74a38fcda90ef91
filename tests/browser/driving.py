"""Drive the dashboard: a screen knows when a page is done, what it requested and what went wrong."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.serving import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
IDLE = "[data-testid=stApp][data-test-script-state=notRunning][data-test-connection-state=CONNECTED]"
SHADE = "parseInt(getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor.slice(4))"
# opened at /page, Streamlit first looks for its server under /page/
PROBES = re.compile(r"/[^/]+/_stcore/(health|host-config)$")


@contextmanager
def chromium() -> Iterator[tuple[Any, str]]:
    """A Chromium under Playwright; None, and why, if there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        yield None, "playwright is not installed (pip install playwright)"
        return
    if path is None:
        yield None, "there is no Chromium (make browser, or apt-get install chromium)"
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser, ""
        browser.close()


def holds(page: Any, expression: str) -> None:
    """Wait until a JavaScript expression is true in the page.

    Asked from outside, time and again: Playwright's own waiting evaluates text in the page after the first try, which
    the policy of our reports forbids.
    """
    end = time.monotonic() + PATIENCE
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"not within {PATIENCE:g} s: {expression}"
        page.wait_for_timeout(50)


class Screen:
    """A window with cookies and a session of its own."""

    def __init__(self, browser: Any, address: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.address = address
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            accept_downloads=True,
        )
        self.context.set_default_timeout(1000 * PATIENCE)
        self.page = self.context.new_page()
        self.asked: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._note)

    def _note(self, message: Any) -> None:
        if message.type == "error" and not PROBES.search(message.location.get("url", "")):
            self.wrong.append(f"{message.text} ({message.location.get('url')})")

    def go(self, path: str = "") -> Screen:
        """Open a page and wait until it is drawn."""
        self.page.goto(f"{self.address}/{path.lstrip('/')}")
        return self.settle()

    def turn(self, name: str) -> Screen:
        """Go to another page in the same session, by the menus at the top."""
        link = self.page.get_by_role("link", name=name, exact=True)
        if link.count():
            link.first.click()
            return self
        for menu in self.page.get_by_test_id("stTopNavSection").all():
            menu.click()
            entry = self.page.get_by_test_id("stTopNavPopover").get_by_text(name, exact=True)
            if entry.count():
                entry.click()
                return self
            menu.click()
        raise AssertionError(f"no menu has the page {name}")

    def settle(self, quiet: int = 250) -> Screen:
        """Wait until the page's script has ended and stays ended for `quiet` milliseconds."""
        self.page.wait_for_selector(IDLE, state="attached")
        self.page.wait_for_selector("[data-testid=stMainBlockContainer] h1")
        while True:
            self.page.wait_for_selector(IDLE, state="attached")
            self.page.wait_for_timeout(quiet)
            if self.page.query_selector(IDLE) and not self.page.query_selector("[data-testid=stSkeleton]"):
                return self

    def until(self, condition: Callable[[], object]) -> Screen:
        """Wait until a condition holds, as tests must after each action: a busy machine answers late."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"not within {PATIENCE:g} s; the page says: {self.text()}"
            self.page.wait_for_timeout(50)
        return self

    def drawn(self) -> Screen:
        """Wait for a figure, which may be the outcome of a job."""
        self.page.wait_for_selector(".js-plotly-plot .main-svg")
        return self.settle()

    def text(self) -> str:
        """All text of the page."""
        return str(self.page.inner_text("[data-testid=stMainBlockContainer]"))

    def press(self, name: str) -> Screen:
        """Press the button of that name."""
        self.page.get_by_role("button", name=name).first.click()
        return self.settle()

    def slide(self, name: str, steps: int) -> Screen:
        """Move a slider by arrow keys: to the right, or to the left if negative.

        Each key waits for the page: on a busy machine the answer to one key would undo the next.
        """
        slider = self.page.get_by_role("slider", name=name).first
        slider.focus()
        for _ in range(abs(steps)):
            self._press_key(slider, "ArrowRight" if steps > 0 else "ArrowLeft")
        return self.settle(600)

    def _press_key(self, slider: Any, key: str) -> None:
        before = slider.get_attribute("aria-valuetext")
        slider.press(key)
        self.until(lambda: slider.get_attribute("aria-valuetext") != before).settle()

    def pick(self, label: str, option: str) -> Screen:
        """Choose from a list with the mouse; a list that closes because the page moves below it is opened again."""
        return self.choose(self.page.get_by_role("combobox", name=label), self.page.get_by_role("option", name=option))

    def choose(self, box: Any, wanted: Any) -> Screen:
        """The same, given the list and the option."""
        for _ in range(10):
            box.click()
            self.settle()
            if wanted.count():
                break
        wanted.click()
        return self.settle(600)

    def drag(self, name: str, share: float) -> Screen:
        """Take the knob of a slider with the mouse and let it go at this share of the track."""
        slider = self.page.get_by_role("slider", name=name).first
        slider.scroll_into_view_if_needed()
        thumb = self.settle().page.get_by_role("slider", name=name).first.locator("xpath=ancestor::div[2]")
        knob, line = thumb.bounding_box(), thumb.locator("..").bounding_box()
        mouse, height = self.page.mouse, knob["y"] + knob["height"] / 2
        mouse.move(knob["x"] + knob["width"] / 2, height)
        mouse.down()
        mouse.move(line["x"] + share * line["width"], height, steps=5)
        mouse.up()
        return self.settle(600)

    def theme(self, *, dark: bool) -> Screen:
        """Light or dark, as the system prefers."""
        self.page.emulate_media(color_scheme="dark" if dark else "light")
        holds(self.page, f"{SHADE} {'<' if dark else '>'} 128")
        return self.settle(600)

    def resize(self, width: int, height: int = 844) -> Screen:
        """Another window size."""
        self.page.set_viewport_size({"width": width, "height": height})
        return self.settle(600)

    def alarms(self) -> list[str]:
        """Red boxes."""
        found = self.page.locator("[data-testid=stException], [data-testid=stAlertContentError]")
        return [str(text) for text in found.all_inner_texts()]

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        script = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
        return int(self.page.evaluate(script))

    def close(self) -> None:
        self.context.close()
