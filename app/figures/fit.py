"""Figures of the page Fit."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app.figures.axes import linear, logarithmic
from app.figures.panels import look as line_look
from app.figures.style import BLUE, GREY, layout
from samplers.fit.rivals import Rival
from samplers.fit.trace import Look

HIGHEST = 5.0  # times the bound: a larger statistic is drawn there


def growth(looks: Sequence[Look], n_rows: int | None) -> go.Figure:
    """Rows of the batch at the end of each iteration."""
    ends = {look.iteration: look.n for look in looks}
    drawn = go.Figure(
        go.Scatter(
            x=list(ends),
            y=list(ends.values()),
            name="rows of the batch",
            mode="lines+markers",
            line={"color": BLUE, "shape": "hvh"},
            hovertemplate="%{y:,} rows",
        )
    )
    if n_rows is not None:
        line = {"color": GREY, "dash": "dot"}
        ends_at = [1, max(ends)]
        drawn.add_trace(go.Scatter(x=ends_at, y=[n_rows, n_rows], name="all rows", mode="lines", line=line))
    rows = [*ends.values(), *([] if n_rows is None else [n_rows])]
    across, up = linear(list(ends), whole=True), logarithmic(rows)
    layout(drawn, "iteration", "rows of the batch", height=300, across=across, up=up)
    drawn.update_layout(uirevision="growth")
    return drawn


def test_trace(looks: Sequence[Look]) -> go.Figure:
    """The statistic at each look, and the bound above which a direction is taken."""
    bound = looks[0].bound
    top = HIGHEST * bound
    numbers = list(range(1, len(looks) + 1))
    shown = [max(min(look.statistic, top), -top) for look in looks]
    drawn = go.Figure(
        go.Scatter(
            x=numbers,
            y=shown,
            name="statistic",
            mode="lines+markers",
            line={"color": BLUE, "width": 1},
            marker={"size": 5},
            customdata=[[look.iteration, look.n] for look in looks],
            hovertemplate="%{y:.3g}, iteration %{customdata[0]}, %{customdata[1]:,} rows",
        )
    )
    line = {"color": GREY, "dash": "dash"}
    drawn.add_trace(go.Scatter(x=[1, len(looks)], y=[bound, bound], name="bound", mode="lines", line=line))
    across, up = linear(numbers, whole=True), linear(shown, [bound], zero=True)
    layout(drawn, "look", "statistic of the direction", height=300, across=across, up=up)
    drawn.update_layout(uirevision="trace")
    return drawn


def comparison(rivals: Sequence[Rival], n_rows: int) -> go.Figure:
    """Mean loss above the least of any method, against passes over the table."""
    best = min(float(one.losses.min()) for one in rivals)
    drawn = go.Figure()
    for number, one in enumerate(rivals):
        colour, dash, symbol = line_look(number)
        points = [
            (read / n_rows, loss - best)
            for read, loss in zip(one.path_read.tolist(), one.losses.tolist(), strict=True)
            if best < loss < float("inf")
        ]
        drawn.add_trace(
            go.Scatter(
                x=[x for x, _ in points],
                y=[y for _, y in points],
                name=one.title,
                mode="lines+markers",
                line={"color": colour, "dash": dash},
                marker={"symbol": symbol, "size": 6},
                hovertemplate="%{y:.2g} after %{x:.3g} passes",
            )
        )
    across, up = (logarithmic(*([*map(float, one[axis])] for one in drawn.data)) for axis in ("x", "y"))
    layout(drawn, "passes over the table", "mean loss above the best", height=340, across=across, up=up)
    drawn.update_layout(uirevision="comparison", hovermode="closest")
    return drawn
