"""Priors of a model from a formula: one for all coefficients, or by the names of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real, shown
from designer.core.files import shorten

OTHERS = "others"  # in a prior by column: all columns that it does not name
FLAT = "flat"
LARGEST = 1e300


def prior_scales(prior: object, names: Sequence[str], spread: Floats) -> Floats:
    """The standard deviation of each coefficient's prior, infinite where it is flat.

    A number is the standard deviation per standard deviation of the column: the same prior whatever the column's unit.
    Columns that do not vary, such as the intercept, stay flat unless a table names them.

    Examples
    --------
    >>> prior_scales(2.5, ["intercept", "age"], np.array([0.0, 10.0]))
    array([ inf, 0.25])
    """
    if isinstance(prior, Mapping):
        return _by_name(prior, names, spread)
    scale = _scale("prior", prior)
    return np.where(spread > 0.0, scale / np.where(spread > 0.0, spread, 1.0), np.inf)


def _by_name(prior: Mapping[Any, object], names: Sequence[str], spread: Floats) -> Floats:
    others = FLAT if OTHERS in names else prior.get(OTHERS, FLAT)
    for name in prior:
        if name not in names and name != OTHERS:
            raise BadInput(f"prior: no coefficient {shown(name)}; there are {shorten(', '.join(names), 200)}")
    scales = prior_scales(others, names, spread)
    for k, name in enumerate(names):
        if name in prior:
            scales[k] = _scale(f"prior of {name}", prior[name]) / (spread[k] if spread[k] > 0.0 else 1.0)
    return scales


def _scale(what: str, given: object) -> float:
    if given == FLAT or given is None:
        return np.inf
    if isinstance(given, (str, bool)) or not isinstance(given, (int, float, np.integer, np.floating)):
        raise BadInput(f'{what} = {shown(given)}: must be "flat", a standard deviation, or a table of them by column')
    return real(what, given, 0.0, LARGEST, open_low=True)
