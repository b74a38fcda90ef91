"""Figures of the Design page: the trade-off, error and data use pair by pair, and the frontier of the criteria."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.axes import linear, logarithmic
from app.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, STAR, layout
from designer.engine.step_error import Acceptance
from designer.pairs.trial_run import TrialRun
from designer.plotdata import some_of
from designer.rule.design import Design
from designer.search.frontier import FrontierPoint
from designer.search.table import Evaluated

MOST_POINTS = 2000  # sent to the browser
LINES = {"average": (BLUE, "solid"), "fixed-m": (ORANGE, "dash"), "worst-case": (PURPLE, "dot")}
ERRORS = {
    "average": "mean |Δ|",
    "fixed-m": "mean |Δ|",
    "worst-case": "error of the hardest decision",
    "quantile": "quantile of |Δ|",
}


MARKS = {  # colour, symbol and size by the kind of mark
    "in view": (GREEN, "star", 18),
    "found": (ORANGE, "hexagon", 13),
    "pin": (PURPLE, "diamond", 11),
}


class Marked(NamedTuple):
    """A design to show in the trade-off: its error by the criterion, its data use, and how it is drawn (MARKS).

    `limit` is the upper limit of the error, if the criterion holds that within the tolerance.
    """

    name: str
    design: Design
    error: float
    usage: float
    kind: str = "in view"
    limit: float | None = None


def trade_off(evaluated: Evaluated, tolerance: float, criterion: str, marked: Sequence[Marked]) -> go.Figure:
    """Error against data use of every design that the search evaluated, with some designs marked.

    The error is what must stay within the tolerance: an upper limit over the pairs, or the point estimate.
    """
    limited = bool(np.any(evaluated.limit > evaluated.error))
    figure = go.Figure()
    shown = some_of(np.arange(len(evaluated)), MOST_POINTS)
    feasible = evaluated.feasible[shown]
    kinds = (("above the tolerance", ~feasible, GREY, "x"), ("within the tolerance", feasible, BLUE, "circle"))
    for name, kind, colour, symbol in kinds:
        index = shown[kind]
        text = [
            f"m = {m:,}, ε = {e:.4g}, α = {a:.3g}, growth = {g:g}"
            for m, e, a, g in zip(*(column[index].tolist() for column in evaluated[:4]), strict=True)
        ]
        figure.add_trace(
            go.Scatter(
                x=evaluated.usage[index],
                y=evaluated.limit[index],
                mode="markers",
                name=name,
                text=text,
                marker={"color": colour, "symbol": symbol, "size": 6, "opacity": 0.7},
                hovertemplate="%{text}<br>error %{y:.3g}, data %{x:.1%}<extra></extra>",
            )
        )
    line = {"color": RED, "dash": "dash", "width": 2}
    ends = {"x": [0.0, 1.0], "y": [tolerance, tolerance]}
    figure.add_trace(go.Scatter(**ends, mode="lines", line=line, name="tolerance", hoverinfo="skip"))
    for mark in marked:
        colour, symbol, size = MARKS[mark.kind]
        figure.add_trace(
            go.Scatter(
                x=[mark.usage],
                y=[mark.error if mark.limit is None else mark.limit],
                mode="markers",
                name=mark.name,
                marker={"color": colour, "symbol": symbol, "size": size, "line": {"color": GREY, "width": 1}},
                hovertemplate=f"{mark.name}: m = {mark.design.m:,}, ε = {mark.design.epsilon:.4g}<br>"
                "error %{y:.3g}, data %{x:.1%}<extra></extra>",
            )
        )
    across = linear(*(trace.x for trace in figure.data if trace.name != "tolerance"), percent=True, zero=True)
    up = logarithmic(*(trace.y for trace in figure.data))
    title = ERRORS[criterion] + (", upper limit" if limited else "")
    layout(figure, "data use", title, height=440, across=across, up=up)
    figure.update_traces(x=across["range"], selector={"name": "tolerance"})
    return figure.update_layout(hovermode="closest", uirevision=f"{criterion}{tolerance}")


def pair_by_pair(step: Acceptance, trial: TrialRun) -> go.Figure:
    """Acceptance error and data use of every pair, against the exact acceptance probability."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    shown = some_of(np.arange(len(trial)), MOST_POINTS)
    kappa = trial.kappa[shown]
    ticks = {name: part for name, part in linear(kappa, room=0.0).items() if name.startswith("tick")}
    marker = {
        "color": kappa,
        "colorscale": "Viridis",
        "size": 6,
        "colorbar": {"title": {"text": "κ"}, "thickness": 12, **ticks},
        "line": {"color": GREY, "width": 0.5},
    }
    for row, (values, form) in enumerate(((step.delta, ".3g"), (step.usage, ".1%")), start=1):
        figure.add_trace(
            go.Scatter(
                x=step.probability[shown],
                y=values[shown],
                mode="markers",
                marker=marker if row == 1 else marker | {"showscale": False},
                customdata=kappa,
                hovertemplate=f"P = %{{x:.3g}}, %{{y:{form}}}, κ = %{{customdata:.3g}}<extra></extra>",
                showlegend=False,
            ),
            row,
            1,
        )
    layout(figure, "", "", height=480, across=linear(ends=(-0.02, 1.02)))
    figure.add_hline(0.0, line={"color": GREY, "width": 1}, row=1, col=1)
    figure.update_layout(hovermode="closest", uirevision="pairs")
    figure.update_yaxes(title_text="Δ", **linear(step.delta[shown], [0.0]), row=1, col=1)
    figure.update_yaxes(title_text="data use", **linear(step.usage[shown], percent=True, zero=True), row=2, col=1)
    return figure.update_xaxes(title_text="exact acceptance probability", row=2, col=1)


def frontier(points: Sequence[FrontierPoint], mark: Marked | None) -> go.Figure:
    """Error and data use of each criterion's design against the tolerance, on pairs it has not seen (Fig. 6)."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    tolerances = sorted({point.tolerance for point in points})
    diagonal = {"color": GREY, "dash": "dash", "width": 1}
    figure.add_trace(
        go.Scatter(x=tolerances, y=tolerances, mode="lines", line=diagonal, name="error = target", hoverinfo="skip"),
        1,
        1,
    )
    for criterion, (colour, dash) in LINES.items():
        mine = [point for point in points if point.criterion == criterion and point.design is not None]
        text = [f"m = {p.design.m:,}, ε = {p.design.epsilon:.4g}, α = {p.design.alpha:.3g}" for p in mine if p.design]
        for row, values in ((1, [p.test_error for p in mine]), (2, [p.test_usage for p in mine])):
            figure.add_trace(
                go.Scatter(
                    x=[point.tolerance for point in mine],
                    y=values,
                    mode="lines+markers",
                    name=criterion,
                    legendgroup=criterion,
                    showlegend=row == 1,
                    line={"color": colour, "dash": dash},
                    text=text,
                    hovertemplate=criterion + ": %{y:.4g} at target %{x:g}<br>%{text}<extra></extra>",
                ),
                row,
                1,
            )
    if mark is not None:
        star = STAR | {"color": GREEN}
        for row, value in ((1, mark.error), (2, mark.usage)):
            figure.add_trace(
                go.Scatter(
                    x=[_target(mark)],
                    y=[value],
                    mode="markers",
                    marker=star,
                    name=mark.name,
                    showlegend=row == 1,
                    legendgroup="mark",
                    hovertemplate=f"{mark.name}: %{{y:.4g}}<extra></extra>",
                ),
                row,
                1,
            )
    errors, usages = ([trace.y for trace in figure.data if (trace.yaxis or "y") == name] for name in ("y", "y2"))
    layout(figure, "", "", height=540, across=logarithmic(*(trace.x for trace in figure.data)))
    figure.update_layout(hovermode="closest", uirevision="frontier")
    figure.update_xaxes(title_text="target: tolerance Δ*", row=2, col=1)
    figure.update_yaxes(title_text="mean |Δ| achieved", **logarithmic(*errors), row=1, col=1)
    return figure.update_yaxes(title_text="data use", **linear(*usages, percent=True, zero=True), row=2, col=1)


def _target(mark: Marked) -> float:
    """The tolerance that a design was made for, or its error if that is unknown."""
    provenance = mark.design.provenance
    return mark.error if provenance is None or provenance.tolerance is None else provenance.tolerance
