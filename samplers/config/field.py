"""The random field of a config, for Gibbs sampling: read from a file, or drawn."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, prefix_errors
from designer.core.files import shorten
from samplers.config.schema import DataTable, FieldTable
from samplers.data import memory
from samplers.data.load import member_of, refuse_large
from samplers.models.mrf import DenseMRF
from samplers.models.mrf_values import ValuedMRF

ARRAY = "log_psi"  # of an .npz file
AnyField: TypeAlias = DenseMRF | ValuedMRF


class FieldFound(NamedTuple):
    """A field, a digest of its potentials, and what it is in words."""

    field: AnyField
    digest: str
    sentence: str


def field_of(table: FieldTable, data: DataTable) -> FieldFound:
    """The field that `[model]` and `[data]` describe; with two values a `DenseMRF`, whose sweeps are compiled.

    Examples
    --------
    >>> found = field_of(FieldTable(dimension=10, n_values=3), DataTable())
    >>> found.field.n_values, found.field.n_data
    (3, 36)
    """
    field = _drawn(table) if data.path is None else _read(Path(data.path))
    digest = hashlib.sha256(np.ascontiguousarray(field.log_psi).data).hexdigest()
    values = getattr(field, "n_values", 2)
    where = "drawn at random" if data.path is None else data.path
    size = f"{field.dimension} variables of {values} values, {field.n_data:,} terms in an update"
    return FieldFound(field, digest, f"{where}: {size}")


def _drawn(table: FieldTable) -> AnyField:
    assert table.dimension is not None
    rng = np.random.default_rng(table.field_seed or 0)
    sd = 0.02 if table.sd is None else table.sd
    if table.n_values in (None, 2):
        return DenseMRF.random(rng, table.dimension, sd)
    assert table.n_values is not None
    with prefix_errors("model.dimension: "):
        return ValuedMRF.random(rng, table.dimension, table.n_values, sd, table.field_sd or 0.0)


def _read(file: Path) -> AnyField:
    if not file.is_file():
        raise BadInput(f"data.path: {file}: no such file")
    memory.refuse(f"data.path: {file}: its potentials and terms take", 2 * file.stat().st_size)
    try:
        table = _array(file)
    except BadInput:
        raise
    except Exception as error:  # parsers raise many types for broken files
        raise BadInput(f"data.path: {file}: cannot be read: {shorten(error, 100)}") from None
    if table.dtype.kind not in "biuf":
        raise BadInput(f"data.path: {file}: is of type {table.dtype}, not numbers")
    numbers: Floats = np.array(table, dtype=np.float64)
    if numbers.ndim == 4 and numbers.shape[1:] == (2, 2, 2):
        numbers = numbers.reshape(-1, 8)
    with prefix_errors(f"data.path: {file}: "):
        return DenseMRF(numbers) if numbers.ndim == 2 else ValuedMRF(numbers)


def _array(file: Path) -> npt.NDArray[Any]:
    """The array in the file; one that says it is larger than the file, or than memory, is refused unread."""
    if file.suffix.lower() == ".npy":
        mapped: npt.NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        return mapped
    with zipfile.ZipFile(file) as archive:
        if f"{ARRAY}.npy" not in archive.namelist():
            listed = shorten(", ".join(archive.namelist()))
            raise BadInput(f"data.path: {file}: has no array {ARRAY}; it has {listed}")
        refuse_large(file, archive, [ARRAY])
        return member_of(archive, ARRAY)
