"""Columns of numbers that count as text because of a few strays such as "n/a": a word about each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.errors import shown
from samplers.data.table import Column, Stream

MOST_SHOWN = 3  # strays in a sentence
MOSTLY = 0.5  # of the rows are numbers, or the column is text for good


class Strays:
    """Counts, block by block, how many texts of a column are numbers, and keeps the first that are none.

    Examples
    --------
    >>> strays = Strays()
    >>> strays.add("age", Column(np.array([0, 1, 2]), ["20", "n/a", "31"]), np.ones(3, dtype=bool), 0)
    >>> strays.sentences(Stream(iter, lambda rows: f"row {rows[0]}"))["age"].partition(";")[0]
    "age: 1 of 3 rows is no number ('n/a' in row 1), so the column counts as text with 3 levels"
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._others: dict[str, int] = {}
        self._levels: dict[str, set[Any]] = {}
        self._first: dict[str, list[tuple[str, int]]] = {}

    def add(self, name: str, column: Column, keep: npt.NDArray[np.bool_], begin: int) -> None:
        """A block of a column of texts, and which of its rows are used; the first row has the number `begin`."""
        levels = column.levels or []
        if column.ordered or not all(isinstance(level, str) for level in levels):
            return  # somebody said that these are categories
        number = np.array([*map(_is_number, levels), False])
        codes: Any = column.values
        used = keep & (codes >= 0)
        odd = np.flatnonzero(used & ~number[codes])
        self._numbers[name] = self._numbers.get(name, 0) + int(used.sum()) - odd.size
        self._others[name] = self._others.get(name, 0) + odd.size
        self._levels.setdefault(name, set()).update(levels)
        first = self._first.setdefault(name, [])
        first += [(levels[codes[row]], begin + int(row)) for row in odd[: MOST_SHOWN - len(first)]]

    def sentences(self, stream: Stream) -> dict[str, str]:
        """For each column that is mostly numbers: what is none, where, and what to do."""
        return {
            name: self._sentence(name, stream)
            for name, count in self._others.items()
            if count and count < MOSTLY * (count + self._numbers[name])
        }

    def _sentence(self, name: str, stream: Stream) -> str:
        count, rows = self._others[name], self._others[name] + self._numbers[name]
        first = ", ".join(f"{shown(text)} in {stream.place([row])}" for text, row in self._first[name])
        more = ", …" if count > len(self._first[name]) else ""
        verb = "rows is no number" if count == 1 else "rows are no numbers"
        called = name if name.isidentifier() else f"`{name}`"
        return (
            f"{name}: {count:,} of {rows:,} {verb} ({first}{more}), so the column counts as text with "
            f"{len(self._levels[name]):,} levels; if no value is meant, leave it empty and use missing = 'drop'; if "
            f"categories are meant, write C({called})"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower() not in ("nan", "-nan", "+nan")
