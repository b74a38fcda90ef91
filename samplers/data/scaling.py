"""Scales that keep squares and cubes of very large or very small numbers from overflow and underflow."""

from __future__ import annotations

import numpy as np

from designer.core.arrays import Floats


def unit(values: Floats) -> Floats:
    """The largest power of two that does not exceed the largest |value| of each column, or of a vector.

    Dividing by it and multiplying again rounds nothing: only results that would overflow or underflow change.

    Examples
    --------
    >>> unit(np.array([[5.0, 1e200], [-9.0, 0.0]])).tolist() == [8.0, 2.0**664]
    True
    """
    largest = np.maximum(values.max(axis=0), -values.min(axis=0))
    _, exponent = np.frexp(largest)
    return np.asarray(np.ldexp(1.0, exponent - 1), dtype=np.float64)
