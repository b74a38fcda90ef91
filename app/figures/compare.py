"""Figures of the page Compare tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from app.figures.style import LOG_AXIS, SERIES, layout
from samplers.advice import Measured, Prediction


def costs(runs: Mapping[str, Sequence[Prediction]], measured: Mapping[str, Sequence[Measured]]) -> go.Figure:
    """Data read per step by each test, for one or more trial runs; simulated values as points with error bars."""
    drawn = go.Figure()
    for (name, rows), colour in zip(runs.items(), SERIES, strict=False):
        drawn.add_trace(
            go.Bar(x=[row.test for row in rows], y=[row.data for row in rows], name=name, marker_color=colour)
        )
    for name, seen in measured.items():
        drawn.add_trace(
            go.Scatter(
                x=[row.test if row.test != "exact" else "exact, cached" for row in seen],
                y=[row.data for row in seen],
                error_y={"type": "data", "array": [row.data_se for row in seen]},
                mode="markers",
                marker={"color": SERIES[-1], "size": 10, "symbol": "diamond"},
                name=f"{name}, simulated",
            )
        )
    layout(drawn, "", "data read per step", height=380)
    drawn.update_layout(barmode="group", hovermode="closest", uirevision="costs")
    drawn.update_yaxes(**LOG_AXIS)
    return drawn
