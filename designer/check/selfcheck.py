"""A check of the engine on this machine, against a reference table, published constants and closed forms."""

from __future__ import annotations

import math
from collections import defaultdict
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.engine.walk import characteristics, worst_case
from designer.rule.boundary import Boundary
from designer.rule.design import Design
from designer.rule.looks import Schedule
from designer.rule.plan import Plan

TOLERANCE = 1e-10


class Check(NamedTuple):
    """One comparison: the largest difference found and the one allowed."""

    name: str
    difference: float
    allowed: float

    @property
    def passed(self) -> bool:
        return self.difference <= self.allowed


def selfcheck() -> list[Check]:
    """Compare the engine with its reference table, published constants and closed forms."""
    return [*_reference_table(), *_published_constants(), _closed_form()]


def reference_rows() -> Floats:
    """The reference table: looks, ε, α, μ_std, error, usage."""
    text = files("designer.check").joinpath("reference.csv").read_text(encoding="utf-8")
    rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
    return np.array(rows, dtype=np.float64)


def _reference_table() -> list[Check]:
    """One check per number of looks."""
    worst: dict[int, float] = defaultdict(float)
    rows = reference_rows()
    for looks, epsilon, alpha in np.unique(rows[:, :3], axis=0):
        mine = rows[np.all(rows[:, :3] == (looks, epsilon, alpha), axis=1)]
        curve = characteristics(Design(int(looks) * 1000, 1000, epsilon, alpha), mine[:, 3])
        difference = max(np.abs(curve.error - mine[:, 4]).max(), np.abs(curve.usage - mine[:, 5]).max())
        worst[int(looks)] = max(worst[int(looks)], float(difference))
    return [Check(f"reference table, {looks} looks", worst[looks], TOLERANCE) for looks in sorted(worst)]


def _published_constants() -> list[Check]:
    """Five looks, equal in information, two-sided error 0.05 (Jennison and Turnbull 2000, Tables 2.1 and 2.3)."""
    n_data, information = 10**15, np.arange(1, 6) / 5.0
    schedule = Schedule.explicit(n_data, np.round(n_data * information / (1.0 + information)).astype(np.int64))
    constants = {"Pocock": np.full(5, 2.413), "O'Brien-Fleming": 2.040 * np.sqrt(5.0 / np.arange(1, 6))}
    return [
        Check(
            f"five looks, {name}",
            abs(2.0 * float(worst_case(Plan(schedule, Boundary.explicit(-g, g))).error[0]) - 0.05),
            1e-4,  # the constants are printed to four digits
        )
        for name, g in constants.items()
    ]


def _closed_form() -> Check:
    """ε = 1/2 stops at the first look: error Φ(-μ_std √t₁)."""
    mu = np.linspace(0.0, 10.0, 21)
    curve = characteristics(Design(1000, 100, 0.5), mu)
    exact = np.array([0.5 * math.erfc(x / 3.0 * math.sqrt(0.5)) for x in mu])
    return Check("closed form, one look", float(np.abs(curve.error - exact).max()), 1e-14)
