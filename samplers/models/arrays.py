"""Arrays of data as models hold them: checked, contiguous or memory-mapped, handled a block at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput

BLOCK = 65_536  # rows handled at once, so that memory stays bounded


def finite_array(name: str, values: npt.ArrayLike, dimensions: int) -> Floats:
    """`values` as a contiguous array of floats, not empty and all finite, or BadInput."""
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{name}: must be numbers, in {dimensions} dimension{'s'[: dimensions - 1]}") from None
    if np.ndim(values) != dimensions or array.size == 0:
        raise BadInput(f"{name} has shape {np.shape(values)}: must have {dimensions} dimensions and not be empty")
    if not math.isfinite(array.sum()):  # the sum shows whether all are finite without another array
        bad = np.argwhere(~np.isfinite(array))
        if bad.size:
            place = tuple(int(k) for k in bad[0])
            raise BadInput(f"{name}[{', '.join(map(str, place))}] = {array[place]}: must be finite")
    return array


def blocks(n: int) -> list[slice]:
    """0 .. n-1 in pieces of BLOCK, as slices: views, not copies."""
    return [slice(start, min(n, start + BLOCK)) for start in range(0, n, BLOCK)]


def mapped_array(name: str, values: object, dimensions: int) -> Floats:
    """Data as they lie in memory or in a file, not copied: a read-only view, checked a block at a time."""
    if not isinstance(values, np.ndarray) or values.dtype not in (np.float32, np.float64):
        raise BadInput(f"{name}: must be an array of float32 or float64 to be used without a copy")
    if values.ndim != dimensions or values.size == 0 or not values.flags.c_contiguous:
        raise BadInput(f"{name} has shape {values.shape}: must be C-contiguous in {dimensions} dimensions, not empty")
    for block in blocks(values.shape[0]):
        if not np.all(np.isfinite(values[block])):
            raise BadInput(f"{name}: has values that are not finite in or after row {block.start:,}")
    view: Floats = frozen(values)
    return view


def frozen(values: npt.NDArray[Any]) -> Any:
    """A read-only view: kernels then see one type of array, whether it lies in memory or in a file."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


def as_indices(n: int, indices: Ints | slice) -> Ints:
    """Indices as an array, also those of a slice."""
    return np.arange(*indices.indices(n)) if isinstance(indices, slice) else np.asarray(indices, dtype=np.int64)


def check_size(theta: Floats, size: int) -> None:
    """Refuse a θ of another size: the kernels would read beyond its end."""
    if theta.shape != (size,):
        raise BadInput(f"theta has shape {theta.shape}: must be ({size},)")


def value_and_slope(model: Any, eta: Floats, indices: Ints | slice) -> tuple[Floats, Floats]:
    """log p and its slope at each row of `eta`, for these data; at once if the model can."""
    if hasattr(model, "value_and_slope"):
        both: tuple[Floats, Floats] = model.value_and_slope(eta, indices)
        return both
    return at_each(model.value, eta, indices), at_each(model.slope, eta, indices)


def at_each(function: Callable[[Floats, Any], Floats], eta: Floats, indices: Ints | slice) -> Floats:
    """A function of η and the data for each row of `eta`: at once where it broadcasts."""
    try:
        values = np.asarray(function(eta, indices), dtype=np.float64)
        if values.shape == eta.shape:
            return values
    except (ValueError, IndexError):  # a user's function may be for one state at a time
        pass
    return np.stack([np.asarray(function(row, indices), dtype=np.float64) for row in eta])
