"""Figures for teaching: one test look by look, and error and cost of a boundary."""

from __future__ import annotations

import plotly.graph_objects as go

from app.figures.axes import Parts, linear
from app.figures.plain import axis, figure, stacked
from app.figures.style import BLUE, GREEN, GREY, RED
from designer.engine.walk import Characteristics, Stopping
from designer.plotdata import Path


def one_test(where: Stopping, path: Path, looks: int) -> go.Figure:
    """The bounds, and the evidence at the looks that were made."""
    n, upper, lower = where.n[:-1].tolist(), where.upper[:-1].tolist(), where.lower[:-1].tolist()
    line = {"color": GREY, "dash": "dash", "width": 2}
    bound = {"type": "scatter", "mode": "lines", "x": n, "line": line}
    done = looks >= path.n.size + path.whole
    colour = BLUE if not done else GREEN if path.right else RED
    shown_n, shown_z = path.n[:looks].tolist(), path.z[:looks].tolist()
    traces: list[Parts] = [
        {**bound, "y": upper, "name": "bounds"},
        {**bound, "y": lower, "showlegend": False},
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": [0, *shown_n],
            "y": [0.0, *shown_z],
            "name": "evidence z",
            "line": {"color": colour, "width": 2.5},
            "marker": {"size": [1, *([8] * len(shown_n))], "color": colour},
            "hovertemplate": "%{y:.2f}",
        },
    ]
    reach = max(4.0, *(abs(value) for value in [*upper[:1], *path.z.tolist()])) * 1.15
    x = axis("data read", **linear(ends=(0.0, 1.02 * float(where.n[-1])), whole=True))
    y = axis("evidence z", **linear(ends=(-reach, reach)))
    return figure(traces, stacked(x, [y], gap=0.0), height=380, uirevision="one-test")


def error_and_cost(curve: Characteristics) -> go.Figure:
    """Error and data use over the standardised mean."""
    common = {"type": "scatter", "mode": "lines", "x": curve.mu_std.tolist(), "showlegend": False}
    traces: list[Parts] = [
        {**common, "y": curve.error.tolist(), "line": {"color": RED, "width": 2.5}, "hovertemplate": "%{y:.3~g}"},
        {
            **common,
            "y": curve.usage.tolist(),
            "yaxis": "y2",
            "line": {"color": BLUE, "width": 2.5},
            "hovertemplate": "%{y:.1%}",
        },
    ]
    rows = [
        axis("wrong decisions", **linear(curve.error, percent=True, zero=True)),
        axis("data read", **linear(curve.usage, percent=True, zero=True)),
    ]
    across = axis("how clear the answer is, μ_std", **linear(curve.mu_std))
    return figure(traces, stacked(across, rows, gap=0.1), height=400, uirevision="learn")
