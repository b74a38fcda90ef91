"""The exact test: reads all data, every time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from samplers.decide.comparison import Comparison, Decision, begin, begin_at, total


@dataclass(frozen=True)
class ExactTest:
    """The exact Metropolis-Hastings decision, to which all other tests are compared.

    Examples
    --------
    >>> l = np.array([0.5, -0.25, 1.0])
    >>> ExactTest().decide(np.random.default_rng(1), Comparison(3, l.take))
    Decision(accept=True, n_used=3, n_looks=1)
    """

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept iff the sum of all lᵢ exceeds v + log_ratio (K14 Eqn 2)."""
        v, forced = begin(rng, comparison)
        return forced if forced is not None else _decided(comparison, v)

    def decide_at(self, rng: np.random.Generator, comparison: Comparison, v: float) -> Decision:
        """The same with a threshold v that the caller has drawn; needs no random numbers."""
        forced = begin_at(comparison, v)
        return forced if forced is not None else _decided(comparison, v)


def _decided(comparison: Comparison, v: float) -> Decision:
    return Decision(bool(total(comparison) - comparison.log_ratio > v), comparison.n, 1)
