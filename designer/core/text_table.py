"""The one reader of text tables: CSV and its relatives, as people have them.

It knows byte order marks, separators, quotes, comments, line ends and decimal commas. It serves trial runs
(`designer.pairs.text`) and data tables (`samplers.data.csv_table`), which differ in what they allow (`Style`) and in
how they choose their columns. `read_fast` reads plain tables at once. `read_carefully` reads all others line by line,
and counts lines as an editor does, so that messages can name them.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, prefix_errors
from designer.core.files import shorten

Source: TypeAlias = bytes | Path  # the content of a file, or where it is

QUOTES = "\"' \t"  # what may surround a name
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}  # strings that mean a missing value
MOST_TEXTS = 1000  # different strings of a column that are listed, unless more are asked for
_AS_MISSING = sorted(
    {form for text in MISSING for form in (text, text.upper(), text.title(), text.capitalize(), "NaN")}
)
_CLEAR = 1000  # numbers with decimals that show how decimals are written
_PIECE = 2**24  # bytes read at once
_SWAP = str.maketrans(",.", ".,")  # so that a decimal point is not a number where decimals have a comma
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Style(NamedTuple):
    """What one kind of table allows."""

    max_line: int  # characters
    separators: tuple[str | None, ...] = (",", ";", "\t")  # None: runs of blanks
    comments: bool = False  # comments between the rows, and comments in quotes above the header
    multiline: bool = False  # line ends inside quotes
    errors: str = "strict"  # what to do with bytes that are no text: as `bytes.decode`
    empty_rows: bool = False  # rows of separators alone, as spreadsheets leave below a table: skipped


class Head(NamedTuple):
    """The lines of a table down to the first one that is neither blank nor a comment; `text` is None without one."""

    above: list[str]
    comments: list[tuple[int, str]]  # with their line numbers
    text: str | None

    @property
    def line(self) -> int:
        """Number of the line `text`."""
        return len(self.above) + 1


class Layout(NamedTuple):
    """Where the rows of a table begin, and how to cut them into fields."""

    source: Source
    style: Style
    separator: str | None
    names: list[str]
    above: list[str]  # all lines above the first row, the header among them
    comments: list[tuple[int, str]]  # those among them


class Row(NamedTuple):
    """A row with the number of its first line; a comment has no fields."""

    line: int
    text: str
    fields: list[str]


class Texts(NamedTuple):
    """A column of strings: which row has which. Missing ones have code -1; only so many different ones are listed."""

    values: list[str]
    codes: np.ndarray[Any, np.dtype[np.int64]]


class Rows(NamedTuple):
    """What `read_carefully` made of the rows; NaN where a field is not a number."""

    columns: list[Floats]
    texts: list[Texts]
    misfits: list[Row]  # the first rows with too few or too many fields, which are not in the columns
    misfit_count: int
    comments: list[tuple[int, str]]


# --- lines ------------------------------------------------------------------------------------------------------------


def encoding_of(source: Source) -> str:
    """UTF-8, or what the byte order mark says."""
    with _opened(source) as raw:
        start = raw.read(4)
    return next((encoding for mark, encoding in _MARKS if start.startswith(mark)), "utf-8")


def count_lines(source: Source) -> int:
    """No fewer than there are lines in the table: its line ends of any kind, and one for the last line."""
    number = 1
    with _opened(source) as raw:
        while piece := raw.read(_PIECE):
            number += piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n")
    return number


@contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as raw:
        yield raw


def _lines(source: Source, style: Style) -> Iterator[str]:
    """All lines with their ends; refuses one that is too long before it is read whole."""
    with _opened(source) as raw:
        text = io.TextIOWrapper(raw, encoding=encoding_of(source), errors=style.errors, newline="")
        try:
            for number, line in enumerate(iter(partial(text.readline, style.max_line + 2), ""), 1):
                if len(line) > style.max_line and len(line.rstrip("\r\n")) > style.max_line:
                    raise BadInput(f"line {number:,} has more than {style.max_line:,} characters")
                yield line
        except UnicodeError:
            raise BadInput("is not text in UTF-8, nor in UTF-16 or UTF-32 with a byte order mark") from None


def read_head(source: Source, style: Style) -> Head:
    """The comments and the first line that is neither blank nor a comment, which should be the header."""
    above: list[str] = []
    comments: list[tuple[int, str]] = []
    for line in _lines(source, style):
        bare = line.strip(QUOTES + "\r\n" if style.comments else None)
        if bare.startswith("#"):
            comments.append((len(above) + 1, bare))
        elif line.strip():
            return Head(above, comments, line.rstrip("\r\n"))
        above.append(line)
    return Head(above, comments, None)


# --- fields -----------------------------------------------------------------------------------------------------------


def split_names(header: str, style: Style, known: Callable[[str], object] = bool) -> tuple[str | None, list[str]]:
    """The separator that gives most names that are known (and then most names), and those names."""
    cut = [(s, [name.strip() for name in split_fields(header, s)]) for s in style.separators]
    separator, names = max(cut, key=lambda item: (sum(bool(known(name)) for name in item[1]), len(item[1])))
    return (separator if len(names) > 1 else ";"), names  # a comma in a single column is a decimal comma


def split_fields(text: str, separator: str | None, most: int = -1) -> list[str]:
    """The fields of one line; without quotes, it is cut no further than to see that there are more than `most`."""
    return text.split(separator, most) if '"' not in text else _quoted_fields([text], separator)


def _quoted_fields(lines: Iterable[str], separator: str | None, *, after_blanks: bool = True) -> list[str]:
    """The fields of a row with quotes, which takes as many lines as they span; a quoted field may begin with blanks."""
    if separator is None:
        lines = (" ".join(line.split()) for line in lines)
    try:
        return next(csv.reader(lines, delimiter=separator or " ", skipinitialspace=after_blanks))
    except csv.Error as error:
        raise BadInput(shorten(error, 100)) from None


def rows(layout: Layout) -> Iterator[Row]:
    """All rows, and the comments between them if the style allows any."""
    style, separator, width, skipped = layout.style, layout.separator, len(layout.names), len(layout.above)
    numbered = enumerate(islice(_lines(layout.source, style), skipped, None), skipped + 1)
    for number, line in numbered:
        text = line.rstrip("\r\n")
        bare = text.strip()
        if not bare or (style.empty_rows and _is_empty(bare, separator, width)):
            continue
        if style.comments and bare.startswith("#"):
            yield Row(number, bare, [])
        elif style.multiline and '"' in text:
            with prefix_errors(f"line {number:,}: "):
                # Quotes after blanks are text, as for `read_fast`: one alone must not take in the rows below.
                fields = _quoted_fields(chain([line], (more for _, more in numbered)), separator, after_blanks=False)
            yield Row(number, text, fields)
        else:
            yield Row(number, text, split_fields(text, separator, width))


def _is_empty(text: str, separator: str | None, width: int) -> bool:
    """Whether a row has no value in any of its fields."""
    return separator is not None and text.count(separator) < width and not text.strip(separator + QUOTES)


def count_fields(row: Row, layout: Layout) -> int:
    """How many fields a row has; `Row.fields` need not hold all of them."""
    return len(row.fields if '"' in row.text else split_fields(row.text, layout.separator))


def rows_at(layout: Layout, numbers: Collection[int]) -> dict[int, Row]:
    """Some of the rows in the columns of `read_carefully`, by their numbers there."""
    wanted, last = set(numbers), max(numbers, default=-1)
    fitting = (row for row in rows(layout) if len(row.fields) == len(layout.names))
    return {number: row for number, row in enumerate(islice(fitting, last + 1)) if number in wanted}


# --- numbers ----------------------------------------------------------------------------------------------------------


def parse_number(text: str, point: str = ".") -> float | None:
    """`text` as a float, None if it is not a number; strict, as float() takes underscores and digits of any script.

    Examples
    --------
    >>> parse_number(" 1,5 ", ","), parse_number("1.5", ","), parse_number("1_5")
    (1.5, None, None)
    """
    text = text.strip()
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text.translate(_SWAP) if point == "," else text)
    except ValueError:
        return None


def decimal_point(layout: Layout, columns: Sequence[int]) -> str:
    """The decimal mark, a point or a comma: as in most of the first numbers that have either."""
    if layout.separator == ",":
        return "."
    cells = (row.fields[column] for row in rows(layout) for column in columns if column < len(row.fields))
    seen = (point for cell in cells for point in ".," if point in cell and parse_number(cell, point) is not None)
    counts = Counter(islice(seen, _CLEAR))
    return "," if counts[","] > counts["."] else "."


def read_fast(
    layout: Layout,
    columns: Sequence[int],
    labels: Sequence[int] = (),
    point: str = ".",
    *,
    most_texts: int = MOST_TEXTS,
    missing: bool = False,
) -> tuple[list[Floats], list[Texts]] | None:
    """The numbers of some columns and the strings of others; None unless all rows are plain.

    With `missing`, fields without a value are NaN, or have code -1; otherwise they are not plain.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    if layout.separator is None:
        return None
    types = dict.fromkeys(map(str, columns), pa.float64())
    types |= dict.fromkeys(map(str, labels), pa.dictionary(pa.int32(), pa.string()))
    source, encoding = layout.source, encoding_of(layout.source).removesuffix("-sig")
    try:
        table = arrow.read_csv(
            pa.BufferReader(source) if isinstance(source, bytes) else source,
            arrow.ReadOptions(
                column_names=[str(place) for place in range(len(layout.names))],
                skip_rows=len(layout.above),
                encoding=encoding,
            ),
            arrow.ParseOptions(delimiter=layout.separator),
            arrow.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=_AS_MISSING if missing else [],
                strings_can_be_null=missing,
                decimal_point=point,
            ),
        )
    except (pa.ArrowException, UnicodeError):
        return None
    numbers = [table.column(str(column)).to_numpy() for column in columns]
    texts = [_coded(table.column(str(label)), most_texts) for label in labels]
    if any(text.lower() in MISSING for column in texts for text in column.values):
        return None  # with blanks around it, or an unusual spelling
    return numbers, texts


def _coded(column: Any, most: int) -> Texts:
    """A column of coded strings, as Arrow reads it: without blanks around them, each listed once."""
    import pyarrow as pa

    coded = column.unify_dictionaries().combine_chunks()
    coded = pa.concat_arrays(coded.chunks) if isinstance(coded, pa.ChunkedArray) else coded
    known: dict[str, int] = {}
    stripped = [known.setdefault(text.strip(), len(known)) for text in coded.dictionary.to_pylist()]
    codes = np.array([*stripped, -1], dtype=np.int64)[coded.indices.fill_null(len(stripped)).to_numpy()]
    return Texts(list(known)[:most], codes)


def read_carefully(
    layout: Layout,
    columns: Sequence[int],
    labels: Sequence[int] = (),
    *,
    point: str,
    most: int,
    stop: bool = False,
    most_texts: int = MOST_TEXTS,
) -> Rows:
    """As `read_fast`, but line by line, for rows of any content.

    The first `most` rows with too few or too many fields are returned as they are. With `stop`, reading ends when more
    than `most` rows have a wrong number of fields, no finite number in a column, or no text.
    """
    width, pick = len(layout.names), itemgetter(*columns, 0, 0)  # two more, so that it returns a tuple
    numbers, codes = array("d"), [array("q") for _ in labels]
    texts: list[dict[str, int]] = [{} for _ in labels]
    comments, misfits, count, flawed = [*layout.comments], list[Row](), 0, 0
    for row in rows(layout):
        if not row.fields:
            comments.append((row.line, row.text))
        elif len(row.fields) != width:
            misfits += [row] if count < most else []
            count += 1
        else:
            values = _numbers(pick(row.fields)[:-2], point)
            numbers.extend(values)
            for place, coded, known in zip(labels, codes, texts, strict=True):
                coded.append(_code(row.fields[place].strip(), known, most_texts))
            if stop:
                flawed += not all(map(math.isfinite, values)) or any(coded[-1] < 0 for coded in codes)
        if stop and count + flawed > most:
            break
    matrix = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(columns)) if columns else np.empty((0, 0))
    listed = [Texts(list(k), np.array(c, dtype=np.int64)) for k, c in zip(texts, codes, strict=True)]
    return Rows(list(matrix.T), listed, misfits, count, comments)


def _numbers(cells: Sequence[str], point: str) -> list[float]:
    """The numbers in some fields; NaN for what is not a number."""
    text = "".join(cells)
    if point == "." and "_" not in text and text.isascii():
        try:
            return [*map(float, cells)]
        except ValueError:
            pass
    parsed = (parse_number(cell, point) for cell in cells)
    return [math.nan if number is None else number for number in parsed]


def _code(text: str, texts: dict[str, int], most: int) -> int:
    """The number of a string among those seen; -1 if it is missing."""
    if text.lower() in MISSING:
        return -1
    return texts.setdefault(text, len(texts)) if len(texts) < most else texts.get(text, 0)
