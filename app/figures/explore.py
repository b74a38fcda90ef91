"""Figures of one test: its two curves, and how it runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.style import BLUE, DASHES, GREY, RED, SERIES, faded, layout
from designer.pictures import Path, Span, StopBars
from designer.simulate import Simulation
from designer.walk import Characteristics, Stopping

RIGHT, WRONG = BLUE, RED


def curves(
    shown: Span,
    drawn: Sequence[tuple[str, Characteristics]],
    marked: float,
    simulation: Simulation | None = None,
) -> go.Figure:
    """Error and data use against |mu_std|, one line per design; the first may have simulated points."""
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.07)
    first = 1 if shown.logarithmic else 0  # a logarithmic axis has no 0
    for k, (name, curve) in enumerate(drawn):
        line = {"color": SERIES[k], "dash": DASHES[k], "width": 2.5 if k == 0 else 2}
        for row, values in ((1, curve.error), (2, curve.usage)):
            trace = go.Scatter(
                x=curve.mu_std[first:], y=values[first:], name=name, legendgroup=name, showlegend=row == 1, line=line
            )
            figure.add_trace(trace, row, 1)
    if simulation is not None:
        _add_simulation(figure, simulation, first)
    ends = (shown.start, shown.end) if shown.logarithmic else (0.0, shown.end)
    figure.add_vline(x=max(marked, ends[0]), line={"color": GREY, "dash": "dot", "width": 1.5})
    layout(figure, "", "", height=520)
    _axis(figure, "|μ_std|, distance from the threshold", ends, logarithmic=shown.logarithmic)
    figure.update_yaxes(title_text="P(wrong decision)", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title_text="share of data read", rangemode="tozero", tickformat=".2~%", row=2, col=1)
    figure.update_layout(uirevision="curves")
    return figure


def run(
    where: Stopping,
    bounds: Sequence[int],
    runs: Sequence[Path],
    bars: StopBars,
    reach: float,
    *,
    logarithmic: bool,
    accept_right: bool,
) -> go.Figure:
    """The bounds with runs of the test above, and below them how often it stops where."""
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[0.62, 0.38])
    n, upper, lower = where.n[bounds], where.upper[bounds], where.lower[bounds]
    marks = {"mode": "lines+markers" if len(n) <= 60 else "lines", "marker": {"size": 4}, "line": {"color": GREY}}
    figure.add_trace(go.Scatter(x=n, y=upper, name="bounds ±G", legendgroup="bounds", **marks), 1, 1)
    figure.add_trace(go.Scatter(x=n, y=lower, name="", legendgroup="bounds", showlegend=False, **marks), 1, 1)
    for right in (True, False):
        _add_paths(figure, [path for path in runs if path.right == right], RIGHT if right else WRONG, int(where.n[-1]))
    for accept, values in ((True, bars.accept), (False, bars.reject)):
        right = accept == accept_right
        decision = f"{'accept' if accept else 'reject'} ({'right' if right else 'wrong'})"
        bar = go.Bar(
            x=bars.left,
            y=values,
            width=bars.width,
            offset=0,
            name=decision,
            marker={"color": RIGHT if right else WRONG, "line": {"width": 0}},
            customdata=list(zip(bars.after.tolist(), bars.upto.tolist(), strict=True)),
            hovertemplate="after %{customdata[0]:,d} to %{customdata[1]:,d} data: %{y:.3g}",
        )
        figure.add_trace(bar, 2, 1)
    layout(figure, "", "", height=560)
    _axis(figure, "data read", bars.ends, logarithmic=logarithmic)
    figure.update_yaxes(title_text="statistic z", range=[-reach, reach], row=1, col=1)
    figure.update_yaxes(title_text="P(stop)", rangemode="tozero", row=2, col=1)
    figure.update_layout(barmode="stack", uirevision="run", hovermode="closest")
    return figure


def _add_paths(figure: go.Figure, runs: Sequence[Path], colour: str, n_data: int) -> None:
    """Runs of one colour with their ends, as two traces: a trace per run would take long to build."""
    n: list[float | None] = []
    z: list[float | None] = []
    ends, heights, symbols = [], [], []
    for path in runs:
        last = float(path.z[-1]) if path.n.size else 0.0
        ends.append(n_data if path.whole else int(path.n[-1]))
        heights.append(last)
        symbols.append("triangle-up" if path.accepted else "triangle-down")
        n += [*path.n.tolist(), ends[-1], None]  # None lifts the pen
        z += [*path.z.tolist(), last, None]
    common = {"showlegend": False, "hoverinfo": "skip"}
    line = {"color": faded(colour, 0.6), "width": 1.2}
    figure.add_trace(go.Scatter(x=n, y=z, mode="lines", line=line, **common), 1, 1)
    marker = {"color": colour, "size": 8, "symbol": symbols}
    figure.add_trace(go.Scatter(x=ends, y=heights, mode="markers", marker=marker, cliponaxis=False, **common), 1, 1)


def _add_simulation(figure: go.Figure, simulation: Simulation, first: int) -> None:
    marker = {"color": BLUE, "size": 8, "symbol": "circle-open"}
    measured = ((simulation.error, simulation.error_se), (simulation.usage, simulation.usage_se))
    for row, (values, spread) in enumerate(measured, start=1):
        points = go.Scatter(
            x=simulation.mu_std[first:],
            y=values[first:],
            error_y={"type": "data", "array": spread[first:]},
            mode="markers",
            marker=marker,
            cliponaxis=False,
            name=f"simulated, {simulation.repeats:,} each",
            legendgroup="simulated",
            showlegend=row == 1,
        )
        figure.add_trace(points, row, 1)


def _axis(figure: go.Figure, title: str, ends: tuple[float, float], *, logarithmic: bool) -> None:
    """The shared horizontal axis, its ends fixed so that a redraw keeps the reader's zoom."""
    if logarithmic:
        figure.update_xaxes(type="log", range=[log10(end) for end in ends], exponentformat="power", dtick=1)
    else:
        figure.update_xaxes(range=list(ends))
    figure.update_xaxes(title_text=title, row=2, col=1)
