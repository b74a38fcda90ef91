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
from samplers.models.moments import moments
from samplers.study.audit import SURPRISE, MeasuredValue


class SliceAudit(NamedTuple):
    """The membership tests of slice updates: how many, error, data use, and whether both are as predicted."""

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
        decision = self.test.decide_at(rng, comparison, v)
        if decision.n_used > 0:  # otherwise the prior has decided
            mu, sigma, _ = moments(comparison)
            away = comparison.n * mu - comparison.log_ratio - v
            if sigma > 0.0:
                kappa = float(TrialRun(comparison.n, [mu], [sigma]).kappa[0])
                self.rows.append((away / kappa, decision.accept != (away > 0.0), decision.n_used))
        return decision


def audit_slice(
    rng: np.random.Generator, model: Model, lines: Slice, test: SequentialTest, theta: np.ndarray, updates: int
) -> SliceAudit:
    """Make slice updates from θ, and compare each membership test with an exact one and with K14's predictions.

    A chain with the same random numbers makes the same updates.

    Parameters
    ----------
    rng
        Random numbers.
    model
        What the data say, a `Model`.
    lines
        Of the slice updates, a `Slice`.
    test
        The sequential test to audit.
    theta
        The state to start from.
    updates
        How many to make.

    Returns
    -------
    SliceAudit
        Measured and predicted error and data use, and whether they agree.

    Examples
    --------
    >>> from designer import Design
    >>> from samplers import Logistic
    >>> x = np.random.default_rng(0).standard_normal((2000, 2))
    >>> model, design = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0), Design(2000, 200, 0.05)
    >>> test = SequentialTest.from_design(design)
    >>> audit_slice(np.random.default_rng(1), model, Slice.isotropic(0.2, 2), test, np.array([4.0, 0.0]), 50).agrees
    True
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
