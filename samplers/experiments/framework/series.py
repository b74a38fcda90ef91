"""Series that several experiments plot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from samplers.experiments.framework.report import Series

BARS = 2.0  # standard errors


def with_bars(name: str, x: npt.ArrayLike, y: npt.ArrayLike, se: npt.ArrayLike) -> Series:
    """Measured points with error bars of two standard errors on either side.

    Examples
    --------
    >>> with_bars("simulated", [0.0], [0.5], [0.1]).high
    [0.7]
    """
    values, bar = np.asarray(y, dtype=np.float64), BARS * np.asarray(se, dtype=np.float64)
    ends = (values - bar).tolist(), (values + bar).tolist()
    return Series(name, np.asarray(x, dtype=np.float64).tolist(), values.tolist(), *ends, "points")


def histograms(drawn: Mapping[str, Floats], edges: Floats) -> list[Series]:
    """Densities of several samples over the same bins.

    Examples
    --------
    >>> histograms({"a": np.array([0.1, 0.2, 1.5])}, np.array([0.0, 1.0, 3.0]))[0].x
    [0.5, 2.0]
    """
    middle = (0.5 * (edges[1:] + edges[:-1])).tolist()
    return [
        Series(name, middle, np.histogram(values, edges, density=True)[0].tolist(), style="steps")
        for name, values in drawn.items()
    ]


def shares(counted: Mapping[str, npt.ArrayLike], edges: Floats) -> list[Series]:
    """Fractions of several samples in logarithmic bins; empty bins are left out, for logarithmic axes."""
    middle, series = np.sqrt(edges[1:] * edges[:-1]), []
    for name, values in counted.items():
        share = np.histogram(values, edges)[0] / np.size(values)
        series.append(Series(name, middle[share > 0].tolist(), share[share > 0].tolist(), style="steps"))
    return series


def evenly(values: Floats, count: int) -> Floats:
    """At most `count` rows, evenly spaced from the first to the last."""
    return values[np.linspace(0, len(values) - 1, min(count, len(values))).round().astype(np.int64)]
