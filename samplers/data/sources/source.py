"""The result of every loader, and the steps that loaders share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints

SUBSET_SEED = 20140621  # of the rows that `limited` takes


class Source(NamedTuple):
    """A data set: rows, responses, and where they come from.

    Attributes
    ----------
    x, y
        Training rows and responses; `y` is empty for data without a response.
    x_test, y_test
        Test rows and responses.
    columns
        Names of the columns of x.
    origin
        Where the data come from, in one line for reports.
    real
        False for a synthetic twin.
    extra
        Details of single data sets: the mixing matrix, the PCA, means and standard deviations of columns.

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
    """A `Source` with arrays as the samplers need them: float64 with contiguous rows."""
    train, test = (_rows(x), _rows(y)), (_rows(x_test), _rows(y_test))
    return Source(*train, *test, tuple(str(column) for column in columns), origin, real, dict(extra or {}))


def _rows(values: npt.ArrayLike) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float64)


def standardised(
    x: npt.NDArray[Any], y: npt.ArrayLike, x_test: npt.NDArray[Any], y_test: npt.ArrayLike, columns: Sequence[str]
) -> Source:
    """Columns scaled to mean 0 and sd 1 over the training rows; constant columns become 0."""
    mean, sd = x.mean(axis=0), x.std(axis=0)
    scale = np.where(sd > 0.0, sd, 1.0)
    return source((x - mean) / scale, y, (x_test - mean) / scale, y_test, columns, "", extra={"mean": mean, "sd": sd})


def limited(data: Source, rows: int | None) -> Source:
    """At most `rows` training rows and at most `rows` test rows.

    They are a random subset with a fixed seed, because files are sorted by date, label or song, and their first rows
    are not representative. Fewer rows are always a subset of more rows, and stay in the order of the file.
    """
    if rows is None or rows >= max(data.x.shape[0], data.x_test.shape[0]):
        return data
    train_rows, test_rows = _subset(data.x.shape[0], rows), _subset(data.x_test.shape[0], rows)
    return data._replace(
        x=data.x[train_rows],
        y=data.y[train_rows] if data.y.size else data.y,
        x_test=data.x_test[test_rows],
        y_test=data.y_test[test_rows] if data.y_test.size else data.y_test,
        origin=f"{data.origin}; {train_rows.size:,} of {data.x.shape[0]:,} rows",
    )


def _subset(n: int, rows: int) -> Ints:
    return np.sort(np.random.default_rng(SUBSET_SEED).permutation(n)[:rows])
