"""Models whose rows are impossible at some θ: a test that does not read such a row cannot see that it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.models import SmoothModel
from samplers.models.arrays import blocks
from samplers.models.control.term_bounds import factor_of

STATES, SEED = 8, 29  # draws of the normal approximation at which all rows are tried
NEAR = 1.0  # standard deviations from the centre to the mode: farther away, the draws are not those of a chain


def check_support(model: SmoothModel, centre: Floats, gradient: Floats, precision: Any) -> None:
    """Refuse a row whose log-likelihood is not finite at a state that a chain may visit; a few passes over the data.

    Parameters
    ----------
    model
        Not one that is known to be finite everywhere.
    centre
        Of its control variates.
    gradient, precision
        Of the log posterior there, and minus its Hessian. If they say that the mode is elsewhere, nothing is tried.
    """
    try:
        factor = factor_of(precision)
    except BadInput:
        return  # flat in some direction: there is no normal approximation
    if not float(np.linalg.norm(factor.T @ gradient)) <= NEAR:
        return
    states = centre + (factor @ np.random.default_rng(SEED).standard_normal((STATES, centre.size)).T).T
    for state in states:
        with np.errstate(all="ignore"):
            if not np.isfinite(model.log_prior(state)):
                continue  # no chain goes there
            for block in blocks(model.n_data):
                good = np.isfinite(model.log_likelihood(state, block))
                if not good.all():
                    refuse_row(block.start + int(np.argmin(good)))


def refuse_row(row: int) -> None:
    """Say what is wrong with it."""
    raise BadInput(
        f"row {row:,}: its log-likelihood is not finite at a state of the normal approximation; a test that does not "
        "read the row cannot see that: the support of the data must not depend on parameters"
    )
