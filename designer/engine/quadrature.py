"""Gauss-Legendre rules of many sizes, tabulated once for the kernels."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.engine import _walk_kernels

LARGEST = 256  # half size; more nodes are placed as several rules side by side


class Rules(NamedTuple):
    """Rule number s has 2 half[s] nodes; its positive nodes and weights start at offset[s]."""

    half: Ints
    offset: Ints
    x: Floats
    w: Floats


@lru_cache(maxsize=1)
def rules() -> Rules:
    """Rules with half sizes 3, 4, 5, ... (from 25 on, 4% apart) up to about LARGEST."""
    sizes = [3]
    while sizes[-1] < LARGEST:
        sizes.append(max(sizes[-1] + 1, sizes[-1] * 26 // 25))
    half = np.array(sizes, dtype=np.int64)
    offset = np.concatenate([[0], np.cumsum(half)[:-1]])
    x, w = np.empty(half.sum()), np.empty(half.sum())
    for size, start in zip(sizes, offset, strict=True):
        _walk_kernels.gauss_legendre_half(size, x[start : start + size], w[start : start + size])
    return Rules(half, offset, x, w)
