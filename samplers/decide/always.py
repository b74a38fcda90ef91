"""No test at all: every proposal is accepted, as in stochastic gradient Langevin dynamics without correction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from samplers.decide.comparison import Comparison, Decision


@dataclass(frozen=True)
class AlwaysAccept:
    """Accepts every proposed state that the prior allows, and reads no data.

    The chain has the error of its proposal: for `Langevin`, that of the step size (SGLD; Welling and Teh 2011), which
    no test corrects. It draws no random numbers.

    Examples
    --------
    >>> l = np.array([-50.0, -25.0, -10.0])
    >>> AlwaysAccept().decide(np.random.default_rng(1), Comparison(3, l.take))
    Decision(accept=True, n_used=0, n_looks=0)
    """

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept, unless the prior is 0 there."""
        return Decision(comparison.log_ratio < math.inf, 0, 0)
