"""Models with group effects, and their proposals, in the form that the compiled block takes."""

from __future__ import annotations

import math
import threading
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from designer.core.arrays import Floats, Ints
from samplers.compiled.arrow import ArrowMove, ArrowSums, ArrowWhitening
from samplers.compiled.build_glm import LINEAR, numbers_of, swaps_of, table_of
from samplers.compiled.glm import GLMData
from samplers.compiled.groups import GroupedPrior, GroupedRows
from samplers.models.arrays import frozen
from samplers.models.control import Controlled
from samplers.models.control.heavy import RowSplit
from samplers.models.families.kernels import compiled_family
from samplers.models.glm import GLM
from samplers.models.groups import Grouped
from samplers.models.groups.arrow import Arrow, ArrowFactor
from samplers.models.priors import compiled
from samplers.proposals.arrow_step import ArrowStep

_packed: WeakKeyDictionary[Controlled, GLMData] = WeakKeyDictionary()  # chains share one copy
_packing = threading.Lock()


def controlled_groups(model: Controlled, grouped: Grouped) -> GLMData | None:
    """A model with group effects and control variates; None if its likelihood is not built in."""
    linear: Any = grouped.model
    if type(linear) not in LINEAR:
        return None
    with _packing:
        if model not in _packed:
            _packed[model] = _data(model, grouped, linear)
        return _packed[model]


def _data(model: Controlled, grouped: Grouped, linear: GLM) -> GLMData:
    layout, split = grouped.layout, model.split
    prior = GroupedPrior(compiled(linear.prior), *layout)
    rows, places = packed_groups(grouped, np.arange(grouped.n_data))
    wide = rows.shape[1]
    table = np.hstack([rows, model.proxies.anchor, linear.numbers.table])  # type: ignore[attr-defined]
    if linear.numbers.offset >= 0:
        table[:, wide] += linear.numbers.table[:, linear.numbers.offset]
    table[split.holes] = table[split.fillers]
    packed = frozen(table[: split.n_rest])
    numbers = numbers_of(linear.numbers, wide + 3, wide)._replace(table=packed)
    heavy = frozen(packed_groups(grouped, model.heavy)[0])
    heavy_numbers = numbers_of(table_of(linear.numbers, model.heavy))
    none = RowSplit(split.n_rest, np.empty(0, dtype=np.int64))
    ones = np.array([int(term.columns is None) for term in grouped.groups])
    terms = grouped.n_coefficients, layout.starts, layout.widths, places, ones
    hessian: Any = model.hessian
    sums = model.centre, model.gradient, arrow_sums(hessian)
    design, heavy_design = GroupedRows(packed, *terms), GroupedRows(heavy, *terms)
    family: Any = compiled_family(linear.family)
    how: Any = prior, 1.0, model.order, *sums, heavy_design, heavy_numbers, *swaps_of(none), False
    return GLMData(design, numbers, family, *how)


def packed_groups(grouped: Grouped, indices: Ints) -> tuple[Floats, Ints]:
    """Rows of x, and for each term the group and its columns, if it has any; also the places of the groups."""
    columns, places = [np.asarray(grouped.model.rows[indices], dtype=np.float64)], []
    for term in grouped.groups:
        places.append(sum(part.shape[1] for part in columns))
        columns.append(term.index[indices][:, None].astype(np.float64))
        columns += [] if term.columns is None else [term.columns[indices]]
    return np.hstack(columns), np.array(places)


def arrow_sums(matrix: Arrow) -> ArrowSums:
    """An arrow matrix for kernels."""
    return ArrowSums(*(np.ascontiguousarray(part) for part in (matrix.root, matrix.side, matrix.leaves)))


def arrow_whitening(factor: ArrowFactor) -> ArrowWhitening:
    """The factor of a precision for kernels."""
    return ArrowWhitening(*(np.ascontiguousarray(part) for part in (factor.leaves, factor.wide, factor.root)))


def fused_arrow_step(proposal: ArrowStep) -> ArrowMove:
    """A proposal, with room of its own."""
    gradient, precision = proposal.known
    layout, sums = proposal.grouped.layout, arrow_sums(precision)
    groups, width, root = sums.side.shape
    return ArrowMove(
        centre=proposal.model.centre,
        gradient=gradient,
        precision=sums,
        starts=layout.starts,
        groups=layout.groups,
        widths=layout.widths,
        first=layout.first,
        keep=math.sqrt(1.0 - proposal.beta**2),
        beta=proposal.beta,
        scale_steps=proposal.scale_steps,
        moves=bool(proposal.scale_steps.any()),
        centres=np.empty((3, layout.first)),
        leaves=np.zeros((2, groups, width, width)),
        wide=np.empty((2, groups, width, root)),
        root=np.zeros((2, root, root)),
    )
