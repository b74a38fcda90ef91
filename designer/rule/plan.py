"""A test to analyse: its looks and its bounds. Every function of the engine takes a `Plan` or a `Design`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from designer.core.errors import BadInput
from designer.rule.boundary import Boundary
from designer.rule.design import Design
from designer.rule.looks import Schedule


@dataclass(frozen=True, eq=False)
class Plan:
    """Any test to analyse: a schedule of looks, and bounds at the interim looks.

    Every function of the calculator that takes a `Design` also takes a `Plan`. A design is a plan that can be saved.

    Parameters
    ----------
    schedule
        The looks, a `Schedule`.
    boundary
        The bounds, a `Boundary`.

    Examples
    --------
    >>> Plan(Schedule.equal(1000, 100), Boundary.pocock(0.05)).schedule.size
    10
    """

    schedule: Schedule
    boundary: Boundary

    def __post_init__(self) -> None:
        bounds, interim = self.boundary.lower, self.schedule.size - 1
        if bounds is not None and bounds.size != interim:
            raise BadInput(f"bounds: {bounds.size:,} given for {interim:,} interim looks")

    @property
    def mergeable(self) -> bool:
        """Whether looks and bounds are even enough to merge neighbouring looks."""
        return self.boundary.smooth and self.schedule.even


def as_plan(design: Design | Plan) -> Plan:
    """The plan of a design; a plan unchanged."""
    if isinstance(design, Plan):
        return design
    if not isinstance(design, Design):
        raise BadInput(f"design: must be a Design or a Plan, not {type(design).__name__}")
    return _plan(design.without_notes)


@lru_cache(maxsize=1024)
def _plan(design: Design) -> Plan:
    schedule = Schedule.geometric(design.n_data, design.m, design.growth)
    if design.lower is not None and design.upper is not None:
        return Plan(schedule, Boundary.explicit(design.lower, design.upper))
    return Plan(schedule, Boundary.wang_tsiatis(design.epsilon, design.alpha))
