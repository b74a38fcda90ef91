"""Generalised linear models in the form that the compiled block takes."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from designer.core.arrays import Floats, Ints
from samplers.compiled.glm import NONE, DenseRows, GLMData, RowNumbers
from samplers.compiled.multi import MultiData
from samplers.data.memory import too_large
from samplers.models.arrays import frozen
from samplers.models.control import Controlled
from samplers.models.control.heavy import RowSplit
from samplers.models.families.joint import compiled_joint
from samplers.models.families.kernels import compiled_family
from samplers.models.glm import GLM, BoundedGLM
from samplers.models.multi_glm import MultiGLM, MultiProxies
from samplers.models.priors import compiled
from samplers.models.row_table import RowTable
from samplers.models.tempered import ScaledProxies, TemperedSmooth

LINEAR = (GLM, BoundedGLM)


def multi_parts(model: Controlled) -> tuple[MultiGLM, Floats, float] | None:
    """The model with several predictors inside a controlled one, its anchor and its scale; None if there is none."""
    inner: Any = model.model
    proxied: Any = model.proxies
    scale = 1.0
    if type(inner) is TemperedSmooth and type(proxied) is ScaledProxies:
        inner, proxied, scale = inner.model, proxied.proxies, inner.scale
    return (inner, proxied.anchor, scale) if type(inner) is MultiGLM and type(proxied) is MultiProxies else None


_packed: WeakKeyDictionary[Controlled, GLMData] = WeakKeyDictionary()  # chains share one copy
_packed_multi: WeakKeyDictionary[Controlled, MultiData] = WeakKeyDictionary()
_packing = threading.Lock()


def fused_glm(model: GLM) -> GLMData:
    """A model as it is."""
    rows, zeros = frozen(model.rows), np.zeros(model.rows.shape[1])
    none = RowSplit(model.n_data, np.empty(0, dtype=np.int64))
    sums: Any = zeros, zeros, np.zeros((0, 0))
    parts = *_seen(model, rows), 1.0, 0, *sums, *_heavy(model, none.heavy), *swaps_of(none), too_large(rows)
    return GLMData(*parts)


def controlled_glm(model: Controlled, linear: GLM, scale: float) -> GLMData:
    """A model with control variates: packed with its rows, or expanded when they are read."""
    how: Any = scale, model.order, model.centre, model.gradient, model.hessian, *_heavy(linear, model.heavy)
    if model.anchor is None:
        rows = frozen(linear.rows)
        parts = *_seen(linear, rows), *how, *swaps_of(model.split), too_large(rows)
        return GLMData(*parts)
    with _packing:
        if model not in _packed:
            split, d = model.split, linear.rows.shape[1]
            rows = packed_rows(linear, model.anchor)
            rows[split.holes] = rows[split.fillers]
            packed = frozen(rows[: split.n_rest])
            numbers = numbers_of(linear.numbers, d + 3, d)._replace(table=packed)
            design, _, *rest = _seen(linear, packed)
            none = RowSplit(split.n_rest, np.empty(0, dtype=np.int64))
            parts = design, numbers, *rest, *how, *swaps_of(none), False
            _packed[model] = GLMData(*parts)
        return _packed[model]


def _seen(model: GLM, rows: Floats) -> Any:
    return DenseRows(rows), numbers_of(model.numbers), compiled_family(model.family), compiled(model.prior)


def _heavy(model: GLM, rows: Ints) -> Any:
    """The heavy rows, one after the other."""
    heavy = np.ascontiguousarray(model.rows[rows], dtype=np.float64)
    return DenseRows(frozen(heavy)), numbers_of(table_of(model.numbers, rows))


def swaps_of(split: RowSplit) -> Any:
    return frozen(split.holes), frozen(split.fillers), frozen(split.buckets), split.shift


def numbers_of(table: RowTable, first: int = 0, anchor: int = NONE) -> RowNumbers:
    """The numbers of rows; `first` is the column of y if the table is part of another one."""
    offset, weight, extra = (NONE if at < 0 else first + at for at in (table.offset, table.weight, table.extra))
    return RowNumbers(frozen(table.table), first, offset, weight, extra, anchor)


def fused_multi(model: MultiGLM) -> MultiData:
    """A model with several predictors, as it is."""
    rows, zeros = frozen(model.rows), np.zeros(model.dimension)
    heavy: Any = frozen(np.empty((0, rows.shape[1]))), numbers_of(table_of(model.numbers, np.empty(0, dtype=np.int64)))
    seen = rows, numbers_of(model.numbers), rows.shape[1], model.linear
    parts: Any = *seen, compiled_joint(model.family), compiled(model.prior), 1.0, 0, zeros, zeros, np.zeros((0, 0))
    everything: Any = *parts, *heavy, too_large(rows)
    return MultiData(*everything)


def controlled_multi(model: Controlled, multi: MultiGLM, anchor: Floats, scale: float) -> MultiData:
    """The same with control variates, packed with its rows."""
    with _packing:
        if model not in _packed_multi:
            split, d = model.split, multi.rows.shape[1]
            rows = np.hstack([multi.rows, anchor, multi.numbers.table])
            rows[split.holes] = rows[split.fillers]
            packed = frozen(rows[: split.n_rest])
            numbers = numbers_of(multi.numbers, d + anchor.shape[1], d)._replace(table=packed)
            heavy_rows = frozen(np.ascontiguousarray(multi.rows[model.heavy], dtype=np.float64))
            heavy: Any = heavy_rows, numbers_of(table_of(multi.numbers, model.heavy)), False
            how: Any = scale, model.order, model.centre, model.gradient, model.hessian
            seen: Any = compiled_joint(multi.family), compiled(multi.prior)
            everything: Any = packed, numbers, d, multi.linear, *seen, *how, *heavy
            _packed_multi[model] = MultiData(*everything)
        return _packed_multi[model]


def packed_rows(linear: GLM, anchor: Floats) -> Floats:
    """One row of memory per datum: covariates, η*, slope, curvature, y and its other numbers."""
    rows = np.hstack([linear.rows, anchor, linear.numbers.table])
    if linear.numbers.offset >= 0:
        rows[:, linear.rows.shape[1]] += linear.numbers.table[:, linear.numbers.offset]
    return rows


def table_of(numbers: RowTable, rows: Ints) -> RowTable:
    """The same for some rows."""
    return RowTable(np.ascontiguousarray(numbers.table[rows]), numbers.offset, numbers.weight, numbers.extra)
