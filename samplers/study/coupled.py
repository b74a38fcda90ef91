"""Pairs of chains with the same random numbers: one decides exactly, the other by its test.

Both propose from the same numbers and face the same u, so they differ where the test errs, and for as long as it takes
them to meet again. Independent proposals meet as soon as both chains accept; random walks hardly ever do.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.protocol import MarkovChain, State
from samplers.decide.exact import ExactTest


class Coupled(NamedTuple):
    """The states of several pairs of chains, (pairs, steps, D), and how often the exact ones moved.

    Examples
    --------
    >>> Coupled(np.zeros((4, 100, 2)), np.zeros((4, 100, 2)), 0.5).meetings
    1.0
    """

    exact: Floats
    tested: Floats
    acceptance: float

    @property
    def meetings(self) -> float:
        """Share of the steps after which both chains are in the same state."""
        return float(np.all(self.exact == self.tested, axis=2).mean())


def twin(chain: MarkovChain, theta: State, rng: np.random.Generator, test: object) -> MarkovChain:
    """A chain with the same model and proposal, another state, other random numbers and perhaps another test."""
    other = copy.copy(chain)  # shares the data
    other.rng, other.theta = rng, np.array(theta)
    other.use_test(test)
    return other


def coupled_chains(
    chain: MarkovChain,
    starts: Sequence[tuple[State, State]],
    burn_in: int,
    steps: int,
    seed: int,
    tell: Callable[[int], None] = lambda passes: None,
) -> Coupled:
    """Burn in an exact chain from the first state of each pair, then advance it coupled with one from the second.

    `tell` hears how many passes over the data have been made.
    """
    shape = len(starts), steps, chain.theta.size
    exact, tested, accepted, passes = np.empty(shape), np.empty(shape), 0, 0
    for k, (begin, other) in enumerate(starts):
        x = twin(chain, begin, np.random.default_rng([seed, k, 0]), ExactTest())
        y = twin(chain, other, np.random.default_rng([seed, k, 1]), chain.test)
        for _ in range(burn_in):
            x.advance(1)
            passes += 1
            tell(passes)
        for t in range(steps):
            x.rng.bit_generator.state = y.rng.bit_generator.state
            accepted += int(x.advance(1).accepted[0])
            y.advance(1)
            exact[k, t], tested[k, t] = x.theta, y.theta
            passes += 1
            tell(passes)
    return Coupled(exact, tested, accepted / (len(starts) * steps))
