"""Data for the models: from files in the formats people have, with the names of their columns."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.errors import BadInput, shown
from designer.files import shorten
from designer.schedule import Floats
from samplers import csv_files, memory
from samplers.models._kernels import blocks
from samplers.scaling import unit
from samplers.tables import DataTable, Labels

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES = 2**36  # of a file that is read
MAX_COLUMNS = 10_000
INTERCEPT = "intercept"
_TRUTH = {"true": 1.0, "false": 0.0}


class Dataset(NamedTuple):
    """Rows (N, D), labels if there are any, names of the columns if the file has them.

    What is mapped from a file stays a memmap. `standardised` has the mean and standard deviation that each column had.
    """

    x: Floats
    y: npt.NDArray[Any] | None
    names: tuple[str, ...] | None = None
    standardised: dict[str, tuple[float, float]] | None = None
    origin: str | None = None  # of a built-in data set

    @property
    def digest(self) -> str:
        """SHA-256 of rows and labels."""
        sha = hashlib.sha256()
        for values in (self.x, *(() if self.y is None else (self.y,))):
            for block in blocks(len(values)):
                sha.update(np.ascontiguousarray(values[block]).data)
        return sha.hexdigest()


def load(data: DataTable, labels: Labels) -> Dataset:
    """What a config says about its data, read and checked; `labels` is what the model wants besides the columns."""
    readers: dict[str, Callable[[Path, DataTable, Labels], Dataset]] = {
        ".csv": _csv,
        ".tsv": _csv,
        ".txt": _csv,
        ".parquet": _parquet,
        ".npz": _npz,
        ".npy": _npy,
    }
    if data.source is not None:
        return _finished(_built_in(data, labels), data)
    assert data.path is not None
    file = _existing("path", data.path)
    if file.suffix.lower() not in readers:
        raise BadInput(f"data.path: {file}: must end in {', '.join(readers)}")
    try:
        found = readers[file.suffix.lower()](file, data, labels)
    except BadInput:
        raise
    except Exception as error:  # of whatever kind the parsers throw at a broken file
        raise BadInput(f"data.path: {file}: cannot be read: {shorten(error, 100)}") from None
    _check(file, found, "labels" if data.mapped else "label")
    return _finished(found, data)


def _built_in(data: DataTable, labels: Labels) -> Dataset:
    """One of the papers' data sets, or its twin."""
    from samplers import sources

    assert data.source is not None
    if data.source not in sources.NAMES:
        raise BadInput(f"data.source = {shown(data.source)}: must be one of {', '.join(sources.NAMES)}")
    if data.folder is not None and not Path(data.folder).is_dir():
        raise BadInput(f"data.folder: {data.folder}: no such directory")
    try:
        found = sources.load(data.source, data.folder, data.rows)
    except BadInput as problem:
        raise BadInput(f"data.source = {shown(data.source)}: {problem}") from None
    if labels and not found.y.size:
        raise BadInput(f"data.source = {shown(data.source)}: has no labels, which the model needs")
    if labels == "binary" and not np.isin(found.y, (0.0, 1.0)).all():
        raise BadInput(f"data.source = {shown(data.source)}: its labels are numbers, the model needs 0 and 1")
    return Dataset(found.x, found.y if labels else None, found.columns, origin=found.origin)


def _finished(found: Dataset, data: DataTable) -> Dataset:
    if data.standardise:
        found = _standardised(found)
    return _with_intercept(found) if data.intercept else found


def _existing(entry: str, path: str) -> Path:
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"data.{entry}: {file}: no such file")
    if not file.suffix.lower() == ".npy" and file.stat().st_size > MAX_BYTES:
        raise BadInput(f"data.{entry}: {file}: larger than {MAX_BYTES:,} bytes; a .npy file may be")
    return file


def _refuse_large(file: Path, size: int) -> None:
    """Refuse what would not fit into memory when it is unpacked: a small file may hold very much of the same."""
    most = min(MAX_BYTES, memory.allowed() // 2)
    if size > most:
        what = f"unpacks to {size:,} bytes, more than {most:,}, half the memory here; a .npy file would be mapped"
        raise BadInput(f"data.path: {file}: {what}")


def _refuse_wide(file: Path, columns: int) -> None:
    if columns > MAX_COLUMNS:
        raise BadInput(f"data.path: {file}: {columns:,} columns, more than the limit of {MAX_COLUMNS:,}")


def _check(file: Path, found: Dataset, entry: str) -> None:
    """Finite numbers in (N, D), as many labels."""
    x, y = found.x, found.y
    if x.ndim != 2 or not x.shape[0] or not x.shape[1]:
        raise BadInput(f"data.path: {file}: has shape {x.shape}; must have rows and columns")
    if y is not None and y.shape != x.shape[:1]:
        raise BadInput(f"data.{entry}: has shape {y.shape}; must be ({x.shape[0]:,},), one for each row")
    for block in blocks(len(x)):
        finite = np.isfinite(x[block])
        if not finite.all():
            row, column = (int(k) for k in np.argwhere(~finite)[0] + (block.start, 0))
            name = shown(found.names[column]) if found.names else column
            raise BadInput(f"data.path: {file}: row {row:,}, column {name}: {x[row, column]}, must be finite")
    if y is not None and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise BadInput(f"data.{entry}: row {row:,}: {y[row]}, must be finite")


# --- tables -----------------------------------------------------------------------------------------------------------


def _columns(data: DataTable, names: Sequence[str], labels: Labels) -> tuple[list[str], str | None]:
    """Which columns are used, and which is the label."""
    there = f"there are {shorten(', '.join(names), 200)}"
    label = (data.label or "y") if labels else None
    if label is not None and label not in names:
        raise BadInput(f"data.label = {shown(label)}: no such column; {there}")
    for name in data.columns or ():
        if name not in names:
            raise BadInput(f"data.columns: {shown(name)}: no such column; {there}")
        if name == label:
            raise BadInput(f"data.columns: {shown(name)}: is the label")
        if data.columns and data.columns.count(name) > 1:
            raise BadInput(f"data.columns: {shown(name)}: is there twice")
    chosen = list(data.columns or (name for name in names if name != label))
    if not chosen:
        raise BadInput(f"data.path: {data.path}: has no column but the label")
    return chosen, label


def _csv(file: Path, data: DataTable, labels: Labels) -> Dataset:
    layout = csv_files.layout(file)
    _refuse_wide(file, len(layout.names))
    columns, label = _columns(data, layout.names, labels)
    numeric = [*columns, label] if label is not None and labels == "numbers" else columns
    numbers, texts = csv_files.read(layout, numeric, label if labels == "binary" else None)
    x = np.column_stack(numbers[: len(columns)])
    if texts is not None:
        return Dataset(x, _signs("label", texts.values)[texts.codes], tuple(columns))
    return Dataset(x, numbers[-1] if labels else None, tuple(columns))


def _parquet(file: Path, data: DataTable, labels: Labels) -> Dataset:
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        names, rows = opened.schema_arrow.names, opened.metadata.num_rows
    _refuse_wide(file, len(names))
    columns, label = _columns(data, names, labels)
    _refuse_large(file, 16 * rows * (len(columns) + 1))  # as a table and as an array
    table = parquet.read_table(file, columns=[*columns, *([] if label is None else [label])])
    x = np.column_stack([_numbers(file, name, table.column(name)) for name in columns])
    if label is None:
        return Dataset(x, None, tuple(columns))
    if labels == "numbers":
        return Dataset(x, _numbers(file, label, table.column(label)), tuple(columns))
    given = table.column(label)
    _refuse_nulls(file, label, given)
    coded = given.combine_chunks().dictionary_encode()
    texts = [str(value) for value in coded.dictionary.to_pylist()]
    return Dataset(x, _signs("label", texts)[coded.indices.to_numpy()], tuple(columns))


def _numbers(file: Path, name: str, column: pa.ChunkedArray) -> Floats:
    import pyarrow as pa

    _refuse_nulls(file, name, column)
    kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean
    if not any(is_kind(column.type) for is_kind in kinds):
        what = f"is of type {column.type}, not numbers; data.columns says which columns to use"
        raise BadInput(f"data.path: {file}: column {shown(name)}: {what}")
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers


def _refuse_nulls(file: Path, name: str, column: pa.ChunkedArray) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise BadInput(f"data.path: {file}: row {row:,}, column {shown(name)}: no value")


# --- arrays -----------------------------------------------------------------------------------------------------------


def _npz(file: Path, data: DataTable, labels: Labels) -> Dataset:
    label = data.label or "y"
    with open(file, "rb") as opened:  # np.load would leave a broken archive open
        with zipfile.ZipFile(opened) as archive:
            sizes = {member.filename.removesuffix(".npy"): member.file_size for member in archive.infolist()}
        wanted = ["x", *([label] if labels else [])]
        if missing := [name for name in wanted if name not in sizes]:
            has = shorten(", ".join(sizes), 200)
            raise BadInput(f"data.path: {file}: has no array {shorten(missing[0])}; it has {has}")
        _refuse_large(file, 2 * sum(sizes[name] for name in {*wanted, "columns"} & set(sizes)))  # read, and as float64
        with np.load(opened, allow_pickle=False) as arrays:
            x = _as_rows(file, arrays["x"])
            y = _as_labels("label", arrays[label], labels) if labels else None
            names = tuple(map(str, arrays["columns"])) if "columns" in sizes else None
    if names is not None and (len(names) != x.shape[1] or len(set(names)) < len(names)):
        raise BadInput(f"data.path: {file}: columns must be {x.shape[1]} different names, one for each column of x")
    if data.columns is None:
        return Dataset(x, y, names)
    if names is None:
        raise BadInput(f"data.columns: {file} does not name its columns; it has no array columns")
    chosen, _ = _columns(data, names, None)
    return Dataset(np.ascontiguousarray(x[:, [names.index(name) for name in chosen]]), y, tuple(chosen))


def _npy(file: Path, data: DataTable, labels: Labels) -> Dataset:
    x = _as_rows(file, np.load(file, mmap_mode="r", allow_pickle=False))
    if data.labels is None:
        return Dataset(x, None)
    other = _existing("labels", data.labels)
    try:
        given = np.load(other, mmap_mode="r", allow_pickle=False)
    except Exception as error:
        raise BadInput(f"data.labels: {other}: cannot be read: {shorten(error, 100)}") from None
    return Dataset(x, _as_labels("labels", given, labels))


def _as_rows(file: Path, array: npt.NDArray[Any]) -> Floats:
    """(N, D) of floating point numbers; the array itself if it is that already."""
    if array.dtype.kind not in "biuf":
        raise BadInput(f"data.path: {file}: x is of type {array.dtype}, not numbers")
    rows = array[:, None] if array.ndim == 1 else array
    fit = rows.dtype in (np.float64, np.float32) and rows.flags.c_contiguous
    return rows if fit and isinstance(rows, np.memmap) else np.ascontiguousarray(rows, dtype=np.float64)


def _as_labels(entry: str, array: npt.NDArray[Any], labels: Labels) -> npt.NDArray[Any]:
    """Labels as they are if they lie in a file as bytes, -1 and 1 else; of regression as numbers."""
    if labels == "binary" and array.ndim == 1:
        found = {str(value) for block in blocks(len(array)) for value in np.unique(array[block])}
        signs = dict(zip(sorted(found), _signs(entry, sorted(found)), strict=True))
        if isinstance(array, np.memmap) and array.dtype in (np.bool_, np.int8, np.uint8):
            return array
        if array.dtype.kind in "biuf":
            return np.where(array > 0, 1.0, -1.0)
        return np.array([signs[str(text)] for text in array])
    if array.dtype.kind not in "biuf":
        raise BadInput(f"data.{entry}: is of type {array.dtype}, not numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def _signs(entry: str, texts: Sequence[str]) -> Floats:
    """-1 or 1 for every text that stands for 0 or 1, -1 or 1, false or true."""
    values = [_label(text) for text in texts]
    if not (set(values) <= {0.0, 1.0} or set(values) <= {-1.0, 1.0}):
        listed = ", ".join(shown(text) for text in sorted(texts)[:6]) + (", …" if len(texts) > 6 else "")
        raise BadInput(f"data.{entry}: has the values {listed}; must be 0 and 1, -1 and 1, or true and false")
    return np.array([1.0 if value == 1.0 else -1.0 for value in values])


def _label(text: str) -> float | None:
    plain = text.strip().lower()
    try:
        return _TRUTH[plain] if plain in _TRUTH else float(plain.replace(",", "."))
    except ValueError:
        return None


# --- what is made of them ---------------------------------------------------------------------------------------------


def _standardised(found: Dataset) -> Dataset:
    """Every column with mean 0 and standard deviation 1."""
    names = found.names or tuple(f"x{k}" for k in range(found.x.shape[1]))
    scale = unit(found.x)
    x = found.x / scale
    mean, sd = x.mean(axis=0), x.std(axis=0)
    for name, centre, spread in zip(names, mean, sd, strict=True):
        if not spread > 1e-12 * abs(centre):
            raise BadInput(f"data.standardise: column {shown(name)} is constant")
    x -= mean
    x /= sd
    known = {name: (float(a), float(b)) for name, a, b in zip(names, mean * scale, sd * scale, strict=True)}
    return found._replace(x=x, standardised=known)


def _with_intercept(found: Dataset) -> Dataset:
    """With a column of ones before the others."""
    names = found.names or tuple(f"x{k}" for k in range(found.x.shape[1]))
    if INTERCEPT in names:
        raise BadInput(f"data.intercept: there is a column {INTERCEPT!r} already")
    ones = np.ones((found.x.shape[0], 1))
    return found._replace(x=np.hstack([ones, found.x]), names=(INTERCEPT, *names))
