"""Tables with named columns, read block by block: CSV and Parquet files, pandas, polars, Arrow, dicts of arrays.

All of them become blocks of Arrow columns, so that one reader serves all and gives the same numbers. Only the columns
that are asked for are read. A Parquet file is read one block at a time, twice: once for missing values and levels, once
for the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, shown
from designer.core.files import shorten
from designer.core.text_table import Texts, count_lines
from samplers.data import csv_table, memory
from samplers.models.arrays import BLOCK

if TYPE_CHECKING:
    import pyarrow as pa

TEXT_FILES = (".csv", ".tsv", ".txt")
FILES = (*TEXT_FILES, ".parquet")
MAX_COLUMNS = 100_000
_TRUTH = {"false": 0.0, "true": 1.0}
Codes: TypeAlias = npt.NDArray[np.int64]


class Column(NamedTuple):
    """Part of a column: numbers (NaN where missing), or codes of its `levels` (-1 where missing)."""

    values: Floats | Codes
    levels: list[Any] | None = None
    boolean: bool = False
    ordered: bool = False

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Which rows have no value."""
        gone: npt.NDArray[np.bool_] = np.isnan(self.values) if self.levels is None else self.values < 0
        return gone


class Stream(NamedTuple):
    """Chosen columns of a table: `blocks()` begins anew each time."""

    blocks: Callable[[], Iterator[dict[str, Column]]]
    place: Callable[[Sequence[int]], str]  # rows in words: "lines 3, 5", "rows 1, 3"


class Table(NamedTuple):
    """A table whose columns are known by name; `read` begins to read some of them.

    Examples
    --------
    >>> table = open_table({"x": [1.0, 2.0], "g": ["a", "b"]})
    >>> table.names
    ('x', 'g')
    >>> [block["g"].levels for block in table.read(["g"]).blocks()]
    [['a', 'b']]
    """

    name: str
    names: tuple[str, ...]
    reader: Callable[[Sequence[str], Collection[str]], Stream]

    def read(self, columns: Sequence[str], categories: Collection[str] = ()) -> Stream:
        """Some of the columns; the `categories` among them need not be numbers."""
        return self.reader(columns, categories)


def open_table(source: Any) -> Table:
    """A table from a path, a data frame of pandas or polars, an Arrow table, or a dict of arrays.

    Parameters
    ----------
    source
        A path that ends in .csv, .tsv, .txt or .parquet; or an object with named columns.

    Returns
    -------
    Table
        Nothing but the names of the columns is read yet.

    Raises
    ------
    BadInput
        If there is no such file, or no such kind of table.
    """
    if isinstance(source, (str, Path)):
        return _file(Path(source))
    kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
    if kind == "pandas.DataFrame":
        return _pandas(source)
    if kind in ("polars.DataFrame", "polars.LazyFrame"):
        return _polars(source)
    if kind in ("pyarrow.Table", "pyarrow.RecordBatch"):
        return _arrow("table", source)
    if isinstance(source, Mapping):
        return _mapping(source)
    allowed = "a path, a data frame of pandas or polars, an Arrow table, or a dict of arrays"
    raise BadInput(f"table = {shown(type(source).__name__)}: must be {allowed}")


# --- kinds of tables --------------------------------------------------------------------------------------------------


def _file(file: Path) -> Table:
    if file.suffix.lower() not in FILES:
        raise BadInput(f"table: {file}: must end in {', '.join(FILES)}")
    if not file.is_file():
        raise BadInput(f"table: {file}: no such file")
    if file.suffix.lower() in TEXT_FILES:
        return _csv(file)
    with _reading(file):
        return _parquet(file)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Say in one line that a file is broken."""
    import pyarrow as pa

    try:
        yield
    except BadInput:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:  # what Arrow raises for broken files
        raise BadInput(f"table: {file}: cannot be read: {shorten(error, 100)}") from None


def _csv(file: Path) -> Table:
    layout = csv_table.find_layout(file)

    def read(columns: Sequence[str], categories: Collection[str]) -> Stream:
        size = 16 * count_lines(file) * len(columns)
        memory.refuse(f"table: {file}: unpacks to", size, "a .parquet file would be read block by block instead")
        found = csv_table.read_any(layout, columns, categories)
        whole = {name: _of_text(values) for name, values in found.items()}

        def blocks() -> Iterator[dict[str, Column]]:
            n = len(next(iter(whole.values())).values)
            for begin in range(0, n, BLOCK):
                yield {name: one._replace(values=one.values[begin : begin + BLOCK]) for name, one in whole.items()}

        return Stream(blocks, lambda rows: _listed("line", csv_table.lines_of(layout, rows)))

    return Table(str(file), _checked(str(file), layout.names), read)


def _of_text(values: Floats | Texts) -> Column:
    """A column of a CSV file; strings that all are true or false are booleans."""
    if not isinstance(values, Texts):
        return Column(values)
    if {text.lower() for text in values.values} <= {*_TRUTH}:
        truth = np.array([*(_TRUTH[text.lower()] for text in values.values), np.nan])
        return Column(truth[values.codes], boolean=True)
    return Column(values.codes, list(values.values))


def _parquet(file: Path) -> Table:
    from pyarrow import parquet, types

    with parquet.ParquetFile(file) as opened:
        schema, n_rows = opened.schema_arrow, opened.metadata.num_rows

    def read(columns: Sequence[str], categories: Collection[str]) -> Stream:
        _check_types(str(file), {name: schema.field(name).type for name in columns})
        texts = [name for name in columns if types.is_string(schema.field(name).type)]
        if (size := 8 * n_rows * len(columns)) > memory.MAX_BYTES:
            raise BadInput(f"table: {file}: unpacks to {size:,} bytes, more than the limit of {memory.MAX_BYTES:,}")

        def blocks() -> Iterator[dict[str, Column]]:
            with _reading(file), parquet.ParquetFile(file, read_dictionary=texts) as opened:
                for batch in opened.iter_batches(BLOCK, columns=list(columns)):
                    yield {name: _of_arrow(str(file), name, batch.column(name)) for name in columns}

        return Stream(blocks, lambda rows: _listed("row", rows))

    return Table(str(file), _checked(str(file), schema.names), read)


def _arrow(name: str, table: Any, *, ordered: Collection[str] = ()) -> Table:
    """An Arrow table; the levels of columns in `ordered` keep their order even if Arrow does not say so."""

    def read(columns: Sequence[str], categories: Collection[str]) -> Stream:
        _check_types(name, {column: table.schema.field(column).type for column in columns})

        def blocks() -> Iterator[dict[str, Column]]:
            for begin in range(0, table.num_rows, BLOCK):
                part = table.slice(begin, BLOCK)
                found = {column: _of_arrow(name, column, part.column(column)) for column in columns}
                yield {key: one._replace(ordered=one.ordered or key in ordered) for key, one in found.items()}

        return Stream(blocks, lambda rows: _listed("row", rows))

    return Table(name, _checked(name, table.schema.names), read)


def _pandas(frame: Any) -> Table:
    def convert(columns: Sequence[str]) -> tuple[Any, Collection[str]]:
        import pyarrow as pa

        table = pa.Table.from_pandas(frame[list(columns)], preserve_index=False)
        return table, [name for name in columns if str(frame[name].dtype) == "category"]

    return _converted("data frame", frame.columns, convert)


def _polars(frame: Any) -> Table:
    lazy = type(frame).__name__ == "LazyFrame"

    def convert(columns: Sequence[str]) -> tuple[Any, Collection[str]]:
        chosen = frame.select(columns)
        chosen = chosen.collect() if lazy else chosen
        return chosen.to_arrow(), [name for name in columns if str(chosen[name].dtype).startswith("Enum")]

    return _converted("data frame", frame.collect_schema().names() if lazy else frame.columns, convert)


def _mapping(source: Mapping[Any, Any]) -> Table:
    def convert(columns: Sequence[str]) -> tuple[Any, Collection[str]]:
        import pyarrow as pa

        arrays = {name: _array(name, source[name]) for name in columns}
        if len(lengths := {len(values) for values in arrays.values()}) > 1:
            raise BadInput(f"table: the columns have different lengths: {', '.join(map(str, sorted(lengths)))}")
        return pa.table(arrays), []

    return _converted("table", source, convert)


def _array(name: str, values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise BadInput(f"table: column {shown(name)} has shape {values.shape}; must have one dimension")
    return pa.array(values, from_pandas=True)


def _converted(name: str, columns: Any, convert: Callable[[Sequence[str]], tuple[Any, Collection[str]]]) -> Table:
    """A table of another library: the chosen columns are converted to Arrow, mostly without a copy."""
    names = _checked(name, list(columns))

    def read(columns: Sequence[str], categories: Collection[str]) -> Stream:
        try:
            table, ordered = convert(columns)
        except BadInput:
            raise
        except Exception as error:  # a column of mixed objects, say
            raise BadInput(f"{name}: cannot be read: {shorten(error, 150)}") from None
        return _arrow(name, table, ordered=ordered).read(columns, categories)

    return Table(name, names, read)


# --- columns ----------------------------------------------------------------------------------------------------------


def _checked(where: str, names: Sequence[Any]) -> tuple[str, ...]:
    if not all(isinstance(name, str) for name in names):
        raise BadInput(f"{where}: the names of the columns must be texts")
    if len(names) > MAX_COLUMNS:
        raise BadInput(f"{where}: {len(names):,} columns, more than the limit of {MAX_COLUMNS:,}")
    if twice := [name for name in dict.fromkeys(names) if name and list(names).count(name) > 1][:1]:
        raise BadInput(f"{where}: two columns are called {shown(twice[0])}")
    return tuple(names)


def _check_types(where: str, kinds: dict[str, Any]) -> None:
    for name, kind in kinds.items():
        if not (_is_number(kind) or _is_text(kind)):
            raise BadInput(f"{where}: column {shown(name)} is of type {kind}; must be numbers, text or booleans")


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_number(kind.value_type) or _is_text(kind.value_type)
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view))


def _of_arrow(where: str, name: str, column: pa.Array | pa.ChunkedArray) -> Column:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) or _is_text(kind):
        return _coded(column)
    boolean = pa.types.is_boolean(kind)
    if boolean:
        column = column.cast(pa.int8())
    try:
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise BadInput(f"{where}: column {shown(name)}: cannot be read: {shorten(error, 100)}") from None
    return Column(values, boolean=boolean)


def _coded(column: pa.Array | pa.ChunkedArray) -> Column:
    """Codes and levels of a column of texts, or of one that is coded already."""
    import pyarrow as pa

    ordered = pa.types.is_dictionary(column.type) and column.type.ordered
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries()
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    levels = column.dictionary.to_pylist()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    empty = [k for k, level in enumerate(levels) if level is None or level != level or level == ""]
    codes = np.where(np.isin(codes, empty), -1, codes) if empty else codes
    return Column(codes, levels, ordered=ordered)


def _listed(what: str, numbers: Sequence[int]) -> str:
    shown_numbers = ", ".join(f"{number:,}" for number in numbers)
    return f"{what}{'s' * (len(numbers) != 1)} {shown_numbers}"
