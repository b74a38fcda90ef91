"""Tests that change during a run: the phases of a `[schedule]`, and the weighted mean of their draws.

A phase ends at a number of steps, not at a time. So a run makes the same draws on every machine, and after a stop it
continues as if there had been none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.core.toml_json import toml_text
from designer.rule.design import Design
from samplers.chains.draws import Draws
from samplers.chains.driver import advance_to
from samplers.chains.protocol import MarkovChain
from samplers.config.schema import ScheduleTable
from samplers.decide.comparison import AcceptTest
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest

if TYPE_CHECKING:
    from xarray import DataTree

    from designer.further.budget.phases import TimePlan


class Phases(NamedTuple):
    """Tests, and the steps of a chain at which they end; the last one has no end.

    Examples
    --------
    >>> cheap, exact = SequentialTest.from_design(Design(1000, 100, 0.2)), ExactTest()
    >>> phases = Phases.of([(500, cheap)], exact, warmup=100)
    >>> phases.at(599) is cheap, phases.at(600) is exact
    (True, True)
    """

    ends: tuple[int, ...]
    tests: tuple[AcceptTest, ...]

    @classmethod
    def of(cls, first: Sequence[tuple[int, AcceptTest]], last: AcceptTest, warmup: int = 0) -> Phases:
        """Each of the first tests for this many steps after warm-up, then the last one."""
        ends = warmup + np.cumsum([steps for steps, _ in first], dtype=np.int64)
        return cls(tuple(ends.tolist()), (*(test for _, test in first), last))

    def number(self, step: int) -> int:
        """Number of the phase that makes the next step after `step` steps."""
        return int(np.searchsorted(self.ends, step, side="right"))

    def at(self, step: int) -> AcceptTest:
        """The test that decides the next step after `step` steps."""
        return self.tests[self.number(step)]

    def advance(self, chain: MarkovChain, steps: int) -> Draws:
        """Make this many steps of a chain, each with the test of its phase."""

        def within_phase(steps: int) -> Draws:
            test = self.at(chain.steps)
            if chain.test is not test:
                chain.use_test(test)
            return chain.advance(steps)

        return advance_to(chain, chain.steps + steps, size=None, breaks=self.ends, advance=within_phase)


def phases_of(table: ScheduleTable | None, last: AcceptTest, n_data: int, warmup: int) -> Phases | None:
    """The phases of a schedule before the test `last`; None without a schedule."""
    if table is None:
        return None
    table.check_fits(n_data)
    tests = [
        SequentialTest.from_design(Design(n_data, m, epsilon)) if epsilon > 0 else ExactTest()
        for m, epsilon in zip(table.m, table.epsilon, strict=True)
    ]
    return Phases.of(list(zip(table.steps, tests, strict=True)), last, warmup)


def schedule_text(plan: TimePlan, n_data: int) -> str:
    """A plan as the tables `[schedule]` and `[test]` of a config."""
    *first, last = plan.phases
    designs = [phase.option.design for phase in first]
    test = last.option.design
    comments = [
        f"# risk {plan.risk:.4g} of a posterior variance: bias {plan.bias:.3g} sd, variance {plan.variance:.3g}",
        f"# [test] makes the last {last.steps:,} steps",
    ]
    document: dict[str, Any] = {"test": {"kind": "exact"}} if test is None else test.without_notes.to_document()
    if first:
        document["schedule"] = {
            "steps": [phase.steps for phase in first],
            "epsilon": [0.0 if design is None else design.epsilon for design in designs],
            "m": [n_data if design is None else design.m for design in designs],
            "weights": [round(phase.weight, 6) for phase in plan.phases],
        }
    return "\n".join([*comments, toml_text(document)])


# --- estimates --------------------------------------------------------------------------------------------------------


def weighted_mean(values: Floats, ends: Sequence[int], weights: Sequence[float]) -> Floats:
    """The weighted mean of the phases' means of values (steps x ...); `ends` are the ends of all phases but the last.

    Phases that were not reached are left out, and the other weights are scaled up.

    Examples
    --------
    >>> float(weighted_mean(np.array([0.0, 0.0, 1.0]), [2], [0.25, 0.75]))
    0.75
    """
    parts = np.split(values, [end for end in ends if end < len(values)])
    given = np.array(weights[: len(parts)], dtype=np.float64)
    if given.sum() <= 0.0:
        raise BadInput("weights: those of the phases so far are all 0")
    means = np.array([part.mean(axis=0) for part in parts])
    total: Floats = np.tensordot(given / given.sum(), means, axes=1)
    return total


def attributes_of(table: ScheduleTable) -> dict[str, str]:
    """The schedule as attributes of the results."""
    attributes: Mapping[str, Any] = {"ends": np.cumsum(table.steps).tolist(), "weights": table.weights}
    return {"schedule": json.dumps(attributes)}


class ScheduledMean(NamedTuple):
    """The mean of a parameter over all chains, and its standard error between chains (nan for a single chain)."""

    value: Floats
    se: Floats


def scheduled_mean(results: DataTree, name: str = "theta") -> ScheduledMean:
    """The mean of a parameter over all chains of a run, its phases weighted as its `[schedule]` says."""
    if "schedule" not in results.attrs:
        raise BadInput("schedule: the run of these results had none")
    schedule = json.loads(results.attrs["schedule"])
    if schedule["weights"] is None:
        raise BadInput("schedule.weights: missing, so the phases' means have no weights")
    chains = np.asarray(results[f"posterior/{name}"])
    means = np.array([weighted_mean(chain, schedule["ends"], schedule["weights"]) for chain in chains])
    if len(means) == 1:
        return ScheduledMean(means[0], np.full(means[0].shape, np.nan))
    return ScheduledMean(means.mean(axis=0), means.std(axis=0, ddof=1) / math.sqrt(len(means)))
