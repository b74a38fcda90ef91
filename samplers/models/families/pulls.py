"""Which way a row pulls its predictor, where it does so for ever: a flat prior alone does not hold it then."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.core.arrays import Floats
from samplers.models.families.binary import Cloglog, Probit
from samplers.models.families.counts import Poisson
from samplers.models.families.logit import Bernoulli, Binomial, NegativeBinomial

NEITHER = np.nan  # a row that says nothing about its predictor


def pulls(family: Any, y: Floats, extra: Floats, weight: Floats) -> Floats | None:
    """1: log p never falls as η grows; -1: as it sinks; 0: it falls on both sides; None: that holds for all rows.

    Examples
    --------
    >>> pulls(Poisson(), np.array([0.0, 3.0]), np.zeros(2), np.ones(2))
    array([-1.,  0.])
    """
    kind = type(family)
    if kind in (Bernoulli, Probit, Cloglog):
        found = np.where(y > 0.0, 1.0, -1.0)
    elif kind is Binomial:
        found = np.where(y == extra, 1.0, np.where(y == 0.0, -1.0, 0.0))
        found[extra == 0.0] = NEITHER
    elif kind in (Poisson, NegativeBinomial):
        found = np.where(y == 0.0, -1.0, 0.0)
    else:
        return None
    found[weight == 0.0] = NEITHER
    return found
