"""The map of the League page."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from app.figures.axes import in_words
from app.figures.style import GREY, SERIES, faded, layout
from app.league.cells import League
from app.league.winners import NOBODY, Winner, winners

ROW, AROUND = 62, 90  # pixels of a row of the map, and of what is around it
SHORT = {
    "exact mini-batch": "exact mini-<br>batch",
    "Laplace + IS": "Laplace<br>+ IS",
}  # fits into a third of a narrow screen
SMALL, LARGE = 12, 15  # letters on narrow and on wide screens


def league_map(league: League, wish: float) -> go.Figure:
    """Posteriors by N, coloured by who is first to know every mean to `wish` posterior sds."""
    won = winners(league, wish)
    names = list(dict.fromkeys(name for name, _ in won))
    sizes = sorted({n for _, n in won})
    methods = list(dict.fromkeys(method for _, _, method in league.cells))
    drawn = go.Figure()
    for (name, n), one in won.items():
        x, y = sizes.index(n), names.index(name)
        corners = {"x0": x - 0.48, "x1": x + 0.48, "y0": y - 0.46, "y1": y + 0.46}
        drawn.add_shape(type="rect", **corners, fillcolor=faded(colour(one.method, methods), 0.3), line_width=0)
    drawn.add_scatter(
        x=[sizes.index(n) for _, n in won],
        y=[names.index(name) for name, _ in won],
        mode="markers+text",
        marker={"symbol": "square", "size": 40, "opacity": 0.0},  # where the mouse finds everybody's time
        text=[_label(one) for one in won.values()],
        textfont={"size": SMALL},
        meta={"wide": {"text": [_wide(one) for one in won.values()], "textfont": {"size": LARGE}}},
        hovertemplate=[_hover(league, place, wish) for place in won],
        showlegend=False,
    )
    layout(drawn, "rows of data", "", height=ROW * len(names) + AROUND)
    drawn.update_layout(hovermode="closest", uirevision="league")
    ticks = in_words([float(n) for n in sizes])
    drawn.update_xaxes(tickvals=list(range(len(sizes))), ticktext=ticks, showgrid=False, zeroline=False)
    drawn.update_xaxes(range=[-0.5, len(sizes) - 0.5], fixedrange=True)
    drawn.update_yaxes(tickvals=list(range(len(names))), ticktext=names, showgrid=False, zeroline=False)
    drawn.update_yaxes(range=[len(names) - 0.5, -0.5], fixedrange=True)
    return drawn


def _label(one: Winner) -> str:
    return SHORT.get(one.method, one.method) + _after(one)


def _wide(one: Winner) -> str:
    return one.method + _after(one)


def _after(one: Winner) -> str:
    return "" if math.isinf(one.seconds) else f"<br>{seconds(one.seconds)}"


def colour(method: str, methods: list[str]) -> str:
    """Of a method, the same on every map."""
    if method == NOBODY:
        return GREY
    return SERIES[methods.index(method) % len(SERIES)]


def seconds(value: float) -> str:
    """A time in words."""
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2g} s"


def _hover(league: League, place: tuple[str, int], wish: float) -> str:
    """Everybody's time at one place, the first ones first."""
    times = sorted((cell.seconds_to(wish), method) for method, cell in league.at(place).items())
    lines = [f"{method}: {seconds(time)}" for time, method in times if math.isfinite(time)]
    return f"<b>{place[0]}, N = {place[1]:,}</b><br>" + "<br>".join(lines or ["nobody"]) + "<extra></extra>"
