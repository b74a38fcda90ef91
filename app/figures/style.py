"""Colours and layout shared by all figures: fixed, colour-blind safe, legible on light and dark."""

from __future__ import annotations

import plotly.graph_objects as go

from app.figures.axes import Parts

# after Okabe and Ito, darkened or lightened until each has contrast 3:1 on white and on the dark background
BLUE, ORANGE, GREEN, RED, PURPLE, INDIGO = "#2e86d1", "#c97b00", "#0e9f74", "#d55e00", "#b565a7", "#8468dd"
GREY = "#808890"  # for bounds and reference lines, never for a series
SERIES = (BLUE, RED, GREEN, PURPLE, ORANGE, INDIGO)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


# nothing leaves this machine: no button that sends a figure to a server, and no server (figure.js has the same)
PRIVATE = {"displaylogo": False, "showSendToCloud": False, "plotlyServerURL": ""}
# the policy of a file with figures: a browser asks nobody for anything
OFFLINE = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "form-action 'none'; base-uri 'none'"
)
FONT = {"size": 14}  # legible on a slide
STAR = {"symbol": "star", "size": 16, "line": {"width": 0}}


def layout(
    figure: go.Figure,
    x: str,
    y: str,
    *,
    height: int = 320,
    title: str = "",
    across: Parts | None = None,
    up: Parts | None = None,
) -> go.Figure:
    """Set axis titles, margins and legend: above the plot, or below it if there is a title above.

    `across` and `up` are ends and ticks of the axes (`axes.linear`, `axes.logarithmic`). Markers at the edge are whole.
    """
    above = {"yanchor": "bottom", "y": 1.02, "x": 0}
    below = {"yref": "container", "yanchor": "bottom", "y": 0, "x": 0}
    figure.update_layout(
        title={"text": title, "font": {"size": 16}} if title else None,
        font=FONT,
        height=height,
        margin={"l": 10, "r": 10, "t": 40 if title else 20, "b": 10},
        legend={"orientation": "h", **(below if title else above)},
        hovermode="x unified",
    )
    figure.update_xaxes(title_text=x, automargin=True, **(across or {}))
    figure.update_yaxes(title_text=y, automargin=True, **(up or {}))
    figure.update_traces(cliponaxis=False, selector={"type": "scatter", "mode": "markers"})
    return figure


def faded(colour: str, opacity: float = 0.2) -> str:
    """A colour for areas and bands."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"
