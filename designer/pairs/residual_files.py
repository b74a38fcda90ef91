"""Residuals in the files of a trial run: lists in a Parquet file, three arrays in a NumPy archive. CSV has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from designer.core.errors import BadInput
from designer.core.files import shorten
from designer.pairs import limits
from designer.pairs.residuals import Residuals

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

VERSION = "residuals"  # the name of the version's number, in metadata and archive
FORMAT = "1"
ARRAYS = ("residual_values", "residual_weights", "residual_starts")


def to_parquet(residuals: Residuals | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Two columns of lists, one list per pair, and the version for the metadata."""
    import pyarrow as pa

    if residuals is None:
        return {}, {}
    starts = pa.array(residuals.starts, pa.int32())
    numbers = pa.array(residuals.values), pa.array(residuals.weights)
    lists = (pa.ListArray.from_arrays(starts, column) for column in numbers)
    return dict(zip(ARRAYS, lists, strict=False)), {VERSION: FORMAT}


def from_parquet(file: ParquetFile, metadata: Mapping[str, str]) -> Residuals | None:
    """The residuals of a Parquet file, if it has any."""
    import pyarrow as pa

    if VERSION not in metadata:
        return None
    _check_version(metadata[VERSION])
    schema, wanted = file.schema_arrow, dict(zip(ARRAYS, (pa.float64(), pa.int64()), strict=False))
    for name, kind in wanted.items():
        given = schema.field(name).type if schema.names.count(name) == 1 else None
        if given is None or not pa.types.is_list(given) or given.value_type != kind:
            raise BadInput(f"residuals: there must be one column {name}, with lists of {kind}")
    groups = (file.metadata.row_group(k) for k in range(file.metadata.num_row_groups))
    _check_number(max((group.column(k).num_values for group in groups for k in range(group.num_columns)), default=0))
    table = file.read(columns=list(wanted)).combine_chunks()
    numbers, lengths = [], []
    for name in wanted:
        lists = table.column(name).combine_chunks()
        lists = pa.concat_arrays(lists.chunks) if isinstance(lists, pa.ChunkedArray) else lists
        if lists.null_count or lists.flatten().null_count:
            raise BadInput(f"residuals: {name} has missing values")
        numbers.append(lists.flatten().to_numpy(zero_copy_only=False))
        lengths.append(lists.value_lengths().to_numpy(zero_copy_only=False))
    if not np.array_equal(*lengths):
        raise BadInput("residuals: some pairs have more values than weights, or fewer")
    return Residuals(numbers[0], numbers[1], np.concatenate([[0], np.cumsum(lengths[0], dtype=np.int64)]))


def to_npz(residuals: Residuals | None) -> dict[str, npt.NDArray[Any]]:
    """The arrays and the version."""
    if residuals is None:
        return {}
    arrays = (residuals.values, residuals.weights, residuals.starts)
    return dict(zip(ARRAYS, arrays, strict=True)) | {VERSION: np.array(int(FORMAT))}


def npz_limits() -> list[tuple[str, int]]:
    """The largest size in bytes of each member of an archive."""
    sizes = dict.fromkeys(ARRAYS[:2], 8 * limits.MAX_RESIDUALS) | {ARRAYS[2]: 8 * limits.MAX_PAIRS}
    return [(f"{name}.npy", size) for name, size in (sizes | {VERSION: 0, "notes": 0}).items()]


def from_npz(arrays: Mapping[str, npt.NDArray[Any]]) -> Residuals | None:
    """The residuals of a NumPy archive, if it has any."""
    if VERSION not in arrays:
        return None
    _check_version(arrays[VERSION])
    if missing := [name for name in ARRAYS if name not in arrays]:
        raise BadInput(f"residuals: no array {missing[0]}")
    given = [np.asarray(arrays[name]) for name in ARRAYS]
    _check_number(max(array.size for array in given[:2]))
    return Residuals(*given)


def _check_version(version: object) -> None:
    if str(version) != FORMAT:
        raise BadInput(f"residuals of version {shorten(version, 20)}: this release reads version {FORMAT}")


def _check_number(size: int) -> None:
    if size > limits.MAX_RESIDUALS:
        raise BadInput(f"{size:,} residuals, more than the limit of {limits.MAX_RESIDUALS:,}")
