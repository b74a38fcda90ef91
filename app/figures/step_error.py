"""Figures of one accept/reject step against its exact acceptance probability."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from app.figures.axes import Parts, linear
from app.figures.plain import axis, figure, number, stacked
from app.figures.style import DASHES, GREY, SERIES
from designer.plotdata import StepCurves

EXACT = "exact acceptance probability P_a"
ENDS = (0.0, 1.0)


def errors(curves: StepCurves) -> go.Figure:
    """Δ with its bound, probability of a wrong decision, and data use, stacked (K14 Fig. 11)."""
    traces = [
        _line(curves, k, values[k], yaxis=f"y{number(row)}", showlegend=row == 1)
        for row, values in enumerate((curves.delta, curves.wrong, curves.usage), start=1)
        for k in range(len(curves.kappa))
    ]
    bounds = ((1, curves.worst, True), (1, -curves.worst, False), (2, curves.worst, False))
    traces += [_level(row, level, legend=legend) for row, level, legend in bounds]
    rows = [
        axis("acceptance error Δ", zeroline=True, **linear([-curves.worst, curves.worst], curves.delta)),
        axis("P(wrong decision)", **linear([curves.worst], curves.wrong, zero=True)),
        axis("data use", **linear(curves.usage, percent=True, zero=True)),
    ]
    return figure(traces, stacked(axis(EXACT, **linear(ends=ENDS)), rows, gap=0.05), height=720, uirevision="step")


def acceptances(curves: StepCurves) -> go.Figure:
    """The acceptance probability of the test against the exact one (K14 Fig. 12)."""
    traces = [_line(curves, k, curves.accepted[k]) for k in range(len(curves.kappa))]
    same = {"type": "scatter", "mode": "lines", "x": ENDS, "y": ENDS, "line": {"color": GREY, "dash": "dash"}}
    up = linear([0.0, 1.0], curves.accepted, room=0.0)
    axes = {
        "xaxis": axis(EXACT, **linear(ends=ENDS)),
        "yaxis": axis("acceptance probability of the test", **up),
    }
    return figure([*traces, {**same, "name": "no error"}], axes, height=420, uirevision="acceptance")


def _line(curves: StepCurves, k: int, values: object, **properties: Any) -> Parts:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": curves.probability,
        "y": values,
        "name": f"κ = {curves.kappa[k]:g}",
        "legendgroup": f"{curves.kappa[k]:g}",
        "line": {"color": SERIES[k], "dash": DASHES[k]},
        **properties,
    }


def _level(row: int, level: float, *, legend: bool) -> Parts:
    """The worst case, in one of the rows."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": ENDS,
        "y": [level, level],
        "yaxis": f"y{number(row)}",
        "name": "worst case ±E(0)",
        "legendgroup": "bound",
        "showlegend": legend,
        "line": {"color": GREY, "dash": "dash"},
    }
