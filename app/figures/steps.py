"""Figures of the topic Step size and test together."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.style import BLUE, GREEN, GREY, RED, layout
from designer.further.step_size import BestStep, StepRow

TICKS = (0.1, 0.2, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 4, 8)
FEW_TICKS = (0.125, 0.25, 0.5, 1, 2, 4, 8)  # for two panels side by side on a phone


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
            marker = {"symbol": "star", "size": 15, "color": colour}
            point = {"x": [best.scale], "y": [getattr(best, field)]}
            drawn.add_trace(go.Scatter(**point, mode="markers", marker=marker, name=name, hovertemplate="%{y:.3g}"))
    layout(drawn, "step, relative to the trial run's", "squared jump per evaluation", height=360)
    drawn.update_yaxes(rangemode="tozero", exponentformat="power")
    return _log_steps(drawn)


def shares(result: BestStep) -> go.Figure:
    """Acceptance and data use of the best test of each step."""
    drawn = make_subplots(1, 2, horizontal_spacing=0.2)
    tested = [row for row in result.rows if row.design is not None]
    drawn.add_trace(_line("acceptance", tested, "acceptance", BLUE, "solid", "%{y:.3f}"), 1, 1)
    drawn.add_trace(_line("exact acceptance", result.rows, "exact_acceptance", GREY, "dot", "%{y:.3f}"), 1, 1)
    drawn.add_trace(_line("data use", tested, "usage", GREEN, "solid", "%{y:.2%}"), 1, 2)
    layout(drawn, "relative step", "", height=320)
    drawn.update_yaxes(rangemode="tozero")
    drawn.update_yaxes(title_text="acceptance rate", row=1, col=1)
    drawn.update_yaxes(title_text="data use", tickformat=".0%", row=1, col=2)
    return _log_steps(drawn, FEW_TICKS)


def _line(name: str, rows: Sequence[StepRow], field: str, colour: str, dash: str, shape: str) -> go.Scatter:
    return go.Scatter(
        x=[row.scale for row in rows],
        y=[getattr(row, field) for row in rows],
        mode="lines+markers",
        line={"color": colour, "dash": dash},
        name=name,
        hovertemplate=shape,
    )


def _log_steps(drawn: go.Figure, ticks: Sequence[float] = TICKS) -> go.Figure:
    drawn.update_xaxes(type="log", tickvals=list(ticks), ticktext=[f"{tick:g}" for tick in ticks])
    return drawn
