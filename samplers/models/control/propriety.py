"""Whether a linear model with a flat prior has a proper posterior, and which columns are the reason if not.

Along a direction d of coefficients with a flat prior the posterior does not fall if no row's log-likelihood does: for
logistic regression y_i x_i . d >= 0 for every row (separation), for counts x_i . d <= 0 where y_i = 0, and 0 elsewhere;
or x_i . d = 0 (collinear columns). Such a posterior has no mode, and no
integral. One column alone is checked before anything else; a combination of several shows in the Newton steps, which
then go on for ever in steps of about 1 in some rows' predictors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import NumericalFailure
from samplers.models import LinearModel
from samplers.models.arrays import blocks
from samplers.models.logistic import Logistic

Names = Sequence[str] | None

NAMED = 5  # columns that a message names
SINGULAR = 1e-12  # least eigenvalue of the posterior precision with unit diagonal
SETTLED = 1e-3  # a Newton step this short, in posterior standard deviations, has found the mode, if there is one
ENDLESS = 0.5  # unless it still changes the predictor of some row by this much
MATTERS = 1e-3  # share of the largest entry of a direction below which a column does not take part in it
UNSEEN = 1e-5  # predictors that change by this share of what the columns alone would do, change by rounding only


def flat_columns(model: LinearModel, theta: Floats) -> Ints:
    """The coefficients whose prior is flat."""
    known: Ints | None = getattr(_inner(model), "flat", None)
    return known if known is not None else np.flatnonzero(np.diag(model.prior_curvature(theta)) == 0.0)


def check_columns(model: LinearModel, flat: Ints, names: Names = None) -> None:
    """Refuse a column with a flat prior that is 0, or that all its rows push the same way: one pass over the data."""
    inner = _inner(model)
    if not flat.size or not (isinstance(inner, Logistic) or hasattr(inner, "pulls")):
        return
    low, high = np.zeros(flat.size), np.zeros(flat.size)
    for block in blocks(model.n_data):
        columns = np.asarray(inner.rows[block][:, flat], dtype=np.float64)
        downwards, upwards = _pulled(inner, columns, block)
        np.minimum(low, downwards.min(axis=0), out=low)
        np.maximum(high, upwards.max(axis=0), out=high)
    empty = (low == 0.0) & (high == 0.0)
    if np.any(empty):
        raise NumericalFailure(
            f"no mode: nothing but 0 in {_listed(flat[empty], names)}: the data say nothing about the coefficient, and "
            f"neither does a flat prior; give it a prior ({_prior_of(inner)}) or leave it out"
        )
    alone = flat[(low == 0.0) | (high == 0.0)]
    if alone.size:
        rows = sum(int(np.count_nonzero(inner.rows[block][:, alone[0]])) for block in blocks(model.n_data))
        where = f"all {rows:,} rows where it is" if alone.size == 1 else "for each, all rows where it is"
        raise NumericalFailure(
            f"no mode: the data are separable by {_listed(alone, names)}: {where} not 0 pull the coefficient the same "
            f"way, and a flat prior lets it run to infinity; give it a prior ({_prior_of(inner)}) or leave it out"
        )


def _inner(model: Any) -> Any:
    """The model itself, not the tempered one around it."""
    return getattr(model, "model", model)


def _prior_of(model: Any) -> str:
    """How this kind of model is given a prior."""
    return "prior_precision above 0" if hasattr(model, "prior_precision") else "prior=…"


def _pulled(model: Any, columns: Floats, block: slice) -> tuple[Floats, Floats]:
    """How far each row pulls each coefficient down and up, for ever: both ways if its log-likelihood holds it."""
    if isinstance(model, Logistic):
        signed = model.signed(columns, block)
        return signed, signed
    pulls = model.pulls(block)
    way = np.zeros(columns.shape[0]) if pulls is None else pulls
    signed = columns * np.nan_to_num(way)[:, None]
    size = np.abs(columns) * (way == 0.0)[:, None]
    return signed - size, signed + size


def check_precision(model: LinearModel, theta: Floats, precision: Floats, names: Names = None) -> None:
    """Refuse a log posterior that is flat in some direction, up to rounding: its precision at θ is singular."""
    if flat_columns(model, theta).size and (direction := _flattest(precision)) is not None:
        _refuse(model, direction, names)


def check_step(model: LinearModel, theta: Floats, step: Floats, length: float, names: Names = None) -> None:
    """Refuse a log posterior that rises for ever: a short Newton step still changes some row's predictor a lot.

    `length` is that of the step in posterior standard deviations.
    """
    inner = _inner(model)
    if length >= SETTLED or not flat_columns(model, theta).size:
        return
    if hasattr(inner, "pulls") and inner.pulls(slice(0, 2)) is None:  # no row pulls for ever
        return
    if max(float(np.abs(_rows(model, block) @ step).max()) for block in blocks(model.n_data)) > ENDLESS:
        _refuse(model, step, names)


def _flattest(precision: Floats) -> Floats | None:
    """A direction in which the precision is 0 up to rounding, if there is one."""
    scale = np.sqrt(np.diag(precision))
    if not np.all(scale > 0.0):
        return np.where(scale > 0.0, 0.0, 1.0)
    values, vectors = np.linalg.eigh(precision / scale / scale[:, None])
    return None if values[0] > SINGULAR else vectors[:, 0] / scale


def _refuse(model: LinearModel, direction: Floats, names: Names) -> None:
    """Say which columns the direction is made of, and whether the data see it at all."""
    squares, change = np.zeros(direction.size), 0.0
    for block in blocks(model.n_data):
        rows = _rows(model, block)
        squares += np.square(rows).sum(axis=0)
        change += float(np.square(rows @ direction).sum())
    size = np.sqrt(squares) * np.abs(direction)
    part = _listed(np.flatnonzero(size >= MATTERS * size.max()), names)
    if math.sqrt(change) <= UNSEEN * size.max():
        raise NumericalFailure(
            f"no mode: the columns are collinear ({part}): the data determine only a combination of the "
            "coefficients, and a flat prior leaves the rest free; give them a prior, or leave one out"
        )
    raise NumericalFailure(
        f"no mode: the data are separable by a combination of coefficients ({part}): it can grow for ever and fit no "
        f"row worse, and a flat prior does not hold it; give them a prior ({_prior_of(_inner(model))})"
    )


def _rows(model: LinearModel, block: slice) -> Floats:
    return np.asarray(model.rows[block], dtype=np.float64)


def _listed(columns: Ints, names: Names) -> str:
    """The columns in words: "column a", "columns a and b", "columns a, b, c, d, e and 3 more"."""
    called = [str(column) if names is None else names[column] for column in columns]
    if len(called) == 1:
        return f"column {called[0]}"
    last = [f"{len(called) - NAMED:,} more"] if len(called) > NAMED else [called.pop()]
    return f"columns {', '.join(called[:NAMED])} and {last[0]}"
