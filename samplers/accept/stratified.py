"""The sequential test in strata: the spread of the first data chooses the design that goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.errors import BadInput
from designer.further.strata_records import Stratified
from samplers.accept.comparison import Comparison, Decision, begin
from samplers.accept.reading import reading
from samplers.accept.sequential import Read, SequentialTest


@dataclass(frozen=True, eq=False)
class StratifiedTest:
    """Reads the first m_0 data, estimates kappa from their spread, and goes on as that stratum's sequential test.

    The first data count among those of the stratum's first look, so a test with one stratum is the sequential test.

    Parameters
    ----------
    strata
        Designs by kappa, as `designer.stratified` finds them.

    Examples
    --------
    >>> from designer import Design
    >>> strata = Stratified(100, (1.0,), (Design(1000, 100, 0.1), Design(1000, 200, 0.01)))
    >>> l = np.random.default_rng(1).normal(0.01, 0.02, 1000)
    >>> StratifiedTest(strata).decide(np.random.default_rng(2), Comparison(1000, l.take))
    Decision(accept=True, n_used=100, n_looks=1)
    """

    strata: Stratified

    @cached_property
    def tests(self) -> tuple[SequentialTest, ...]:
        """The sequential test of each stratum."""
        return tuple(map(SequentialTest.from_design, self.strata.designs))

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept iff the mean of l_i seems to exceed mu_0, by the design for the kappa that the first data show."""
        n_data = self.strata.n_data
        if comparison.n != n_data:
            raise BadInput(f"n = {comparison.n:,}: the test was designed for n_data = {n_data:,}")
        v, forced = begin(rng, comparison)
        if forced is not None:
            return forced
        with reading(rng, comparison) as read:
            done = Read().more(read(self.strata.first))
            test = self.tests[self.strata.stratum(self._kappa(done))]
            return test.go_on(read, comparison, v, done)

    def _kappa(self, done: Read) -> float:
        """kappa = N sigma / sqrt(N - 1), with s^2 (N - 1) / N for sigma^2: without bias for its square."""
        n, n_data = self.strata.first, self.strata.n_data
        variance = max(0.0, done.squares - done.total * done.total / n) / (n - 1)
        return math.sqrt(variance * n_data)
