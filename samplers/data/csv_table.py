"""Data tables as text: the columns that a model uses, and what is wrong in which line.

`designer.core.text_table` does the reading: a fast pass for plain files, a careful one for all others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
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
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")

Columns: TypeAlias = tuple[list[Floats], Texts | None]


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
        label_place = None if label is None else layout.names.index(label)
        table = _read_finite(layout, places, label_place, ".")
        if table is None and layout.separator != ",":
            _refuse_thousands(layout, places)
            table = _read_finite(layout, places, label_place, ",")
        return _read_carefully(layout, places, label_place) if table is None else table


def _read_finite(layout: Layout, places: list[int], label: int | None, point: str) -> Columns | None:
    """All at once; None if there are no rows, or anything but finite numbers."""
    table = read_fast(layout, places, label, point)
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


def _read_carefully(layout: Layout, places: list[int], label: int | None) -> Columns:
    """Line by line; refuses with the lines and columns that are wrong."""
    point, most = decimal_point(layout, places), MAX_LISTED + 1  # one more, to see whether there are others
    table = read_carefully(layout, places, label, point=point, most=most, stop=True)
    width = len(layout.names)
    misfits = [(row.line, f": {count_fields(row, layout)} fields, the header has {width}") for row in table.misfits]
    if problems := sorted([*misfits, *_flaws(layout, table, places, label)], key=itemgetter(0)):
        listed = [f"line {line:,}{text}" for line, text in problems[:MAX_LISTED]]
        raise BadInput("; ".join(listed + ["and more"] * (len(problems) > MAX_LISTED)))
    if not table.columns[0].size:
        raise BadInput("has no rows")
    return table.columns, table.texts


def _flaws(layout: Layout, table: Rows, places: list[int], label: int | None) -> Iterator[tuple[int, str]]:
    """Line and problem of the first fields that hold no finite number, or no label."""
    wrong = [~np.isfinite(column) for column in table.columns]
    if table.texts is not None and label is not None:
        places, wrong = [*places, label], [*wrong, table.texts.codes < 0]
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
