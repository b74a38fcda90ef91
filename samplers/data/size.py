"""An array in a few words: its size, and a digest of its numbers."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from samplers.models.arrays import blocks


def sized(values: npt.NDArray[Any]) -> str:
    """Size and digest, block by block: the array may be a mapped file.

    Examples
    --------
    >>> sized(np.zeros((1200, 2)))
    '1,200 × 2 (digest 17744bb6)'
    """
    sha = hashlib.sha256()
    for block in blocks(len(values)):
        sha.update(np.ascontiguousarray(values[block]).data)
    return f"{' × '.join(f'{n:,}' for n in values.shape)} (digest {sha.hexdigest()[:8]})"
