"""Some runs of a test through its bounds, drawn one after the other: a picture of its own, since Plotly moves too much.

The colours of text and axes are those of the page. Where people ask for less motion, nothing moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from app.figures.style import BLUE, GREY, RED
from designer.core.arrays import Floats
from designer.engine.walk import Stopping
from designer.plotdata import Path, some_of, z_range

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 30, 46
SECONDS, APART = 0.9, 0.25  # that a run takes, and between the starts of two
BOUND_POINTS = 80

STYLE = f"""
.runs {{ width: 100%; max-width: 620px; height: auto; display: block; overflow: visible; font: 13px sans-serif; }}
@media (max-width: 640px) {{ .runs {{ font-size: 20px; }} }}
.runs text {{ fill: currentColor; }}
.runs .axis {{ stroke: currentColor; opacity: 0.6; fill: none; }}
.runs .bound {{ stroke: {GREY}; stroke-dasharray: 5 4; fill: none; stroke-width: 1.5; }}
.runs .run {{ fill: none; stroke-width: 1.8; }}
@media (prefers-reduced-motion: no-preference) {{
  .runs .run {{ animation: runs-draw {SECONDS}s linear backwards; }}
  .runs .end {{ animation: runs-show 0.15s linear backwards; }}
}}
@keyframes runs-draw {{ from {{ clip-path: inset(-10px 100% -10px 0); }} to {{ clip-path: inset(-10px 0 -10px 0); }} }}
@keyframes runs-show {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
"""


class _Frame(NamedTuple):
    """Where numbers are on the picture: data read on a logarithmic axis, z between bounds of the picture."""

    first: int
    n_data: int
    top: float

    @property
    def start(self) -> float:
        """Where the axis begins, before the first look."""
        return 0.5 * self.first if self.first < self.n_data else 0.1 * self.n_data

    def across(self, n: Floats) -> Floats:
        share = np.log(n / self.start) / math.log(self.n_data / self.start)
        return np.asarray(LEFT + (WIDTH - LEFT - RIGHT) * share)

    def up(self, z: Floats) -> Floats:
        share = 0.5 * (1.0 - np.clip(z / self.top, -1.0, 1.0))
        return np.asarray(TOP + (HEIGHT - TOP - BOTTOM) * share)


def runs(where: Stopping, drawn: Sequence[Path], words: str) -> str:
    """The runs as SVG, with `words` as their alternative text."""
    frame = _Frame(int(where.n[0]), int(where.n[-1]), _top(where, drawn))
    parts = [_axes(frame)]
    if where.n.size > 1:
        some = some_of(where.n[:-1], BOUND_POINTS, logarithmic=True)
        x = frame.across(where.n[:-1][some].astype(np.float64))
        for bound in (where.upper[:-1][some], where.lower[:-1][some]):
            line = _line(np.append(x[0] - 9.0, x), frame.up(np.append(bound[0], bound)))
            parts.append(f'<path class="bound" d="{line}"/>')
    parts += [_run(path, number, frame) for number, path in enumerate(drawn)]
    label = escape(words, quote=True)
    body = "".join(parts)
    return f'<svg class="runs" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{body}</svg>'


def _top(where: Stopping, drawn: Sequence[Path]) -> float:
    """The largest z of the picture: that of all runs where most of them go far beyond the bounds."""
    usual, largest = z_range(where), sorted(float(np.abs(path.z).max(initial=0.0)) for path in drawn)
    beyond = bool(largest) and largest[len(largest) // 2] > usual
    return 1.05 * largest[-1] if beyond else usual


def _axes(frame: _Frame) -> str:
    first, n_data = frame.first, frame.n_data
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    lines = f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>'
    middle = float(frame.up(np.zeros(1))[0])
    ticks: list[tuple[float, str]] = (
        [(first, _share(first / n_data)), (n_data, "all")] if first < n_data else [(n_data, "all")]
    )
    for power in range(-9, 0):
        n = n_data * 10.0**power
        if n > 2.5 * first and n < 0.4 * n_data:
            ticks.append((n, _share(10.0**power)))
    places = frame.across(np.array([float(n) for n, _ in ticks]))
    marks = "".join(
        f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{text}</text>'
        for x, (_, text) in zip(places, ticks, strict=True)
    )
    return (
        f"{lines}{marks}"
        f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">share of the data read</text>'
        f'<text x="{LEFT - 6}" y="{TOP + 10}" text-anchor="end">accept</text>'
        f'<text x="{LEFT - 6}" y="{middle + 4:.1f}" text-anchor="end">unsure</text>'
        f'<text x="{LEFT - 6}" y="{bottom - 2}" text-anchor="end">reject</text>'
    )


def _run(path: Path, number: int, frame: _Frame) -> str:
    colour = BLUE if path.right else RED
    n, z = path.n.astype(np.float64), path.z
    if path.whole:  # with all data the decision is exact
        n, z = np.append(n, float(frame.n_data)), np.append(z, math.copysign(1e9, 1.0 if path.accepted else -1.0))
    x, y = frame.across(np.append(frame.start, n)), frame.up(np.append(0.0, z))
    start = number * APART
    shape = "M-5 4L5 4L0 -5Z" if path.accepted else "M-5 -4L5 -4L0 5Z"
    return (
        f'<path class="run" stroke="{colour}" style="animation-delay:{start:.2f}s" d="{_line(x, y)}"/>'
        f'<path class="end" fill="{colour}" style="animation-delay:{start + SECONDS:.2f}s" d="{shape}" '
        f'transform="translate({x[-1]:.1f} {y[-1]:.1f})"/>'
    )


def _line(x: Floats, y: Floats) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


def _share(value: float) -> str:
    return f"{100 * value:.2g}%"
