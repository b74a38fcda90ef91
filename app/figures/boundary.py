"""Figures of the topic Best possible boundary."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import linear
from app.figures.style import BLUE, DASHES, GREEN, GREY, PURPLE, RED, layout
from designer.further.optimal_boundary.boundary import bounds_of
from designer.further.optimal_boundary.result import OptimalBoundary

COLOURS = (BLUE, RED, GREEN, PURPLE)  # of the best boundary and of the families, apart also for the colour-blind
TALLEST = 8.0  # of the axis; early O'Brien–Fleming bounds are huge, and drawn at its edge


def bounds(result: OptimalBoundary) -> go.Figure:
    """Bounds of z against the share of the data read: of the best boundary and of the families."""
    _, lower, upper = bounds_of(result.design)
    tallest = min(max(*upper, *-lower, 2.0) + 1.0, TALLEST)
    drawn = go.Figure()
    designs = [("best boundary", result.design), *((r.name, r.design) for r in result.rivals if r.design is not None)]
    for (name, design), colour, dash in zip(designs, COLOURS, DASHES, strict=False):
        pi, lower, upper = bounds_of(design)
        for side, values in (("accept above", upper), ("reject below", lower)):
            drawn.add_trace(
                go.Scatter(
                    x=pi,
                    y=np.clip(values, -tallest, tallest),
                    customdata=values,
                    mode="lines+markers" if name == "best boundary" else "lines",
                    line={"color": colour, "dash": dash, "width": 3 if name == "best boundary" else 1.5},
                    marker={"size": 5},
                    name=name,
                    legendgroup=name,
                    showlegend=side == "accept above",
                    hovertemplate=f"{side} %{{customdata:.3g}}",
                )
            )
    across, up = linear(ends=(0.0, 1.02), percent=True), linear(ends=(-1.02 * tallest, 1.02 * tallest))
    layout(drawn, "share of the data read", "statistic z", height=420, across=across, up=up)
    return drawn.add_hline(0.0, line={"color": GREY, "width": 1})


def distances(result: OptimalBoundary) -> go.Figure:
    """Data use of each boundary, with the lower bound as a line."""
    rows = [("best boundary", result.usage), *((r.name, r.usage) for r in result.rivals if r.usage is not None)]
    names, usage = [name for name, _ in rows], [value for _, value in rows]
    colours = {"color": COLOURS[: len(rows)]}
    labels = {"texttemplate": "%{x:.2%}", "textposition": "inside", "insidetextanchor": "start"}
    drawn = go.Figure(go.Bar(x=usage, y=names, orientation="h", marker=colours, name="data", **labels))
    drawn.add_vline(result.lower_bound, line={"color": GREY, "dash": "dash", "width": 2})
    across = linear(usage, [result.lower_bound], percent=True, zero=True)
    layout(drawn, "data read per step", "", height=240, across=across)
    drawn.update_layout(showlegend=False, hovermode="closest")
    drawn.update_traces(hovertemplate="%{y}: %{x:.2%}")
    drawn.update_yaxes(autorange="reversed", ticklabelstandoff=8)
    return drawn
