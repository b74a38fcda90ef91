"""The first look at a table: rows without a value, levels of its categories, columns that are needed whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, shown
from samplers.data.formula.design import evaluate
from samplers.data.formula.strays import Strays
from samplers.data.table import Column, Stream, Table

MOST_SHOWN = 3  # rows in a message
MOST_LEVELS = 10**6
LARGEST_WHOLE = 2**53  # beyond, doubles are not all whole numbers
Missing = Literal["refuse", "drop"]
Categories = Mapping[str, tuple[str, list[Any] | None]]  # C(...) -> what it is about, and the levels that it names


class Scan(NamedTuple):
    """What the first look found. `kept` are the rows that are used, None for all."""

    stream: Stream
    n_rows: int
    kept: Ints | None
    levels: dict[str, list[Any]]  # of columns of texts, and of each C(...) and group
    counts: dict[str, Ints]  # rows of each level
    numeric: frozenset[str]
    boolean: frozenset[str]
    whole: dict[str, Floats]
    dropped: str | None
    strays: dict[str, str]  # columns that are text because of a few rows: a sentence about each

    @property
    def n_kept(self) -> int:
        """Number of rows that are used."""
        return self.n_rows if self.kept is None else len(self.kept)

    def place(self, row: int) -> str:
        """The place in the table of one of the rows that are used: "line 7"."""
        return self.stream.place([row if self.kept is None else int(self.kept[row])])

    def frames(self) -> Iterator[tuple[slice, Any]]:
        """Blocks of the rows that are used, as pandas data frames, and their places among these rows."""
        begin = 0
        for block in self.stream.blocks():
            keep = ~_missing(block)
            frame = _frame(block, keep, self.levels)
            if begin + len(frame) > self.n_kept:
                break
            yield slice(begin, begin + len(frame)), frame
            begin += len(frame)
        if begin != self.n_kept:
            raise BadInput("the table changed while it was read; try again")


def scan(table: Table, columns: Sequence[str], categories: Categories, whole: set[str], missing: Missing) -> Scan:
    """Read the columns once; refuse missing values, or leave out their rows."""
    plain = {inner for inner, _ in categories.values() if inner in columns}
    stream = table.read(columns, plain)
    n, kept, gone = 0, list[Ints](), {name: list[int]() for name in columns}
    missed, seen = dict.fromkeys(columns, 0), {text: dict[Any, int]() for text in [*columns, *categories]}
    kinds: dict[str, Column] = {}
    strays = Strays()
    parts: dict[str, list[Floats]] = {name: [] for name in whole}
    for block in stream.blocks():
        size = len(next(iter(block.values())).values)
        drop = _missing(block)
        for name, column in block.items():
            rows = np.flatnonzero(column.missing)
            missed[name] += rows.size
            gone[name] += [n + int(row) for row in rows[: MOST_SHOWN - len(gone[name])]]
            kinds.setdefault(name, column)
            if column.levels is not None:
                _count_levels(seen[name], column, ~drop)
                if name not in plain:
                    strays.add(name, column, ~drop, n)
        kept.append(n + np.flatnonzero(~drop))
        n += size
        frame = _frame(block, ~drop, {})
        for text, (inner, _) in categories.items():
            _count_values(seen[text], frame[inner] if inner in block else evaluate(inner, frame), text)
        for name in whole & {name for name in block if block[name].levels is None}:
            parts[name].append(frame[name].to_numpy())
    if not n:
        raise BadInput(f"{table.name}: has no rows")
    odd = strays.sentences(stream)
    for name in sorted(whole & {name for name in columns if kinds[name].levels is not None}):
        hint = f" ({odd[name]})" if name in odd else ""
        raise BadInput(f"formula: column {shown(name)} is text; a function of numbers cannot use it{hint}")
    said = _say_missing(table, stream, missed, gone, n, sum(map(len, kept)), missing)
    levels = {name: _sorted(kinds[name], seen[name]) for name in columns if kinds[name].levels is not None}
    levels |= {text: _chosen(text, seen[text], named, inner, levels) for text, (inner, named) in categories.items()}
    return Scan(
        stream,
        n,
        np.concatenate(kept) if said else None,
        levels,
        {text: np.array([seen[text].get(level, 0) for level in found]) for text, found in levels.items()},
        frozenset(name for name in columns if kinds[name].levels is None),
        frozenset(name for name in columns if kinds[name].boolean),
        {name: np.concatenate(values) for name, values in parts.items()},
        said,
        odd,
    )


def _missing(block: Mapping[str, Column]) -> npt.NDArray[np.bool_]:
    """Which rows lack a value in any column."""
    gone: npt.NDArray[np.bool_] = np.logical_or.reduce([column.missing for column in block.values()])
    return gone


def _frame(block: Mapping[str, Column], keep: npt.NDArray[np.bool_], levels: Mapping[str, list[Any]]) -> Any:
    """The kept rows of a block as a pandas data frame; texts have the given levels, or those of the block."""
    import pandas as pd

    every, columns = bool(keep.all()), {}
    for name, column in block.items():
        values = column.values if every else column.values[keep]
        if column.levels is None:
            columns[name] = values
            continue
        known = levels.get(name, column.levels)
        if name in levels:
            place = {level: k for k, level in enumerate(known)}
            values = np.array([*(place.get(level, -1) for level in column.levels), -1], dtype=np.int64)[values]
        columns[name] = pd.Categorical.from_codes(values, categories=pd.Index(known))
    return pd.DataFrame(columns, copy=False)


def _count_levels(seen: dict[Any, int], column: Column, keep: npt.NDArray[np.bool_]) -> None:
    assert column.levels is not None
    codes: Any = column.values[keep]
    counts = np.bincount(codes, minlength=len(column.levels))
    for level, count in zip(column.levels, counts.tolist(), strict=True):
        if count or column.ordered:  # an ordered column tells its order also by levels that have no rows
            seen[level] = seen.get(level, 0) + count


def _count_values(seen: dict[Any, int], values: Any, text: str) -> None:
    """Count the values of one block of C(...)."""
    import pandas as pd

    counts = pd.Series(values).value_counts(sort=False, dropna=False)
    for value, count in counts.items():
        if value != value:
            raise BadInput(f"formula: {shown(text)}: is not a number in some rows")
        if isinstance(value, float) and abs(value) > LARGEST_WHOLE:
            raise BadInput(f"formula: {shown(text)}: has numbers beyond 2⁵³, which could be mixed up; make them text")
        if count:
            plain = int(value) if isinstance(value, float) and value == int(value) else value
            seen[plain] = seen.get(plain, 0) + int(count)
    if len(seen) > MOST_LEVELS:
        raise BadInput(f"formula: {shown(text)}: has more than {MOST_LEVELS:,} levels")


def _sorted(column: Column, seen: Mapping[Any, int]) -> list[Any]:
    """The levels that have rows: in their own order if they have one, or else sorted."""
    levels = [level for level, count in seen.items() if count]
    return levels if column.ordered else _in_order(levels)


def _in_order(levels: list[Any]) -> list[Any]:
    try:
        return sorted(levels)
    except TypeError:  # of several types
        return sorted(levels, key=str)


def _chosen(
    text: str, seen: Mapping[Any, int], named: list[Any] | None, inner: str, levels: Mapping[str, list[Any]]
) -> list[Any]:
    """The levels of C(...): those that it names, those of its column, or those seen."""
    found = levels.get(inner) or _in_order([level for level, count in seen.items() if count])
    if named is None:
        return list(found)
    if other := [level for level in found if level not in named]:
        raise BadInput(f"formula: {shown(text)}: the table has {shown(other[0])} too, which is not among the levels")
    return [level for level in named if level in found]


def _say_missing(
    table: Table,
    stream: Stream,
    missed: Mapping[str, int],
    gone: Mapping[str, list[int]],
    n: int,
    n_kept: int,
    policy: Missing,
) -> str | None:
    """How many rows have no value, in words; BadInput unless they may be left out."""
    if n_kept == n:
        return None
    columns = [f"{shown(name)} {count:,} ({stream.place(gone[name])}{', …' * (count > len(gone[name]))})"
               for name, count in missed.items() if count]  # fmt: skip
    what = f"{table.name}: {n - n_kept:,} of {n:,} rows have no value in a column: {'; '.join(columns)}"
    if policy == "refuse":
        raise BadInput(f"{what}; missing = 'drop' leaves these rows out")
    if not n_kept:
        raise BadInput(f"{what}; no row is left")
    return f"{what}; these rows are left out"
