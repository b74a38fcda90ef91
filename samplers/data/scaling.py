"""Scales that keep squares and cubes of very large and very small numbers within the range of floating point."""

from __future__ import annotations

import numpy as np

from designer.core.arrays import Floats


def unit(values: Floats) -> Floats:
    """The power of two at or below the largest |value| of each column, or of a vector.

    To divide by it, and to multiply again, rounds nothing: only results that overflowed or vanished before change.

    Examples
    --------
    >>> unit(np.array([[5.0, 1e200], [-9.0, 0.0]])).tolist() == [8.0, 2.0**664]
    True
    """
    largest = np.maximum(values.max(axis=0), -values.min(axis=0))
    _, exponent = np.frexp(largest)
    return np.asarray(np.ldexp(1.0, exponent - 1), dtype=np.float64)
