"""Figure of the topic Designs by kappa."""

from __future__ import annotations

import plotly.graph_objects as go

from app.figures.style import BLUE, GREY, ORANGE, layout
from designer.acceptance import Acceptance
from designer.further.strata_records import Stratified
from designer.records import TrialRun


def by_kappa(trial: TrialRun, found: Stratified, alone: Acceptance, strata: Acceptance) -> go.Figure:
    """Expected data of each pair over its kappa, with one design and with the strata; lines at their edges."""
    drawn = go.Figure()
    for name, step, colour, symbol in (("one design", alone, ORANGE, "x-thin"), ("by κ", strata, BLUE, "circle-open")):
        marker = {"color": colour, "symbol": symbol, "size": 8, "line": {"width": 1.5, "color": colour}}
        hover = "κ = %{x:.3g}: %{y:.2%}"
        drawn.add_trace(
            go.Scatter(x=trial.kappa, y=step.usage, mode="markers", marker=marker, name=name, hovertemplate=hover)
        )
    for edge in found.edges:
        drawn.add_vline(edge, line={"color": GREY, "dash": "dash"})
    layout(drawn, "κ of the pair", "data per step", height=360)
    drawn.update_layout(hovermode="closest")
    drawn.update_xaxes(type="log", dtick="D2")
    drawn.update_yaxes(tickformat=".0%", rangemode="tozero")
    return drawn
