"""Validation of the data for IRLS."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.fit.losses import Logistic, Loss, Poisson

CHECKED_ROWS = 65_536  # rows checked together for values that are not finite


def check_data(x: npt.ArrayLike, y: npt.ArrayLike, loss: Loss) -> tuple[Floats, Floats]:
    """Predictors as given and responses as floats, or BadInput. Memory-mapped rows are checked as they are read."""
    rows: Any = x if isinstance(x, np.ndarray) else _array("x", x)
    response: Floats = np.asarray(_array("y", y), dtype=np.float64)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise BadInput(f"x: must be a two-dimensional array of real numbers, not {rows.dtype} of shape {rows.shape}")
    n, d = rows.shape
    if response.shape != (n,):
        raise BadInput(f"y: has shape {response.shape}, but x has {n:,} rows")
    if d < 1 or n <= d:
        raise BadInput(f"x: {n:,} rows cannot determine {d:,} parameters; more rows than columns are needed")
    if not np.all(np.isfinite(response)):
        raise BadInput("y: has values that are not finite")
    if not isinstance(rows, np.memmap):
        for low in range(0, n, CHECKED_ROWS):
            if not np.all(np.isfinite(rows[low : low + CHECKED_ROWS])):
                raise BadInput(f"x: has values that are not finite in or after row {low:,}")
    if isinstance(loss, Logistic) and not np.all((response == 0.0) | (response == 1.0)):
        raise BadInput("y: the responses of a logistic regression must be 0 or 1")
    if isinstance(loss, Poisson) and np.any(response < 0.0):
        raise BadInput("y: the responses of a Poisson regression must be 0 or more")
    return rows, response


def check_offset(offset: npt.ArrayLike | None, n: int) -> Floats | None:
    """The known part of the predictor of each row, or BadInput; None if there is none."""
    if offset is None:
        return None
    known = _array("offset", offset)
    if known.shape != (n,) or not np.all(np.isfinite(known)):
        raise BadInput(f"offset: must be {n:,} finite numbers, one per row")
    return known


def _array(name: str, values: npt.ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name}: must be an array of real numbers") from error


def check_start(start: npt.ArrayLike | None, d: int) -> Floats:
    """Initial θ, or BadInput."""
    theta = np.zeros(d) if start is None else _array("start", start).copy()
    if theta.shape != (d,) or not np.all(np.isfinite(theta)):
        raise BadInput(f"start: must be {d} finite numbers, one per column of x")
    return theta
