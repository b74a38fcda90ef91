"""Series that several experiments draw alike."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from samplers.experiments.report import Series

BARS = 2.0  # standard errors


def with_bars(name: str, x: npt.ArrayLike, y: npt.ArrayLike, se: npt.ArrayLike) -> Series:
    """Measured points with bars of two standard errors to either side.

    Examples
    --------
    >>> with_bars("simulated", [0.0], [0.5], [0.1]).high
    [0.7]
    """
    values, bar = np.asarray(y, dtype=np.float64), BARS * np.asarray(se, dtype=np.float64)
    ends = (values - bar).tolist(), (values + bar).tolist()
    return Series(name, np.asarray(x, dtype=np.float64).tolist(), values.tolist(), *ends, "points")
