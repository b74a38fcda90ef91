"""Sequences of tests in a given time: phases, their weights, and the risk of their joint estimate.

docs/time_budget.md derives what is computed here (K14 sections 3 and 7). Units are those of `epsilon`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.further.budget.epsilon import Option, best_option, check_known, check_time

HALVINGS = 7  # of the grid's horizons that an anytime schedule passes through


class Phase(NamedTuple):
    """Part of a plan: a test, its time, and the weight of its mean in the estimate.

    Attributes
    ----------
    option
        The test.
    seconds, steps
        Its time, and about how many steps that makes.
    weight
        Weight of the mean of its draws; the weights of all phases add up to 1.

    Examples
    --------
    >>> exact = Option(None, 0.0, 1.0, 1.0, 1.0, 1.0, 0.3)
    >>> [phase.steps for phase in time_schedule([exact], 75.0).phases]
    [75]
    """

    option: Option
    seconds: float
    steps: int
    weight: float


class TimePlan(NamedTuple):
    """How to divide a time among tests, and the risk of the weighted mean of all draws.

    Attributes
    ----------
    phases
        Each a `Phase`, in order.
    bias, variance
        Of the weighted mean.

    Examples
    --------
    >>> plan = time_schedule([Option(None, 0.0, 1.0, 1.0, 1.0, 1.0, 0.3)], 100.0)
    >>> plan.risk == plan.bias**2 + plan.variance
    True
    """

    phases: tuple[Phase, ...]
    bias: float
    variance: float

    @property
    def risk(self) -> float:
        """Squared bias plus variance."""
        return self.bias**2 + self.variance

    @property
    def weights(self) -> Floats:
        """Weights of the phases' means; they add up to 1."""
        return np.array([phase.weight for phase in self.phases])


def time_schedule(known: Sequence[Option], seconds: float) -> TimePlan:
    """The phases, times and weights with the least risk at the end: at most two tests, the cheaper one first.

    The weighted mean of phases with biases b and spreads s, given times in proportion to w s, has risk
    (sum w b)² + (sum w s)² / T: that of a point in the convex hull of the tests' (b, s). No fixed ε is below it,
    and none reaches it where the hull leaves the curve of tests, as it does between the exact test and the others.

    Parameters
    ----------
    known
        Tests to choose from, as `time_options` finds them.
    seconds
        The time T to spend.

    Returns
    -------
    TimePlan
        One or two phases.

    Examples
    --------
    >>> exact, cheap = Option(None, 0.0, 1.0, 1.0, 1.0, 1.0, 0.3), Option(None, 0.1, 0.5, 0.1, 1.5, 0.1, 0.3)
    >>> plan = time_schedule([exact, cheap], 75.0)
    >>> plan.weights.round(2), round(plan.risk / min(exact.risk(75.0), cheap.risk(75.0)), 2)
    (array([0.5, 0.5]), 0.75)
    """
    known, seconds = check_known(known), check_time(seconds)
    b, s = np.array([o.bias for o in known]), np.array([o.spread for o in known]) / math.sqrt(seconds)
    db, ds = b[:, None] - b, s[:, None] - s  # first minus second
    slope = db**2 + ds**2
    with np.errstate(invalid="ignore", divide="ignore"):
        w = np.clip(np.nan_to_num(-(b * db + s * ds) / slope, nan=1.0), 0.0, 1.0)
    risk = (b + w * db) ** 2 + (s + w * ds) ** 2
    i, j = divmod(int(np.argmin(risk)), len(known))
    mixed = [(known[i], float(w[i, j])), (known[j], 1.0 - float(w[i, j]))]
    used = [(option, weight) for option, weight in mixed if weight > 1e-6]
    total = sum(weight * option.spread for option, weight in used)
    spent = [(option, seconds * weight * option.spread / total) for option, weight in used]
    return weighted(sorted(spent, key=lambda part: -part[0].temperature))


def anytime_schedule(known: Sequence[Option], seconds: float) -> TimePlan:
    """For a chain that may be stopped at any time up to `seconds`: ε falls as the time grows.

    The time is doubled again and again; each stretch uses the test that is best at its end.

    Parameters
    ----------
    known
        Tests to choose from, as `time_options` finds them.
    seconds
        The longest time.

    Returns
    -------
    TimePlan
        A phase per test, in order.

    Examples
    --------
    >>> exact, cheap = Option(None, 0.0, 1.0, 1.0, 1.0, 1.0, 0.3), Option(None, 0.1, 0.5, 0.1, 1.5, 0.1, 0.3)
    >>> [phase.seconds for phase in anytime_schedule([exact, cheap], 1000.0).phases]
    [62.5, 937.5]
    """
    known, seconds = check_known(known), check_time(seconds)
    ends = [seconds / 2.0**k for k in range(HALVINGS, -1, -1)]
    spent: list[tuple[Option, float]] = []
    for begin, end in zip([0.0, *ends], ends, strict=False):
        best = best_option(known, end)
        if spent and spent[-1][0] == best:
            spent[-1] = best, spent[-1][1] + end - begin
        else:
            spent.append((best, end - begin))
    return weighted(spent)


def weighted(spent: Sequence[tuple[Option, float]]) -> TimePlan:
    """Phases of these times, with the weights that minimise the risk of their weighted mean.

    The risk is (sum w b)² + sum w² v with v = s²/t and sum w = 1: w is proportional to (1 - b c) / v with
    c = sum(b/v) / (1 + sum(b²/v)). Phases that would get negative weights are left out.
    """
    if not spent:
        raise BadInput("no time spent")
    b, precision = np.array([o.bias for o, _ in spent]), np.array([t / o.spread**2 for o, t in spent])
    used = precision > 0
    while True:
        p = np.where(used, precision, 0.0)
        taken = b * float(p @ b) / (1.0 + float(p @ b**2))  # off a weight, for its bias
        raw = p * (1.0 - taken)
        if np.all(raw[used] >= 0.0):
            break
        used &= taken < taken[used].max()
    w = raw / raw.sum()
    v = np.where(used, 1.0 / np.where(used, precision, 1.0), 0.0)
    rows = zip(spent, w.tolist(), strict=True)
    phases = tuple(Phase(option, time, max(1, round(time / option.seconds)), weight) for (option, time), weight in rows)
    return TimePlan(phases, float(w @ b), float(w**2 @ v))


def risk_over_time(plan: TimePlan, times: Sequence[float]) -> Floats:
    """The risk of a plan stopped after each of these times, with the best weights for the phases so far."""
    risks = []
    for time in times:
        left, spent = check_time(time), []
        for phase in plan.phases:
            if left > 0:
                spent.append((phase.option, min(left, phase.seconds)))
            left -= phase.seconds
        if left > 0:  # the last phase continues
            spent[-1] = spent[-1][0], spent[-1][1] + left
        risks.append(weighted(spent).risk)
    return np.array(risks)


class RiskCurves(NamedTuple):
    """Risk over time of some fixed tests and of both schedules, by name."""

    times: Floats
    risks: dict[str, Floats]


def risk_curves(known: Sequence[Option], seconds: float, points: int = 40) -> RiskCurves:
    """For a figure: the exact test, the test that is best at the end, those best earlier, the schedules."""
    times = seconds * np.geomspace(2.0**-HALVINGS, 1.0, points)
    fixed = dict.fromkeys(best_option(known, time) for time in times[:: points // 4])
    fixed |= dict.fromkeys([best_option(known, seconds), *(option for option in known if option.design is None)])
    risks = {option.name: np.array([option.risk(time) for time in times.tolist()]) for option in fixed}
    risks["any time"] = risk_over_time(anytime_schedule(known, seconds), times.tolist())
    risks["best for each time"] = np.array([time_schedule(known, time).risk for time in times.tolist()])
    return RiskCurves(times, risks)
