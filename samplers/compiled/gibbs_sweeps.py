"""Gibbs updates of a dense Markov random field, many in one compiled call.

An update by the sequential test is a Barker step whose data are the terms of the variable's log-odds, so `accept` of
`samplers.compiled.decisions` makes it.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from designer.core.arrays import Floats, Ints
from designer.core.jit import kernel
from samplers.compiled.decisions import accept, draw_threshold, new_room
from samplers.compiled.models import fill_terms
from samplers.compiled.parts import PairTerms, Sequential
from samplers.decide._permutation import Permutation, is_a
from samplers.models._mrf_kernels import Bits, Pairs, log_odds, pair_terms


@overload(fill_terms)
def _fill_terms(model, theta, theta_new, indices, room, out):
    if is_a(PairTerms, model):
        return lambda model, theta, theta_new, indices, room, out: pair_terms(
            model.steps, model.pairs, model.x, model.site, indices, out
        )
    return None


@kernel
def update_exactly(rng: np.random.Generator, steps: Floats, pairs: Pairs, sites: Ints, x: Bits, value: Bits) -> None:
    """Gibbs updates of the given sites in turn; x in place, value[s] is what update s assigned."""
    for s in range(sites.size):
        i = sites[s]
        v = draw_threshold(rng, True)
        x[i] = value[s] = log_odds(steps, pairs, x, i) > v


@kernel
def update_sequentially(
    rng: np.random.Generator,
    steps: Floats,
    pairs: Pairs,
    sites: Ints,
    x: Bits,
    looks: Ints,
    lower: Floats,
    upper: Floats,
    permutation: Permutation,
    value: Bits,
    n_used: Ints,
    n_looks: Ints,
) -> None:
    """`update_exactly` by the sequential test (K14 supplement F); looks and bounds are those of all looks."""
    test, room = Sequential(pairs.shape[0], True, looks, lower, upper), new_room()
    for s in range(sites.size):
        i = sites[s]
        terms = PairTerms(steps, pairs, x, i)
        yes, n_used[s], n_looks[s], permutation = accept(rng, terms, test, x, x, 0.0, permutation, room)
        x[i] = value[s] = yes
