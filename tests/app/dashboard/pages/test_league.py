"""Page League."""

from __future__ import annotations

import math

from app.dashboard.pages import league as page_code
from app.league.cells import Cell, League
from tests.app.dashboard.driving import open_page, query

RIGHT = Cell(setup=1.0, seconds=2.0, steps=10, rows=50.0, effective=20_000.0, memory=100.0)
LAPLACE = Cell(setup=0.1, seconds=0.0, rows=0.0, effective=math.inf, mean_error=0.03, memory=90.0)
SMALL = League(
    {
        ("logistic", 10**4, "sequential"): RIGHT,
        ("logistic", 10**4, "Laplace"): LAPLACE,
        ("logistic", 10**5, "sequential"): Cell(problem="unfinished"),
        ("logistic", 10**5, "Laplace"): LAPLACE._replace(mean_error=0.01),
    },
    {("logistic", 10**4): "2,000 weighted draws", ("logistic", 10**5): "2,000 weighted draws"},
    "today",
)


def test_the_map_follows_the_error_that_is_allowed(monkeypatch):
    monkeypatch.setattr(page_code, "figures", lambda: SMALL)
    page = open_page("league")
    assert not page.exception and query(page, "wish") == "0.02"
    assert "of 2 posteriors:** Laplace in 1, a test on mini-batches in 1." in page.markdown[0].value
    page.select_slider[0].set_value(0.05).run()
    assert not page.exception and query(page, "wish") == "0.05"
    assert "of 2 posteriors:** Laplace in 2, a test on mini-batches in 0." in page.markdown[0].value
    table = page.table[0].value
    assert list(table["method"]) == ["sequential", "Laplace"]
    assert list(table["reaches it after"]) == ["1 s", "0.1 s"]


def test_what_a_link_says_is_shown_and_nonsense_is_not(monkeypatch):
    monkeypatch.setattr(page_code, "figures", lambda: SMALL)
    assert open_page("league", wish="0.1").select_slider[0].value == 0.1
    assert open_page("league", wish="lots").select_slider[0].value == 0.02


def test_without_figures_the_page_says_so(monkeypatch):
    monkeypatch.setattr(page_code, "figures", lambda: League({}, {}))
    page = open_page("league")
    assert not page.exception and "make league" in page.info[0].value
