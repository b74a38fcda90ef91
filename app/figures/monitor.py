"""Figures of a run beside its promises: how it went, and the traces of a parameter."""

from __future__ import annotations

import plotly.graph_objects as go

from app.figures.axes import Parts, linear
from app.figures.plain import axis, figure, stacked
from app.figures.style import BLUE, DASHES, GREY, SERIES, faded
from samplers.runs.watch import History, Promise, Trace


def course(went: History, rows: list[Promise]) -> go.Figure:
    """Acceptance, data use and looks over the steps, each with the band that was promised."""
    shown = [("acceptance", went.acceptance, ".3~p"), ("data use", went.usage, ".3~p"), ("looks", went.looks, ".3~r")]
    promised = {row.quantity.removesuffix(" per step"): row for row in rows}
    traces: list[Parts] = []
    shapes: list[Parts] = []
    axes = []
    for number, (name, values, form) in enumerate(shown, start=1):
        at = "" if number == 1 else str(number)
        known = [float(value) for value in values]
        traces.append(
            {
                "type": "scatter",
                "x": went.step.tolist(),
                "y": [None if value != value else value for value in known],
                "yaxis": f"y{at}",
                "mode": "lines+markers",
                "name": "measured",
                "showlegend": number == 1,
                "line": {"color": BLUE, "width": 2},
                "marker": {"size": 4},
                "hovertemplate": f"%{{y:{form}}}",
            }
        )
        row = promised.get(name)
        if row is not None and row.promised is not None:
            shapes += _promise(row, f"y{at}")
        drawn = [value for value in known if value == value]
        if row is not None and row.promised is not None:
            drawn += [row.promised, *(row.band or ())]
        axes.append(axis(name, **linear(drawn, percent=name != "looks", zero=True)))
    if shapes:
        band = {"type": "scatter", "x": [None], "y": [None], "mode": "lines", "name": "promised, with its band"}
        traces.append(band | {"line": {"color": GREY, "dash": "dash"}})
    return figure(
        traces,
        stacked(axis("step of each chain", **linear(went.step, whole=True)), axes, gap=0.06),
        height=480,
        shapes=shapes,
        uirevision="course",
    )


def _promise(row: Promise, on: str) -> list[Parts]:
    ends: Parts = {"xref": "paper", "x0": 0, "x1": 1, "yref": on, "layer": "below"}
    line = {"type": "line", **ends, "y0": row.promised, "y1": row.promised, "line": {"color": GREY, "dash": "dash"}}
    if row.band is None:
        return [line]
    low, high = row.band
    area = {"type": "rect", **ends, "y0": low, "y1": high, "line": {"width": 0}, "fillcolor": faded(GREY, 0.25)}
    return [area, line]


def paths(found: list[Trace], name: str) -> go.Figure:
    """The draws of one parameter, a line for each chain."""
    traces: list[Parts] = [
        {
            "type": "scatter",
            "x": trace.step.tolist(),
            "y": trace.value.tolist(),
            "mode": "lines",
            "name": f"chain {trace.chain}",
            "line": {
                "color": SERIES[trace.chain % len(SERIES)],
                "width": 1,
                "dash": DASHES[trace.chain // len(SERIES) % len(DASHES)],
            },
            "opacity": 0.8,
            "hovertemplate": "%{y:.3~g}",
        }
        for trace in found
    ]
    steps = [step for trace in found for step in trace.step.tolist()]
    values = [value for trace in found for value in trace.value.tolist()]
    across, up = axis("step of each chain", **linear(steps, whole=True)), axis(name, **linear(values))
    axes = stacked(across, [up], gap=0.0)
    return figure(traces, axes, height=320, uirevision=f"trace-{name}")
