"""What a design is judged by: the error it must keep below the tolerance, and what it costs."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Protocol, cast, get_args

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real
from designer.engine.bounds import one_look_bound, takes_one_look
from designer.engine.curves import curves, integrate, negligible_at
from designer.engine.predict import resampleable, trusted
from designer.engine.resampled import resampled_rows
from designer.engine.skew import in_range, skew_of, worst_effect
from designer.engine.step_error import Rule, check_rule, check_same_data, covered, reach_of, skew_corrected
from designer.engine.walk import outcomes
from designer.pairs.trial_run import TrialRun
from designer.rule.plan import Plan
from designer.search.upper_limit import Limits, limits_of

Criterion = Literal["average", "worst-case", "fixed-m", "quantile"]

ROUGH = 1e-5  # numerical errors above this are those of a first scan
SCAN_DRAWS, SEARCH_DRAWS = 1_000_000, 5_000_000  # of one design that is resampled
ENOUGH_RESAMPLED = 60
ENOUGH_PAIRS = 2000  # enough to compare designs; the chosen one is evaluated on all pairs


class DesignScore(NamedTuple):
    """Error by the criterion, expected data use and expected number of looks of one test, and the error's upper limit.

    The limit must be within the tolerance. It is the error itself for a point estimate and in the worst case.
    """

    error: float
    usage: float
    looks: float
    limit: float


# the error is unknown, so the score is that of reading all data at once
UNKNOWN = DesignScore(math.inf, 1.0, 1.0, math.inf)


class Cost(NamedTuple):
    """What a step costs: fixed + per_datum * (data read) + per_look * (looks taken).

    Parameters
    ----------
    fixed
        Cost of any step.
    per_datum
        Cost of each datum read. A sequential step evaluates two likelihoods per datum (at θ and θ'), so
        `Cost(per_datum=2)` counts likelihood evaluations; the default counts data.
    per_look
        Cost of each look.

    Examples
    --------
    >>> Cost(fixed=10.0, per_datum=2.0).of(n_data=1000, usage=0.25, looks=1.5)
    510.0
    """

    fixed: float = 0.0
    per_datum: float = 1.0
    per_look: float = 0.0

    def of(self, n_data: int, usage: float, looks: float) -> float:
        """Expected cost of one step that reads this share of the data in this many looks."""
        return self.fixed + self.per_datum * n_data * usage + self.per_look * looks

    def exact(self, n_data: int) -> float:
        """Cost of an exact step that keeps log p(xᵢ; θ): one look at all data, one likelihood each instead of two."""
        return self.fixed + 0.5 * self.per_datum * n_data + self.per_look

    def checked(self) -> Cost:
        """The same cost, validated: no part is negative, and data or looks cost something."""
        values = (real(f"cost.{name}", value, 0.0, 1e300) for name, value in self._asdict().items())
        cost = Cost(*values)
        if cost.per_datum == 0 and cost.per_look == 0:
            raise BadInput("cost: per_datum or per_look must be positive")
        return cost


class Measure(Protocol):
    """Scores a plan to a given numerical accuracy; `small` may do so faster on some of the pairs."""

    def __call__(self, plan: Plan, tolerance: float) -> DesignScore: ...

    def small(self) -> Measure: ...


class WorstCase:
    """K14 Eqn 8: the test's error at μ_std = 0 (Eqn 20) and its data use there.

    Given the pairs' skewness, the error is that of the most skewed pair, on the side where skewness adds to it.
    """

    def __init__(self, skew: Floats | None = None) -> None:
        self.skew = skew

    def __call__(self, plan: Plan, tolerance: float) -> DesignScore:
        if self.skew is not None and not in_range(plan, self.skew).all():
            return UNKNOWN
        # one drift is cheap, so even the scan can be more accurate
        tolerance = min(tolerance, 1e-4)
        outcome, _ = outcomes(plan, np.zeros(1), tolerance, verify=False)
        error = float(outcome.error(np.zeros(1))[0])
        if self.skew is not None:
            error += worst_effect(plan, self.skew, tolerance)
        return DesignScore(error, float(outcome.usage[0]), float(outcome.looks[0]), error)

    def small(self) -> WorstCase:
        return self


class OverPairs:
    """K14 Eqns 7 and 35: mean |Δ| over the pairs of a trial run; or a quantile of |Δ|.

    Predictions come from the source that supports them (`designer.engine.predict`), or with `skew` given from the
    normal theory: corrected for the pairs' skewness or not. Where no source supports one for every pair, the error is
    unknown and counts as infinite. With `limits`, the error's upper limit is that of a one-sided confidence band over
    the pairs.
    """

    def __init__(
        self,
        trial: TrialRun,
        rule: Rule,
        quantile: float | None = None,
        *,
        skew: bool | None = False,
        limits: Limits | None = None,
    ) -> None:
        self.trial, self.rule, self.quantile, self.limits = trial, check_rule(rule), quantile, limits
        self.doubtful = skew is None and (trial.skew is not None or trial.residuals is not None)
        self.skew = trial.skew is not None if skew is None else skew
        self.everyone = trial  # none of these may be too skewed
        if self.skew:
            skew_of(trial)

    def __call__(self, plan: Plan, tolerance: float) -> DesignScore:
        check_same_data(plan, self.trial)
        rows = self.pairs(plan, tolerance)
        if rows is None:
            return UNKNOWN
        delta, usage, looks = rows
        error, limit = self.judged(np.abs(delta))
        return DesignScore(error, float(usage.mean()), float(looks.mean()), limit)

    def judged(self, sizes: Floats) -> tuple[float, float]:
        """The criterion's error and its upper limit, given the |Δ| of the pairs."""
        error = float(sizes.mean() if self.quantile is None else np.quantile(sizes, self.quantile))
        return error, error if self.limits is None else max(error, self.limits.of(sizes))

    def pairs(self, plan: Plan, tolerance: float) -> Floats | None:
        """Rows Δ, data use and number of looks of every pair; None if they cannot be predicted for all of them."""
        barker = self.rule == "barker"
        if self.doubtful:
            return self.supported(plan, tolerance, barker)
        if self.skew and not covered(plan, self.everyone, barker).all():
            return None
        curve = curves(plan, reach_of(self.trial, negligible_at(tolerance)), tolerance, verify=False)
        rows = integrate(curve, self.trial.log_acceptance, self.trial.kappa, barker)
        if self.skew and skew_corrected(plan, curve, self.trial, barker, rows, tolerance):
            return None
        return rows[:3]

    def supported(self, plan: Plan, tolerance: float, barker: bool) -> Floats | None:
        """The same, each pair from the source that supports it: theory, resampling or, for one look, a bound."""
        trial = self.trial
        theory, rows = trusted(plan, trial, barker), np.full((3, len(trial)), np.nan)
        if theory.any():
            curve = curves(plan, reach_of(trial, negligible_at(tolerance)), tolerance, verify=False)
            found = integrate(curve, trial.log_acceptance, trial.kappa, barker)
            if self.skew:
                skew_corrected(plan, curve, trial, barker, found, tolerance)
            rows[:, theory] = found[:3, theory]
        again = resampleable(plan, trial) & np.isnan(rows[0])
        if again.any():
            draws = SCAN_DRAWS if tolerance > ROUGH else SEARCH_DRAWS
            found = resampled_rows(plan, trial, barker, again, draws, rough=True)
            rows[:, again] = found[0, :3][:, again]
        missing = np.isnan(rows[0])
        if missing.any() and takes_one_look(plan):
            bound, first = one_look_bound(plan, trial, self.rule), plan.schedule.m / trial.n_data
            rows[:, missing] = np.stack([bound, np.full(len(trial), first), np.ones(len(trial))])[:, missing]
        return None if np.isnan(rows[0]).any() else rows

    def small(self) -> OverPairs:
        """On at most ENOUGH_PAIRS pairs, or ENOUGH_RESAMPLED, spread evenly over the sorted ones."""
        enough = ENOUGH_PAIRS if self.trial.residuals is None else ENOUGH_RESAMPLED
        if len(self.trial) <= enough:
            return self
        order = np.lexsort((self.trial.log_acceptance, self.trial.kappa))
        spread = order[np.linspace(0, order.size - 1, enough).astype(int)]
        small = OverPairs(self.trial.subset(spread), self.rule, self.quantile, skew=self.skew, limits=self.limits)
        small.everyone, small.doubtful = self.everyone, self.doubtful
        return small


def check_criterion(criterion: str) -> Criterion:
    """The criterion, or BadInput."""
    if criterion not in get_args(Criterion):
        raise BadInput(f"criterion = {criterion!r}: must be one of {', '.join(get_args(Criterion))}")
    return cast(Criterion, criterion)


def measure_of(
    criterion: Criterion,
    trial: TrialRun | None,
    rule: Rule,
    quantile: float,
    *,
    skew: bool | None = False,
    confidence: float | None = None,
) -> Measure:
    """The measure behind a criterion; `skew` as for a search, `confidence` gives upper limits."""
    if criterion == "worst-case":
        if trial is None:
            return WorstCase()
        return WorstCase(trial.skew if skew is None else skew_of(trial) if skew else None)
    if trial is None:
        raise BadInput(f"criterion = {criterion!r} needs a trial run; without one only worst-case is possible")
    q = real("quantile", quantile, 0.0, 1.0) if criterion == "quantile" else None
    return OverPairs(trial, rule, q, skew=skew, limits=limits_of(trial, confidence, q))
