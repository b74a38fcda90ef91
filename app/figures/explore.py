"""Figures of one test: its two curves, and how it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import Parts, linear
from app.figures.axes import logarithmic as logged
from app.figures.plain import axis, figure, stacked, upright
from app.figures.style import BLUE, DASHES, GREY, RED, SERIES, faded
from designer.check.simulate import Simulation
from designer.engine.walk import Characteristics, Stopping
from designer.plotdata import Path, Span, StopBars

RIGHT, WRONG = BLUE, RED
GAP = 0.07


def curves(
    shown: Span,
    drawn: Sequence[tuple[str, Characteristics]],
    marked: float,
    simulation: Simulation | None = None,
) -> go.Figure:
    """Error and data use against |μ_std|, one line per design; the first may have simulated points."""
    first = 1 if shown.logarithmic else 0  # a logarithmic axis has no 0
    traces = [trace for k, (name, curve) in enumerate(drawn) for trace in _curve(k, name, curve, first)]
    if simulation is not None:
        traces += _simulated(simulation, first)
    ends = (shown.start, shown.end) if shown.logarithmic else (0.0, shown.end)
    errors, usages = ([each["y"] for each in traces if each["yaxis"] == name] for name in ("y", "y2"))
    rows = [
        axis("P(wrong decision)", **linear(*errors, zero=True)),
        axis("data use", **linear(*usages, percent=True, zero=True)),
    ]
    x = _axis("|μ_std|, distance from the threshold", ends, logarithmic=shown.logarithmic)
    line = {"color": GREY, "dash": "dot", "width": 1.5}
    shapes = upright(len(rows), max(marked, ends[0]), line)
    return figure(traces, stacked(x, rows, gap=GAP), height=520, shapes=shapes, uirevision="curves")


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
    """Above: the bounds, with runs of the test. Below: the probability of stopping at each look.

    Bounds and runs beyond ±`reach` are drawn at the edge.
    """
    traces = _bounds(where, bounds, reach)
    for right in (True, False):
        mine = [path for path in runs if path.right == right]
        traces += _paths(mine, RIGHT if right else WRONG, int(where.n[-1]), reach) if mine else []
    traces += [_bars(bars, accept=True, right=accept_right), _bars(bars, accept=False, right=not accept_right)]
    rows = [
        axis("statistic z", **linear(ends=(-1.05 * reach, 1.05 * reach))),
        axis("P(stop)", **linear(bars.accept + bars.reject, zero=True)),
    ]
    axes = stacked(_axis("data read", bars.ends, logarithmic=logarithmic), rows, gap=GAP, shares=(0.62, 0.38))
    return figure(traces, axes, height=560, barmode="stack", uirevision="run", hovermode="closest")


def _curve(k: int, name: str, curve: Characteristics, first: int) -> list[Parts]:
    """The two lines of a design."""
    common = {
        "type": "scatter",
        "mode": "lines",
        "x": curve.mu_std[first:],
        "name": name,
        "legendgroup": name,
        "line": {"color": SERIES[k], "dash": DASHES[k], "width": 2.5 if k == 0 else 2},
    }
    return [
        {**common, "y": curve.error[first:], "yaxis": "y"},
        {**common, "y": curve.usage[first:], "yaxis": "y2", "showlegend": False},
    ]


def _simulated(simulation: Simulation, first: int) -> list[Parts]:
    """The simulated points, with error bars."""
    name = f"simulated, {simulation.repeats:,} each"
    common = {
        "type": "scatter",
        "mode": "markers",
        "x": simulation.mu_std[first:],
        "marker": {"color": BLUE, "size": 8, "symbol": "circle-open"},
        "cliponaxis": False,
        "name": name,
        "legendgroup": "simulated",
    }
    error, usage = ({"type": "data", "array": se[first:]} for se in (simulation.error_se, simulation.usage_se))
    return [
        {**common, "y": simulation.error[first:], "yaxis": "y", "error_y": error},
        {**common, "y": simulation.usage[first:], "yaxis": "y2", "error_y": usage, "showlegend": False},
    ]


def _bounds(where: Stopping, shown: Sequence[int], reach: float) -> list[Parts]:
    """The upper and the lower bounds."""
    n, upper, lower = where.n[shown], where.upper[shown], where.lower[shown]
    common = {
        "type": "scatter",
        "mode": "lines+markers" if len(n) <= 60 else "lines",
        "marker": {"size": 4},
        "line": {"color": GREY},
        "x": n,
        "legendgroup": "bounds",
        "hovertemplate": "after %{x:,d} data: %{customdata:.3g}",
    }
    return [
        {**common, "y": np.minimum(upper, reach), "customdata": upper, "name": "bounds ±G"},
        {**common, "y": np.maximum(lower, -reach), "customdata": lower, "name": "", "showlegend": False},
    ]


def _paths(runs: Sequence[Path], colour: str, n_data: int, reach: float) -> list[Parts]:
    """Runs of one colour with their ends, as two traces: a trace per run would take long to draw."""
    n: list[float | None] = []
    z: list[float | None] = []
    ends, heights, symbols = [], [], []
    for path in runs:
        inside = np.clip(path.z, -reach, reach).tolist()
        last = inside[-1] if path.n.size else 0.0
        ends.append(n_data if path.whole else int(path.n[-1]))
        heights.append(last)
        symbols.append("triangle-up" if path.accepted else "triangle-down")
        n += [*path.n.tolist(), ends[-1], None]  # None lifts the pen
        z += [*inside, last, None]
    common = {"type": "scatter", "showlegend": False, "hoverinfo": "skip"}
    line = {"color": faded(colour, 0.6), "width": 1.2}
    marker = {"color": colour, "size": 8, "symbol": symbols}
    return [
        {**common, "x": n, "y": z, "mode": "lines", "line": line},
        {**common, "x": ends, "y": heights, "mode": "markers", "marker": marker, "cliponaxis": False},
    ]


def _bars(bars: StopBars, *, accept: bool, right: bool) -> Parts:
    """The probability of stopping at each look with one of the two decisions."""
    return {
        "type": "bar",
        "x": bars.left,
        "y": bars.accept if accept else bars.reject,
        "yaxis": "y2",
        "width": bars.width,
        "offset": 0,
        "name": f"{'accept' if accept else 'reject'} ({'right' if right else 'wrong'})",
        "marker": {"color": RIGHT if right else WRONG, "line": {"width": 0}},
        "customdata": list(zip(bars.after.tolist(), bars.upto.tolist(), strict=True)),
        "hovertemplate": "after %{customdata[0]:,d} to %{customdata[1]:,d} data: %{y:.3g}",
    }


def _axis(title: str, ends: tuple[float, float], *, logarithmic: bool) -> Parts:
    """The shared horizontal axis, with fixed limits so that a redraw shows the same part."""
    return axis(title, **(logged(ends=ends) if logarithmic else linear(ends=ends)))
