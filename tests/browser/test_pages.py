"""Every page in a real browser: it opens cleanly, requests nothing from elsewhere, fits, and is accessible."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from app.dashboard.pages.further import ENTRIES

PAGES = {
    "start": "",
    "explore": "explore",
    "step error": "step-error?kappa=2",
    "trial run": "trial-run",
    "design": "design",
    "compare": "compare",
    "monitor": "monitor",
    "fit": "fit",
    "learn": "learn",
    "drag": "learn?part=drag+the+boundary",
    "stories": "learn?part=stories",
    "experiments": "experiments",
    "league": "league",
    "method": "method",
}
SMALL = "source=stationary&trial_n=3000&acceptance=0.5&pairs=20"
TOPICS = {entry.key: f"further?topic={entry.key}&{SMALL}" for entry in ENTRIES}
VIOLATIONS = """() => {
    const image = new Image(), words = document.createElement("p"), button = document.createElement("button");
    words.textContent = "hardly to be read";
    words.style.cssText = "color: #999; background: #aaa";
    document.querySelector("[data-testid=stMainBlockContainer]").prepend(image, words, button);
}"""
WITHOUT_FIGURES = {"monitor", "learn?part=stories", "method", TOPICS["redesign"]}  # before anything is run


@pytest.mark.parametrize("path", [*PAGES.values(), *TOPICS.values()], ids=[*PAGES, *TOPICS])
def test_page(open_screen, path, subtests, axe):
    """One visit, several checks."""
    screen = open_screen(path)
    if path not in WITHOUT_FIGURES:
        screen.drawn()
    with subtests.test("opens cleanly"):
        assert screen.wrong == []
        assert screen.page.title().endswith("· austerity")
        assert screen.alarms() == []
    with subtests.test("requests nothing from elsewhere"):
        assert {urlsplit(url).hostname for url in screen.asked} - {None} == {"127.0.0.1"}
    with subtests.test("light: accessible"):
        assert barriers(screen, axe) == []
    with subtests.test("dark: readable"):
        assert barriers(screen.theme(dark=True), axe, runOnly=["color-contrast"]) == []
    with subtests.test("fits a phone"):
        assert screen.resize(390).overflow() == 0
    with subtests.test("phone: accessible"):
        assert barriers(screen, axe) == []


@pytest.fixture(scope="module")
def axe():
    """The accessibility checker; without it a test is skipped loudly, and the pages are checked in the other ways."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        return None
    return Axe()


def test_accessibility_is_checked(open_screen, axe):
    """A page with known violations is reported, under the same headers as every page."""
    if axe is None:
        pytest.skip("NO AXE, ACCESSIBILITY NOT TESTED: pip install axe-playwright-python")
    screen = open_screen("method")
    assert barriers(screen, axe) == []
    screen.page.evaluate(VIOLATIONS)
    assert [line.split()[0] for line in barriers(screen, axe)] == ["button-name", "color-contrast", "image-alt"]


def barriers(screen, axe, **options):
    """The violations that axe-core finds: names of controls, contrast, structure."""
    if axe is None:
        return []
    rules = axe.run(screen.page, options={"resultTypes": ["violations"], **options}).response["violations"]
    return sorted(map(_line, rules))


def _line(rule):
    places = [f"{' '.join(node['target'][0].split()[-2:])}: {node['html'][:160]}" for node in rule["nodes"][:4]]
    return f"{rule['id']} ({len(rule['nodes'])} places): {rule['help']}: {places}"
