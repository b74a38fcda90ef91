"""Figures in the browser: drawn when they can be seen, redrawn in place, in the page's colours."""

from __future__ import annotations

import pytest

from tests.browser.test_explore import CURVES, sentence

DRAWN = ".js-plotly-plot .main-svg:first-child"
BACK = """() => [".js-plotly-plot", "[data-testid=stApp]"]
    .map(at => getComputedStyle(document.querySelector(at)).backgroundColor)"""


@pytest.fixture
def explore(open_screen):
    """The page with its two figures, the second below the window's edge."""
    screen = open_screen("explore")
    screen.page.wait_for_selector(DRAWN)
    assert screen.page.get_by_role("figure").count() == 2
    assert screen.page.locator(DRAWN).count() == 1
    return screen


def test_a_figure_is_drawn_when_it_is_scrolled_to_with_the_numbers_of_now(explore):
    bars = """() => document.querySelectorAll(".js-plotly-plot")[1]._fullData
        .filter(trace => trace.type == "bar").map(trace => trace.x.length)"""
    explore.page.get_by_role("figure").last.scroll_into_view_if_needed()
    explore.page.locator(DRAWN).nth(1).wait_for()
    before = explore.page.evaluate(bars)
    explore.page.get_by_role("heading", name="Explore one test").scroll_into_view_if_needed()
    number = explore.page.get_by_role("spinbutton", name="Mini-batch size m, exactly")
    number.fill("6000")
    number.press("Enter")
    explore.until(lambda: "m = 6,000" in sentence(explore)).settle(600)
    assert explore.page.evaluate(bars) == before
    explore.page.get_by_role("figure").last.scroll_into_view_if_needed()
    explore.until(lambda: 0 < explore.page.evaluate(bars)[0] < before[0])
    assert explore.wrong == []


def test_a_printed_page_has_all_figures(explore):
    explore.page.pdf()
    assert explore.page.locator(DRAWN).count() == 2


def test_new_numbers_are_drawn_into_the_same_figure(explore):
    before = explore.page.evaluate(CURVES)
    explore.page.evaluate("() => { document.querySelector('.js-plotly-plot').dataset.mark = 'same' }")
    explore.slide("Threshold ε", -2)
    explore.until(lambda: explore.page.evaluate(CURVES) != before)
    assert explore.page.locator(".js-plotly-plot[data-mark=same]").count() == 1


def test_figures_have_the_width_and_the_colours_of_the_page(explore):
    for dark in (True, False):
        explore.theme(dark=dark).until(lambda: len(set(explore.page.evaluate(BACK))) == 1)
    explore.resize(390).until(lambda: 300 < explore.page.locator(DRAWN).first.bounding_box()["width"] <= 390)
    assert explore.wrong == []
