"""Figures of the topic What it does to my posterior."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app.figures.axes import linear, logarithmic
from app.figures.style import BLUE, GREY, RED, STAR, faded, layout
from designer.further.posterior.error import Marginals, PosteriorError


def marginals(densities: Marginals) -> go.Figure:
    """The density of one parameter: exact, and sampled by the chain with the test."""
    drawn = go.Figure()
    area = {"fill": "tozeroy", "fillcolor": faded(GREY, 0.35), "line": {"color": GREY, "width": 0}}
    line = {"line": {"color": BLUE, "width": 2}}
    for name, density, look in (("exact posterior", densities.exact, area), ("with the test", densities.sampled, line)):
        drawn.add_trace(go.Scatter(x=densities.x, y=density, mode="lines", name=name, hovertemplate="%{y:.3f}", **look))
    across, up = linear(densities.x, room=0.0), linear(densities.exact, densities.sampled, zero=True)
    return layout(drawn, "parameter, in posterior standard deviations", "density", height=360, across=across, up=up)


def inflation(
    epsilons: Sequence[float], errors: Sequence[PosteriorError], chosen: float, ratio: float | None
) -> go.Figure:
    """Factor on the standard deviations against ε, and that of the chosen test if it is known."""
    curve = {"x": list(epsilons), "y": [error.sd_ratio for error in errors]}
    look = {"line": {"color": BLUE}, "marker": {"size": 5}, "hovertemplate": "%{y:.3f}"}
    drawn = go.Figure(go.Scatter(**curve, **look, mode="lines+markers", name="standard deviation"))
    if ratio is not None:
        star = STAR | {"color": RED}
        point = {"x": [chosen], "y": [ratio], "marker": star, "hovertemplate": "%{y:.3f}"}
        drawn.add_trace(go.Scatter(**point, mode="markers", name="your test"))
    across, up = logarithmic(*(trace.x for trace in drawn.data)), linear(*(trace.y for trace in drawn.data), [1.0])
    return layout(drawn, "threshold ε", "factor on the posterior sd", height=360, across=across, up=up)
