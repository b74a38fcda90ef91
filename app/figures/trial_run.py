"""Figures of the Trial run page: histograms of the pairs, and the Q-Q plot of the t statistic."""

from __future__ import annotations

import plotly.graph_objects as go

from app.figures.axes import linear
from app.figures.style import BLUE, GREY, RED, layout
from designer.pairs.diagnostics import Histogram, StudentCheck

# title, axis and caption, by the names of `designer.pairs.diagnostics.summarise`
PANELS = {
    "log_acceptance": (
        "Log acceptance ratio A",
        "A = Nμ − c",
        "A of each proposal. Above 0 the exact chain always accepts; far below, hardly ever.",
    ),
    "kappa": (
        "Noise scale κ",
        "κ = Nσ / √(N − 1)",
        "κ of each proposal: the standard error of A when half of the data are read. The larger κ, the more data a "
        "decision needs.",
    ),
    "probability": (
        "Acceptance probability",
        "P = min(1, exp A)",
        "The acceptance probability of each proposal in the exact chain.",
    ),
    "skew": (
        "Skewness of the terms",
        "skewness of the lᵢ",
        "Skewness of the lᵢ of each proposal. The normal theory assumes 0; be careful beyond ±2.",
    ),
}


def bars(name: str, histogram: Histogram) -> go.Figure:
    """The histogram of one quantity over the pairs."""
    title, axis, _ = PANELS[name]
    hover = [f"{low:.4g} to {high:.4g}: {count:,} pairs" for low, high, count in _bins(histogram)]
    figure = go.Figure(
        go.Bar(
            x=histogram.centres,
            y=histogram.counts,
            width=histogram.widths,
            marker_color=BLUE,
            hovertext=hover,
            hoverinfo="text",
        )
    )
    across = linear(ends=(float(histogram.edges[0]), float(histogram.edges[-1])))
    up = linear(histogram.counts, zero=True, whole=True)
    layout(figure, axis, "pairs", height=260, title=title, across=across, up=up)
    return figure.update_layout(bargap=0, hovermode="closest", showlegend=False, uirevision=name)


def caption(name: str, histogram: Histogram) -> str:
    """The caption of a histogram, with the number of pairs not shown."""
    return PANELS[name][2] + outside_in_words(histogram)


def outside_in_words(shown: Histogram | StudentCheck) -> str:
    """How many points a figure leaves out."""
    return f" Not shown: {shown.outside:,} further out." if shown.outside else ""


def quantiles(check: StudentCheck, m: int) -> go.Figure:
    """Quantiles of the simulated t statistic against those of Student's t (K14 Fig. 7)."""
    x, y = check.curve()
    ends = [float(min(x[0], y[0])), float(max(x[-1], y[-1]))]
    line = {"color": GREY, "dash": "dash"}
    figure = go.Figure()
    figure.add_trace(go.Scatter(x=ends, y=ends, mode="lines", line=line, name="theory", hoverinfo="skip"))
    marker = {"color": RED, "size": 5}
    figure.add_trace(go.Scatter(x=x, y=y, mode="markers", marker=marker, name="simulated"))
    across, up = linear(x, ends), linear(y, ends)
    title = f"quantiles of Student's t at m = {m:,}"
    layout(figure, title, "quantiles of the t statistic", height=380, across=across, up=up)
    return figure.update_layout(hovermode="closest", uirevision=f"qq-{m}")


def _bins(histogram: Histogram) -> list[tuple[float, float, int]]:
    return list(
        zip(histogram.edges[:-1].tolist(), histogram.edges[1:].tolist(), histogram.counts.tolist(), strict=True)
    )
