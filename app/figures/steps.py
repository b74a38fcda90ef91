"""Figures of the topic Step size and test together."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.axes import Parts, linear, logarithmic
from app.figures.style import BLUE, GREEN, GREY, RED, STAR, layout
from designer.further.step_size import BestStep, StepRow

DOUBLED = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # ticks of steps


def efficiency(result: BestStep) -> go.Figure:
    """Squared jump per unit of cost against the step, with the best test of each and exact; stars mark the best."""
    drawn = go.Figure()
    tested = [row for row in result.rows if row.design is not None]
    for name, rows, field, colour, dash in (
        ("with its best test", tested, "efficiency", BLUE, "solid"),
        ("exact", result.rows, "exact_efficiency", RED, "dash"),
    ):
        drawn.add_trace(_line(name, rows, field, colour, dash, "%{y:.3g}"))
    for name, best, field, colour in (
        ("best", result.best, "efficiency", BLUE),
        ("best exact", result.exact, "exact_efficiency", RED),
    ):
        if best is not None:
            marker = STAR | {"color": colour}
            point = {"x": [best.scale], "y": [getattr(best, field)]}
            drawn.add_trace(go.Scatter(**point, mode="markers", marker=marker, name=name, hovertemplate="%{y:.3g}"))
    across, up = _steps(result.rows), linear(*(trace.y for trace in drawn.data), zero=True)
    title = "squared jump per evaluation"
    return layout(drawn, "step, relative to the trial run's", title, height=380, across=across, up=up)


def shares(result: BestStep) -> go.Figure:
    """Acceptance and data use of the best test of each step."""
    drawn = make_subplots(1, 2, horizontal_spacing=0.2)
    tested = [row for row in result.rows if row.design is not None]
    drawn.add_trace(_line("acceptance", tested, "acceptance", BLUE, "solid", "%{y:.3f}"), 1, 1)
    drawn.add_trace(_line("exact acceptance", result.rows, "exact_acceptance", GREY, "dot", "%{y:.3f}"), 1, 1)
    drawn.add_trace(_line("data use", tested, "usage", GREEN, "solid", "%{y:.2%}"), 1, 2)
    layout(drawn, "relative step", "", height=340, across=_steps(result.rows))
    rates, usages = ([each.y for each in drawn.data if (each.yaxis or "y") == name] for name in ("y", "y2"))
    drawn.update_yaxes(title_text="acceptance rate", **linear(*rates, zero=True), row=1, col=1)
    return drawn.update_yaxes(title_text="data use", **linear(*usages, percent=True, zero=True), row=1, col=2)


def _line(name: str, rows: Sequence[StepRow], field: str, colour: str, dash: str, shape: str) -> go.Scatter:
    return go.Scatter(
        x=[row.scale for row in rows],
        y=[getattr(row, field) for row in rows],
        mode="lines+markers",
        line={"color": colour, "dash": dash},
        name=name,
        hovertemplate=shape,
    )


def _steps(rows: Sequence[StepRow]) -> Parts:
    """An axis of steps, each tick the double of the one before."""
    scales = [row.scale for row in rows]
    ticks = [tick for tick in DOUBLED if min(scales) <= tick <= max(scales)]
    return logarithmic(scales) | {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
