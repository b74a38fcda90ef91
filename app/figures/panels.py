"""The panels of experiments as Plotly figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from app.figures.axes import Parts, linear, logarithmic
from app.figures.style import DASHES, SERIES, faded, layout
from samplers.experiments.framework.report import Numbers, Panel, Series

MARKERS = ("circle", "square", "diamond", "cross", "triangle-up", "x")
FEW, LINE = 3, 19  # series whose legend fits below a plot of the usual height; pixels that each further one needs
WIDEST = 28  # letters in a line of a vertical axis' title
PATTERNS = ("", "/", ".", "x", "-", "|")  # of bars, which have neither dash nor marker


def figure(panel: Panel, *, height: int = 380, axes: Panel | None = None) -> go.Figure:
    """One panel: each series with its own colour, dash and marker, and error bars or a band where it has them.

    `axes` is another panel whose axes it takes, so that plots beside each other can be compared.
    """
    drawn = go.Figure()
    for number, series in enumerate(panel.series):
        for trace in _traces(series, number):
            drawn.add_trace(trace)
    below = max(len(panel.series) - FEW, 0)  # on a narrow screen the legend has a line for each series
    every = (axes or panel).series
    up = [column for series in every for column in (series.y, series.low, series.high) if column is not None]
    bars = any(series.style == "bars" for series in every)
    layout(
        drawn,
        panel.x,
        "<br>".join(wrap(panel.y, WIDEST)),
        height=height + LINE * below,
        title=panel.title,
        across=_axis([series.x for series in every], logarithm=panel.log_x) if not bars else None,
        up=_axis(up, logarithm=panel.log_y, zero=bars),
    )
    return drawn.update_layout(uirevision=panel.title, barmode="group", hovermode="closest")


def _axis(columns: Sequence[Iterable[object]], *, logarithm: bool, zero: bool = False) -> Parts | None:
    """Ends and ticks for columns of numbers; Plotly chooses those of texts."""
    values: list[Any] = [value for column in columns for value in column if value is not None]
    if any(isinstance(value, str) for value in values):
        return None
    return logarithmic(values) if logarithm else linear(values, zero=zero)


def look(number: int) -> tuple[str, str, str]:
    """Colour, dash and marker of a series; colours repeat with other dashes and markers.

    Examples
    --------
    >>> len({look(number) for number in range(36)})
    36
    """
    turn, place = divmod(number, len(SERIES))
    return SERIES[place], DASHES[(place + turn) % len(DASHES)], MARKERS[(place + turn) % len(MARKERS)]


def _traces(series: Series, number: int) -> list[go.Scatter | go.Bar]:
    colour, dash, symbol = look(number)
    marker = {"color": colour, "symbol": symbol, "size": 8}
    x, y = list(series.x), list(series.y)
    if series.style == "bars":
        filled = {"color": colour, "pattern": {"shape": PATTERNS[number // len(SERIES) % len(PATTERNS)]}}
        return [go.Bar(x=x, y=y, name=series.name, marker=filled, error_y=_bars(series))]
    if series.style == "points":
        return [go.Scatter(x=x, y=y, name=series.name, mode="markers", marker=marker, error_y=_bars(series))]
    line = {"color": colour, "dash": dash, "shape": "hvh" if series.style == "steps" else "linear"}
    curve = go.Scatter(x=x, y=y, name=series.name, mode="lines", line=line)
    return [*_band(series, colour), curve]


def _band(series: Series, colour: str) -> list[go.Scatter]:
    if series.low is None or series.high is None:
        return []
    common = {"x": list(series.x), "mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
    below = go.Scatter(y=list(series.low), **common)
    return [below, go.Scatter(y=list(series.high), fill="tonexty", fillcolor=faded(colour), **common)]


def _bars(series: Series) -> dict[str, object] | None:
    if series.low is None or series.high is None:
        return None
    up, down = _differences(series.high, series.y), _differences(series.y, series.low)
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down}


def _differences(a: Numbers, b: Numbers) -> Sequence[float | None]:
    """The lengths of error bars, which Plotly needs instead of their ends."""
    return [None if high is None or low is None else high - low for high, low in zip(a, b, strict=True)]
