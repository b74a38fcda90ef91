"""From a formula and a table to arrays: rows, response, offset, weights, trials, groups, and the names of it all."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, shown
from samplers.config.schema import Family
from samplers.data import memory
from samplers.data.formula.allowed import check_column
from samplers.data.formula.collinear import redundant
from samplers.data.formula.design import (
    Design,
    Terms,
    categories_of,
    need_formulaic,
    parse_expression,
    parse_terms,
    stateful_columns,
)
from samplers.data.formula.response import response
from samplers.data.formula.scan import Missing, Scan, scan
from samplers.data.formula.text import Parts, split_formula
from samplers.data.size import sized
from samplers.data.table import Table, open_table
from samplers.models.arrays import blocks

INTERCEPT = "intercept"
FAMILIES: tuple[str, ...] = Family.__args__  # type: ignore[attr-defined]


class GroupRows(NamedTuple):
    """A group term of the rows: the group of each row, the columns of its effects (None: one, constant), its names."""

    codes: Ints
    columns: Floats | None
    name: str
    labels: tuple[str, ...]
    effects: tuple[str, ...]


class ModelFrame(NamedTuple):
    """What a formula makes of a table.

    Attributes
    ----------
    rows, y
        The design matrix (N, D) and the response.
    offset, weights, trials
        One number for each row, or None.
    groups
        The group terms.
    names
        Of the columns of the design matrix.
    levels
        Of each column of texts, of each C(...) and of each group.
    classes
        Names of the classes of a softmax, in the order of y; None for other families.
    family
        Its name.
    n_dropped
        Rows that were left out, because a value is missing.
    remarks
        What a reader should know: rows left out, columns that are text because of a few rows, levels with a single
        row.
    redundant
        Sentences about columns that are constant, duplicated or collinear, and which columns these are.

    Examples
    --------
    >>> frame = model_frame("y ~ x + (1 | g)", {"y": [0, 1, 1], "x": [0.5, 1.0, 4.0], "g": ["a", "b", "a"]})
    >>> frame.names, frame.rows.shape, frame.groups[0].labels
    (('intercept', 'x'), (3, 2), ('a', 'b'))
    """

    rows: Floats
    y: Floats
    offset: Floats | None
    weights: Floats | None
    trials: Floats | None
    groups: tuple[GroupRows, ...]
    names: tuple[str, ...]
    levels: dict[str, list[Any]]
    classes: tuple[str, ...] | None
    family: str
    n_dropped: int
    remarks: tuple[str, ...]
    redundant: dict[str, tuple[str, ...]]

    @property
    def x(self) -> Floats:
        """The rows, as other data call them."""
        return self.rows

    @property
    def standardised(self) -> None:
        """Nothing is scaled; `scale(x)` in a formula is."""

    @property
    def origin(self) -> None:
        """Of built-in data only."""

    @property
    def digest(self) -> str:
        """SHA-256 of all numbers."""
        sha = hashlib.sha256()
        parts = [self.rows, self.y, self.offset, self.weights, self.trials]
        for group in self.groups:
            parts += [group.codes, group.columns]  # type: ignore[list-item]
        for values in parts:
            sha.update(b"none" if values is None else str(values.shape).encode())
            for block in blocks(0 if values is None else len(values)):
                assert values is not None
                sha.update(np.ascontiguousarray(values[block]).data)
        return sha.hexdigest()

    @property
    def contents(self) -> dict[str, str]:
        """Size and digest of each part, to say which of them are others."""
        parts = {"columns": self.rows, "response": self.y, "offset": self.offset}
        parts |= {"weights": self.weights, "trials": self.trials}
        parts |= {f"groups {number}": group.codes for number, group in enumerate(self.groups, 1)}  # type: ignore[misc]
        return {name: sized(values) for name, values in parts.items() if values is not None}


class _Vectors(NamedTuple):
    """Designs with one column each, by what they are for."""

    response: Terms | None  # None: a column of texts
    offsets: tuple[Terms, ...]
    weights: Terms | None
    trials: Terms | None

    @property
    def all(self) -> list[Terms]:
        some = [self.response, self.weights, self.trials]
        return [*(one for one in some if one is not None), *self.offsets]


def model_frame(
    formula: str,
    table: Any,
    family: str = "bernoulli",
    *,
    positive: object = None,
    missing: Missing = "refuse",
    weights: str | None = None,
    cache: str | Path | None = None,
) -> ModelFrame:
    """The arrays of a model, from a formula and a table.

    The table is read in blocks, and only the columns that the formula names. What is larger than half the memory is
    written to a file and mapped.

    Parameters
    ----------
    formula, table, family, positive, missing, weights, cache
        As for `glm`.

    Returns
    -------
    ModelFrame
        Rows of the design matrix, response and the rest.

    Raises
    ------
    BadInput
        If the formula is not allowed, a column does not exist, values are missing or do not suit the family.

    Examples
    --------
    >>> frame = model_frame("y ~ log(x)", {"y": [0, 1, 1], "x": [1.0, 2.0, 4.0]})
    >>> frame.rows.round(2)
    array([[1.  , 0.  ],
           [1.  , 0.69],
           [1.  , 1.39]])
    """
    need_formulaic()
    if family not in FAMILIES:
        raise BadInput(f"family = {shown(family)}: must be one of {', '.join(FAMILIES)}")
    if missing not in ("refuse", "drop"):
        raise BadInput(f"missing = {shown(missing)}: must be 'refuse' or 'drop'")
    parts, opened = split_formula(formula), open_table(table)
    if parts.trials is not None and family != "binomial":
        raise BadInput(f"formula: trials({parts.trials}): is for family binomial, not {family}")
    maker = _Maker(parts, opened, family, positive, missing, weights, cache)
    try:
        return maker.frame()
    except BadInput as refusal:
        hints = [f"; {sentence}" for sentence in maker.scan.strays.values()]
        raise BadInput(f"{refusal}{hints[0] if hints else ''}") from None


class _Maker:
    """The steps from the parts of a formula to a frame."""

    def __init__(
        self,
        parts: Parts,
        table: Table,
        family: str,
        positive: object,
        missing: Missing,
        weights: str | None,
        cache: str | Path | None,
    ) -> None:
        names = table.names
        self.parts, self.table, self.family, self.positive, self.cache = parts, table, family, positive, cache
        self.label = parts.response.strip("`")
        self.vectors = _Vectors(
            parse_expression(parts.response, names),
            tuple(parse_expression(text, names) for text in parts.offsets),
            None if weights is None else parse_expression(weights, names),
            None if parts.trials is None else _trials(parts.trials, names),
        )
        for group in parts.groups:
            check_column(group.group, names)
        others = {name for terms in self.vectors.all for name in terms.columns} | {one.group for one in parts.groups}
        self.fixed = parse_terms(parts.fixed, names, others)
        self.effects = [parse_terms(group.terms, names, others) for group in parts.groups]
        self._check_terms()
        everything = [*self.vectors.all, self.fixed, *self.effects]
        wanted = {name for terms in everything for name in terms.columns} | {one.group for one in parts.groups}
        columns = [name for name in names if name in wanted]
        categories = categories_of(everything) | {f"| {g.group}": (g.group, None) for g in parts.groups}
        self.scan: Scan = scan(table, columns, categories, stateful_columns(everything), missing)

    def _check_terms(self) -> None:
        if not self.fixed.terms:
            raise BadInput(f"formula: {shown(self.parts.fixed)}: leaves no term")
        for text, effects in zip(self.parts.groups, self.effects, strict=True):
            if not effects.terms:
                raise BadInput(f"formula: ({text.terms} | {text.group}): has no term before the bar")
        if any(self.label in term.columns for term in self.fixed.terms):
            raise BadInput(f"formula: {shown(self.label)} is the response, and also a term")
        if self.label.startswith("C(") and self.label not in self.table.names:
            raise BadInput(f"formula: {shown(self.label)}: the response is a column or a number, not C(...)")

    def frame(self) -> ModelFrame:
        """All arrays."""
        scan, n = self.scan, self.scan.n_kept
        designs = {id(terms): self._design(terms) for terms in [*self.vectors.all, self.fixed, *self.effects]}
        fixed, response_is_text = designs[id(self.fixed)], self.label in scan.levels
        single = {id(terms): np.zeros(n) for terms in self.vectors.all}
        rows: Floats | None = None
        indices = [np.zeros(n, dtype=np.int64) for _ in self.effects]
        columns: list[Floats | None] = [None for _ in self.effects]
        for place, frame in scan.frames():
            if not len(frame):
                continue
            part = self._finite(fixed.matrix(frame), fixed.names, place)
            rows = self._space(n, part.shape[1]) if rows is None else rows
            rows[place] = part
            for terms in self.vectors.all:
                if terms is self.vectors.response and response_is_text:
                    single[id(terms)][place] = frame[self.label].cat.codes
                else:
                    single[id(terms)][place] = self._vector(designs[id(terms)], terms, frame, place)
            for k, (group, effects) in enumerate(zip(self.parts.groups, self.effects, strict=True)):
                indices[k][place] = self._codes(group.group, frame)
                design = designs[id(effects)]
                made = self._finite(design.matrix(frame), design.names, place)
                if design.names != ("Intercept",):
                    whole = columns[k]
                    columns[k] = whole = np.empty((n, made.shape[1])) if whole is None else whole
                    whole[place] = made
        assert rows is not None
        return self._result(rows, single, indices, columns, designs)

    def _result(
        self,
        rows: Floats,
        single: dict[int, Floats],
        indices: list[Ints],
        columns: list[Floats | None],
        designs: dict[int, Design],
    ) -> ModelFrame:
        scan, vectors = self.scan, self.vectors
        assert vectors.response is not None
        trials = None if vectors.trials is None else single[id(vectors.trials)]
        if trials is not None:
            self._check(trials, (trials >= 0.0) & (trials == np.floor(trials)), "trials", "whole numbers, 0 or more")
        weights = None if vectors.weights is None else single[id(vectors.weights)]
        if weights is not None:
            self._check(weights, weights >= 0.0, "the weight", "0 or more")
            if not weights.any():
                raise BadInput("weights: all are 0")
        found = response(
            self.label,
            single[id(vectors.response)],
            scan.levels.get(self.label),
            self.label in scan.boolean,
            self.family,
            self.positive,
            trials,
            scan.place,
        )
        offset = sum((single[id(terms)] for terms in vectors.offsets), start=np.zeros(scan.n_kept))
        names = _plain(designs[id(self.fixed)].names)
        groups = tuple(
            GroupRows(
                index,
                made,
                group.group,
                tuple(map(str, scan.levels[f"| {group.group}"])),
                _plain(designs[id(effects)].names),
            )
            for group, effects, index, made in zip(self.parts.groups, self.effects, indices, columns, strict=True)
        )
        return ModelFrame(
            rows,
            found.y,
            offset if vectors.offsets else None,
            weights,
            trials,
            groups,
            names,
            scan.levels,
            found.classes,
            self.family,
            scan.n_rows - scan.n_kept,
            self._remarks(),
            redundant(rows, names),
        )

    def _design(self, terms: Terms) -> Design:
        import pandas as pd

        used = stateful_columns([terms])
        whole = pd.DataFrame({name: values for name, values in self.scan.whole.items() if name in used}, copy=False)
        return Design(terms, self.scan.levels, whole)

    def _vector(self, design: Design, terms: Terms, frame: Any, place: slice) -> Floats:
        """One number for each row."""
        made = design.matrix(frame)
        if made.shape[1] != 1 or any(name in self.scan.levels for name in terms.factors):
            what = "is text" if any(name in self.scan.levels for name in terms.columns) else "is not one number a row"
            raise BadInput(f"formula: {shown(terms.text)}: {what}; one number for each row is needed")
        return self._finite(made, (terms.text,), place)[:, 0]

    def _codes(self, group: str, frame: Any) -> Ints:
        """The group of each row."""
        levels = self.scan.levels[f"| {group}"]
        values = frame[group]
        if group in self.scan.levels:
            return np.asarray(values.cat.codes, dtype=np.int64)
        found: Ints = np.searchsorted(np.array(levels, dtype=np.float64), values.to_numpy())
        return found

    def _finite(self, values: Floats, names: Sequence[str], place: slice) -> Floats:
        bad = ~np.isfinite(values)
        if bad.any():
            row, column = (int(k) for k in np.argwhere(bad)[0])
            where = self.scan.place(place.start + row)
            raise BadInput(f"{self.table.name}: {names[column]} is {values[row, column]} in {where}; must be finite")
        return values

    def _check(self, values: Floats, good: npt.NDArray[np.bool_], what: str, needed: str) -> None:
        if not good.all():
            row = int(np.argmin(good))
            raise BadInput(f"{self.table.name}: {what} is {values[row]:g} in {self.scan.place(row)}; must be {needed}")

    def _space(self, n: int, columns: int) -> Floats:
        """An empty array for the rows: in memory if it fits, or else in a file."""
        size = 8 * n * columns
        if self.cache is not None:
            try:
                mapped: Floats = np.lib.format.open_memmap(self.cache, "w+", np.float64, (n, columns))
            except OSError as error:
                raise BadInput(f"cache: {self.cache}: cannot be written: {error.strerror}") from None
            return mapped
        if size <= min(memory.MAX_BYTES, memory.allowed() // 2):
            return np.empty((n, columns))
        handle, name = tempfile.mkstemp(prefix="austerity-", suffix=".rows")
        try:
            os.truncate(handle, size)
            return np.memmap(name, np.float64, "r+", shape=(n, columns))
        except OSError as error:
            raise BadInput(f"cache: {size:,} bytes do not fit into {tempfile.gettempdir()}: {error.strerror}") from None
        finally:
            os.close(handle)
            os.unlink(name)  # the mapping keeps it as long as it is used

    def _remarks(self) -> tuple[str, ...]:
        remarks = [] if self.scan.dropped is None else [self.scan.dropped]
        remarks += [f"{self.table.name}: {sentence}" for sentence in self.scan.strays.values()]
        fixed = {text for text in self.fixed.factors if text in self.scan.levels}
        for text in sorted(fixed):
            alone = [
                level for level, count in zip(self.scan.levels[text], self.scan.counts[text], strict=True) if count == 1
            ]
            if alone:
                more = f", and {len(alone) - 1:,} more levels" if len(alone) > 1 else ""
                remarks.append(
                    f"{text}: level {shown(alone[0])}{more}: one row only, which alone decides its coefficient"
                )
        return tuple(remarks)


def _trials(text: str, names: Sequence[str]) -> Terms:
    if text.isdigit():
        raise BadInput(f"formula: trials({text}): give a column with the number of trials of each row")
    return parse_expression(text, names)


def _plain(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns in our words."""
    return tuple(INTERCEPT if name == "Intercept" else name for name in names)
