"""The report of a fit to a table, as text and as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from designer.core.html_page import page_template
from samplers.fit.rivals import Rival
from samplers.fit.table_fit import SHOWN, Coefficient, TableFit

TEMPLATE = "report.html.jinja"
WIDTH, HEIGHT, LEFT, BELOW = 640, 220, 70, 34  # of a figure, and the margins of its plot
MOST_POINTS = 600  # of a curve
HIGHEST = 5.0  # bounds: a larger statistic is drawn there
COLOURS = ("#2e86d1", "#d55e00", "#0e9f74")


class Curve(NamedTuple):
    """Points of a polyline as SVG has them, its colour and its name."""

    points: str
    colour: str
    name: str


class Tick(NamedTuple):
    """A tick of an axis: where, and its label."""

    at: float
    label: str


class Picture(NamedTuple):
    """A figure without scripts."""

    title: str
    words: str
    x: str
    curves: Sequence[Curve]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]


def text_report(fit: TableFit) -> str:
    """The answer first."""
    lines = [f"{fit.formula}: {fit.what}", fit.sentence, f"why it stopped: {fit.why}", ""]
    lines += [*coefficient_lines(fit.table[:SHOWN])]
    if len(fit.table) > SHOWN:
        lines.append(f"… and {len(fit.table) - SHOWN:,} more")
    lines += ["", fit.about_errors, *(f"table: {remark}" for remark in fit.remarks)]
    if fit.rivals:
        lines += ["", *rival_lines(fit), fit.against]
    spent = f"{fit.seconds:.2g} s, after {fit.seconds_to_load:.2g} s to load the table"
    return "\n".join([*lines, "", f"time: {spent}"])


def coefficient_lines(rows: Sequence[Coefficient]) -> list[str]:
    """The coefficients as columns."""
    known = any(row.se is not None for row in rows)
    cells = [["coefficient", "estimate", *(["se", "off"] if known else [])]]
    cells += [
        [row.name, f"{row.estimate:.4g}", *(["–" if x is None else f"{x:.2g}" for x in row[2:]] if known else [])]
        for row in rows
    ]
    return _columns(cells)


def rival_rows(fit: TableFit) -> list[list[str]]:
    """The comparison, first its columns' names."""
    best = min(float(one.losses.min()) for one in fit.rivals)
    head = ["method", "passes to 99.9%", "passes read", "to tune", "mean loss above the best", "seconds"]
    return [
        head,
        *(
            [
                one.title,
                "–" if one.arrived is None else f"{one.arrived / fit.n_rows:.3g}",
                f"{one.read / fit.n_rows:.3g}",
                f"{one.tuning_read / fit.n_rows:.3g}" if one.tuning_read else "–",
                f"{float(one.losses[-1]) - best:.2g}",
                f"{one.seconds:.2g}",
            ]
            for one in fit.rivals
        ),
    ]


def rival_lines(fit: TableFit) -> list[str]:
    """The comparison as columns."""
    return _columns(rival_rows(fit))


def _columns(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in cells]


def html_report(fit: TableFit) -> str:
    """One page; text is escaped, and there are no scripts."""
    return page_template("samplers", "fit", TEMPLATE).render(
        fit=fit,
        pictures=pictures(fit),
        rivals=rival_rows(fit) if fit.rivals else [],
        size=(WIDTH, HEIGHT, LEFT, BELOW),
        version=version("austerity"),
    )


def pictures(fit: TableFit) -> list[Picture]:
    """Batch growth, the trace of the test, and the comparison if there is one."""
    n, looks = fit.trace.n, fit.looks
    iterations = np.arange(1.0, n.size + 1.0)
    bound = looks[0].bound
    top = HIGHEST * bound
    shown = np.clip([look.statistic for look in looks], -top, top)
    drawn = [
        _picture(
            "Rows per iteration",
            f"Batches grew from {int(n[0]):,} to {int(n.max()):,} of {fit.n_rows:,} rows.",
            "iteration",
            [(iterations, n.astype(np.float64), "rows")],
            log_y=True,
        ),
        _picture(
            "The test of the direction",
            f"Statistic at each of {len(looks):,} looks, and the bound {bound:.3g} above which a direction is taken; "
            "statistics beyond five bounds are drawn there.",
            "look",
            [
                (np.arange(1.0, len(looks) + 1.0), shown, "statistic"),
                (np.array([1.0, len(looks)]), np.full(2, bound), "bound"),
            ],
        ),
    ]
    if fit.rivals:
        best = min(float(one.losses.min()) for one in fit.rivals)
        curves = [_excess(one, best, fit.n_rows) for one in fit.rivals]
        words = "Mean loss above the best, against rows read as passes over the table; lower left is better."
        drawn.append(_picture("Against other methods", words, "passes", curves, log_x=True, log_y=True))
    return drawn


def _excess(one: Rival, best: float, n_rows: int) -> tuple[np.ndarray, np.ndarray, str]:
    excess = one.losses - best
    shown = np.isfinite(excess) & (excess > 0.0)
    return one.path_read[shown] / n_rows, excess[shown], one.title


def _picture(
    title: str,
    words: str,
    x: str,
    series: Sequence[tuple[np.ndarray, np.ndarray, str]],
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> Picture:
    """Place the points of some curves in a plot."""
    across = _Axis.of([one[0] for one in series], LEFT, WIDTH - 10.0, log=log_x)
    up = _Axis.of([one[1] for one in series], HEIGHT - BELOW, 10.0, log=log_y)
    curves = []
    for number, (xs, ys, name) in enumerate(series):
        some = np.unique(np.linspace(0, max(len(xs) - 1, 0), min(len(xs), MOST_POINTS)).round().astype(int))
        points = " ".join(f"{across.place(float(xs[k])):.1f},{up.place(float(ys[k])):.1f}" for k in some)
        curves.append(Curve(points, COLOURS[number % len(COLOURS)], name))
    return Picture(title, words, x, curves, across.ticks, up.ticks)


class _Axis(NamedTuple):
    """From numbers to places."""

    low: float
    high: float
    begin: float
    end: float
    log: bool

    @classmethod
    def of(cls, values: Sequence[np.ndarray], begin: float, end: float, *, log: bool) -> _Axis:
        every = np.concatenate([*values, np.zeros(0)])
        if not every.size:
            every = np.ones(1)
        low, high = float(every.min()), float(every.max())
        if log:
            low, high = math.log10(low), math.log10(high)
        if high <= low:
            low, high = low - 0.5, high + 0.5
        return cls(low, high, begin, end, log)

    def place(self, value: float) -> float:
        number = math.log10(value) if self.log else value
        return self.begin + (number - self.low) / (self.high - self.low) * (self.end - self.begin)

    @property
    def ticks(self) -> list[Tick]:
        shares = (0.0, 0.5, 1.0) if self.log else (0.0, 1.0)
        numbers = [self.low + share * (self.high - self.low) for share in shares]
        values = [10.0**number if self.log else number for number in numbers]
        return [Tick(round(self.place(value), 1), _short(value)) for value in values]


def _short(value: float) -> str:
    """A number with two or three digits, and no power of ten where it is not needed."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.2g}"
