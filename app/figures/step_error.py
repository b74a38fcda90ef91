"""Figures of one accept/reject step against its exact acceptance probability."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.style import DASHES, GREY, SERIES, layout
from designer.pictures import StepCurves

EXACT = "exact acceptance probability P_a"


def errors(curves: StepCurves) -> go.Figure:
    """Delta with its bound, wrong decisions, and data use, stacked (K14 Fig. 11)."""
    figure = make_subplots(3, 1, shared_xaxes=True, vertical_spacing=0.05)
    for row, values in ((1, curves.delta), (2, curves.wrong), (3, curves.usage)):
        for k, kappa in enumerate(curves.kappa):
            figure.add_trace(_line(curves, k, kappa, values[k], legend=row == 1), row, 1)
    bound = {"mode": "lines", "line": {"color": GREY, "dash": "dash"}, "legendgroup": "bound"}
    ends = [0.0, 1.0]
    for row, level, legend in ((1, curves.worst, True), (1, -curves.worst, False), (2, curves.worst, False)):
        trace = go.Scatter(x=ends, y=[level, level], name="worst case ±E(0)", showlegend=legend, **bound)
        figure.add_trace(trace, row, 1)
    layout(figure, "", "", height=720)
    figure.update_xaxes(range=ends)
    figure.update_xaxes(title_text=EXACT, row=3, col=1)
    figure.update_yaxes(title_text="Δ, error in P_a", zeroline=True, row=1, col=1)
    figure.update_yaxes(title_text="P(wrong decision)", rangemode="tozero", row=2, col=1)
    figure.update_yaxes(title_text="share of data read", rangemode="tozero", tickformat=".2~%", row=3, col=1)
    figure.update_layout(uirevision="step")
    return figure


def acceptances(curves: StepCurves) -> go.Figure:
    """The acceptance probability of the test against the exact one (K14 Fig. 12)."""
    figure = go.Figure()
    for k, kappa in enumerate(curves.kappa):
        figure.add_trace(_line(curves, k, kappa, curves.accepted[k], legend=True))
    ends = [0.0, 1.0]
    figure.add_trace(go.Scatter(x=ends, y=ends, mode="lines", name="no error", line={"color": GREY, "dash": "dash"}))
    layout(figure, EXACT, "acceptance probability of the test", height=420)
    figure.update_xaxes(range=ends)
    figure.update_yaxes(range=[0.0, 1.0])
    figure.update_layout(uirevision="acceptance")
    return figure


def _line(curves: StepCurves, k: int, kappa: float, values: object, *, legend: bool) -> go.Scatter:
    return go.Scatter(
        x=curves.probability,
        y=values,
        mode="lines",
        name=f"κ = {kappa:g}",
        legendgroup=f"{kappa:g}",
        showlegend=legend,
        line={"color": SERIES[k], "dash": DASHES[k]},
    )
