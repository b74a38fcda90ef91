"""Data for the models: from files in common formats, with the names of the columns."""

from __future__ import annotations

import hashlib
import math
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, shown
from designer.core.files import shorten
from designer.core.text_table import MOST_TEXTS, Texts, count_lines
from samplers.config.schema import DataTable, Labels
from samplers.data import csv_table, memory, parquet_table
from samplers.data.scaling import unit
from samplers.data.size import sized
from samplers.models.arrays import BLOCK, blocks

MAX_COLUMNS = 10_000
INTERCEPT = "intercept"
_TRUTH = {"true": 1.0, "false": 0.0}


class Dataset(NamedTuple):
    """Rows (N, D), labels and names of the columns if there are any.

    Mapped files stay memmaps. `standardised` holds the original mean and standard deviation of each column.
    """

    x: Floats
    y: npt.NDArray[Any] | None
    names: tuple[str, ...] | None = None
    standardised: dict[str, tuple[float, float]] | None = None
    origin: str | None = None  # where a built-in data set comes from

    @property
    def digest(self) -> str:
        """SHA-256 of rows and labels."""
        sha = hashlib.sha256()
        for values in (self.x, *(() if self.y is None else (self.y,))):
            for block in blocks(len(values)):
                sha.update(np.ascontiguousarray(values[block]).data)
        return sha.hexdigest()

    @property
    def contents(self) -> dict[str, str]:
        """Size and digest of rows and labels, to say which of them are others."""
        return {"rows": sized(self.x)} | ({} if self.y is None else {"labels": sized(self.y)})


def load(data: DataTable, labels: Labels) -> Dataset:
    """The data of a config, read and checked; `labels` is the kind of labels that the model needs."""
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
        dataset = readers[file.suffix.lower()](file, data, labels)
    except BadInput:
        raise
    except Exception as error:  # parsers raise many types for broken files
        raise BadInput(f"data.path: {file}: cannot be read: {shorten(error, 100)}") from None
    _check(file, dataset, "labels" if data.mapped else "label")
    return _finished(dataset, data)


def _built_in(data: DataTable, labels: Labels) -> Dataset:
    """One of the papers' data sets, or its synthetic twin."""
    from samplers.data import sources

    assert data.source is not None
    if data.source not in sources.NAMES:
        raise BadInput(f"data.source = {shown(data.source)}: must be one of {', '.join(sources.NAMES)}")
    if data.folder is not None and not Path(data.folder).is_dir():
        raise BadInput(f"data.folder: {data.folder}: no such directory")
    try:
        source = sources.load(data.source, data.folder, data.rows)
    except BadInput as problem:
        raise BadInput(f"data.source = {shown(data.source)}: {problem}") from None
    if labels and not source.y.size:
        raise BadInput(f"data.source = {shown(data.source)}: has no labels, which the model needs")
    if labels == "binary" and not np.isin(source.y, (0.0, 1.0)).all():
        raise BadInput(f"data.source = {shown(data.source)}: its labels are numbers; the model needs 0 and 1")
    return Dataset(source.x, source.y if labels else None, source.columns, origin=source.origin)


def _finished(dataset: Dataset, data: DataTable) -> Dataset:
    if data.standardise:
        dataset = _standardised(dataset)
    return _with_intercept(dataset) if data.intercept else dataset


def _existing(entry: str, path: str) -> Path:
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"data.{entry}: {file}: no such file")
    if not file.suffix.lower() == ".npy" and file.stat().st_size > memory.MAX_BYTES:
        raise BadInput(
            f"data.{entry}: {file}: larger than {memory.MAX_BYTES:,} bytes; use a .npy file, which is mapped"
        )
    return file


def _refuse_wide(file: Path, columns: int) -> None:
    if columns > MAX_COLUMNS:
        raise BadInput(f"data.path: {file}: {columns:,} columns, more than the limit of {MAX_COLUMNS:,}")


def _check(file: Path, dataset: Dataset, entry: str) -> None:
    """Refuse anything but finite numbers (N, D) with N labels."""
    x, y = dataset.x, dataset.y
    if x.ndim != 2 or not x.shape[0] or not x.shape[1]:
        raise BadInput(f"data.path: {file}: has shape {x.shape}; must have rows and columns")
    if y is not None and y.shape != x.shape[:1]:
        raise BadInput(f"data.{entry}: has shape {y.shape}; must be ({x.shape[0]:,},), one for each row")
    for block in blocks(len(x)):
        finite = np.isfinite(x[block])
        if not finite.all():
            row, column = (int(k) for k in np.argwhere(~finite)[0] + (block.start, 0))
            name = shown(dataset.names[column]) if dataset.names else column
            raise BadInput(f"data.path: {file}: row {row:,}, column {name}: {x[row, column]}, must be finite")
    if y is not None and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise BadInput(f"data.{entry}: row {row:,}: {y[row]}, must be finite")


# --- tables -----------------------------------------------------------------------------------------------------------


def _columns(data: DataTable, names: Sequence[str], labels: Labels) -> tuple[list[str], str | None]:
    """Which columns are used, and which is the label."""
    existing = f"the columns are {shorten(', '.join(names), 200)}"
    label = (data.label or "y") if labels else None
    if label is not None and label not in names:
        raise BadInput(f"data.label = {shown(label)}: no such column; {existing}")
    for name in data.columns or ():
        if name not in names:
            raise BadInput(f"data.columns: {shown(name)}: no such column; {existing}")
        if name == label:
            raise BadInput(f"data.columns: {shown(name)}: is the label")
        if data.columns and data.columns.count(name) > 1:
            raise BadInput(f"data.columns: {shown(name)}: is listed twice")
    chosen = list(data.columns or (name for name in names if name != label))
    if not chosen:
        raise BadInput(f"data.path: {data.path}: has no column except the label")
    return chosen, label


def _csv(file: Path, data: DataTable, labels: Labels) -> Dataset:
    layout = csv_table.find_layout(file)
    _refuse_wide(file, len(layout.names))
    columns, label = _columns(data, layout.names, labels)
    size = 16 * count_lines(file) * (len(columns) + 1)  # as single columns, and as one array
    memory.refuse(f"data.path: {file}: unpacks to", size, "a .npy file would be mapped instead")
    numeric = [*columns, label] if label is not None and labels == "numbers" else columns
    numbers, texts = csv_table.read(layout, numeric, label if labels == "binary" else None)
    x = np.column_stack(numbers[: len(columns)])
    if texts is not None:
        return Dataset(x, _signs("label", texts.values)[texts.codes], tuple(columns))
    return Dataset(x, numbers[-1] if labels else None, tuple(columns))


def _parquet(file: Path, data: DataTable, labels: Labels) -> Dataset:
    layout = parquet_table.find_layout(file)
    _refuse_wide(file, len(layout.schema.names))
    columns, label = _columns(data, layout.schema.names, labels)
    x, y = parquet_table.read(layout, columns, label, labels)
    return Dataset(x, _signs("label", y.values)[y.codes] if isinstance(y, Texts) else y, tuple(columns))


# --- arrays -----------------------------------------------------------------------------------------------------------


def _npz(file: Path, data: DataTable, labels: Labels) -> Dataset:
    label = data.label or "y"
    with open(file, "rb") as opened, zipfile.ZipFile(opened) as archive:
        members = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        needed = ["x", *([label] if labels else []), *(["columns"] if "columns" in members else [])]
        if missing := [name for name in needed if name not in members]:
            listed = shorten(", ".join(members), 200)
            raise BadInput(f"data.path: {file}: has no array {shorten(missing[0])}; it has {listed}")
        refuse_large(file, archive, needed)
        x = _as_rows(file, member_of(archive, "x"))
        y = _as_labels("label", member_of(archive, label), labels) if labels else None
        names = tuple(map(str, member_of(archive, "columns").ravel())) if "columns" in members else None
    if names is not None and (len(names) != x.shape[1] or len(set(names)) < len(names)):
        raise BadInput(f"data.path: {file}: columns must hold {x.shape[1]} different names, one for each column of x")
    if data.columns is None:
        return Dataset(x, y, names)
    if names is None:
        raise BadInput(f"data.columns: {file} has no array columns with the names of its columns")
    chosen, _ = _columns(data, names, None)
    return Dataset(np.ascontiguousarray(x[:, [names.index(name) for name in chosen]]), y, tuple(chosen))


def refuse_large(file: Path, archive: zipfile.ZipFile, names: Sequence[str]) -> None:
    """Refuse arrays that would not fit into memory, by their headers: NumPy allocates memory before it reads."""
    size = 0
    for name in names:
        with archive.open(f"{name}.npy") as member:
            version = np.lib.format.read_magic(member)
            known = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            if version not in known:
                raise BadInput(f"data.path: {file}: {name} holds neither numbers nor text")
            shape, _, kind = known[version](member)
        if name == "columns":
            _refuse_wide(file, math.prod(shape))
        size += math.prod(shape) * (kind.itemsize + 8)  # as stored, and as float64
    memory.refuse(f"data.path: {file}: unpacks to", size, "a .npy file would be mapped instead")


def member_of(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    with archive.open(f"{name}.npy") as member:
        array: npt.NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        return array


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
    """Floating point numbers (N, D); the array itself if it can be used unchanged."""
    if array.dtype.kind not in "biuf":
        raise BadInput(f"data.path: {file}: x is of type {array.dtype}, not numbers")
    rows = array[:, None] if array.ndim == 1 else array
    _refuse_wide(file, math.prod(rows.shape[1:]))
    fit = rows.dtype in (np.float64, np.float32) and rows.flags.c_contiguous
    if fit and isinstance(rows, np.memmap):
        return rows
    why = f"x is of type {array.dtype}, not float64 or float32 row by row; converting it takes"
    memory.refuse(f"data.path: {file}: {why}", 8 * rows.size, "convert the file")
    return np.ascontiguousarray(rows, dtype=np.float64)


def _as_labels(entry: str, array: npt.NDArray[Any], labels: Labels) -> npt.NDArray[Any]:
    """Binary labels as mapped bytes or as -1 and 1; other labels as numbers."""
    as_it_is = isinstance(array, np.memmap) and array.dtype in (np.bool_, np.int8, np.uint8)
    if not (labels == "binary" and as_it_is):
        size = 16 * array.size + 2 * array.itemsize * min(array.size, BLOCK)
        why = f"{array.size:,} labels of type {array.dtype}; converting them takes"
        memory.refuse(f"data.{entry}: {why}", size, "a .npy file of bytes 0 and 1 is mapped instead")
    if labels == "binary" and array.ndim == 1:
        texts = _different(array)
        signs = dict(zip(texts, _signs(entry, texts), strict=True))
        if as_it_is:
            return array
        if array.dtype.kind in "biuf":
            return np.where(array > 0, 1.0, -1.0)
        return np.array([signs[str(text)] for text in array])
    if array.dtype.kind not in "biuf":
        raise BadInput(f"data.{entry}: is of type {array.dtype}, not numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def _different(array: npt.NDArray[Any]) -> list[str]:
    """The different values of an array as strings, sorted; no more than MOST_TEXTS."""
    texts: set[str] = set()
    for block in blocks(len(array)):
        texts.update(str(value) for value in np.unique(array[block])[:MOST_TEXTS])
        if len(texts) >= MOST_TEXTS:
            break
    return sorted(texts)[:MOST_TEXTS]


def _signs(entry: str, texts: Sequence[str]) -> Floats:
    """-1 or 1 for each text that means 0 or 1, -1 or 1, false or true; MOST_TEXTS or more are too many."""
    values = [_label(text) for text in texts]
    if len(texts) >= MOST_TEXTS or not (set(values) <= {0.0, 1.0} or set(values) <= {-1.0, 1.0}):
        listed = ", ".join(shown(text) for text in sorted(texts)[:6]) + (", …" if len(texts) > 6 else "")
        raise BadInput(f"data.{entry}: has the values {listed}; must be 0 and 1, -1 and 1, or true and false")
    return np.array([1.0 if value == 1.0 else -1.0 for value in values])


def _label(text: str) -> float | None:
    plain = text.strip().lower()
    try:
        return _TRUTH[plain] if plain in _TRUTH else float(plain.replace(",", "."))
    except ValueError:
        return None


# --- transformations --------------------------------------------------------------------------------------------------


def _standardised(dataset: Dataset) -> Dataset:
    """Scale every column to mean 0 and standard deviation 1."""
    names = dataset.names or tuple(f"x{k}" for k in range(dataset.x.shape[1]))
    scale = unit(dataset.x)
    x = dataset.x / scale
    mean, sd = x.mean(axis=0), x.std(axis=0)
    for name, centre, spread in zip(names, mean, sd, strict=True):
        if not spread > 1e-12 * abs(centre):
            raise BadInput(f"data.standardise: column {shown(name)} is constant")
    x -= mean
    x /= sd
    known = {name: (float(a), float(b)) for name, a, b in zip(names, mean * scale, sd * scale, strict=True)}
    return dataset._replace(x=x, standardised=known)


def _with_intercept(dataset: Dataset) -> Dataset:
    """Put a column of ones before the others."""
    names = dataset.names or tuple(f"x{k}" for k in range(dataset.x.shape[1]))
    if INTERCEPT in names:
        raise BadInput(f"data.intercept: there is already a column {INTERCEPT!r}")
    ones = np.ones((dataset.x.shape[0], 1))
    return dataset._replace(x=np.hstack([ones, dataset.x]), names=(INTERCEPT, *names))
