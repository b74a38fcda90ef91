"""Every page in a real browser: it opens cleanly, asks nobody else, fits, and can be used by everybody."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from app.dashboard.pages.further import ENTRIES

PAGES = {
    "explore": "",
    "step error": "step-error",
    "trial run": "trial-run",
    "design": "design",
    "compare": "compare",
    "experiments": "experiments",
    "method": "method",
}
SMALL = "source=stationary&trial_n=3000&acceptance=0.5&pairs=20"
TOPICS = {entry.key: f"further?topic={entry.key}&{SMALL}" for entry in ENTRIES}
WITHOUT_FIGURES = {"method", TOPICS["redesign"]}  # before anything is run


@pytest.mark.parametrize("path", [*PAGES.values(), *TOPICS.values()], ids=[*PAGES, *TOPICS])
def test_page(open_screen, path, subtests, axe):
    """One visit, looked at in several ways."""
    screen = open_screen(path)
    if path not in WITHOUT_FIGURES:
        screen.drawn()
    with subtests.test("opens cleanly"):
        assert screen.wrong == []
        assert screen.page.title().endswith("· austerity")
        assert screen.alarms() == []
    with subtests.test("asks nobody else"):
        assert {urlsplit(url).hostname for url in screen.asked} - {None} == {"127.0.0.1"}
    with subtests.test("light: everybody can use it"):
        assert barriers(screen, axe) == []
    with subtests.test("dark: everybody can use it"):
        assert barriers(screen.theme(dark=True), axe) == []
    with subtests.test("fits a telephone"):
        assert screen.resize(390).overflow() == 0


@pytest.fixture(scope="module")
def axe():
    """The checker of accessibility; without it the pages are looked at in the other ways, and a test says so."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        return None
    return Axe()


def test_accessibility_is_checked(axe):
    if axe is None:
        pytest.skip("NO AXE, ACCESSIBILITY NOT TESTED: pip install axe-playwright-python")


def barriers(screen, axe):
    """What axe-core finds serious: names of controls, contrast, structure."""
    if axe is None:
        return []
    found = axe.run(screen.page).response["violations"]
    return [_line(rule) for rule in found if rule["impact"] in ("serious", "critical")]


def _line(rule):
    places = [f"{' '.join(node['target'][0].split()[-2:])}: {node['html'][:160]}" for node in rule["nodes"][:4]]
    return f"{rule['id']} ({len(rule['nodes'])} places): {rule['help']}: {places}"
