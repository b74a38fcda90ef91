"""Figures of the topic What it does to my posterior."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app.figures.style import BLUE, GREY, LOG_AXIS, RED, layout
from designer.further.posterior import Marginals, PosteriorError


def marginals(found: Marginals) -> go.Figure:
    """The density of one parameter, exact and as the chain with the test samples it."""
    drawn = go.Figure()
    for name, density, colour, dash in (
        ("exact posterior", found.exact, GREY, "dash"),
        ("with the test", found.sampled, BLUE, "solid"),
    ):
        line = {"color": colour, "dash": dash}
        drawn.add_trace(go.Scatter(x=found.x, y=density, mode="lines", name=name, line=line, hovertemplate="%{y:.3f}"))
    return layout(drawn, "parameter, in posterior standard deviations", "density", height=340)


def inflation(epsilons: Sequence[float], errors: Sequence[PosteriorError], chosen: float, ratio: float) -> go.Figure:
    """Factor on the standard deviations over epsilon, with the test in view."""
    drawn = go.Figure()
    ratios = [error.sd_ratio for error in errors]
    line = go.Scatter(
        x=list(epsilons),
        y=ratios,
        mode="lines",
        name="standard deviation",
        line={"color": BLUE},
        hovertemplate="%{y:.3f}",
    )
    drawn.add_trace(line)
    star = {"symbol": "star", "size": 15, "color": RED}
    drawn.add_trace(
        go.Scatter(x=[chosen], y=[ratio], mode="markers", marker=star, name="your test", hovertemplate="%{y:.3f}")
    )
    layout(drawn, "threshold ε", "factor on the posterior sd", height=340)
    drawn.update_xaxes(**LOG_AXIS)
    return drawn
