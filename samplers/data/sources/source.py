"""What every loader hands over, and the few steps that all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints

SUBSET_SEED = 20140621  # of the fixed order in which `limited` takes rows


class Source(NamedTuple):
    """A data set: rows, responses, and where they come from.

    Attributes
    ----------
    x, y
        Rows and responses to learn from; `y` is empty for data without a response.
    x_test, y_test
        And to test on.
    columns
        Names of the columns of x.
    origin
        A line to print beside results.
    real
        False when a synthetic twin stands in.
    extra
        What belongs to one data set only: the mixing matrix, the PCA, means and standard deviations of columns.

    Examples
    --------
    >>> from samplers.data.sources import twin
    >>> data = twin("miniboone", rows=10)
    >>> len(data.columns) == data.x.shape[1], data.real
    (True, False)
    """

    x: Floats
    y: Floats
    x_test: Floats
    y_test: Floats
    columns: tuple[str, ...]
    origin: str
    real: bool
    extra: Mapping[str, Any]


def source(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    x_test: npt.ArrayLike,
    y_test: npt.ArrayLike,
    columns: Sequence[str],
    origin: str,
    *,
    real: bool = True,
    extra: Mapping[str, Any] | None = None,
) -> Source:
    """A `Source` with arrays as the samplers want them: float64, rows contiguous."""
    train, test = (_rows(x), _rows(y)), (_rows(x_test), _rows(y_test))
    return Source(*train, *test, tuple(str(column) for column in columns), origin, real, dict(extra or {}))


def _rows(values: npt.ArrayLike) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float64)


def standardised(
    x: npt.NDArray[Any], y: npt.ArrayLike, x_test: npt.NDArray[Any], y_test: npt.ArrayLike, columns: Sequence[str]
) -> Source:
    """Columns scaled to mean 0 and sd 1 of the training rows; a column that never changes becomes 0."""
    mean, sd = x.mean(axis=0), x.std(axis=0)
    scale = np.where(sd > 0.0, sd, 1.0)
    return source((x - mean) / scale, y, (x_test - mean) / scale, y_test, columns, "", extra={"mean": mean, "sd": sd})


def limited(data: Source, rows: int | None) -> Source:
    """At most `rows` rows for training and at most `rows` for testing.

    They are a random subset by a fixed seed, since files are sorted by date, label or song and their first rows
    represent nothing; fewer rows are always a subset of more. Kept rows stay in the order of the file.
    """
    if rows is None or rows >= max(data.x.shape[0], data.x_test.shape[0]):
        return data
    kept, kept_test = _subset(data.x.shape[0], rows), _subset(data.x_test.shape[0], rows)
    return data._replace(
        x=data.x[kept],
        y=data.y[kept] if data.y.size else data.y,
        x_test=data.x_test[kept_test],
        y_test=data.y_test[kept_test] if data.y_test.size else data.y_test,
        origin=f"{data.origin}; {kept.size:,} of {data.x.shape[0]:,} rows",
    )


def _subset(n: int, rows: int) -> Ints:
    return np.sort(np.random.default_rng(SUBSET_SEED).permutation(n)[:rows])
