"""Figures built from plain dictionaries, for the pages that redraw with every move of a slider.

Plotly's own interface, a call for each property, takes ten times as long, because it validates every name. Figures made
here are not validated when they are made; the tests do that. The browser has less work too: one horizontal axis for all
rows, and fixed margins, which need no second drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from app.figures.axes import Parts
from app.figures.style import FONT

LABELS = {"l": 82, "r": 12, "t": 20, "b": 56}  # pixels that titles and tick labels need
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0}


def figure(traces: Sequence[Parts], axes: Parts, *, height: int, **layout: Any) -> go.Figure:
    """A figure of these traces, without Plotly's template, which would be sent but not used."""
    common = {
        "height": height,
        "margin": LABELS,
        "legend": LEGEND,
        "hovermode": "x unified",
        "font": FONT,
        "template": {},
    }
    return go.Figure(data=list(traces), layout={**common, **axes, **layout}, _validate=False)


def axis(title: str, **properties: Any) -> Parts:
    """An axis with a title."""
    return {"title": {"text": title}, "automargin": False, **properties}


def stacked(x: Parts, rows: Sequence[Parts], *, gap: float, shares: Sequence[float] = ()) -> Parts:
    """The axes of stacked plots: a horizontal one below the lowest plot, and a vertical one for each.

    `shares` are the relative heights of the plots from the top down, which sum to 1 (default: equal); `gap` is the
    distance between two of them, as a share of the total height.
    """
    room, top = 1.0 - gap * (len(rows) - 1), 1.0
    axes: Parts = {"xaxis": x | {"anchor": f"y{number(len(rows))}"}}
    for row, vertical in enumerate(rows, start=1):
        bottom = top - room * (shares[row - 1] if shares else 1.0 / len(rows))
        axes[f"yaxis{number(row)}"] = vertical | {"anchor": "x", "domain": [max(bottom, 0.0), top]}
        top = bottom - gap
    return axes


def upright(rows: int, x: float, line: Mapping[str, Any]) -> list[Parts]:
    """A vertical line through each plot of a stack."""
    ends = {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "line": dict(line)}
    return [{**ends, "yref": f"y{number(row)} domain"} for row in range(1, rows + 1)]


def number(row: int) -> str:
    """The number of a row in Plotly's names of axes; the first row has none."""
    return "" if row == 1 else str(row)
