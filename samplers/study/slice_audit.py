"""Membership tests of slice updates against exact ones, and against what their design predicts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from designer.core.errors import BadInput, integer
from designer.engine.walk import characteristics
from designer.pairs.trial_run import TrialRun
from samplers.chains.slice_chain import Slice, update
from samplers.decide.comparison import Comparison, Decision
from samplers.decide.sequential import SequentialTest
from samplers.models import Model
from samplers.study.observe import SURPRISE, MeasuredValue, moments


class SliceAudit(NamedTuple):
    """Of the membership tests: how many, share decided wrongly, share of the data read, and whether as predicted."""

    updates: int
    tests: int
    wrong: MeasuredValue
    usage: MeasuredValue
    agrees: bool


class _Watched:
    """A sequential test whose decisions are compared with exact ones."""

    def __init__(self, test: SequentialTest) -> None:
        self.test = test
        self.rows: list[tuple[float, bool, int]] = []  # mu_std, wrong, data read

    def decide_at(self, rng: np.random.Generator, comparison: Comparison, v: float) -> Decision:
        found = self.test.decide_at(rng, comparison, v)
        if found.n_used > 0:  # else the prior has decided
            mu, sigma, _ = moments(comparison)
            away = comparison.n * mu - comparison.log_ratio - v
            if sigma > 0.0:
                kappa = float(TrialRun(comparison.n, [mu], [sigma]).kappa[0])
                self.rows.append((away / kappa, found.accept != (away > 0.0), found.n_used))
        return found


def audit_slice(
    rng: np.random.Generator, model: Model, lines: Slice, test: SequentialTest, theta: np.ndarray, updates: int
) -> SliceAudit:
    """Make updates from theta on, each membership test beside an exact one; the predictions are K14's E and usage.

    The updates are those that a chain with these random numbers makes.
    """
    watched, state = _Watched(test), np.array(theta, dtype=np.float64)
    for _ in range(integer("updates", updates, 1, 10**9)):
        state = update(rng, model, lines, watched, state).theta
    if not watched.rows:
        raise BadInput("no membership test was decided by the data")
    mu_std, wrong, used = np.array(watched.rows, dtype=np.float64).T
    order = np.argsort(mu_std)
    curve = characteristics(test.effective_plan, mu_std[order])
    count, n = mu_std.size, model.n_data
    wrong_se = math.sqrt(float(np.sum(curve.error * (1.0 - curve.error))) + 1.0) / count
    first = test.effective_plan.schedule.m / n
    spread = float(np.sum((curve.usage - first) * (1.0 - curve.usage)))  # the most a share in [first, 1] can vary
    usage_se = math.sqrt(max(0.0, spread) + first**2) / count
    rows = (
        MeasuredValue(float(wrong.mean()), wrong_se, float(curve.error.mean())),
        MeasuredValue(float(used.mean()) / n, usage_se, float(curve.usage.mean())),
    )
    agrees = all(abs(row.value - row.predicted) <= SURPRISE * row.se for row in rows)
    return SliceAudit(updates, count, *rows, agrees)
