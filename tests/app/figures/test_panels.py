"""Figures of experiments: their numbers, their looks, and the files they are written to."""

from __future__ import annotations

import importlib.util
import shutil
import struct

import pytest

from app.cli.commands.experiment import write_figures
from app.figures.panels import figure
from app.figures.style import GREY, SERIES
from samplers.experiments.framework.report import Panel, Report, ResultTable, Series
from tests.browser.driving import NAMES as NAMES_OF_CHROMIUM

PANEL = Panel(
    "Risk",
    "seconds",
    "risk",
    [
        Series("a", [1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [2.5, 1.5, 0.5], [3.5, 2.5, 1.5]),
        Series("b", [1.0, 2.0], [1.0, 2.0], [0.9, 1.9], [1.2, 2.2], "points"),
        Series("c", ["x", "y"], [1.0, 2.0], style="bars"),
    ],
    log_y=True,
    note="what to see",
)
REPORT = Report("It holds.", {"a statement": True}, [ResultTable("numbers", ["n"], [[1]])], [PANEL], ["a notice"])


def test_panels_keep_their_numbers():
    drawn = figure(PANEL)
    curve = next(trace for trace in drawn.data if trace.name == "a")
    points = next(trace for trace in drawn.data if trace.name == "b")
    assert list(curve.y) == [3.0, 2.0, 1.0]
    assert list(points.error_y.array) == pytest.approx([0.2, 0.2])
    assert list(points.error_y.arrayminus) == pytest.approx([0.1, 0.1])
    assert drawn.layout.yaxis.type == "log"
    band = [trace for trace in drawn.data if getattr(trace, "fill", None) == "tonexty"]
    assert list(band[0].y) == [3.5, 2.5, 1.5]


def test_figures_need_nothing_from_elsewhere(tmp_path):
    names = write_figures(REPORT, tmp_path, "A <title>")
    page = (tmp_path / "figures.html").read_text()
    assert names[0].startswith("figures.html")
    assert "A &lt;title&gt;" in page and "what to see" in page
    assert 'src="http' not in page


def test_figures_are_also_pictures(tmp_path):
    """PNG as `austerity experiment` writes it, where kaleido and a browser are there."""
    if importlib.util.find_spec("kaleido") is None:
        pytest.skip("NO KALEIDO, PICTURES OF EXPERIMENTS NOT TESTED: pip install 'austerity[figures]'")
    if not any(map(shutil.which, NAMES_OF_CHROMIUM)):
        pytest.skip("NO CHROMIUM, PICTURES OF EXPERIMENTS NOT TESTED: make browser, or apt-get install chromium")
    two = REPORT._replace(panels=[PANEL, PANEL._replace(title="Again")])
    assert write_figures(two, tmp_path, "two") == ["figures.html", "figure1.png", "figure2.png"]
    for number in (1, 2):
        content = (tmp_path / f"figure{number}.png").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", content[16:24]) == (1800, 1000)  # 900 x 500 at twice the resolution
        assert len(content) > 10_000  # something is drawn on it
    assert {file.name for file in tmp_path.iterdir()} == {"figures.html", "figure1.png", "figure2.png"}


def test_no_two_series_look_alike():
    many = Panel("Many", "x", "y", [Series(str(k), [1.0], [2.0], style="bars") for k in range(14)])
    bars = {(each.marker.color, each.marker.pattern.shape) for each in figure(many).data}
    assert len(bars) == 14
    assert GREY not in SERIES and len({*SERIES}) == 6


def test_a_title_and_a_legend_are_at_opposite_ends():
    drawn = figure(PANEL).layout
    assert drawn.title.text == "Risk"
    crowded = figure(PANEL._replace(y="error of the distribution function", series=[PANEL.series[0]] * 7)).layout
    assert crowded.height > drawn.height + 4 * 15  # lines of the legend do not eat the plot
    assert crowded.yaxis.title.text == "error of the distribution<br>function"
    assert (drawn.legend.yref, drawn.legend.y, drawn.legend.yanchor) == ("container", 0, "bottom")
