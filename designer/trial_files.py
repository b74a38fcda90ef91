"""The columns of a trial run and their files: text tables as people have them, Parquet, NumPy archives.

Readers return a `Table` of checked columns or raise `BadFile`, which lists what is wrong and where; nothing is loaded
in part. Text goes through a fast parser first. Only what that one does not take as it is (quotes, comments between the
rows, runs of blanks, any mistake) is read line by line, with the line numbers of the original file.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
import secrets
import zipfile
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from designer.errors import BadInput, integer

Floats: TypeAlias = NDArray[np.float64]
Columns: TypeAlias = dict[str, Floats]
Target: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
Source: TypeAlias = Target | bytes

MAX_DATA = 10**15  # beyond, N is no longer safe as a float
MAX_PAIRS = 5_000_000
MAX_BYTES = 2**28
MAX_LINE = 100_000
MAX_COLUMNS = 1000
LISTED = 20  # problems in full; of the others only the number
LARGEST = 1e100  # size of an entry, so that N mu and A / kappa cannot overflow

NAMES = {
    "mu": ("mu", "μ", "mean"),
    "sigma": ("sigma", "σ", "sd", "std", "stdev", "std_dev"),
    "log_ratio": ("log_ratio", "logratio", "c"),
    "skew": ("skew", "skewness"),
    "n_data": ("n_data", "ndata"),  # and N, but not n, which may as well number the rows
}
_ALIASES = {alias: name for name, aliases in NAMES.items() for alias in aliases}
_QUOTES = "\"' \t"
NEEDED = "a header row must name the columns mu and sigma, and may name log_ratio, skew and n_data"

TEMPLATE = """\
# A trial run: one row per pair (theta, theta') that a chain proposed.
# The number of data N:
# n_data: 12214
# mu, sigma: mean and population standard deviation over all data of l_i = log p(x_i; theta') - log p(x_i; theta).
# log_ratio: c = log[prior(theta) q(theta'|theta) / (prior(theta') q(theta|theta'))]. Mind the sign: this is MINUS the
#   usual log ratio of priors and proposals. It is 0 for a flat prior and a symmetric proposal; the column is optional.
# skew: skewness of the l_i; optional.
mu,sigma,log_ratio,skew
-6.1e-05,0.0118,0.0,0.41
2.3e-05,0.0097,-0.02,-0.13
-1.7e-04,0.0152,0.11,0.27
"""


class Table(NamedTuple):
    """What a file holds, in the order of the arguments of `TrialRun`."""

    n_data: int
    mu: Floats
    sigma: Floats
    log_ratio: Floats | float
    skew: Floats | None


class Problem(NamedTuple):
    """One thing wrong in a file; `column` is empty when it is about the whole line."""

    line: int
    column: str
    value: str
    reason: str
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.unit} {self.line}{self.column and f', column {self.column}'}: '{self.value}': {self.reason}"


class BadFile(BadInput):
    """A file that cannot be used: a summary, the first problems in full, and how many there are in all."""

    def __init__(self, summary: str, problems: Sequence[Problem] = (), count: int = 0) -> None:
        super().__init__(summary, problems, count)
        self.summary, self.problems, self.count = summary, list(problems), count

    def __str__(self) -> str:
        more = self.count - len(self.problems)
        return "\n".join([self.summary, *map(str, self.problems), *([f"and {more:,} more"] if more > 0 else [])])


class Defect(NamedTuple):
    """An entry that no trial run may have."""

    row: int
    column: str
    reason: str


def shorten(value: object, limit: int = 40) -> str:
    """`value` as one line of at most `limit` printable characters, for messages."""
    try:
        text = str(value)[: 10 * limit]
    except ValueError:  # Python does not print integers of thousands of digits
        text = "a huge number"
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= limit else text[: limit - 1] + "…"


def defects(columns: Mapping[str, Floats], most: int) -> tuple[list[Defect], int]:
    """The first `most` defects of the columns, by row, and how many there are."""
    found, count = [], 0
    for name, x in columns.items():
        rules = [(~np.isfinite(x), "must be finite"), (np.abs(x) > LARGEST, f"must not exceed {LARGEST:g} in size")]
        if name == "sigma":
            rules += [(x <= 0.0, "must be greater than 0"), (x < 1.0 / LARGEST, f"must be at least {1.0 / LARGEST:g}")]
        if name == "n_data":
            first = next(iter(x[np.isfinite(x)]), np.nan)
            rules += [(x != first, f"differs from the {first:.16g} of the first row")]
        sound = np.ones(x.size, dtype=bool)
        for broken, reason in rules:
            rows = np.flatnonzero(broken & sound)  # the first reason is enough
            sound[rows] = False
            count += rows.size
            found += [Defect(int(row), name, reason) for row in rows[:most]]
    return sorted(found)[:most], count


# --- reading, whatever the format -------------------------------------------------------------------------------------


class Said(NamedTuple):
    """A place that states the number of data."""

    where: str
    n_data: object


Parsed: TypeAlias = tuple[Columns, list[Said]]


def load(path: str | os.PathLike[str], n_data: int | None = None) -> Table:
    """The trial run in a file, read according to its suffix."""
    readers = dict.fromkeys((".csv", ".tsv", ".txt"), read_csv) | {".parquet": read_parquet, ".npz": read_npz}
    suffix = Path(path).suffix.lower()
    if suffix not in readers:
        raise BadFile(f"{shorten(path, 200)}: the name must end in {', '.join(readers)}")
    return readers[suffix](path, n_data)


def _read(source: Source, n_data: int | None, parse: Callable[[bytes], Parsed]) -> Table:
    """The table that `parse` finds in `source`; problems carry the name of the source."""
    argument = [] if n_data is None else [Said("the argument", integer("n_data", n_data, 2, MAX_DATA))]
    try:
        columns, said = parse(_content(source))
        if not 0 < (pairs := columns["mu"].size) <= MAX_PAIRS:
            raise BadFile(f"{pairs:,} rows, more than the limit of {MAX_PAIRS:,}" if pairs else "no rows")
        if "n_data" in columns:
            said = [*said, Said("the column", float(columns["n_data"][0]))]
        number = _agreed(argument + said)
    except BadInput as error:
        name = source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", "the data")
        known = error if isinstance(error, BadFile) else BadFile(str(error))
        raise BadFile(f"{shorten(name, 200)}: {known.summary}", known.problems, known.count) from None
    return Table(number, columns["mu"], columns["sigma"], columns.get("log_ratio", 0.0), columns.get("skew"))


def _content(source: Source) -> bytes:
    """All of `source`, unless that is more than MAX_BYTES."""
    if isinstance(source, (bytes, bytearray)):
        source = io.BytesIO(source)
    pieces, size = [], 0
    try:
        with open(source, "rb") if isinstance(source, (str, os.PathLike)) else nullcontext(source) as file:
            # Not all at once: the size may be unknown, and reads may be short.
            while size <= MAX_BYTES and (piece := file.read(2**24)):
                pieces.append(piece.encode("utf-8", "replace") if isinstance(piece, str) else piece)
                size += len(pieces[-1])
    except (OSError, ValueError) as error:
        raise BadFile(f"cannot be read: {shorten(getattr(error, 'strerror', None) or error, 100)}") from None
    if size > MAX_BYTES:
        raise BadFile(f"larger than the limit of {MAX_BYTES / 2**20:,.0f} MiB")
    return b"".join(pieces)


def _canonical(name: str) -> str | None:
    """The column meant by a name, whatever its case, quotes and blanks; None if it is not ours."""
    name = name.strip(_QUOTES)
    return "n_data" if name == "N" else _ALIASES.get(re.sub(r"[\s.-]+", "_", name.casefold()))


def _known(names: Sequence[str]) -> dict[str, int]:
    """Where the columns are that we know."""
    where: dict[str, int] = {}
    for position, given in enumerate(names):
        if (name := _canonical(given)) in where:
            raise BadFile(f"columns '{shorten(names[where[name]])}' and '{shorten(given)}' both mean {name}")
        if name:
            where[name] = position
    return where


def _required(names: Sequence[str]) -> dict[str, int]:
    """As `_known`, but mu and sigma must be there."""
    where = _known(names)
    if missing := [name for name in ("mu", "sigma") if name not in where]:
        found = ", ".join(f"'{shorten(name)}'" for name in names[:10]) or "none"
        raise BadFile(f"no column {' and no column '.join(missing)} (found: {found}); {NEEDED}")
    return where


def _refusal(problems: list[Problem], count: int) -> BadFile:
    return BadFile(f"{count:,} problem{'s' * (count > 1)}, nothing loaded", problems, count)


def _agreed(said: list[Said]) -> int:
    """The number of data, on which all who state it must agree."""
    if not said:
        raise BadFile("the number of data N is missing: give it as n_data, in a line '# n_data: 12214' or in a column")
    numbers = [integer(f"n_data in {where}", number, 2, MAX_DATA) for where, number in said]
    for (where, _), number in zip(said, numbers, strict=True):
        if number != numbers[0]:
            raise BadFile(f"n_data is {numbers[0]:,} in {said[0].where} but {number:,} in {where}")
    return numbers[0]


# --- text tables ------------------------------------------------------------------------------------------------------


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


def read_csv(source: Source, n_data: int | None = None) -> Table:
    """A trial run from a text table with a header row.

    Understood are UTF-8, and UTF-16 or UTF-32 with a byte order mark; any line ends; commas, semicolons, tabs or runs
    of blanks as separators; decimal commas where the comma does not separate; comment lines that start with #; quotes;
    columns in any order, by the names in `NAMES`, among others, which are ignored. N is stated by the argument, a
    comment `# n_data: 12214` (or `# N = 1,950,000`) or a column n_data or N; those that are given must agree.
    """
    return _read(source, n_data, _parse_text)


def _parse_text(data: bytes) -> Parsed:
    data = _normal(data)
    layout = _layout(data)
    columns, notes = _fast(data, layout), layout.notes
    if columns is None or defects(columns, most=0)[1]:
        columns, notes = _careful(data, layout)
    stated = ((line, _STATES_N.fullmatch(text)) for line, text in notes)
    return columns, [Said(f"line {line}", _count(match[1])) for line, match in stated if match]


def _normal(data: bytes) -> bytes:
    """UTF-8 with plain line ends, if that is what the bytes can be and no line is absurd."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            data = data[len(mark) :].decode(encoding, "replace").encode()
            break
    if b"\0" in data:
        raise BadFile("not a text file: it has NUL bytes (UTF-16 needs a byte order mark)")
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if (lines := data.count(b"\n")) > MAX_PAIRS + 100_000:
        raise BadFile(f"{lines:,} lines; a trial run has at most {MAX_PAIRS:,} pairs")
    ends = np.flatnonzero(np.frombuffer(data + b"\n", dtype=np.uint8) == ord("\n"))
    lengths = np.diff(ends, prepend=-1) - 1
    if (longest := int(lengths.max())) > MAX_LINE:
        line = int(lengths.argmax()) + 1
        raise BadFile(f"line {line:,} has {longest:,} bytes, more than the limit of {MAX_LINE:,}")
    return data


def _layout(data: bytes) -> Layout:
    notes: list[tuple[int, str]] = []
    start = 0
    for line, raw in enumerate(io.BytesIO(data), 1):
        text = raw.decode("utf-8", "replace").rstrip("\n")
        if (bare := text.strip(_QUOTES)).startswith("#"):  # a spreadsheet may have put the comment in quotes
            notes.append((line, bare))
        elif text.strip():
            break
        start += len(raw)
    else:
        raise BadFile(f"nothing in it but comments and blank lines; {NEEDED}" if data.strip() else f"empty; {NEEDED}")
    if re.match(r"[\s\"']*[+-]?[.,]?\d", text):  # no header but numbers; perhaps the names are in the comment above
        separator, names = _sniff(notes[-1][1].lstrip("# ")) if notes else (None, [])
        if len(_fields(text, separator)) != len(names) or not {"mu", "sigma"} <= {*_known(names)}:
            raise BadFile(f"line {line}: numbers where the names of the columns should be; {NEEDED}")
        line, raw = line - 1, b""
    else:
        separator, names = _sniff(text)
    if len(names) > MAX_COLUMNS:
        raise BadFile(f"line {line}: {len(names):,} columns, more than the limit of {MAX_COLUMNS:,}")
    return Layout(separator, names, _required(names), notes, line + 1, start + len(raw))


def _sniff(header: str) -> tuple[str | None, list[str]]:
    """The separator that shows most names we know (and then most names), with the names."""
    found = [(s, [name.strip(_QUOTES) for name in _fields(header, s)]) for s in (",", ";", "\t", None)]
    return max(found, key=lambda item: (sum(map(bool, map(_canonical, item[1]))), len(item[1])))


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
    found, count = defects(rows.columns, most=LISTED)
    if count := count + len(rows.misfits):
        problems = [_misfit(line, lines[line - layout.line], layout) for line in rows.misfits[:LISTED]]
        for row, name, reason in found:
            line = rows.lines[row]
            problems.append(_misvalue(line, lines[line - layout.line], layout, name, reason, rows.point))
        raise _refusal(sorted(problems)[:LISTED], count)
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


def _count(text: str) -> float | str:
    """A number of data, perhaps with separated thousands or an exponent; the text itself if it is none."""
    text = text.rstrip(",;" + _QUOTES)  # a spreadsheet fills up the line with separators
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


# --- binary files -----------------------------------------------------------------------------------------------------


def read_parquet(source: Source, n_data: int | None = None) -> Table:
    """A trial run from a Parquet file; N from its metadata, a column or the argument."""
    return _read(source, n_data, _parse_parquet)


def _parse_parquet(data: bytes) -> Parsed:
    import pyarrow as pa
    from pyarrow import parquet, types

    with _reading("Parquet file"):
        file = parquet.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        schema = file.schema_arrow
        where = _required(schema.names)
        for field in (schema.field(position) for position in where.values()):
            if not any(is_a(field.type) for is_a in (types.is_floating, types.is_integer, types.is_decimal)):
                raise BadFile(f"column '{shorten(field.name)}' holds {shorten(field.type)}, not numbers")
        if file.metadata.num_rows > MAX_PAIRS:
            raise BadFile(f"{file.metadata.num_rows:,} rows, more than the limit of {MAX_PAIRS:,}")
        names = {name: schema.names[position] for name, position in where.items()}
        table = file.read(columns=[*names.values()])
        columns = {name: table.column(given).cast(pa.float64()).to_numpy() for name, given in names.items()}
        stated = (schema.metadata or {}).get(b"n_data")
    return _sound(columns), [Said("the metadata", _count(stated.decode("ascii", "replace")))] if stated else []


def read_npz(source: Source, n_data: int | None = None) -> Table:
    """A trial run from a NumPy archive; arrays of the names in `NAMES`, N from n_data or the argument."""
    return _read(source, n_data, _parse_npz)


def _parse_npz(data: bytes) -> Parsed:
    with _reading("NumPy archive"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            sizes = {file.filename: file.file_size for file in archive.infolist() if file.filename.endswith(".npy")}
        members = [*sizes]
        where = _required([name.removesuffix(".npy") for name in members])
        wanted = {name: members[position] for name, position in where.items()}
        if too_large := [name for name in wanted.values() if sizes[name] > 8 * MAX_PAIRS + MAX_LINE]:
            raise BadFile(f"{too_large[0]} unpacks to {sizes[too_large[0]]:,} bytes, more than a trial run can have")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            columns = {name: np.asarray(arrays[member]) for name, member in wanted.items()}
    pairs = columns["mu"].size
    for name, values in columns.items():
        if values.dtype.kind not in "iuf" or values.shape not in {(), (pairs,)}:
            raise BadFile(f"{wanted[name]} holds {values.dtype} of shape {values.shape}, not {pairs:,} numbers")
    return _sound({name: np.full(pairs, values, dtype=np.float64) for name, values in columns.items()}), []


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Whatever a parser throws at a broken file becomes BadFile; the list of what they throw has no end."""
    try:
        yield
    except BadFile:
        raise
    except Exception as error:
        raise BadFile(f"not a {what} that can be read: {shorten(error, 100)}") from None


def _sound(columns: Columns) -> Columns:
    """The columns, if there is nothing wrong in them."""
    found, count = defects(columns, most=LISTED)
    if count:
        problems = [Problem(d.row + 1, d.column, repr(float(columns[d.column][d.row])), d.reason, "row") for d in found]
        raise _refusal(problems, count)
    return columns


# --- writing ----------------------------------------------------------------------------------------------------------


def write_csv(target: Target, n_data: int, columns: Mapping[str, Floats]) -> None:
    """Write a CSV file; repr keeps every bit of a float."""
    rows = zip(*(map(repr, column.tolist()) for column in columns.values()), strict=True)
    _write(target, "\n".join([f"# n_data: {n_data}", ",".join(columns), *map(",".join, rows)]) + "\n")


def write_parquet(target: Target, n_data: int, columns: Mapping[str, Floats]) -> None:
    """Write a Parquet file with N in the metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    table, sink = pa.table(dict(columns)), io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({"n_data": str(n_data)}), sink, write_page_checksum=True)
    _write(target, sink.getvalue())


def write_npz(target: Target, n_data: int, columns: Mapping[str, Floats]) -> None:
    """Write a NumPy archive with N as n_data."""
    sink = io.BytesIO()
    np.savez(sink, **columns, n_data=np.int64(n_data))  # type: ignore[arg-type]
    _write(target, sink.getvalue())


def _write(target: Any, content: Any) -> None:
    """Write to a file object, or put a whole new file in the place of a path."""
    if not isinstance(target, (str, os.PathLike)):
        try:
            target.write(content)
        except TypeError:  # text for a binary file
            target.write(content.encode())
        return
    content = content.encode() if isinstance(content, str) else content
    path = Path(target).resolve()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
