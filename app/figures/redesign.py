"""Figure of the topic Design while it runs."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.axes import linear, logarithmic
from app.figures.style import BLUE, GREEN, GREY, ORANGE, RED, layout
from samplers.adapt.redesign import Followed

BEFORE = {"color": ORANGE, "size": 10, "symbol": "diamond-open", "line": {"width": 2}}
AFTER = {"color": GREEN, "size": 8}


def over_time(followed: Followed, tolerance: float, first: tuple[int, float]) -> go.Figure:
    """Data use, predicted error before and after each search, and m and ε (at first `first`), against the steps."""
    drawn = make_subplots(3, 1, shared_xaxes=True, vertical_spacing=0.09)
    steps = [change.step for change in followed.log]
    windows = [window.step for window in followed.windows]
    read = {"x": windows, "y": [window.usage for window in followed.windows]}
    drawn.add_trace(_line("read", read, BLUE, "lines", "%{y:.2%}"), 1, 1)
    for name, old, look in (("before", "old_", BEFORE), ("after", "", AFTER)):
        for row, field, hover in ((1, "usage", "%{y:.2%}"), (2, "error", "%{y:.3g}")):
            points = go.Scatter(
                x=steps,
                y=[getattr(change, old + field) for change in followed.log],
                mode="markers",
                marker=look,
                cliponaxis=False,
                name=f"predicted {name}",
                legendgroup=name,
                showlegend=row == 1,
                hovertemplate=hover,
            )
            drawn.add_trace(points, row, 1)
    drawn.add_hline(tolerance, line={"color": GREY, "dash": "dash"}, row=2, col=1)
    for name, field, colour, start in (("m", "m", BLUE, first[0]), ("ε", "epsilon", RED, first[1])):
        points = {"x": [0, *steps], "y": [start, *(getattr(change, field) for change in followed.log)]}
        drawn.add_trace(_line(name, points, colour, "lines+markers", "%{y:.4g}").update(line_shape="hv"), 3, 1)
    layout(drawn, "", "", height=640, across=linear(*(trace.x for trace in drawn.data), zero=True))
    usage, error, knobs = ([each.y for each in drawn.data if (each.yaxis or "y") == name] for name in ("y", "y2", "y3"))
    drawn.update_yaxes(title_text="data use", **linear(*usage, percent=True, zero=True), row=1, col=1)
    drawn.update_yaxes(title_text="mean |Δ|", **linear(*error, [tolerance], zero=True), row=2, col=1)
    drawn.update_yaxes(title_text="m, ε", **logarithmic(*knobs), row=3, col=1)
    return drawn.update_xaxes(title_text="step of the chain", row=3, col=1)


def pairs(followed: Followed) -> go.Figure:
    """The latest pairs: log acceptance ratio against κ."""
    assert followed.trial is not None
    marker = {"color": BLUE, "size": 7}
    drawn = go.Figure(
        go.Scatter(
            x=followed.trial.kappa,
            y=followed.trial.log_acceptance,
            mode="markers",
            marker=marker,
            hovertemplate="κ = %{x:.3g}, A = %{y:.3g}",
        )
    )
    across, up = linear(followed.trial.kappa), linear(followed.trial.log_acceptance)
    layout(drawn, "κ", "A, log acceptance ratio", height=340, across=across, up=up)
    return drawn.update_layout(hovermode="closest")


def _line(name: str, points: Mapping[str, object], colour: str, mode: str, hover: str) -> go.Scatter:
    look = {"line": {"color": colour}, "marker": {"color": colour, "size": 8}}
    return go.Scatter(**points, **look, mode=mode, name=name, hovertemplate=hover)
