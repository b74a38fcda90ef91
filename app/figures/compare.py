"""Figures of the Compare tests page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from app.figures.axes import logarithmic
from app.figures.style import SERIES, layout
from samplers.study.compare_tests import Measurement, Prediction


def costs(runs: Mapping[str, Sequence[Prediction]], measured: Mapping[str, Sequence[Measurement]]) -> go.Figure:
    """Data read per step by each test: a colour for each trial run, with its own rows of dots within a test.

    Filled dots are predictions for all pairs. On the pairs of a simulation: open dots predicted, diamonds simulated.
    """
    drawn = go.Figure()
    for (name, rows), colour in zip(runs.items(), SERIES, strict=False):
        tests, data = [row.test for row in rows], [row.data for row in rows]
        drawn.add_trace(_dots(name, tests, data, {"color": colour, "symbol": "circle", "size": 10}))
        seen = measured.get(name, [])
        if not seen:
            continue
        tests, expected = [row.test for row in seen], [row.predicted_data for row in seen]
        hollow = {"color": colour, "symbol": "circle-open", "size": 10, "line": {"width": 2}}
        drawn.add_trace(_dots(f"{name}, simulated pairs predicted", tests, expected, hollow))
        diamonds = {"color": colour, "symbol": "diamond", "size": 10}
        simulated = _dots(f"{name}, simulated", tests, [row.data for row in seen], diamonds)
        drawn.add_trace(simulated.update(error_x={"type": "data", "array": [row.data_se for row in seen]}))
    read = [trace.x for trace in drawn.data]
    bars = [[row.data + side * row.data_se for row in seen for side in (-1, 1)] for seen in measured.values()]
    height = 620 if any(measured.values()) else 400
    layout(drawn, "data read per step", "", height=height, across=logarithmic(*read, *bars))
    drawn.update_layout(scattermode="group", scattergap=0.2, hovermode="closest", uirevision="costs")
    drawn.update_yaxes(autorange="reversed", ticklabelstandoff=8)
    return drawn


def _dots(name: str, tests: Sequence[str], data: Sequence[float], marker: Mapping[str, object]) -> go.Scatter:
    """One series, in its own row within each test."""
    return go.Scatter(
        x=list(data),
        y=list(tests),
        orientation="h",
        offsetgroup=name,
        mode="markers",
        marker=dict(marker),
        name=name,
        hovertemplate="%{y}: %{x:,.0f} data",
    )
