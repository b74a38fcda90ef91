"""The sequential test (K14 Alg. 1): it reads batch after batch until a Student test is confident.

This is the readable form, for any model. Its compiled twin for built-in models is in `samplers.compiled.decisions`;
both make the same decisions, draw for draw, and share the arithmetic of a look (`designer.rule.t_test`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer
from designer.rule.boundary import Boundary
from designer.rule.design import Design
from designer.rule.looks import Schedule
from designer.rule.plan import Plan, as_plan
from designer.rule.t_test import student_bounds, verdict
from samplers.decide.comparison import Comparison, Decision, begin, begin_at
from samplers.decide.reading import RunningSums, reading

Reader: TypeAlias = Callable[[int], Iterator[Floats]]

FIRST_BLOCK = 256  # looks whose bounds are computed at first; most tests need no more


class _Looks:
    """Looks and Student bounds of a plan from look number `skipped` on, computed as far as any test has needed."""

    def __init__(self, plan: Plan, skipped: int) -> None:
        self.plan, self.skipped = plan, skipped
        self.size = plan.schedule.size - skipped
        self._known = self._compute(min(FIRST_BLOCK, self.size))

    def upto(self, count: int) -> tuple[Ints, Floats, Floats]:
        """n, lower and upper of at least the first `count` looks."""
        known = self._known
        if known[0].size < count:
            self._known = known = self._compute(min(max(count, 2 * known[0].size), self.size))
        return known

    def _compute(self, count: int) -> tuple[Ints, Floats, Floats]:
        index = np.arange(self.skipped, self.skipped + count)
        n = self.plan.schedule.at(index)
        interim = index < self.plan.schedule.size - 1
        lower, upper = np.zeros(count), np.zeros(count)  # at the last look the sign decides
        bounds = self.plan.boundary.at(index[interim], n[interim] / self.plan.schedule.n_data)
        lower[interim], upper[interim] = (student_bounds(bound, n[interim]) for bound in bounds)
        return n, lower, upper


def check_designed_for(
    test: object, n_data: int, what: str = "the model has", unit: str = "", n_heavy: int = 0
) -> None:
    """Refuse a sequential test that was designed for another number of data; other tests take any number.

    Of N rows, `n_heavy` are read in every step and are not sampled: the design is for the others.

    Examples
    --------
    >>> check_designed_for(SequentialTest.from_design(Design(1000, 100, 0.05)), 999)
    Traceback (most recent call last):
    designer.core.errors.BadInput: the test was designed for n_data = 1,000, the model has 999
    """
    if isinstance(test, SequentialTest) and test.plan.schedule.n_data != n_data:
        made_for = test.plan.schedule.n_data
        problem = f"the test was designed for n_data = {made_for:,}, {what} {n_data:,}{unit}"
        if n_heavy:
            problem += f" besides {n_heavy:,} heavy rows, which every step reads: repeat the trial run and the design"
        elif made_for < n_data and what == "the model has":
            problem += ": was it designed for a model with heavy rows?"
        raise BadInput(problem)


@dataclass(frozen=True, eq=False)
class SequentialTest:
    """Reads batches without replacement until it is confident on which side of μ₀ the mean of the lᵢ is.

    Make one with `from_design` or `from_plan`. It is immutable, and can be used in your own loop.

    Parameters
    ----------
    plan
        Looks and bounds.
    first_batches
        k0: the first decision is made at look number k0 of the plan, for data whose small samples are far from normal.

    Examples
    --------
    >>> test = SequentialTest.from_design(Design(1000, 100, 0.05))
    >>> l = np.random.default_rng(1).normal(0.01, 0.02, 1000)
    >>> test.decide(np.random.default_rng(2), Comparison(1000, l.take))
    Decision(accept=True, n_used=100, n_looks=1)
    """

    plan: Plan
    first_batches: int = 1

    def __post_init__(self) -> None:
        first = integer("first_batches", self.first_batches, 1, self.plan.schedule.size)
        object.__setattr__(self, "first_batches", first)

    @classmethod
    def from_design(cls, design: Design, first_batches: int = 1) -> SequentialTest:
        """The test that a design describes."""
        return cls(as_plan(design), first_batches)

    @classmethod
    def from_plan(cls, plan: Plan, first_batches: int = 1) -> SequentialTest:
        """A test with any looks and any bounds."""
        return cls(plan, first_batches)

    @cached_property
    def effective_plan(self) -> Plan:
        """The plan without the looks that `first_batches` skips: the plan to give to the calculator."""
        skipped = self.first_batches - 1
        if skipped == 0:
            return self.plan
        n_data, n = self.plan.schedule.n_data, self.plan.schedule.n[skipped:]
        index = np.arange(skipped, self.plan.schedule.size - 1)
        bounds = self.plan.boundary.at(index, n[:-1] / n_data)
        return Plan(Schedule.explicit(n_data, n), Boundary.explicit(*bounds))

    @cached_property
    def _looks(self) -> _Looks:
        return _Looks(self.plan, self.first_batches - 1)

    @property
    def n_looks(self) -> int:
        """The largest number of looks."""
        return self._looks.size

    def bounds(self, count: int | None = None) -> tuple[Ints, Floats, Floats]:
        """n, lower and upper Student bounds of the first `count` looks (all, if None), for kernels; the last are 0."""
        size = self._looks.size
        wanted = size if count is None else integer("count", count, 1, size)
        n, lower, upper = self._looks.upto(wanted)
        return n[:wanted], lower[:wanted], upper[:wanted]

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept iff the mean of the lᵢ exceeds μ₀ = (v + log_ratio) / N, by the test; the last look is exact."""
        check_designed_for(self, comparison.n, "the comparison has")
        v, forced = begin(rng, comparison)
        return forced if forced is not None else self._decided(rng, comparison, v)

    def decide_at(self, rng: np.random.Generator, comparison: Comparison, v: float) -> Decision:
        """The same with a threshold v that the caller has drawn: a slice's level, a difference of Gumbel variables."""
        check_designed_for(self, comparison.n, "the comparison has")
        forced = begin_at(comparison, v)
        return forced if forced is not None else self._decided(rng, comparison, v)

    def _decided(self, rng: np.random.Generator, comparison: Comparison, v: float) -> Decision:
        with reading(rng, comparison) as read:
            return self._look_by_look(read, comparison, v)

    def _look_by_look(self, read: Reader, comparison: Comparison, v: float) -> Decision:
        n_data, c, known, done = self.plan.schedule.n_data, comparison.log_ratio, self._looks.upto(1), RunningSums()
        for j in range(self._looks.size):
            if j == known[0].size:
                known = self._looks.upto(j + 1)
            n, lower, upper = (column[j] for column in known)
            done = done.add(read(n))
            if n == n_data:
                break
            decision = verdict(done.total, done.squares, n, n_data, done.shift - (v + c) / n_data, lower, upper)
            if decision != 0:
                return Decision(decision > 0, int(n), j + 1)
        return Decision(bool(n_data * done.shift + done.total - c > v), n_data, self._looks.size)
