"""What control variates of all models share: the sum of their proxies, and which rows are data of a test."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from designer.core.jit import kernel
from samplers.compiled.arrow import ArrowSums, arrow_quadratic
from samplers.compiled.logistic import dot, quadratic
from samplers.decide._permutation import is_a


def quadratic_form(matrix: Any, d: Any) -> Any: ...


@overload(quadratic_form)
def _quadratic_form(matrix, d):
    """d' matrix d, by the type of the matrix."""
    if is_a(ArrowSums, matrix):
        return lambda matrix, d: arrow_quadratic(matrix, d)
    return lambda matrix, d: quadratic(matrix, d)


@kernel
def proxies(model, theta):
    """The sum of all proxies minus their values at the centre."""
    d = theta - model.centre
    return dot(model.gradient, d) + 0.5 * quadratic_form(model.hessian, d)


@kernel
def rest_rows(model, indices):
    """The rows of these data: datum j is row j, unless that is heavy."""
    if model.holes.size == 0:
        return indices
    rows = np.empty(indices.size, dtype=np.int64)
    holes, fillers, buckets = model.holes, model.fillers, model.buckets
    for k in range(indices.size):
        i = indices[k]
        rows[k] = i
        bucket = i >> model.shift
        for place in range(buckets[bucket], buckets[bucket + 1]):
            if holes[place] == i:
                rows[k] = fillers[place]
    return rows
