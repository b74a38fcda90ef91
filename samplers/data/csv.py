"""Tables of numbers as text: separated by commas, semicolons or tabs, with decimal points or commas.

A fast parser reads what is plain. What it refuses is read again line by line, to say which line and column is wrong.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, shown
from designer.core.files import shorten

SEPARATORS = ",;\t"
MOST_NAMED = 3  # problems in one message
MAX_LINE = 2**20  # characters
MOST_TEXTS = 1000  # different ones of a label that are looked at: so many are not two
_PIECE = 2**24  # bytes read at once
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "?"}


class Layout(NamedTuple):
    """How a file is written, and the names of its columns."""

    file: Path
    separator: str
    names: list[str]
    skipped: int  # lines above the header


class Texts(NamedTuple):
    """A column of few different texts: which row has which. Of more than MOST_TEXTS only so many are listed."""

    values: list[str]
    codes: np.ndarray[Any, np.dtype[np.int64]]


Read: TypeAlias = tuple[list[Floats], Texts | None]


def layout(file: Path) -> Layout:
    """Look at the header."""
    numbered = ((number, line) for number, line in enumerate(_lines(file)) if line.partition("#")[0].strip())
    number, line = next(numbered, (0, None))
    if line is None:
        raise BadInput(f"data.path: {file}: is empty")
    found = [next(csv.reader([line], delimiter=separator)) for separator in SEPARATORS]
    names, separator = max(zip(found, SEPARATORS, strict=True), key=lambda pair: len(pair[0]))
    names = [name.strip() for name in names]
    if all(_parsed(name, ".") is not None for name in names):
        raise BadInput(f"data.path: {file}: line {number + 1}: numbers where the names of the columns should be")
    for name, times in Counter(names).items():
        if name and times > 1:
            raise BadInput(f"data.path: {file}: line {number + 1}: two columns are called {shown(name)}")
    return Layout(file, separator if len(names) > 1 else ";", names, number)


def most_rows(file: Path) -> int:
    """No fewer than there are rows in the file: its ends of lines, of any kind, and one for the last."""
    found = 1
    with open(file, "rb") as raw:
        while piece := raw.read(_PIECE):
            found += piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n")
    return found


def read(where: Layout, columns: Sequence[str], label: str | None) -> Read:
    """The numbers of some columns, and the texts of the label's."""
    if "" in columns:
        what = "a column has no name; data.columns says which columns to use"
        raise BadInput(f"data.path: {where.file}: line {where.skipped + 1}: {what}")
    found = _fast(where, columns, label, ".")
    if found is None and where.separator != ",":
        _refuse_thousands(where, columns)
        found = _fast(where, columns, label, ",")
    return _careful(where, columns, label) if found is None else found


def _refuse_thousands(where: Layout, columns: Sequence[str]) -> None:
    """Commas are not decimal points if all of them could separate thousands: 1,100 is more likely 1100 than 1.1."""
    places, example = [where.names.index(name) for name in columns], ""
    for _, fields in _rows(where):
        for cell in (fields[place].strip() for place in places if place < len(fields)):
            if "," in cell and not _THOUSANDS.fullmatch(cell):
                return
            example = example or (cell if "," in cell else "")
    if example:
        doubt = f"{shown(example)} may have a decimal comma or one between thousands; write such numbers without"
        raise BadInput(f"data.path: {where.file}: {doubt}")


def _fast(where: Layout, columns: Sequence[str], label: str | None, point: str) -> Read | None:
    """All at once, or None if there is anything that is not a finite number."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    types = dict.fromkeys(columns, pa.float64()) | ({} if label is None else {label: pa.string()})
    try:
        table = arrow.read_csv(
            where.file,
            arrow.ReadOptions(column_names=where.names, skip_rows=where.skipped + 1),
            arrow.ParseOptions(delimiter=where.separator),
            arrow.ConvertOptions(column_types=types, include_columns=list(types), null_values=[], decimal_point=point),
        )
    except pa.ArrowInvalid:
        return None
    numbers = [table.column(name).to_numpy() for name in columns]
    if table.num_rows == 0 or not all(np.isfinite(column).all() for column in numbers):
        return None
    if label is None:
        return numbers, None
    coded = table.column(label).combine_chunks().dictionary_encode()
    values = [text.strip() for text in coded.dictionary[:MOST_TEXTS].to_pylist()]
    texts = Texts(values, coded.indices.to_numpy().astype(np.int64))
    return None if any(text.lower() in _NO_VALUE for text in texts.values) else (numbers, texts)


def _careful(where: Layout, columns: Sequence[str], label: str | None) -> Read:
    """Line by line; refuses with the lines and columns that are wrong."""
    places = [where.names.index(name) for name in columns]
    label_place = None if label is None else where.names.index(label)
    point = _point(where, places)
    numbers = [array("d") for _ in places]
    texts: dict[str, int] = {}
    codes, problems, rows = array("q"), [], 0
    for line, fields in _rows(where):
        rows += 1
        if len(fields) != len(where.names):
            problems.append(f"line {line:,}: {len(fields)} fields, the header has {len(where.names)}")
        else:
            for place, column in zip(places, numbers, strict=True):
                value = _parsed(fields[place], point)
                if value is None or not math.isfinite(value):
                    problems.append(f"line {line:,}, column {shown(where.names[place])}: {_reason(fields[place])}")
                column.append(math.nan if value is None else value)
            if label_place is not None:
                text = fields[label_place].strip()
                if text.lower() in _NO_VALUE:
                    problems.append(f"line {line:,}, column {shown(label)}: no value")
                codes.append(texts.setdefault(text, len(texts)) if len(texts) < MOST_TEXTS else texts.get(text, 0))
        if len(problems) > MOST_NAMED:
            problems[MOST_NAMED:] = ["and more"]
            break
    if problems:
        raise BadInput(f"data.path: {where.file}: {'; '.join(problems)}")
    if not rows:
        raise BadInput(f"data.path: {where.file}: has no rows")
    coded = None if label is None else Texts(list(texts), np.array(codes, dtype=np.int64))
    return [np.array(column, dtype=np.float64) for column in numbers], coded


def _reason(text: str) -> str:
    if text.strip().lower() in _NO_VALUE:
        return "no value" if not text.strip() else f"no value ({shorten(text.strip())})"
    if _parsed(text, ".") is not None:
        return f"{shorten(text.strip())} is not finite"
    return f"{shown(text.strip())} is not a number; data.columns says which columns to use"


def _point(where: Layout, places: Sequence[int]) -> str:
    """The decimal point: a comma, if there is a number with one before there is one with a point."""
    if where.separator != ",":
        for _, fields in _rows(where):
            cells = [fields[place].strip() for place in places if place < len(fields)]
            if any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells):
                return ","
            if any("." in cell and _parsed(cell, ".") is not None for cell in cells):
                return "."
    return "."


def _parsed(text: str, point: str) -> float | None:
    if point == ",":
        text = text.replace(".", "_").replace(",", ".")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _rows(where: Layout) -> Iterator[tuple[int, list[str]]]:
    """Number of its last line, and fields, of every row that is not blank."""
    lines = _lines(where.file)
    for _ in range(where.skipped + 1):
        next(lines)
    reader = csv.reader(lines, delimiter=where.separator)
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield where.skipped + 1 + reader.line_num, fields
    except csv.Error as error:
        raise BadInput(f"data.path: {where.file}: line {reader.line_num}: {shorten(error, 100)}") from None


def _lines(file: Path) -> Iterator[str]:
    """The lines of a text in UTF-8, with or without a mark; none is read whole that is longer than MAX_LINE."""
    with open(file, "rb") as raw:
        if raw.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise BadInput(f"data.path: {file}: is UTF-16; must be UTF-8")
    with open(file, encoding="utf-8-sig", newline="") as text:
        try:
            for number in count(1):
                line = text.readline(MAX_LINE + 1)
                if len(line) > MAX_LINE:
                    raise BadInput(f"data.path: {file}: line {number:,} has more than {MAX_LINE:,} characters")
                if not line:
                    return
                yield line
        except UnicodeDecodeError:
            raise BadInput(f"data.path: {file}: is not a text in UTF-8") from None
