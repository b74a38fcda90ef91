"""Data tables as Parquet files: types and sizes are checked before anything is unpacked.

A file of a few hundred bytes may repeat the same number, or the same long text, a million times.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, shown
from designer.core.text_table import MOST_TEXTS, Texts
from samplers.config.schema import Labels
from samplers.data import memory

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData

Read: TypeAlias = tuple[Floats, Floats | Texts | None]
NOT_NUMBERS = "not numbers; data.columns says which columns to use"


class Layout(NamedTuple):
    """The metadata of a file: types of its columns, sizes of its parts."""

    file: Path
    schema: pa.Schema
    metadata: FileMetaData


def find_layout(file: Path) -> Layout:
    """Read the schema."""
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        return Layout(file, opened.schema_arrow, opened.metadata)


def read(where: Layout, columns: Sequence[str], label: str | None, labels: Labels) -> Read:
    """The numbers of some columns, and the numbers or strings of the label."""
    from pyarrow import parquet

    numeric = [*columns, label] if label is not None and labels == "numbers" else list(columns)
    for name in numeric:
        if not _is_number(where.schema.field(name).type):
            raise BadInput(f"{_place(where, name)}: is of type {where.schema.field(name).type}, {NOT_NUMBERS}")
    size = _size(where, numeric)
    if label is not None and labels == "binary":
        size += _size_of_texts(where, label)
    memory.refuse(f"data.path: {where.file}: unpacks to", size, "a .npy file would be mapped instead")
    names = list(columns) if label is None else [*columns, label]
    table = parquet.read_table(where.file, columns=names, read_dictionary=None if label is None else [label])
    x = np.empty((table.num_rows, len(columns)))
    for place, name in enumerate(columns):
        x[:, place] = _numbers(where, name, table.column(name))
    if label is None:
        return x, None
    return x, (_numbers if labels == "numbers" else _texts)(where, label, table.column(label))


def _size(where: Layout, columns: Sequence[str]) -> int:
    """Bytes of these columns as a table and as an array, with one more column being converted."""
    widths = [where.schema.field(name).type.bit_width / 8 + 8 for name in columns]
    return int(where.metadata.num_rows * (sum(widths) + 16))


def _size_of_texts(where: Layout, label: str) -> int:
    """Bytes of a label column: each text once, and a number for each row."""
    kind = where.schema.field(label).type
    if not _is_label(kind):
        raise BadInput(f"{_place(where, label)}: is of type {kind}, neither numbers nor text")
    groups = [where.metadata.row_group(k) for k in range(where.metadata.num_row_groups)]
    leaves = [groups[0].column(k).path_in_schema for k in range(groups[0].num_columns)] if groups else [label]
    texts = sum(group.column(leaves.index(label)).total_uncompressed_size for group in groups)
    return int(texts + 32 * where.metadata.num_rows)


def _is_number(kind: pa.DataType) -> bool:
    from pyarrow import types

    return any(is_a(kind) for is_a in (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean))


def _is_label(kind: pa.DataType) -> bool:
    from pyarrow import types

    held = kind.value_type if types.is_dictionary(kind) else kind
    return _is_number(held) or any(is_a(held) for is_a in (types.is_string, types.is_large_string))


def _numbers(where: Layout, name: str, column: pa.ChunkedArray) -> Floats:
    import pyarrow as pa

    _refuse_nulls(where, name, column)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers


def _texts(where: Layout, name: str, column: pa.ChunkedArray) -> Texts:
    _refuse_nulls(where, name, column)
    coded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    return Texts([str(value) for value in coded.dictionary[:MOST_TEXTS].to_pylist()], coded.indices.to_numpy())


def _refuse_nulls(where: Layout, name: str, column: pa.ChunkedArray) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise BadInput(f"data.path: {where.file}: row {row:,}, column {shown(name)}: no value")


def _place(where: Layout, name: str) -> str:
    return f"data.path: {where.file}: column {shown(name)}"
