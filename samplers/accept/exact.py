"""The exact test: all the data, every time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from samplers.accept.comparison import Comparison, Decision, begin, total


@dataclass(frozen=True)
class ExactTest:
    """Metropolis-Hastings as it is; the yardstick of all other tests.

    Examples
    --------
    >>> l = np.array([0.5, -0.25, 1.0])
    >>> ExactTest().decide(np.random.default_rng(1), Comparison(3, l.take))
    Decision(accept=True, n_used=3, n_looks=1)
    """

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept iff the sum of all l_i exceeds v + log_ratio (K14 Eqn 2)."""
        v, forced = begin(rng, comparison)
        if forced is not None:
            return forced
        return Decision(bool(total(comparison) - comparison.log_ratio > v), comparison.n, 1)
