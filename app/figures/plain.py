"""Figures put together from plain dictionaries, for the pages that redraw with every move of a slider.

Plotly's own way, a call for each property, takes ten times as long: it looks up and checks every name. Figures made
here are not checked when they are made; the tests do that. The browser's part is kept small too: one horizontal axis
for all rows, and margins that are given, not found by drawing everything twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

Parts = dict[str, Any]
LABELS = {"l": 76, "r": 12, "t": 20, "b": 52}  # pixels that titles and tick labels need
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0}


def figure(traces: Sequence[Parts], axes: Parts, *, height: int, **layout: Any) -> go.Figure:
    """A figure of these traces; without Plotly's template, which would be sent along and of which nothing is used."""
    common = {"height": height, "margin": LABELS, "legend": LEGEND, "hovermode": "x unified", "template": {}}
    return go.Figure(data=list(traces), layout={**common, **axes, **layout}, _validate=False)


def axis(title: str, **properties: Any) -> Parts:
    """An axis with a title."""
    return {"title": {"text": title}, "automargin": False, **properties}


def stacked(x: Parts, rows: Sequence[Parts], *, gap: float, shares: Sequence[float] = ()) -> Parts:
    """The axes of plots over each other: the horizontal one, at the foot of the lowest, and a vertical one for each.

    `shares` are the heights of the plots from the highest down, which sum to 1 (equal if not given); `gap` is what
    lies between two of them, as a share of the whole.
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
    """How Plotly numbers the axes of the rows of a stack: the first has none."""
    return "" if row == 1 else str(row)
