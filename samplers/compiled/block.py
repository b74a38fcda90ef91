"""A block of steps of a chain, in one compiled call."""

from __future__ import annotations

import numpy as np

from designer.core.jit import kernel
from samplers.compiled.decisions import accept, forget, moved, new_room
from samplers.compiled.models import log_prior
from samplers.compiled.moves import propose
from samplers.compiled.refreshing import refresh


@kernel
def run_block(rng, model, proposal, test, theta, permutation, draws, accepted, n_used, n_looks):
    """Make as many steps as `draws` has rows; θ is updated in place.

    Returns the number of steps done, the last number of looks and the permutation. If fewer steps were done, the number
    of looks says why (NOT_A_NUMBER or MORE_LOOKS), and θ is the last good state.
    """
    new, xi, room = np.empty(theta.size), np.empty(theta.size), new_room()
    here, looks = log_prior(model, theta), 0
    for s in range(draws.shape[0]):
        log_q, permutation = propose(rng, proposal, model, permutation, theta, xi, new)
        there = log_prior(model, new)
        yes, n, looks, permutation = accept(rng, model, test, theta, new, here - there + log_q, permutation, room)
        if looks < 0:
            return s, looks, permutation
        if yes:
            theta[:] = new
            here = there
            if looks > 0:
                moved(test)
            else:  # accepted without data, so the test must catch up
                forget(model, test, theta, room)
        here = refresh(rng, model, theta, here)
        draws[s] = theta
        accepted[s], n_used[s], n_looks[s] = yes, n, looks
    return draws.shape[0], looks, permutation
