"""Trial runs as text tables: which columns are meant, where the number of data stands, what is wrong in which line.

`designer.core.text_table` does the reading: a fast pass for plain files, a careful one for all others.
"""

from __future__ import annotations

import re

from designer.core.files import shorten
from designer.core.text_table import (
    QUOTES,
    Layout,
    Row,
    Style,
    count_fields,
    count_lines,
    decimal_point,
    encoding_of,
    parse_number,
    read_carefully,
    read_fast,
    read_head,
    rows_at,
    split_fields,
    split_names,
)
from designer.pairs import limits
from designer.pairs import notes as notes_in
from designer.pairs.columns import (
    NEEDED,
    BadFile,
    Columns,
    FileProblem,
    NStatement,
    Parsed,
    canonical,
    defects,
    known,
    refusal,
    required,
    swap_line,
)

_STATES_N = re.compile(r"#[\s#]*(?:N|(?i:n[_ -]?data))\s*[:=]\s*(\d.*)")
_THOUSANDS = re.compile(r"\d{1,3}(?:([,_'’\s])\d{3}(?:\1\d{3})*|(?:\.\d{3}){2,})")


def style() -> Style:
    """What the file of a trial run may hold. Bytes that are not text are replaced: they may be in ignored columns."""
    return Style(limits.MAX_LINE, (",", ";", "\t", None), comments=True, errors="replace", empty_rows=True)


def parse(data: bytes) -> Parsed:
    """The columns of a text table, and where it states the number of data."""
    _check_size(data)
    layout = find_layout(data)
    columns, comments = plain_columns(layout), layout.comments
    if columns is None or defects(columns, most=0)[1]:
        columns, comments = careful_columns(layout)
    stated = ((line, _STATES_N.fullmatch(text)) for line, text in comments)
    statements = [NStatement(f"line {line}", number_of_data(match[1])) for line, match in stated if match]
    notes = dict(note for _, text in comments if (note := notes_in.in_comment(text)) is not None)
    return Parsed(columns, statements, notes=notes_in.from_text(notes))


def _check_size(data: bytes) -> None:
    """Refuse what is not text, or has too many lines."""
    if b"\0" in data and encoding_of(data).startswith("utf-8"):
        raise BadFile("not a text file: it has NUL bytes (UTF-16 needs a byte order mark)")
    if (lines := count_lines(data) - 1) > limits.MAX_PAIRS + 100_000:
        raise BadFile(f"{lines:,} lines; a trial run has at most {limits.MAX_PAIRS:,} pairs")


def find_layout(data: bytes) -> Layout:
    """The names of the columns, from the header or from the comment above the numbers."""
    above, comments, header = head = read_head(data, style())
    if header is None:
        raise BadFile(f"nothing in it but comments and blank lines; {NEEDED}" if comments else f"empty; {NEEDED}")
    if re.match(r"[\s\"']*[+-]?[.,]?\d", header):  # no header but numbers; the names may be in the comment above
        separator, names = _split(comments[-1][1].lstrip("# ")) if comments else (None, [])
        if len(split_fields(header, separator)) != len(names) or not {"mu", "sigma"} <= {*known(names)}:
            raise BadFile(f"line {head.line}: numbers where the names of the columns should be; {NEEDED}")
    else:
        separator, names = _split(header)
        above.append(header)
    if len(names) > limits.MAX_COLUMNS:
        raise BadFile(f"line {len(above)}: {len(names):,} columns, more than the limit of {limits.MAX_COLUMNS:,}")
    required(names)
    return Layout(data, style(), separator, names, above, comments)


def _split(header: str) -> tuple[str | None, list[str]]:
    separator, names = split_names(header, style(), canonical)
    return separator, [name.strip(QUOTES) for name in names]


def plain_columns(layout: Layout) -> Columns | None:
    """The columns, if the rows are plain: numbers without quotes, and no comments between them."""
    assert isinstance(layout.source, bytes)
    for mark in '"#':
        if layout.source.count(mark.encode()) > sum(line.count(mark) for line in layout.above):
            return None
    places = required(layout.names)
    for point in ".,":
        if table := read_fast(layout, list(places.values()), point=point):
            return dict(zip(places, table[0], strict=True))
    return None


def careful_columns(layout: Layout) -> tuple[Columns, list[tuple[int, str]]]:
    """The columns and all comments, line by line; or BadFile with everything that is wrong."""
    places, most = required(layout.names), limits.MAX_LISTED
    point = decimal_point(layout, list(places.values()))
    rows = read_carefully(layout, list(places.values()), point=point, most=most)
    columns = dict(zip(places, rows.columns, strict=True))
    flaws, count = defects(columns, most)
    if count and (swapped := swap_line(columns["mu"], columns["sigma"])) is not None:
        raise BadFile(f"{swapped}; nothing loaded")
    if count + rows.misfit_count:
        problems = [_misfit(row, layout) for row in rows.misfits]
        flawed = rows_at(layout, [flaw.row for flaw in flaws])
        for number, name, reason in flaws:
            problems.append(_misvalue(flawed[number], layout, places[name], reason, point))
        raise refusal(sorted(problems)[:most], count + rows.misfit_count)
    return columns, rows.comments


def _misfit(row: Row, layout: Layout) -> FileProblem:
    fields, width = count_fields(row, layout), len(layout.names)
    reason = f"{fields} field{'s' * (fields != 1)} where the header has {width}"
    return FileProblem(row.line, "", shorten(row.text.strip()), reason)


def _misvalue(row: Row, layout: Layout, place: int, reason: str, point: str) -> FileProblem:
    value = row.fields[place].strip()
    if parse_number(value, point) is None:
        reason = "not a number" if value else "empty"
    return FileProblem(row.line, shorten(layout.names[place]), shorten(value), reason)


def number_of_data(text: str) -> float | str:
    """A number of data, perhaps with separated thousands or an exponent; the text itself if it is none."""
    text = text.rstrip(",;" + QUOTES)  # spreadsheets fill up the line with separators
    if _THOUSANDS.fullmatch(text):
        text = re.sub(r"\D", "", text)
    number = parse_number(text)
    return shorten(text) if number is None else number
