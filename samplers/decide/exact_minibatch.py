"""The exact mini-batch test: a random number of rows, drawn by bounds on their terms, and no error at all.

Zhang, Cooper and De Sa (2020, TunaMH); Prado, Nemeth and Sherlock (arXiv 2407.19602, MH-SS) draw as we do with χ = 0.

Why it is exact. Give each datum a count s_i ~ Poisson(φ_i), with φ_i = (c_i M - lᵢ) / 2 + extra, and let the step be
about (θ, s) -> (θ', s). Backwards, lᵢ changes its sign, so s_i ~ Poisson(φ'_i) with φ'_i = (c_i M + lᵢ) / 2 + extra.
The ratio of the two laws is e^(φ_i - φ'_i) (φ'_i / φ_i)^s_i = e^-lᵢ (φ'_i / φ_i)^s_i: its first factor cancels the
likelihood ratio, and only data with s_i > 0 remain. They are found without looking at the others: draw Poisson(C M)
rows in proportion to c_i, and keep each with probability φ_i / (c_i M). Both Metropolis' and Barker's rule are in
balance for this ratio. What the step depends on must be symmetric in θ and θ' (M, and when to read all data) and must
not depend on the number drawn: that would break the balance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.core.errors import BadInput, real
from samplers.decide import _minibatch_kernels as kernels
from samplers.decide.alias import TermBounds
from samplers.decide.comparison import BLOCK, BrokenBound, Comparison, Decision, begin, evaluate, total

NEEDS = "the exact mini-batch test needs bounds on the terms"
MOST_CHI, MOST_ROWS = 1e6, 1e15
HOW = "control variates of a model that has second_bound and third_bound, or the model's own method bounds"


@dataclass(frozen=True)
class ExactMinibatchTest:
    """Decides from a Poisson number of rows, C M on average, and still leaves the posterior exactly as it is.

    The price is noise in the acceptance ratio, so the chain accepts somewhat fewer proposals than with all data. It
    needs bounds |lᵢ| <= c_i M(θ, θ') (the comparison's `bounds`): control variates of logistic regression have them.
    Where no bound is known (M infinite) or C M is large, all data decide. A datum whose term exceeds its bound stops
    the chain.

    Parameters
    ----------
    chi
        χ: draw χ C² M² rows more, on average. They lower the noise (Zhang et al. 2020); rarely worth their cost.
    most
        Read all data where more than this number of rows would be drawn on average; by default N.

    Examples
    --------
    >>> from samplers.decide.alias import AliasTable
    >>> l = np.array([0.5, -0.25, 1.0])
    >>> bounds = TermBounds(AliasTable.of([0.5, 0.5, 1.0]), reach=1.0)
    >>> ExactMinibatchTest().decide(np.random.default_rng(2), Comparison(3, l.take, bounds=bounds))
    Decision(accept=False, n_used=2, n_looks=1)
    """

    chi: float = 0.0
    most: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "chi", real("chi", self.chi, 0.0, MOST_CHI))
        if self.most is not None:
            object.__setattr__(self, "most", real("most", self.most, 0.0, MOST_ROWS))

    def mean_rows(self, bounds: TermBounds) -> float:
        """How many rows are drawn on average: C M (1 + χ C M)."""
        return bounds.mean_rows * (1.0 + self.chi * bounds.mean_rows)

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept iff the sum of log(φ'_i / φ_i) over the rows that are kept exceeds v + log_ratio."""
        bounds = _checked(comparison)
        v, forced = begin(rng, comparison)
        if forced is not None:
            return forced
        rows, most = self.mean_rows(bounds), comparison.n if self.most is None else self.most
        if not rows <= most:
            return Decision(bool(total(comparison) - comparison.log_ratio > v), comparison.n, 1)
        log_ratio, count = self.log_ratio(rng, comparison, bounds)
        return Decision(bool(log_ratio - comparison.log_ratio > v), count, 1)

    def log_ratio(self, rng: np.random.Generator, comparison: Comparison, bounds: TermBounds) -> tuple[float, int]:
        """The sum of log(φ'_i / φ_i) over the rows that are kept, and how many were drawn."""
        count, log_ratio = int(rng.poisson(self.mean_rows(bounds))), 0.0
        for first in range(0, count, BLOCK):
            log_ratio += self._part(rng, comparison, bounds, min(BLOCK, count - first))
        return log_ratio, count

    def _part(self, rng: np.random.Generator, comparison: Comparison, bounds: TermBounds, count: int) -> float:
        """Draw this many rows, keep some, and add up what they say."""
        drawn = bounds.weights.draw(rng, count)
        terms, extra = evaluate(comparison, drawn.indices), 2.0 * self.chi * bounds.mean_rows
        kept = terms, drawn.weights, bounds.reach, drawn.keeps, extra, bounds.rounding
        part, broken = kernels.log_ratio_of_kept(*kept)
        if broken >= 0:
            raise BrokenBound(int(drawn.indices[broken]), terms[broken], drawn.weights[broken] * bounds.reach)
        return float(part)


def _checked(comparison: Comparison) -> TermBounds:
    """The bounds of a comparison, or BadInput."""
    bounds = comparison.known_bounds()
    if bounds is None:
        raise BadInput(f"{NEEDS}: {HOW}")
    if len(bounds.weights) != comparison.n:
        raise BadInput(f"bounds: are of {len(bounds.weights):,} data, the comparison has {comparison.n:,}")
    if not bounds.reach >= 0.0:
        raise BadInput(f"bounds: reach = {bounds.reach}; must be 0 or above, or infinite where no bound is known")
    return bounds
