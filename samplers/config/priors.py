"""The prior of a logistic regression in a config: one precision, a list, or a table by column."""

from __future__ import annotations

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.core.files import shorten
from samplers.config.schema import LogisticTable
from samplers.data.load import INTERCEPT

OTHERS = "others"  # in a table of precisions: all columns that it does not name


def prior_precision(table: LogisticTable, names: tuple[str, ...] | None, dimension: int) -> float | Floats:
    """The prior precision of all coefficients, or of each.

    Examples
    --------
    >>> table = LogisticTable(prior_precision={"dose": 4.0, "others": 1.0}, prior_intercept=False)
    >>> prior_precision(table, ("intercept", "age", "dose"), 3)
    array([0., 1., 4.])
    """
    given = table.prior_precision
    if isinstance(given, float) and table.prior_intercept:
        return given
    if isinstance(given, dict):
        each = _by_name(given, names, table.prior_intercept)
    elif isinstance(given, tuple):
        each = np.array(given)
        if each.size != dimension:
            raise BadInput(
                f"model.prior_precision: has {each.size:,} entries, the model has {dimension:,} coefficients"
            )
    else:
        each = np.full(dimension, given)
    if not table.prior_intercept:
        assert names is not None  # there is an intercept, which has a name
        each[names.index(INTERCEPT)] = 0.0
    return each


def _by_name(given: dict[str, float], names: tuple[str, ...] | None, prior_intercept: bool) -> Floats:
    if names is None:
        raise BadInput("model.prior_precision: is a table by column, but the columns have no names; give a list")
    others = None if OTHERS in names else given.get(OTHERS)
    known = {*names} if others is None else {*names, OTHERS}
    if unknown := [name for name in given if name not in known]:
        raise BadInput(
            f"model.prior_precision.{shorten(unknown[0])}: no such column; there are {shorten(', '.join(names), 200)}"
        )
    free = set() if prior_intercept else {INTERCEPT}
    missing = [name for name in names if name not in given and name not in free]
    if missing and others is None:
        raise BadInput(
            f"model.prior_precision: names {len(names) - len(missing):,} of {len(names):,} columns; "
            f"others = … is that of the others, such as {shorten(missing[0])} (0: a flat prior)"
        )
    return np.array([given.get(name, 0.0 if others is None else others) for name in names], dtype=np.float64)
