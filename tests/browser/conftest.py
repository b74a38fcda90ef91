"""The real server and a real Chromium, one of each for all browser tests; without them, loud skips.

They end with these tests, not with the session: while Playwright lives, nothing else in its process can use asyncio.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.driving import Screen, chromium
from tests.commands import austerity
from tests.serving import Server, running


def pytest_collection_modifyitems(items):
    """One worker runs them all, so that there is one server (pytest -n auto --dist loadgroup)."""
    for item in items:
        if "/browser/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="package")
def server(tmp_path_factory) -> Iterator[Server]:
    runs = tmp_path_factory.mktemp("runs")
    with running(*austerity("app", "--port", 0, "--no-browser", "--runs", runs)[1:]) as server:
        yield server


@pytest.fixture(scope="package")
def browser():
    with chromium() as (found, reason):
        if found is None:
            pytest.skip(f"NO BROWSER, DASHBOARD NOT TESTED: {reason}")
        yield found


@pytest.fixture
def open_screen(browser, server):
    """open_screen(path, ...): a screen with a session of its own, at that page."""
    screens: list[Screen] = []

    def opened(path: str = "", *, width: int = 1280, dark: bool = False, address: str = server.address) -> Screen:
        screens.append(Screen(browser, address, width=width, dark=dark))
        return screens[-1].go(path)

    yield opened
    for screen in screens:
        screen.close()
