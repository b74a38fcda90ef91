"""Error of one accept/reject step: Delta = P_a,epsilon - P_a and the data it reads, for (mu, sigma) pairs.

A pair enters only through A (log of the Metropolis ratio) and kappa (scale of its sampling noise): given u, the test
faces mu_std = (A - log u) / kappa, or (A - logit u) / kappa for Barker's rule. So Delta and E_u[usage] of *all* pairs
are integrals over the same two curves, computed once per design (K14 Eqns 6, 21, 40-42).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple, cast, get_args

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.engine import _walk_kernels
from designer.engine.look_grid import WINDOW
from designer.engine.skew import FINEST, SLACK, Mask, in_range, out_of_range, skew_of, slopes
from designer.engine.walk import outcomes
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan

Rule = Literal["metropolis", "barker"]

ORDER = 14  # nodes and Legendre terms per panel for full accuracy
QUICK_ORDER, QUICK = 9, 1e-8  # and for a tolerance above QUICK
RATIO = 1.7  # of a panel's ends; the curves vary on the scale of mu_std itself
WIDTH = 4.0  # widest panel, in units of 1 / sqrt(t_1)
MOST_PANELS = 200
ROUGH = 1e-6  # what the series of a panel may miss; a panel that misses more is cut
PIECES, CUTS = 4, 6  # into so many, so often
FAR = 1e12  # no curve is followed beyond this mu_std


class Acceptance(NamedTuple):
    """What a test does to each pair's acceptance probability, and the means over pairs.

    With the correction for skewness, pairs out of its range have NaN for all but the probability, and so have the
    means.

    Attributes
    ----------
    probability
        The exact P_a of each pair.
    delta
        The error in it, Delta = P_a,epsilon - P_a (K14 Eqn 6).
    usage, mean_usage
        Expected fraction of the data read, per pair and on average.
    mean_abs_delta
        Mean |Delta| over the pairs: what a search keeps below its tolerance (K14 Eqn 7).
    looks
        Expected number of looks.
    wrong
        Probability of a wrong decision, E_u[E]; |delta| is smaller, as errors of both kinds cancel.
    estimate
        A bound on the numerical error of delta, usage, wrong and looks (as a share of all looks).
    remark
        Why numbers are missing, in one line; None if none are.

    Examples
    --------
    >>> trial = TrialRun(20_000, mu=[0.0, -1e-4], sigma=[0.01, 0.01])
    >>> found = acceptance(Design(20_000, 500, 0.05), trial)
    >>> found.probability.round(3), found.delta.round(3), round(found.mean_abs_delta, 3)
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

    @property
    def max_abs_delta(self) -> float:
        """The largest |delta| of any pair."""
        return float(np.abs(self.delta).max())


class Curves(NamedTuple):
    """Error and usage of one test on panels of |mu_std|, for both signs of mu_std.

    values[c, side, panel, node] with c = 0 for the error, 1 for the usage, 2 for the number of looks; `series` the same
    as Legendre coefficients; `doubt` bounds what the series of each panel miss, `estimate` the error of the values.
    """

    edges: Floats
    values: Floats
    series: Floats
    doubt: Floats
    first_usage: float
    estimate: float


class Predictions(NamedTuple):
    """One test, predicted by the Gaussian theory and with the skewness of the l_i.

    Attributes
    ----------
    gaussian
        An `Acceptance` that takes sample means for normal.
    skewed
        The same, corrected for the skewness that the trial run records; None if it records none.
    remark
        What is missing, in one line; None if nothing is.

    Examples
    --------
    >>> trial = TrialRun(20_000, mu=[-0.7 / 20_000], sigma=[1.3 * 19_999**0.5 / 20_000])
    >>> predictions(Design(20_000, 500, 0.05), trial).skewed is None
    True
    """

    gaussian: Acceptance
    skewed: Acceptance | None
    remark: str | None


def acceptance(
    design: Design | Plan,
    trial: TrialRun,
    rule: Rule = "metropolis",
    tolerance: float = 1e-10,
    *,
    skew: bool = False,
) -> Acceptance:
    """Delta and expected data use of every pair of a trial run (K14 Eqns 6 and 21; Barker and Gibbs: Eqns 40-42).

    Parameters
    ----------
    design
        The test, a `Design` or a `Plan`.
    trial
        The pairs, for as many data as the test.
    rule
        "metropolis" or "barker".
    tolerance
        Wanted numerical error of the test's curves. The result's `estimate` also counts what their interpolation may
        miss, which dominates for bounds of O'Brien-Fleming type.
    skew
        Correct, to first order, for the skewness that the trial run records (docs/skewness.md).

    Returns
    -------
    Acceptance
        Per pair, and the means.

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
    plan = as_plan(design)
    check_same_data(plan, trial)
    barker = check_rule(rule) == "barker"
    curve = curves(plan, reach_of(trial), real("tolerance", tolerance, 1e-12, 0.01))
    found = integrate(curve, trial.log_acceptance, trial.kappa, barker)
    remark = skew_corrected(plan, curve, trial, barker, found) if skew else None
    return _acceptance(trial, barker, curve, found, remark)


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
    >>> found = predictions(Design(20_000, 500, 0.05), trial)
    >>> round(found.gaussian.mean_abs_delta, 3), round(found.skewed.mean_abs_delta, 3)
    (0.026, 0.018)
    """
    gaussian = acceptance(design, trial, rule, tolerance)
    if trial.skew is None:
        return Predictions(gaussian, None, "the trial run does not record the skewness")
    skewed = acceptance(design, trial, rule, tolerance, skew=True)
    return Predictions(gaussian, skewed, skewed.remark)


def _acceptance(trial: TrialRun, barker: bool, curve: Curves, found: Floats, remark: str | None) -> Acceptance:
    delta, usage, looks, wrong, doubt = found
    means = float(np.abs(delta).mean()), float(usage.mean())
    estimate = curve.estimate + float(doubt.max())
    return Acceptance(
        exact_probability(trial.log_acceptance, barker), delta, usage, *means, looks, wrong, estimate, remark
    )


def exact_probability(a: Floats, barker: bool) -> Floats:
    """P_a of pairs with these A: min(1, e^A), or 1 / (1 + e^-A) by Barker's rule. Also P(log u or logit u <= A)."""
    return np.exp(-np.logaddexp(0.0, -a)) if barker else np.exp(np.minimum(a, 0.0))


def skew_corrected(
    plan: Plan, curve: Curves, trial: TrialRun, barker: bool, found: Floats, tolerance: float = 0.0
) -> str | None:
    """Add the first-order effect of each pair's skewness to the rows of `integrate`, in place.

    Pairs out of its range become NaN, and the line that says so is returned.
    """
    gamma, a = skew_of(trial), trial.log_acceptance
    inside, skewed = covered(plan, trial, barker), gamma != 0
    if np.any(inside & skewed):
        steeper = _with_slopes(plan, curve, tolerance)
        change = gamma * (integrate(steeper, a, trial.kappa, barker) - found)[:4]
        probability = exact_probability(a, barker)
        least = np.stack([-probability, np.full(a.size, curve.first_usage), np.ones(a.size), np.zeros(a.size)])
        most = np.stack([1.0 - probability, np.ones(a.size), np.full(a.size, plan.schedule.size), np.ones(a.size)])
        corrected = found[:4] + change
        beyond = np.maximum(least - corrected, corrected - most)[[0, 1, 3]]
        inside &= np.all(beyond <= SLACK, axis=0) | ~skewed
        found[:4] = np.where(skewed, np.clip(corrected, least, most), found[:4])
    found[4] += FINEST * np.abs(np.where(inside, gamma, 0.0))
    found[:4, ~inside] = np.nan
    return out_of_range(plan, gamma, inside)


def covered(plan: Plan, trial: TrialRun, barker: bool) -> Mask:
    """Which pairs the correction for skewness is good for."""
    a, clear = trial.log_acceptance, trial.kappa * panel_edges(plan, reach_of(trial))[-1]
    doubt = exact_probability(a + clear, barker) - exact_probability(a - clear, barker)
    return in_range(plan, skew_of(trial), doubt)


def _with_slopes(plan: Plan, curve: Curves, tolerance: float) -> Curves:
    """The curves at skewness 1, to first order."""
    node, _, to_series = panel_rule(curve.values.shape[-1])
    x = _panel_nodes(curve.edges[:-1], curve.edges[1:], node)
    signed = np.concatenate([x, -x])
    slope = slopes(plan, signed, tolerance)
    values = curve.values + np.stack([slope.error(signed), slope.usage, slope.looks]).reshape(curve.values.shape)
    return curve._replace(values=values, series=values @ to_series)


def _panel_nodes(low: Floats, high: Floats, node: Floats) -> Floats:
    """The nodes of all panels."""
    mid, radius = 0.5 * (high + low), 0.5 * (high - low)
    return np.asarray((mid[:, None] + radius[:, None] * node).ravel())


def reach_of(trial: TrialRun) -> float:
    """The largest |mu_std| that any pair meets with a probability that counts."""
    return float(np.max((np.abs(trial.log_acceptance) + _walk_kernels.NEGLIGIBLE) / trial.kappa))


def integrate(curve: Curves, a: Floats, kappa: Floats, barker: bool) -> Floats:
    """Rows Delta, E_u[usage], E_u[looks], E_u[error] and the doubt in them, for pairs (A, kappa)."""
    out = np.empty((5, a.size))
    node, weight, _ = panel_rule(curve.values.shape[-1])
    arrays = (curve.edges, curve.series, curve.values, curve.doubt, node, weight)
    _walk_kernels.steps(a, kappa, barker, *arrays, curve.first_usage, out)
    return out


def curves(plan: Plan, reach: float, tolerance: float, *, verify: bool = True) -> Curves:
    """The curves of one test for |mu_std| up to `reach`, or to where the first look always decides."""
    edges, order = panel_edges(plan, reach), QUICK_ORDER if tolerance > QUICK else ORDER
    curve = _curves(plan, edges, *_on_panels(plan, edges[:-1], edges[1:], order, tolerance, verify=verify))
    for _ in range(CUTS if order == ORDER else 0):
        rough = curve.doubt > max(ROUGH, curve.estimate)
        if not rough.any():
            break
        curve = cut(plan, curve, rough, tolerance)
    return curve


def cut(plan: Plan, curve: Curves, which: Mask, tolerance: float) -> Curves:
    """The same with some of the panels cut: bounds far out at the first looks make curves that are steep somewhere."""
    low, high = curve.edges[:-1], curve.edges[1:]
    ends = np.linspace(low[which], high[which], PIECES + 1, axis=1)
    starts, order = ends[:, :-1].ravel(), curve.values.shape[-1]
    fine, _ = _on_panels(plan, starts, ends[:, 1:].ravel(), order, tolerance, verify=False)
    starts, values = np.concatenate([low[~which], starts]), np.concatenate([curve.values[:, :, ~which], fine], axis=2)
    place = np.argsort(starts)
    return _curves(plan, np.append(starts[place], high[-1]), values[:, :, place], curve.estimate)


def _curves(plan: Plan, edges: Floats, values: Floats, estimate: float) -> Curves:
    series = np.ascontiguousarray(values @ panel_rule(values.shape[-1])[2])
    last = np.abs(series[..., -2:]).sum(axis=-1)
    last[2] /= plan.schedule.size  # the looks as a share of all
    doubt = last.max(axis=(0, 1))
    first_usage = plan.schedule.m / plan.schedule.n_data
    return Curves(edges, np.ascontiguousarray(values), series, doubt, first_usage, estimate)


def _on_panels(
    plan: Plan, low: Floats, high: Floats, order: int, tolerance: float, *, verify: bool
) -> tuple[Floats, float]:
    """The curves at the nodes of panels, and a bound on their numerical error."""
    x = _panel_nodes(low, high, panel_rule(order)[0])
    signed = x if plan.boundary.symmetric else np.concatenate([x, -x])
    outcome, estimate = outcomes(plan, signed, tolerance, verify=verify)
    values = np.stack([outcome.error(signed), outcome.usage, outcome.looks]).reshape(3, -1, low.size, order)
    return np.broadcast_to(values, (3, 2, low.size, order)), estimate  # symmetric: one side is both


def panel_edges(plan: Plan, reach: float) -> Floats:
    """Ends of the panels, from 0 to `reach` or to where the first look is certain to decide.

    The curves vary on the scale of mu_std itself, down to that of the last interim look, but never faster than
    on the scale 1 / sqrt(t_1) of the first: panels grow by RATIO up to WIDTH of those.
    """
    if plan.schedule.size == 1:  # no interim look: nothing to resolve
        return np.array([0.0, min(reach, 1.0)])
    n_data, index = float(plan.schedule.n_data), np.array([0, plan.schedule.size - 2])
    n = plan.schedule.at(index).astype(np.float64)
    scale = np.sqrt((n_data - n) / n)
    lower, upper = plan.boundary.at(index[:1], n[:1] / n_data)
    end = min(reach, float(max(-lower[0], upper[0]) + WINDOW) * scale[0], FAR)
    width = max(WIDTH * scale[0], end / MOST_PANELS)
    edges = [0.0, min(scale[1], end)]
    while edges[-1] < end:
        edges.append(edges[-1] + min(width, (RATIO - 1.0) * edges[-1]))
    edges[-1] = end
    return np.array(edges)


def check_rule(rule: str) -> Rule:
    """The acceptance rule, if it is one."""
    if rule not in get_args(Rule):
        raise BadInput(f"rule = {rule!r}: must be one of {', '.join(get_args(Rule))}")
    return cast(Rule, rule)


def check_same_data(plan: Plan, trial: TrialRun) -> None:
    """A design and a trial run must be about the same number of data."""
    if plan.schedule.n_data != trial.n_data:
        raise BadInput(f"the design is for n_data = {plan.schedule.n_data:,}, the trial run for {trial.n_data:,}")


def stationary_bound(delta_max: float, eta: float) -> float:
    """How far a chain with errors may be from the exact one: a bound on the total variation distance (K14 Theorem 1).

    Parameters
    ----------
    delta_max
        Largest |Delta| of any pair.
    eta
        Contraction coefficient of the exact chain, in [0, 1).

    Returns
    -------
    float
        delta_max / (1 - eta), 1 at most.

    Examples
    --------
    >>> stationary_bound(0.01, 0.75)
    0.04
    """
    delta_max, eta = real("delta_max", delta_max, 0.0, 1.0), real("eta", eta, 0.0, 1.0, open_high=True)
    return min(1.0, delta_max / (1.0 - eta))


def sweep_bound(delta_max: float, eta: float, sites: int) -> float:
    """The same for sweeps of Gibbs updates (K14 Theorem 4).

    The printed theorem lacks the factor `sites`: it fails for independent fair bits, where eta = 0.

    Parameters
    ----------
    delta_max
        Largest error of any conditional probability.
    eta
        Dobrushin coefficient of a whole sweep, in [0, 1).
    sites
        Number of variables that a sweep updates.

    Returns
    -------
    float
        sites delta_max / (1 - eta), 1 at most.

    Examples
    --------
    >>> sweep_bound(0.001, 0.5, sites=100)
    0.2
    """
    delta_max, eta = real("delta_max", delta_max, 0.0, 1.0), real("eta", eta, 0.0, 1.0, open_high=True)
    return min(1.0, integer("sites", sites, 1, 10**15) * delta_max / (1.0 - eta))


@lru_cache(maxsize=4)
def panel_rule(order: int) -> tuple[Floats, Floats, Floats]:
    """Nodes and weights on [-1, 1], and the matrix from values at the nodes to Legendre coefficients."""
    node, weight = np.polynomial.legendre.leggauss(order)
    values = np.polynomial.legendre.legvander(node, order - 1)
    return node, weight, weight[:, None] * values * (np.arange(order) + 0.5)
