"""Figures of the topic A time budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from app.figures.axes import logarithmic
from app.figures.style import BLUE, DASHES, GREEN, GREY, RED, SERIES, STAR, layout
from designer.core.arrays import Floats
from designer.further.budget.epsilon import Option


def risk_against_epsilon(known: Sequence[Option], seconds: float, best: Option, planned: float) -> go.Figure:
    """Risk, squared bias and variance of the tests at the end; lines for exact decisions and for the schedule."""
    drawn, tests = go.Figure(), [option for option in known if option.design is not None]
    for m in sorted({option.design.m for option in tests if option.design is not None}):
        some = [option for option in tests if option.design is not None and option.design.m == m]
        x = [option.epsilon for option in some]
        rows = (
            (f"risk, m = {m:,}", [option.risk(seconds) for option in some], BLUE, "solid"),
            (f"bias², m = {m:,}", [option.squared_bias for option in some], RED, "dot"),
            (f"variance, m = {m:,}", [option.variance(seconds) for option in some], GREEN, "dash"),
        )
        for name, y, colour, dash in rows:
            line = {"color": colour, "dash": dash}
            drawn.add_trace(go.Scatter(x=x, y=y, mode="lines", name=name, line=line, hovertemplate="%{y:.3g}"))
    if best.design is not None:
        star = STAR | {"color": BLUE}
        drawn.add_trace(go.Scatter(x=[best.epsilon], y=[best.risk(seconds)], mode="markers", marker=star, name="best"))
    level = [("exact decisions", option.risk(seconds)) for option in known if option.design is None]
    ends = [end(option.epsilon for option in tests) for end in (min, max)] if tests else []
    for (name, risk), dash in zip([*level, ("schedule", planned)], ("longdash", "dot"), strict=False):
        line = {"color": GREY, "dash": dash}
        points = {"x": ends, "y": [risk for _ in ends]}
        drawn.add_trace(go.Scatter(**points, mode="lines", name=name, line=line, hovertemplate="%{y:.3g}"))
    across, up = logarithmic(*(trace.x for trace in drawn.data)), logarithmic(*(trace.y for trace in drawn.data))
    return layout(drawn, "threshold ε", "risk, of a posterior variance", height=400, across=across, up=up)


def risk_against_time(times: Sequence[float], curves: Mapping[str, Floats]) -> go.Figure:
    """Risk against time: fixed tests and schedules."""
    drawn = go.Figure()
    for number, (name, risk) in enumerate(curves.items()):
        look = {"color": SERIES[number % len(SERIES)], "dash": DASHES[number % len(DASHES)]}
        line = look | {"width": max(7.0 - 2.0 * number, 1.5)}  # equal curves remain visible
        drawn.add_trace(go.Scatter(x=list(times), y=risk, mode="lines", name=name, line=line, hovertemplate="%{y:.3g}"))
    across, up = logarithmic(times), logarithmic(*curves.values())
    return layout(drawn, "seconds", "risk, of a posterior variance", height=400, across=across, up=up)
