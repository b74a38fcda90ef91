"""Data tables as text: the columns that a model uses, and what is wrong in which line.

`designer.core.text_table` does the reading: a fast pass for plain files, a careful one for all others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, prefix_errors, shown
from designer.core.files import shorten
from designer.core.text_table import (
    MISSING,
    Layout,
    Rows,
    Style,
    Texts,
    count_fields,
    decimal_point,
    parse_number,
    read_carefully,
    read_fast,
    read_head,
    rows,
    rows_at,
    split_names,
)

MAX_LINE = 2**20  # characters
MAX_LISTED = 3  # problems in one message
STYLE = Style(MAX_LINE, multiline=True)
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")

Columns: TypeAlias = tuple[list[Floats], Texts | None]
Read: TypeAlias = tuple[list[Floats], list[Texts]]
FIRST = 1000  # rows that show whether a column holds numbers or strings
MOST_LEVELS = 10**6  # different strings of a column


def find_layout(file: Path) -> Layout:
    """Read the header."""
    with prefix_errors(f"data.path: {file}: "):
        above, comments, header = head = read_head(file, STYLE)
        if header is None:
            raise BadInput("is empty")
        separator, names = split_names(header, STYLE)
        if all(parse_number(name) is not None for name in names):
            raise BadInput(f"line {head.line}: numbers where the names of the columns should be")
        for name, times in Counter(names).items():
            if name and times > 1:
                raise BadInput(f"line {head.line}: two columns are called {shown(name)}")
        return Layout(file, STYLE, separator, names, [*above, header], comments)


def read(layout: Layout, columns: Sequence[str], label: str | None) -> Columns:
    """The numbers of some columns, and the strings of the label."""
    with prefix_errors(f"data.path: {layout.source!s}: "):
        if "" in columns:
            what = "a column has no name; data.columns says which columns to use"
            raise BadInput(f"line {len(layout.above)}: {what}")
        places = [layout.names.index(name) for name in columns]
        labels = [] if label is None else [layout.names.index(label)]
        table = _read_finite(layout, places, labels, ".")
        if table is None and layout.separator != ",":
            _refuse_thousands(layout, places)
            table = _read_finite(layout, places, labels, ",")
        numbers, texts = _read_carefully(layout, places, labels) if table is None else table
        return numbers, texts[0] if texts else None


def read_any(layout: Layout, columns: Sequence[str], categories: Collection[str] = ()) -> dict[str, Floats | Texts]:
    """Some columns, of numbers or of strings, with NaN or code -1 where a value is missing.

    A column whose first rows hold numbers must hold numbers everywhere, unless it is among the `categories`.
    """
    with prefix_errors(f"{layout.source!s}: "):
        places = [layout.names.index(name) for name in columns]
        grouping = {layout.names.index(name) for name in categories}
        numeric = [place for place, only_numbers in zip(places, _look_like_numbers(layout, places), strict=True)
                   if only_numbers and place not in grouping]  # fmt: skip
        textual = [place for place in places if place not in numeric]
        table = read_fast(layout, numeric, textual, missing=True, most_texts=MOST_LEVELS)
        if table is None and layout.separator != ",":
            _refuse_thousands(layout, numeric)
            table = read_fast(layout, numeric, textual, ",", missing=True, most_texts=MOST_LEVELS)
        if table is None:
            found = _read_all_kinds(layout, numeric, textual, grouping)
        else:
            found = dict(zip([*numeric, *textual], [*table[0], *table[1]], strict=True))
        found |= {place: _numbers_if_possible(layout, column) for place, column in found.items() if place in grouping}
        return {name: found[place] for name, place in zip(columns, places, strict=True)}


def _numbers_if_possible(layout: Layout, column: Floats | Texts) -> Floats | Texts:
    """Categories as numbers, if each of them is one, and no two are the same: "01" and "1" are two categories."""
    if not isinstance(column, Texts) or any(_LEADING_ZERO.match(value.strip()) for value in column.values):
        return column
    for point in "." if layout.separator == "," else ".,":
        numbers = {parse_number(value, point) for value in column.values} - {None}
        if len(numbers) == len(column.values):
            values = [parse_number(value, point) for value in column.values]
            numeric: Floats = np.array([*values, np.nan], dtype=np.float64)[column.codes]
            return numeric
    return column


def lines_of(layout: Layout, numbers: Collection[int]) -> list[int]:
    """The lines of some rows."""
    return [row.line for row in rows_at(layout, numbers).values()]


def _look_like_numbers(layout: Layout, places: Sequence[int]) -> list[bool]:
    """Whether the first values of each column are all numbers."""
    points = "." if layout.separator == "," else ".,"
    numeric = [True] * len(places)
    for row in islice(rows(layout), FIRST):
        for k, place in enumerate(places):
            cell = row.fields[place].strip() if place < len(row.fields) else ""
            if cell.lower() not in MISSING and all(parse_number(cell, point) is None for point in points):
                numeric[k] = False
    return numeric


def _read_all_kinds(
    layout: Layout, numeric: list[int], textual: list[int], categories: Collection[int]
) -> dict[int, Floats | Texts]:
    """Line by line; a column of `categories` with other values than numbers is one of strings."""
    point, most = decimal_point(layout, numeric), MAX_LISTED + 1
    table = read_carefully(layout, numeric, [*numeric, *textual], point=point, most=most, most_texts=MOST_LEVELS)
    _refuse_misfits(layout, table)
    numbers, texts = table.columns, dict(zip([*numeric, *textual], table.texts, strict=True))
    found: dict[int, Floats | Texts] = {place: texts[place] for place in textual}
    for place, column in zip(numeric, numbers, strict=True):
        wrong = np.isnan(column) & (texts[place].codes >= 0)
        if wrong.any() and place in categories:
            found[place] = texts[place]
        elif wrong.any():
            row = next(iter(rows_at(layout, [int(np.argmax(wrong))]).values()))
            what = f"{shown(row.fields[place].strip())} is not a number, as the values above it are"
            raise BadInput(f"line {row.line:,}, column {shown(layout.names[place])}: {what}")
        else:
            found[place] = column
    return found


def _refuse_misfits(layout: Layout, table: Rows) -> None:
    if table.misfits:
        first, width = table.misfits[0], len(layout.names)
        more = f", and {table.misfit_count - 1:,} more such lines" if table.misfit_count > 1 else ""
        raise BadInput(f"line {first.line:,}: {count_fields(first, layout)} fields, the header has {width}{more}")


def _read_finite(layout: Layout, places: list[int], labels: list[int], point: str) -> Read | None:
    """All at once; None if there are no rows, or anything but finite numbers."""
    table = read_fast(layout, places, labels, point)
    if table is None or not table[0][0].size or not all(np.isfinite(column).all() for column in table[0]):
        return None
    return table


def _refuse_thousands(layout: Layout, places: list[int]) -> None:
    """Commas are not decimal points if all of them could separate thousands: 1,100 is more likely 1100 than 1.1."""
    example = ""
    for row in rows(layout):
        for cell in (row.fields[place].strip() for place in places if place < len(row.fields)):
            if "," in cell and not _THOUSANDS.fullmatch(cell):
                return
            example = example or (cell if "," in cell else "")
    if example:
        doubt = "the comma may be a decimal point or separate thousands; write such numbers without commas"
        raise BadInput(f"{shown(example)}: {doubt}")


def _read_carefully(layout: Layout, places: list[int], labels: list[int]) -> Read:
    """Line by line; refuses with the lines and columns that are wrong."""
    point, most = decimal_point(layout, places), MAX_LISTED + 1  # one more, to see whether there are others
    table = read_carefully(layout, places, labels, point=point, most=most, stop=True)
    width = len(layout.names)
    misfits = [(row.line, f": {count_fields(row, layout)} fields, the header has {width}") for row in table.misfits]
    if problems := sorted([*misfits, *_flaws(layout, table, [*places, *labels])], key=itemgetter(0)):
        listed = [f"line {line:,}{text}" for line, text in problems[:MAX_LISTED]]
        raise BadInput("; ".join(listed + ["and more"] * (len(problems) > MAX_LISTED)))
    if not table.columns[0].size:
        raise BadInput("has no rows")
    return table.columns, table.texts


def _flaws(layout: Layout, table: Rows, places: list[int]) -> Iterator[tuple[int, str]]:
    """Line and problem of the first fields that hold no finite number, or no label."""
    wrong = [*(~np.isfinite(column) for column in table.columns), *(texts.codes < 0 for texts in table.texts)]
    flawed = np.flatnonzero(np.any(wrong, axis=0))[: MAX_LISTED + 1].tolist()
    for number, row in rows_at(layout, flawed).items():
        for place, bad in zip(places, wrong, strict=True):
            if bad[number]:
                yield row.line, f", column {shown(layout.names[place])}: {_reason(row.fields[place].strip())}"


def _reason(text: str) -> str:
    """Why a field cannot be used."""
    if text.lower() in MISSING:
        return "no value" if not text else f"no value ({shorten(text)})"
    if parse_number(text) is not None:
        return f"{shorten(text)} is not finite"
    return f"{shown(text)} is not a number; data.columns says which columns to use"
