"""Long work in the browser: a simulation on Compare, a live experiment and its end, a built-in chain and its config."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from designer import Design
from samplers.config.config import SamplerConfig
from tests.commands import austerity, finished

POINTS = """() => document.querySelector('.js-plotly-plot')._fullData
    .map(trace => [trace.name, trace.marker.color, trace.marker.symbol])"""
BOXES = """() => [...document.querySelector('.js-plotly-plot').querySelectorAll('.legend, .gtitle, .nsewdrag')]
    .map(part => [part.getAttribute('class').split(' ')[0], part.getBoundingClientRect()])
    .map(([name, box]) => [name, box.top, box.bottom])"""


def caption(screen, text):
    """Wait for a line below a figure; its words are also in the figure, unseen."""
    screen.page.locator("[data-testid=stCaptionContainer]", has_text=text).first.wait_for()
    return screen.settle()


def test_compare_simulates_and_draws_what_it_saw(open_screen):
    screen = open_screen("compare?source=stationary&trial_n=2000&pairs=40&m=200").drawn()
    assert len(screen.page.evaluate(POINTS)) == 2
    caption(screen.press("Check by simulation"), "Diamonds: real tests")
    drawn = screen.page.evaluate(POINTS)
    assert len(drawn) == len({(colour, symbol) for _, colour, symbol in drawn}) == 6
    assert screen.alarms() == [] and screen.wrong == []
    assert screen.page.locator("h2", has_text="With control variates").count() == 1


def test_an_experiment_runs_live_and_another_is_cancelled(open_screen):
    screen = open_screen("experiments?experiment=e13").press("Run it now")
    screen.page.get_by_text("e13 at a quick size").first.wait_for()
    screen.page.get_by_role("heading", name="Run it here").wait_for()
    screen.page.locator(".js-plotly-plot").first.wait_for()
    boxes = {name: (top, bottom) for name, top, bottom in screen.settle().page.evaluate(BOXES)}
    assert boxes["gtitle"][1] <= boxes["nsewdrag"][0] < boxes["nsewdrag"][1] <= boxes["legend"][0]
    screen.go("experiments?experiment=e3").press("Run it now")
    screen.page.get_by_role("button", name="Cancel").click()
    screen.page.get_by_text("Cancelled.").wait_for()
    assert screen.settle().page.get_by_role("progressbar").count() == 0
    assert "experiment=e3" in screen.page.url
    assert screen.alarms() == [] and screen.wrong == []


def test_from_a_built_in_chain_to_a_config_that_runs(open_screen, tmp_path):
    screen = open_screen("trial-run?source=run-e3-proxy").press("Run it")
    screen.page.get_by_text("In use — Proposals from the proxy").first.wait_for()
    asked = f"{urlsplit(screen.settle().page.url).query}&criterion=fixed-m"  # a short search
    screen.go(f"design?{asked}").page.get_by_text("Take it away").first.wait_for()
    with screen.settle().page.expect_download() as waiting:
        screen.page.get_by_role("button", name="Sampler config (TOML)").click()
    config = tmp_path / "config.toml"
    config.write_text(waiting.value.path().read_text(encoding="utf-8"), encoding="utf-8")
    assert isinstance(SamplerConfig.from_toml(config.read_text()).test, Design)
    command = austerity("run", config, "--output", tmp_path / "out", "--draws", 50, "--chains", 1, "--quiet")
    found = finished(command)
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "out" / "results.nc").exists()


@pytest.mark.parametrize("query", ["n=1000000&m=100", "n=12001&m=500"], ids=["logarithmic", "linear"])
def test_bars_of_where_it_stops_can_be_seen(open_screen, query):
    screen = open_screen(f"explore?{query}&mu=0.5")
    screen.page.get_by_role("figure").last.scroll_into_view_if_needed()
    screen.page.locator(".js-plotly-plot").nth(1).wait_for()
    script = """() => [...document.querySelectorAll('.js-plotly-plot')[1].querySelectorAll('.bars .point path')]
        .map(bar => bar.getBBox().width)"""
    widths = screen.page.evaluate(script)
    assert len(widths) > 30
    assert min(widths) >= 4
