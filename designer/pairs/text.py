"""Text tables as people have them.

Text goes through a fast parser first. Only what that one does not take as it is (quotes, comments between the rows,
runs of blanks, any mistake) is read line by line, with the line numbers of the original file.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from array import array
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from designer.core.files import shorten
from designer.pairs import columns as trial_table
from designer.pairs.columns import (
    NEEDED,
    QUOTES,
    BadFile,
    Columns,
    Parsed,
    Problem,
    Said,
    canonical,
    defects,
    known,
    refusal,
    required,
)


class Layout(NamedTuple):
    """What precedes the rows of a text table."""

    separator: str | None  # None: runs of blanks
    names: list[str]
    where: dict[str, int]
    notes: list[tuple[int, str]]  # comments with their line numbers
    line: int  # number of the first line after the header
    start: int  # and its first byte


class Rows(NamedTuple):
    """What the careful parser made of the rows, with NaN for what is no number."""

    point: str
    columns: Columns
    lines: list[int]  # line number of every row in `columns`
    misfits: list[int]  # lines with too few or too many fields
    notes: list[tuple[int, str]]

    @property
    def failures(self) -> int:
        return len(self.misfits) + sum(int(np.isnan(column).sum()) for column in self.columns.values())


def parse(data: bytes) -> Parsed:
    """The columns of a text table, and where it states the number of data."""
    data = _normal(data)
    layout = _layout(data)
    columns, notes = _fast(data, layout), layout.notes
    if columns is None or defects(columns, most=0)[1]:
        columns, notes = _careful(data, layout)
    stated = ((line, _STATES_N.fullmatch(text)) for line, text in notes)
    return columns, [Said(f"line {line}", number_of_data(match[1])) for line, match in stated if match]


def _normal(data: bytes) -> bytes:
    """UTF-8 with plain line ends, if that is what the bytes can be and no line is absurd."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            data = data[len(mark) :].decode(encoding, "replace").encode()
            break
    if b"\0" in data:
        raise BadFile("not a text file: it has NUL bytes (UTF-16 needs a byte order mark)")
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if (lines := data.count(b"\n")) > trial_table.MAX_PAIRS + 100_000:
        raise BadFile(f"{lines:,} lines; a trial run has at most {trial_table.MAX_PAIRS:,} pairs")
    ends = np.flatnonzero(np.frombuffer(data + b"\n", dtype=np.uint8) == ord("\n"))
    lengths = np.diff(ends, prepend=-1) - 1
    if (longest := int(lengths.max())) > trial_table.MAX_LINE:
        line = int(lengths.argmax()) + 1
        raise BadFile(f"line {line:,} has {longest:,} bytes, more than the limit of {trial_table.MAX_LINE:,}")
    return data


def _layout(data: bytes) -> Layout:
    notes: list[tuple[int, str]] = []
    start = 0
    for line, raw in enumerate(io.BytesIO(data), 1):
        text = raw.decode("utf-8", "replace").rstrip("\n")
        if (bare := text.strip(QUOTES)).startswith("#"):  # a spreadsheet may have put the comment in quotes
            notes.append((line, bare))
        elif text.strip():
            break
        start += len(raw)
    else:
        raise BadFile(f"nothing in it but comments and blank lines; {NEEDED}" if data.strip() else f"empty; {NEEDED}")
    if re.match(r"[\s\"']*[+-]?[.,]?\d", text):  # no header but numbers; perhaps the names are in the comment above
        separator, names = _sniff(notes[-1][1].lstrip("# ")) if notes else (None, [])
        if len(_fields(text, separator)) != len(names) or not {"mu", "sigma"} <= {*known(names)}:
            raise BadFile(f"line {line}: numbers where the names of the columns should be; {NEEDED}")
        line, raw = line - 1, b""
    else:
        separator, names = _sniff(text)
    if len(names) > trial_table.MAX_COLUMNS:
        raise BadFile(f"line {line}: {len(names):,} columns, more than the limit of {trial_table.MAX_COLUMNS:,}")
    return Layout(separator, names, required(names), notes, line + 1, start + len(raw))


def _sniff(header: str) -> tuple[str | None, list[str]]:
    """The separator that shows most names we know (and then most names), with the names."""
    found = [(s, [name.strip(QUOTES) for name in _fields(header, s)]) for s in (",", ";", "\t", None)]
    return max(found, key=lambda item: (sum(map(bool, map(canonical, item[1]))), len(item[1])))


def _fields(line: str, separator: str | None, most: int = -1) -> list[str]:
    """The fields of a line; unquoted ones are cut no further than needed to see that there are more than `most`."""
    if '"' not in line:
        return line.split(separator, most)
    text = line if separator else " ".join(line.split())
    return next(csv.reader([text], delimiter=separator or " ", skipinitialspace=True))


def _fast(data: bytes, layout: Layout) -> Columns | None:
    """The columns, if the rows are so plain that there can be no doubt about them."""
    if layout.separator is None or data.find(b'"', layout.start) >= 0 or data.find(b"#", layout.start) >= 0:
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow

    names = {name: str(position) for name, position in layout.where.items()}
    for point in ".,":
        try:
            table = arrow.read_csv(
                pa.BufferReader(memoryview(data)[layout.start :]),
                arrow.ReadOptions(column_names=[str(position) for position in range(len(layout.names))]),
                arrow.ParseOptions(delimiter=layout.separator, quote_char=False),
                arrow.ConvertOptions(
                    check_utf8=False,
                    column_types=dict.fromkeys(names.values(), pa.float64()),
                    include_columns=[*names.values()],
                    decimal_point=point,
                ),
            )
        except pa.ArrowException:
            continue
        return {name: table.column(position).to_numpy() for name, position in names.items()}
    return None


def _careful(data: bytes, layout: Layout) -> tuple[Columns, list[tuple[int, str]]]:
    """The columns and all comments, line by line; or BadFile with everything that is wrong."""
    text = data[layout.start :].decode("utf-8", "replace")
    lines = text.split("\n")
    rows = _rows(lines, layout, ".")
    if rows.failures and layout.separator != "," and "," in text:
        rows = min(rows, _rows(lines, layout, ","), key=lambda rows: rows.failures)
    found, count = defects(rows.columns, most=trial_table.LISTED)
    if count := count + len(rows.misfits):
        problems = [_misfit(line, lines[line - layout.line], layout) for line in rows.misfits[: trial_table.LISTED]]
        for row, name, reason in found:
            line = rows.lines[row]
            problems.append(_misvalue(line, lines[line - layout.line], layout, name, reason, rows.point))
        raise refusal(sorted(problems)[: trial_table.LISTED], count)
    return rows.columns, rows.notes


def _rows(lines: list[str], layout: Layout, point: str) -> Rows:
    """Every line parsed, with `point` before the decimals."""
    separator, width, pick = layout.separator, len(layout.names), itemgetter(*layout.where.values())
    numbers, kept, misfits, notes = array("d"), [], [], [*layout.notes]
    for line, text in enumerate(lines, layout.line):
        bare = text.strip()
        if not bare or bare.startswith("#"):
            notes += [(line, bare)] if bare else []
            continue
        fields = _fields(text, separator, width)
        if len(fields) != width:
            misfits.append(line)
            continue
        kept.append(line)
        try:
            if point == "," or "_" in text or not text.isascii():
                raise ValueError
            numbers.extend([*map(float, pick(fields))])
        except ValueError:
            numbers.extend([_number(field, point)[0] for field in pick(fields)])
    matrix = np.array(numbers).reshape(-1, len(layout.where))
    return Rows(point, dict(zip(layout.where, matrix.T, strict=True)), kept, misfits, notes)


def _number(text: str, point: str = ".") -> tuple[float, str]:
    """`text` as a float, or NaN and the reason; strict, as float() takes underscores and digits of any script."""
    text = text.strip()
    try:
        if "_" in text or not text.isascii():
            raise ValueError
        return float(text.translate(_SWAP) if point == "," else text), ""
    except ValueError:
        return math.nan, "not a number" if text else "empty"


def _misfit(line: int, text: str, layout: Layout) -> Problem:
    fields, width = len(_fields(text, layout.separator)), len(layout.names)
    return Problem(line, "", shorten(text.strip()), f"{fields} field{'s' * (fields != 1)} where the header has {width}")


def _misvalue(line: int, text: str, layout: Layout, name: str, reason: str, point: str) -> Problem:
    value = _fields(text, layout.separator)[layout.where[name]].strip()
    given = layout.names[layout.where[name]]
    return Problem(line, shorten(given), shorten(value), _number(value, point)[1] or reason)


def number_of_data(text: str) -> float | str:
    """A number of data, perhaps with separated thousands or an exponent; the text itself if it is none."""
    text = text.rstrip(",;" + QUOTES)  # a spreadsheet fills up the line with separators
    if _THOUSANDS.fullmatch(text):
        text = re.sub(r"\D", "", text)
    number, reason = _number(text)
    return shorten(text) if reason else number


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SWAP = str.maketrans(",.", ".,")  # so that a decimal point where decimals have a comma is no number
_STATES_N = re.compile(r"#[\s#]*(?:N|(?i:n[_ -]?data))\s*[:=]\s*(\d.*)")
_THOUSANDS = re.compile(r"\d{1,3}(?:([,_'’\s])\d{3}(?:\1\d{3})*|(?:\.\d{3}){2,})")
