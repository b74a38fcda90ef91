"""Rows of a file larger than memory are requested together.

The disk then works on many at once. Waiting for one row takes as long as for all of them, and the system also reads its
neighbourhood, some megabytes if it expects files to be read from front to back.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from designer.core.jit import kernel
from samplers.compiled.expanded import rest_rows
from samplers.compiled.glm import GLMData
from samplers.compiled.multi import MultiData
from samplers.compiled.parts import Hot, ICARows, LassoRows, LogisticExpanded, LogisticRows, MixtureData
from samplers.decide._permutation import is_a

PAGE = mmap.PAGESIZE
SOON = getattr(mmap, "MADV_WILLNEED", None)  # None: this system has no such request
_madvise = types.ExternalFunction("madvise", types.int32(types.uintp, types.uintp, types.int32))


def fetch(model: Any, indices: Any) -> Any: ...


@kernel
def ask_for(array, indices):
    """Ask the system to bring the pages of array[indices] into memory; return their number."""
    base, size, last, asked = array.ctypes.data, array.strides[0], 0, 0
    for i in indices:
        first = (base + i * size) // PAGE
        if first != last:
            end = (base + (i + 1) * size - 1) // PAGE + 1
            _madvise(np.uint64(first * PAGE), np.uint64((end - first) * PAGE), np.int32(SOON))
            last, asked = first, asked + end - first
    return asked


@overload(fetch)
def _fetch(model, indices):
    """Request the rows of a model whose data are on disk; do nothing for any other."""
    if SOON is None:
        return lambda model, indices: None
    if is_a(LogisticRows, model):

        def rows_and_labels(model, indices):
            if model.on_disk:
                ask_for(model.rows, indices)
                if model.labels.size > 0:
                    ask_for(model.labels, indices)

        return rows_and_labels
    if is_a(LogisticExpanded, model):

        def rest(model, indices):
            if model.on_disk:
                rows = rest_rows(model, indices)
                ask_for(model.rows, rows)
                if model.labels.size > 0:
                    ask_for(model.labels, rows)

        return rest
    if is_a(GLMData, model):

        def glm_rows(model, indices):
            if model.on_disk:
                ask_for(model.design.rows, rest_rows(model, indices))

        return glm_rows
    if is_a(ICARows, model) or is_a(LassoRows, model) or is_a(MultiData, model):

        def rows(model, indices):
            if model.on_disk:
                ask_for(model.rows, indices)

        return rows
    if is_a(MixtureData, model):

        def values(model, indices):
            if model.on_disk:
                ask_for(model.x, indices)

        return values
    if is_a(Hot, model):
        return lambda model, indices: fetch(model.model, indices)
    return lambda model, indices: None
