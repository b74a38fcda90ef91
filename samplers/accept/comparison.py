"""The question that every acceptance test answers, and its answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from designer.acceptance import Rule
from designer.schedule import Floats, Ints


class Decision(NamedTuple):
    """The answer: accept or not, how many data were read, and in how many looks."""

    accept: bool
    n_used: int
    n_looks: int


@dataclass(frozen=True)
class Comparison:
    """Accept theta'?  The truth is: N mean(l) - log_ratio > log u (Metropolis) or logit u (Barker).

    MH, reversible jump and Gibbs steps all ask it. log_ratio is minus the usual log prior/proposal ratio.

    Parameters
    ----------
    n
        Number of data N.
    terms
        terms(indices) -> l_i = log p(x_i; theta') - log p(x_i; theta).
    log_ratio
        c = log[prior(theta) q(theta'|theta) / (prior(theta') q(theta|theta'))].
    rule
        "metropolis" or "barker".
    range_bound
        A bound on max |l_i|, for the concentration test; None if the model has none.
    full
        full() -> sum of all l_i, if the model can do that faster than through `terms`.
    """

    n: int
    terms: Callable[[Ints], Floats]
    log_ratio: float = 0.0
    rule: Rule = "metropolis"
    range_bound: float | None = None
    full: Callable[[], float] | None = None


class AcceptTest(Protocol):
    """Decides comparisons. Draws u first, so that tests given the same generator face the same u."""

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision: ...


def draw_threshold(rng: np.random.Generator, rule: Rule) -> float:
    """v = log u, or logit u for Barker's rule, with u uniform on (0, 1]."""
    u = 1.0 - rng.random()
    if rule == "barker":
        return math.log(u) - math.log1p(-min(u, 1.0 - 2.0**-53))
    return math.log(u)
