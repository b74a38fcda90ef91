"""Design's own link, opened by somebody else: the trial run is made again, and all figures are the same."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from designer import Design
from tests.browser.test_explore import query

IN_USE = "Proposals from the proxy: 100 pairs, N = 12,214, digest"
GIVEN = Design(12_214, 700, 0.02, 0.6)
CURVES = """() => [...document.querySelectorAll('.js-plotly-plot')]
    .map(figure => figure._fullData.map(trace => [trace.name, Array.from(trace.x), Array.from(trace.y)]))"""


def run_with_seed(screen, seed):
    """Wait until the pairs of this seed are in use."""
    screen.page.wait_for_url(f"**seed={seed}&digest=**")
    screen.page.get_by_text(IN_USE).first.wait_for()
    return screen.settle()


def unrolled(screen):
    """Wait until the page has its answers, and make the window so tall that all figures are drawn."""
    screen.page.get_by_text("Take it away").first.wait_for()
    screen.resize(1280, 6000)
    screen.page.locator(".js-plotly-plot .main-svg:first-child").nth(1).wait_for()
    return screen.settle()


def answers(screen):
    """What the page says beside its knobs."""
    return screen.page.locator("[data-testid=stColumn]", has_text="Take it away").first.inner_text().splitlines()


def curves(screen):
    """What the page draws."""
    return screen.page.evaluate(CURVES)


def test_a_link_to_a_design_for_a_built_in_run_shows_somebody_else_the_same(open_screen, tmp_path):
    mine = run_with_seed(open_screen("trial-run?source=run-e3-proxy"), 0)
    run_with_seed(mine.press("Run it again"), 1)

    asked = f"{urlsplit(mine.page.url).query}&criterion=fixed-m"  # a short search
    mine.go(f"design?{asked}").page.get_by_text("Take it away").first.wait_for()
    (tmp_path / "design.toml").write_text(GIVEN.to_toml())
    mine.settle().page.get_by_text("Load a design").click()
    mine.page.locator("input[type=file]").first.set_input_files(tmp_path / "design.toml")
    mine.page.get_by_text("The design that you loaded: Read 700 data").wait_for()

    mine.settle().page.get_by_role("button", name="Copy link").click()
    link = mine.page.locator("[data-testid=stCode]").filter(has_text="http").first.inner_text().strip()
    mine.page.keyboard.press("Escape")
    carried = parse_qs(urlsplit(link).query)
    assert (carried["source"], carried["seed"]) == (["run-e3-proxy"], ["1"])
    assert carried["chosen"][0].startswith("12214,700,0.02") and carried["criterion"] == ["fixed-m"]

    theirs = open_screen(link.removeprefix(mine.address))
    theirs.page.get_by_text(IN_USE).first.wait_for()
    assert "not the pairs of the link" not in theirs.text()
    assert query(theirs)["digest"] == carried["digest"][0]
    unrolled(mine), unrolled(theirs)
    theirs.until(lambda: curves(theirs) == curves(mine))  # figures are drawn after the text has come
    assert len(curves(theirs)) >= 2
    assert answers(theirs) == answers(mine)
    assert any("700" in line for line in answers(theirs))
    assert theirs.alarms() == [] and theirs.wrong == []
