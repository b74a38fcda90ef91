"""Axes of figures: where they begin and end, and which ticks they have.

Both are chosen here and not by Plotly, so that no two ticks have the same text, all texts of an axis are of one kind
and size, and what is drawn lies inside the frame. A figure that is zoomed gets Plotly's ticks (`figure.js`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats

Parts = dict[str, Any]
Column = npt.ArrayLike
MOST_TICKS = 6  # whose texts fit side by side on a phone
ROOM = 0.05  # of an axis, kept free at each end: a marker there is whole
LARGE, SMALL = 1e6, 1e-5  # numbers from, or up to, which texts are powers of ten
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def linear(
    *values: Column,
    ends: tuple[float, float] | None = None,
    percent: bool = False,
    zero: bool = False,
    whole: bool = False,
    room: float = ROOM,
) -> Parts:
    """A linear axis for these values, from `ends` if given, with 0 on it if `zero`.

    `percent`: texts are shares in per cent. `whole`: ticks are whole numbers.

    Examples
    --------
    >>> axis = linear([0.001, 0.013], percent=True, zero=True)
    >>> axis["ticktext"]
    ['0%', '0.25%', '0.5%', '0.75%', '1%', '1.25%']
    """
    low, high = _widened(*_span(values, zero=zero), zero=zero, room=room) if ends is None else ends
    scale = 100.0 if percent else 1.0
    ticks = _even(low * scale, high * scale, least=1.0 if whole else 0.0)
    texts = [text + "%" * percent for text in in_words(ticks)]
    return _parts((low, high), [tick / scale for tick in ticks], texts)


def logarithmic(*values: Column, ends: tuple[float, float] | None = None, room: float = ROOM) -> Parts:
    """A logarithmic axis for the positive ones of these values, or from `ends`.

    Examples
    --------
    >>> logarithmic([0.002, 0.06])["ticktext"]
    ['0.002', '0.005', '0.01', '0.02', '0.05']
    >>> logarithmic([1e-6, 20.0], room=0.0)["ticktext"][:3]
    ['10<sup>−6</sup>', '10<sup>−4</sup>', '10<sup>−2</sup>']
    """
    if ends is None:
        found = _flat(values)
        found = found[found > 0.0]
        first, last = (float(found.min()), float(found.max())) if found.size else (0.1, 10.0)
        low, high = math.log10(first), math.log10(last)
        free = max(room * (high - low), 0.02 if high > low else 0.15)
        low, high = low - free, high + free
    else:
        low, high = (math.log10(end) for end in ends)
    ticks = _decades(low, high)
    return _parts((low, high), ticks, in_words(ticks)) | {"type": "log"}


def in_words(ticks: Sequence[float]) -> list[str]:
    """The texts of ticks: with as many decimals as all of them need, or as powers of ten.

    Examples
    --------
    >>> in_words([0.0, 5e-7, 1e-6])
    ['0', '5×10<sup>−7</sup>', '10<sup>−6</sup>']
    """
    sizes = [abs(tick) for tick in ticks if tick]
    if not sizes:
        return ["0"] * len(ticks)
    if max(sizes) >= LARGE or min(sizes) <= SMALL:
        return [_power(tick) for tick in ticks]
    texts = [f"{tick:,.12f}".rstrip("0").rstrip(".") for tick in _rounded(ticks)]
    return [text.replace("-", "−") for text in texts]


def _rounded(ticks: Sequence[float]) -> list[float]:
    """Without the noise of their last digits."""
    return [float(f"{tick:.10g}") for tick in ticks]


def _power(tick: float) -> str:
    """A number times a power of ten, without what is not needed."""
    if tick == 0.0:
        return "0"
    digits, _, exponent = f"{tick:.9e}".partition("e")
    factor, power = digits.rstrip("0").rstrip("."), str(int(exponent))
    text = factor if power == "0" else f"10<sup>{power}</sup>" if factor == "1" else f"{factor}×10<sup>{power}</sup>"
    return text.replace("-", "−")


def _parts(ends: tuple[float, float], ticks: Sequence[float], texts: Sequence[str]) -> Parts:
    return {"range": list(ends), "tickmode": "array", "tickvals": list(ticks), "ticktext": list(texts)}


def _flat(values: Iterable[Column]) -> Floats:
    """All finite numbers among the values."""
    columns = [np.asarray(column, dtype=np.float64) for column in values]
    found: Floats = np.concatenate([column.ravel() for column in columns]) if columns else np.empty(0)
    return found[np.isfinite(found)]


def _span(values: Iterable[Column], *, zero: bool) -> tuple[float, float]:
    found = _flat(values)
    low, high = (float(found.min()), float(found.max())) if found.size else (0.0, 1.0)
    return (min(low, 0.0), max(high, 0.0)) if zero else (low, high)


def _widened(low: float, high: float, *, zero: bool, room: float) -> tuple[float, float]:
    """With room at both ends, except at a 0 where the axis begins or ends."""
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        size = 0.5 * abs(high) or 0.5
        low, high = (low, high + 2.0 * size) if zero and low == 0.0 else (low - size, high + size)
        return low, high
    free = room * (high - low)
    return (0.0 if zero and low == 0.0 else low - free), (0.0 if zero and high == 0.0 else high + free)


def _even(low: float, high: float, *, least: float = 0.0, most: int = MOST_TICKS) -> list[float]:
    """Round numbers at equal distances from low to high, at most so many."""
    rough = max((high - low) / most, least, 1e-300)
    power = 10.0 ** math.floor(math.log10(rough))
    for step in (step * power for step in STEPS):
        if step < least:
            continue
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return _rounded([k * step for k in range(first, last + 1)])
    return [low, high]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten; over short ranges also 2 and 5 times them, and equal distances over the shortest."""
    powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    if len(powers) > 2:
        every = -(-len(powers) // (MOST_TICKS + 1))
        return [float(f"1e{power}") for power in powers[::every]]
    around = range(math.floor(low), math.ceil(high) + 1)
    for factors in ((1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        found = [float(f"{factor}e{power}") for power in around for factor in factors]
        found = [tick for tick in found if low - 1e-9 <= math.log10(tick) <= high + 1e-9]
        if 3 <= len(found) <= MOST_TICKS + 1:
            return found
    return _even(10.0**low, 10.0**high, most=MOST_TICKS - 1)
