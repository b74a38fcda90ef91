"""Error of one accept/reject step: Δ = P_a,ε - P_a and the data it reads, for (μ, σ) pairs.

A pair enters only through A (the log acceptance ratio) and κ (scale of its sampling noise): given u, the test
faces μ_std = (A - log u) / κ, or (A - logit u) / κ for Barker's rule. So Δ and E_u[usage] of *all* pairs
are integrals over the same two curves, computed once per design (K14 Eqns 6, 21, 40-42).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, cast, get_args

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real
from designer.core.work import one_call
from designer.engine import _walk_kernels
from designer.engine.curves import Curves, curves, integrate, panel_edges, panel_nodes, panel_rule
from designer.engine.skew import FINEST, SLACK, Mask, in_range, out_of_range, skew_of, slopes
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan

Rule = Literal["metropolis", "barker"]
Source = Literal[
    "normal theory", "normal theory with skewness", "resampling", "distribution-free bound", "several sources"
]


class Acceptance(NamedTuple):
    """What a test does to each pair's acceptance probability, and the means over pairs.

    With the correction for skewness, pairs out of its range have NaN for everything but the probability; the means are
    then NaN as well.

    Attributes
    ----------
    probability
        The exact P_a of each pair.
    delta
        Its error, Δ = P_a,ε - P_a (K14 Eqn 6).
    usage, mean_usage
        Expected share of the data read, per pair and on average.
    mean_abs_delta
        Mean |Δ| over the pairs: what a search keeps below its tolerance (K14 Eqn 7).
    looks
        Expected number of looks.
    wrong
        Probability of a wrong decision, E_u[E]; |Δ| is smaller, because errors of both kinds cancel.
    estimate
        A bound on the numerical error of delta, usage, wrong and looks (as a share of all looks).
    remark
        Why numbers are missing, in one line; None if none is missing.
    source
        Where the numbers come from: a `Source`.
    delta_se, usage_se, mean_abs_delta_se
        Standard errors of delta, usage and mean_abs_delta, if they are estimates; None and 0 if they are computed.

    Examples
    --------
    >>> trial = TrialRun(20_000, mu=[0.0, -1e-4], sigma=[0.01, 0.01])
    >>> step = acceptance(Design(20_000, 500, 0.05), trial)
    >>> step.probability.round(3), step.delta.round(3), round(step.mean_abs_delta, 3)
    (array([1.   , 0.135]), array([-0.177,  0.087]), 0.132)
    """

    probability: Floats
    delta: Floats
    usage: Floats
    mean_abs_delta: float
    mean_usage: float
    looks: Floats
    wrong: Floats
    estimate: float
    remark: str | None = None
    source: Source = "normal theory"
    delta_se: Floats | None = None
    usage_se: Floats | None = None
    mean_abs_delta_se: float = 0.0

    @property
    def max_abs_delta(self) -> float:
        """The largest |Δ| of any pair."""
        return float(np.abs(self.delta).max())


class Predictions(NamedTuple):
    """One test, predicted by the normal theory and with the skewness of the lᵢ.

    Attributes
    ----------
    gaussian
        An `Acceptance` that treats sample means as normal.
    skewed
        The same, corrected for the skewness that the trial run records; None if it records none.
    remark
        What is missing, in one line; None if nothing is missing.

    Examples
    --------
    >>> trial = TrialRun(20_000, mu=[-0.7 / 20_000], sigma=[1.3 * 19_999**0.5 / 20_000])
    >>> predictions(Design(20_000, 500, 0.05), trial).skewed is None
    True
    """

    gaussian: Acceptance
    skewed: Acceptance | None
    remark: str | None


@one_call
def acceptance(
    design: Design | Plan,
    trial: TrialRun,
    rule: Rule = "metropolis",
    tolerance: float = 1e-10,
    *,
    skew: bool = False,
) -> Acceptance:
    """Δ and expected data use of every pair of a trial run (K14 Eqns 6 and 21; Barker and Gibbs: Eqns 40-42).

    Parameters
    ----------
    design
        The test, a `Design` or a `Plan`.
    trial
        The pairs, with the same N as the test.
    rule
        "metropolis" or "barker".
    tolerance
        Numerical error allowed in the test's curves. The result's `estimate` includes the error of interpolating them,
        which dominates for bounds of O'Brien-Fleming type.
    skew
        Correct, to first order, for the skewness that the trial run records (docs/skewness.md).

    Returns
    -------
    Acceptance
        The numbers per pair, and their means.

    Raises
    ------
    BadInput
        If the test and the trial run differ in N, or if `skew` is asked for and not recorded.

    Examples
    --------
    >>> trial = TrialRun(20_000, mu=[-0.7 / 20_000], sigma=[1.3 * 19_999**0.5 / 20_000], skew=[1.0])
    >>> acceptance(Design(20_000, 500, 0.05), trial).delta.round(4)
    array([0.0264])
    >>> acceptance(Design(20_000, 500, 0.05), trial, skew=True).delta.round(3)
    array([0.018])
    """
    return acceptance_and_worst(as_plan(design), trial, rule, tolerance, skew=skew)[0]


@one_call
def acceptance_and_worst(
    plan: Plan, trial: TrialRun, rule: Rule, tolerance: float, *, skew: bool = False
) -> tuple[Acceptance, tuple[float, float]]:
    """`acceptance`, and the test's error and data use at μ_std = 0 from the same recursion."""
    barker = check_rule(rule) == "barker"
    curve, rows = _integrated(plan, trial, barker, tolerance)
    if skew:
        return _skewed(plan, curve, trial, barker, rows), curve.worst
    return _acceptance(trial, barker, curve, rows, None), curve.worst


def _integrated(plan: Plan, trial: TrialRun, barker: bool, tolerance: float) -> tuple[Curves, Floats]:
    """The curves of a test, and the rows of `integrate` by the normal theory."""
    check_same_data(plan, trial)
    curve = curves(plan, reach_of(trial), real("tolerance", tolerance, 1e-12, 0.01))
    return curve, integrate(curve, trial.log_acceptance, trial.kappa, barker)


@one_call
def predictions(
    design: Design | Plan, trial: TrialRun, rule: Rule = "metropolis", tolerance: float = 1e-10
) -> Predictions:
    """`acceptance` with and without the correction for skewness.

    Parameters
    ----------
    design, trial, rule, tolerance
        As for `acceptance`.

    Returns
    -------
    Predictions
        Both, and a remark if the correction is missing or covers only some of the pairs.

    Examples
    --------
    >>> trial = TrialRun(20_000, mu=[-0.7 / 20_000], sigma=[1.3 * 19_999**0.5 / 20_000], skew=[1.0])
    >>> both = predictions(Design(20_000, 500, 0.05), trial)
    >>> round(both.gaussian.mean_abs_delta, 3), round(both.skewed.mean_abs_delta, 3)
    (0.026, 0.018)
    """
    plan, barker = as_plan(design), check_rule(rule) == "barker"
    curve, rows = _integrated(plan, trial, barker, tolerance)
    gaussian = _acceptance(trial, barker, curve, rows.copy(), None)
    if trial.skew is None:
        return Predictions(gaussian, None, "the trial run does not record the skewness")
    skewed = _skewed(plan, curve, trial, barker, rows)
    return Predictions(gaussian, skewed, skewed.remark)


def _skewed(plan: Plan, curve: Curves, trial: TrialRun, barker: bool, rows: Floats) -> Acceptance:
    """With the correction for skewness, which changes the rows."""
    remark = skew_corrected(plan, curve, trial, barker, rows)
    return _acceptance(trial, barker, curve, rows, remark)._replace(source="normal theory with skewness")


def _acceptance(trial: TrialRun, barker: bool, curve: Curves, rows: Floats, remark: str | None) -> Acceptance:
    delta, usage, looks, wrong, doubt = rows
    means = float(np.abs(delta).mean()), float(usage.mean())
    left_out = 2.0 * math.exp(-curve.negligible)  # of all u, on both sides by Barker's rule
    estimate = curve.estimate + float(doubt.max()) + left_out
    return Acceptance(
        exact_probability(trial.log_acceptance, barker), delta, usage, *means, looks, wrong, estimate, remark
    )


def exact_probability(a: Floats, barker: bool) -> Floats:
    """P_a of pairs with these A: min(1, e^A), or 1 / (1 + e^-A) by Barker's rule. Also P(log u or logit u <= A)."""
    return np.exp(-np.logaddexp(0.0, -a)) if barker else np.exp(np.minimum(a, 0.0))


def skew_corrected(
    plan: Plan, curve: Curves, trial: TrialRun, barker: bool, rows: Floats, tolerance: float = 0.0
) -> str | None:
    """Add the first-order effect of each pair's skewness to the rows of `integrate`, in place.

    Pairs out of its range become NaN; a line that says so is returned.
    """
    gamma, a = skew_of(trial), trial.log_acceptance
    inside, skewed = covered(plan, trial, barker), gamma != 0
    if np.any(inside & skewed):
        steeper = _with_slopes(plan, curve, tolerance)
        change = gamma * (integrate(steeper, a, trial.kappa, barker) - rows)[:4]
        probability = exact_probability(a, barker)
        least = np.stack([-probability, np.full(a.size, curve.first_usage), np.ones(a.size), np.zeros(a.size)])
        most = np.stack([1.0 - probability, np.ones(a.size), np.full(a.size, plan.schedule.size), np.ones(a.size)])
        corrected = rows[:4] + change
        beyond = np.maximum(least - corrected, corrected - most)[[0, 1, 3]]
        inside &= np.all(beyond <= SLACK, axis=0) | ~skewed
        rows[:4] = np.where(skewed, np.clip(corrected, least, most), rows[:4])
    rows[4] += FINEST * np.abs(np.where(inside, gamma, 0.0))
    rows[:4, ~inside] = np.nan
    return out_of_range(plan, gamma, inside)


def covered(plan: Plan, trial: TrialRun, barker: bool) -> Mask:
    """Which pairs the correction for skewness covers."""
    a, clear = trial.log_acceptance, trial.kappa * panel_edges(plan, reach_of(trial))[-1]
    doubt = exact_probability(a + clear, barker) - exact_probability(a - clear, barker)
    return in_range(plan, skew_of(trial), doubt)


def _with_slopes(plan: Plan, curve: Curves, tolerance: float) -> Curves:
    """The curves at skewness 1, to first order."""
    node, _, to_series = panel_rule(curve.values.shape[-1])
    x = panel_nodes(curve.edges[:-1], curve.edges[1:], node)
    signed = np.concatenate([x, -x])
    slope = slopes(plan, signed, tolerance)
    values = curve.values + np.stack([slope.error(signed), slope.usage, slope.looks]).reshape(curve.values.shape)
    return curve._replace(values=values, series=values @ to_series)


def reach_of(trial: TrialRun, negligible: float = _walk_kernels.NEGLIGIBLE) -> float:
    """The largest |μ_std| that any pair meets with non-negligible probability: for u above exp(-negligible)."""
    return float(np.max((np.abs(trial.log_acceptance) + negligible) / trial.kappa))


def check_rule(rule: str) -> Rule:
    """The acceptance rule, or BadInput."""
    if rule not in get_args(Rule):
        raise BadInput(f"rule = {rule!r}: must be one of {', '.join(get_args(Rule))}")
    return cast(Rule, rule)


def check_same_data(plan: Plan, trial: TrialRun) -> None:
    """Refuse a design and a trial run for different numbers of data."""
    if plan.schedule.n_data != trial.n_data:
        n_data = plan.schedule.n_data
        raise BadInput(f"the design is for n_data = {n_data:,}, the trial run for {trial.n_data:,}: they must agree")
