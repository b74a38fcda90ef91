"""The files of a trial run: text tables, Parquet files, NumPy archives.

Readers return a `TrialColumns` of checked columns or raise `BadFile`, which lists what is wrong and where. Nothing is
loaded in part.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

import numpy as np

from designer.core.errors import BadInput, integer
from designer.core.files import Target, shorten, write_whole
from designer.pairs import limits, residual_files, text
from designer.pairs.columns import (
    BadFile,
    Columns,
    FileProblem,
    NStatement,
    Parsed,
    TrialColumns,
    agreed,
    defects,
    refusal,
    required,
    swap_line,
)
from designer.pairs.notes import as_text, from_json, from_text
from designer.pairs.text import number_of_data
from designer.rule.looks import MAX_N_DATA

Source: TypeAlias = Target | bytes


def load(path: str | os.PathLike[str], n_data: int | None = None) -> TrialColumns:
    """The trial run in a file, read according to its suffix."""
    return read_named(path, path, n_data)


def read_named(name: str | os.PathLike[str], source: Source, n_data: int | None = None) -> TrialColumns:
    """The trial run in `source`, read according to the suffix of `name`."""
    readers = dict.fromkeys((".csv", ".tsv", ".txt"), read_csv) | {".parquet": read_parquet, ".npz": read_npz}
    suffix = Path(name).suffix.lower()
    if suffix not in readers:
        raise BadFile(f"{shorten(name, 200)}: the name must end in {', '.join(readers)}")
    return readers[suffix](source, n_data)


def save(path: str | os.PathLike[str], trial: TrialColumns) -> None:
    """Write a trial run in the format of the suffix."""
    writers = dict.fromkeys((".csv", ".tsv", ".txt"), write_csv) | {".parquet": write_parquet, ".npz": write_npz}
    suffix = Path(path).suffix.lower()
    if suffix not in writers:
        raise BadFile(f"{shorten(path, 200)}: the name must end in {', '.join(writers)}")
    writers[suffix](path, trial)


def read_csv(source: Source, n_data: int | None = None) -> TrialColumns:
    """A trial run from a text table with a header row.

    It understands UTF-8, and UTF-16 or UTF-32 with a byte order mark; any line ends; commas, semicolons, tabs or runs
    of blanks as separators; decimal commas where commas do not separate; comment lines that start with #; quotes.
    Columns may be in any order and have any of the names in `designer.pairs.columns.NAMES`; others are ignored. N comes
    from the argument, a comment `# n_data: 12214` (or `# N = 1,950,000`) or a column n_data or N. If several of these
    are given, they must agree.
    """
    return _read(source, n_data, text.parse)


def _read(source: Source, n_data: int | None, parse: Callable[[bytes], Parsed]) -> TrialColumns:
    """The columns that `parse` reads from `source`; error messages name the source."""
    argument = [] if n_data is None else [NStatement("the argument", integer("n_data", n_data, 2, MAX_N_DATA))]
    try:
        parsed = parse(_content(source))
        columns, statements = parsed.columns, parsed.statements
        if not 0 < (pairs := columns["mu"].size) <= limits.MAX_PAIRS:
            raise BadFile(f"{pairs:,} rows, more than the limit of {limits.MAX_PAIRS:,}" if pairs else "no rows")
        if "n_data" in columns:
            statements = [*statements, NStatement("the column", float(columns["n_data"][0]))]
        number = agreed(argument + statements)
        if parsed.residuals is not None:
            parsed.residuals.check(number, columns["mu"], columns["sigma"], columns.get("skew"))
    except BadInput as error:
        name = source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", "the data")
        known = error if isinstance(error, BadFile) else BadFile(str(error))
        raise BadFile(f"{shorten(name, 200)}: {known.summary}", known.problems, known.count) from None
    given = columns["mu"], columns["sigma"], columns.get("log_ratio", 0.0), columns.get("skew")
    return TrialColumns(number, *given, parsed.residuals, parsed.notes)


def _content(source: Source) -> bytes:
    """All bytes of `source`, but no more than MAX_BYTES."""
    if isinstance(source, (bytes, bytearray)):
        source = io.BytesIO(source)
    pieces, size = [], 0
    try:
        with open(source, "rb") if isinstance(source, (str, os.PathLike)) else nullcontext(source) as file:
            # Not all at once: the size may be unknown, and reads may be short.
            while size <= limits.MAX_BYTES and (piece := file.read(2**24)):
                pieces.append(piece.encode("utf-8", "replace") if isinstance(piece, str) else piece)
                size += len(pieces[-1])
    except (OSError, ValueError) as error:
        raise BadFile(f"cannot be read: {shorten(getattr(error, 'strerror', None) or error, 100)}") from None
    if size > limits.MAX_BYTES:
        raise BadFile(f"larger than the limit of {limits.MAX_BYTES / 2**20:,.0f} MiB")
    return b"".join(pieces)


# --- binary files -----------------------------------------------------------------------------------------------------


def read_parquet(source: Source, n_data: int | None = None) -> TrialColumns:
    """A trial run from a Parquet file; N from its metadata, a column or the argument."""
    return _read(source, n_data, _parse_parquet)


def _parse_parquet(data: bytes) -> Parsed:
    import pyarrow as pa
    from pyarrow import parquet, types

    with _reading("Parquet file"):
        file = parquet.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        schema = file.schema_arrow
        where = required(schema.names)
        for field in (schema.field(position) for position in where.values()):
            if not any(is_a(field.type) for is_a in (types.is_floating, types.is_integer, types.is_decimal)):
                raise BadFile(f"column '{shorten(field.name)}' holds {shorten(field.type)}, not numbers")
        if file.metadata.num_rows > limits.MAX_PAIRS:
            raise BadFile(f"{file.metadata.num_rows:,} rows, more than the limit of {limits.MAX_PAIRS:,}")
        names = {name: schema.names[position] for name, position in where.items()}
        table = file.read(columns=[*names.values()])
        columns = {name: table.column(given).cast(pa.float64()).to_numpy() for name, given in names.items()}
        metadata = {
            key.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for key, value in (schema.metadata or {}).items()
        }
        residuals = residual_files.from_parquet(file, metadata)
    stated = metadata.get("n_data")
    statements = [NStatement("the metadata", number_of_data(stated))] if stated else []
    return Parsed(_sound(columns), statements, residuals, from_text(metadata))


def read_npz(source: Source, n_data: int | None = None) -> TrialColumns:
    """A trial run from a NumPy archive with arrays mu, sigma and so on; N from n_data in it or the argument."""
    return _read(source, n_data, _parse_npz)


def _parse_npz(data: bytes) -> Parsed:
    with _reading("NumPy archive"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            sizes = {file.filename: file.file_size for file in archive.infolist() if file.filename.endswith(".npy")}
        members = [*sizes]
        where = required([name.removesuffix(".npy") for name in members])
        chosen = {name: members[position] for name, position in where.items()}
        for name, largest in [(name, 8 * limits.MAX_PAIRS) for name in chosen.values()] + residual_files.npz_limits():
            if sizes.get(name, 0) > largest + limits.MAX_LINE:
                raise BadFile(f"{name} unpacks to {sizes[name]:,} bytes, more than a trial run may have")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            columns = {name: np.asarray(arrays[member]) for name, member in chosen.items()}
            residuals = residual_files.from_npz(arrays)
            notes = from_json(str(arrays["notes"])) if "notes.npy" in sizes else {}
    if (pairs := columns["mu"].size) > limits.MAX_PAIRS:  # int8 arrays would grow eightfold
        raise BadFile(f"{pairs:,} rows, more than the limit of {limits.MAX_PAIRS:,}")
    for name, values in columns.items():
        if values.dtype.kind not in "iuf" or values.shape not in {(), (pairs,)}:
            raise BadFile(f"{chosen[name]} holds {values.dtype} of shape {values.shape}, not {pairs:,} numbers")
    sound = _sound({name: np.full(pairs, values, dtype=np.float64) for name, values in columns.items()})
    return Parsed(sound, [], residuals, notes)


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turn any exception of a parser into BadFile: parsers raise many types for broken files."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        raise BadFile(f"not a {what} that can be read: {shorten(error, 100)}") from None


def _sound(columns: Columns) -> Columns:
    """The columns, if all values are allowed."""
    flaws, count = defects(columns, most=limits.MAX_LISTED)
    if count and (swapped := swap_line(columns["mu"], columns["sigma"])) is not None:
        raise BadFile(f"{swapped}; nothing loaded")
    if count:
        problems = [
            FileProblem(d.row + 1, d.column, repr(float(columns[d.column][d.row])), d.reason, "row") for d in flaws
        ]
        raise refusal(problems, count)
    return columns


# --- writing ----------------------------------------------------------------------------------------------------------


def write_csv(target: Target, trial: TrialColumns) -> None:
    """Write a CSV file, without residuals; repr writes floats exactly."""
    rows = zip(*(map(repr, column.tolist()) for column in trial.columns.values()), strict=True)
    head = [f"# {name}: {text}" for name, text in ({"n_data": str(trial.n_data)} | as_text(trial.notes)).items()]
    write_whole(target, "\n".join([*head, ",".join(trial.columns), *map(",".join, rows)]) + "\n")


def write_parquet(target: Target, trial: TrialColumns) -> None:
    """Write a Parquet file with N and the notes in the metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    lists, version = residual_files.to_parquet(trial.residuals)
    table, sink = pa.table(trial.columns | lists), io.BytesIO()
    metadata = {"n_data": str(trial.n_data)} | version | as_text(trial.notes)
    parquet.write_table(table.replace_schema_metadata(metadata), sink, write_page_checksum=True)
    write_whole(target, sink.getvalue())


def write_npz(target: Target, trial: TrialColumns) -> None:
    """Write a NumPy archive with N as n_data."""
    sink = io.BytesIO()
    more = residual_files.to_npz(trial.residuals)
    if trial.notes:
        more["notes"] = np.array(json.dumps(as_text(trial.notes)))
    np.savez(sink, **trial.columns, n_data=np.int64(trial.n_data), **more)  # type: ignore[arg-type]
    write_whole(target, sink.getvalue())
