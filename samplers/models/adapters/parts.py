"""Parameters by name and shape, and samples of rows in memory of a few sizes."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from designer.core.arrays import Floats, Ints

LEAST = 16  # rows of the smallest padded sample
STEPS = 4  # padded sizes from one power of 2 to the next
ALIGNED = 64  # bytes

Part = tuple[str, tuple[int, ...]]  # name and shape of some parameters that belong together


def split_parts(parts: Sequence[Part], draws: Floats) -> dict[str, Any]:
    """Draws (..., D) by name, each with its own shape."""
    found, first = {}, 0
    for name, shape in parts:
        size = math.prod(shape)
        found[name] = draws[..., first : first + size].reshape(draws.shape[:-1] + shape)
        first += size
    return found


def part_names(parts: Sequence[Part]) -> tuple[str, ...]:
    """The name of each number: that of its part, with its place in it.

    Examples
    --------
    >>> part_names([("a", ()), ("b", (2,)), ("c", (1, 2))])
    ('a', 'b[0]', 'b[1]', 'c[0, 0]', 'c[0, 1]')
    """
    return tuple(
        name + (f"[{', '.join(map(str, place))}]" if shape else "")
        for name, shape in parts
        for place in np.ndindex(*shape)
    )


def padded_size(n: int) -> int:
    """The next of a few sizes per power of 2.

    Examples
    --------
    >>> [padded_size(n) for n in (1, 16, 100, 200, 1000)]
    [16, 16, 112, 224, 1024]
    """
    if n <= LEAST:
        return LEAST
    step = (1 << (n - 1).bit_length() - 1) // STEPS
    return -(-n // step) * step


class Rooms(threading.local):
    """Where a thread gathers rows, by the size of the sample: memory that JAX reads without a copy, if it is aligned.

    It is used again after the results of a call have arrived.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[Ints, list[Any]]] = {}

    def of(self, size: int, leaves: Sequence[Any]) -> tuple[Ints, list[Any]]:
        """Memory for indices, and for the rows of each array."""
        if size not in self.known:
            rooms = [aligned((size, *leaf.shape[1:]), leaf.dtype) for leaf in leaves]
            self.known[size] = np.empty(size, dtype=np.int64), rooms
        return self.known[size]


def aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array that begins at a multiple of ALIGNED bytes."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + ALIGNED, dtype=np.uint8)
    first = -room.ctypes.data % ALIGNED
    return room[first : first + size].view(dtype).reshape(shape)
