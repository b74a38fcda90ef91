"""Error and data use of a test from the data themselves: real t-tests on mini-batches drawn from the kept values.

No theory of means is involved, so it holds at any m and for any distribution of the lᵢ, up to a standard error. Each
path integrates u out. The first mini-batch is drawn from two strata, without and with rows that were kept one by one,
so that rare rows are met; and a regression on quantities with known means removes most of the noise.
"""

from __future__ import annotations

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer
from designer.core.work import one_call, spend
from designer.engine import _resample_kernels as kernels
from designer.engine.skew import Mask
from designer.engine.step_error import Acceptance, Rule, check_rule, check_same_data, exact_probability
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan
from designer.rule.t_test import student_bounds

SMALLEST_M = 5  # of a first mini-batch whose t statistic means anything
DRAWS = 10_000_000  # rows drawn for all pairs together, about
FEWEST, MOST = 60, 4000  # paths of one pair in one stratum
MANY = 250  # near data whose sum may be taken as normal
LEAST = 0.1  # share of u below which undecided paths are thinned out
MOST_LOOKS = 20_000  # looks of one path
LIKE_NORMAL = 10_000  # data from which Student's bounds are the normal ones
RARE, COMMON = 1e-9, 0.98  # probability that the first mini-batch has a far value: strata are used between these


@one_call
def resampled(
    design: Design | Plan, trial: TrialRun, rule: Rule = "metropolis", *, draws: int = DRAWS, seed: int = 0
) -> Acceptance:
    """Δ and expected data use of every pair by resampling the values that a trial run keeps of its pairs.

    Parameters
    ----------
    design
        The test, a `Design` or a `Plan`, with m >= 5.
    trial
        The pairs, with `residuals`.
    rule
        "metropolis" or "barker".
    draws
        Rows to draw for all pairs together, about: more make the standard errors smaller.
    seed
        The same seed gives the same numbers, and similar designs nearly the same noise.

    Returns
    -------
    Acceptance
        As `acceptance` gives it, with standard errors; NaN for pairs of which nothing was kept, and for pairs whose
        tests read too much to be resampled.

    Raises
    ------
    BadInput
        If the trial run keeps no residuals, m is below 5, or the test and the trial run differ in N.

    Examples
    --------
    >>> from designer.pairs.residuals import Residuals
    >>> l = np.random.default_rng(1).standard_t(3, 20_000) * 1e-4
    >>> trial = TrialRun(20_000, [l.mean()], [l.std()], residuals=Residuals.of([l]))
    >>> step = resampled(Design(20_000, 20, 0.5), trial)
    >>> step.source, bool(step.delta_se[0] < 0.1 * abs(step.delta[0]))
    ('resampling', True)
    """
    plan, barker = as_plan(design), check_rule(rule) == "barker"
    check_same_data(plan, trial)
    if trial.residuals is None:
        raise BadInput("residuals: the trial run keeps none; record it again and save it as .parquet or .npz")
    if plan.schedule.size > 1 and plan.schedule.m < SMALLEST_M:
        raise BadInput(f"m = {plan.schedule.m}: must be at least {SMALLEST_M} to be resampled")
    seed, draws = integer("seed", seed, 0, 2**62), integer("draws", draws, 1, 10**12)
    rows = resampled_rows(plan, trial, barker, np.ones(len(trial), dtype=np.bool_), draws, seed)
    delta, usage, looks, wrong = rows[0]
    missing = int(np.count_nonzero(np.isnan(delta)))
    remark = f"{missing:,} of {len(trial):,} pairs cannot be resampled, no prediction" if missing else None
    return Acceptance(
        exact_probability(trial.log_acceptance, barker),
        delta,
        usage,
        float(np.abs(delta).mean()),
        float(usage.mean()),
        looks,
        wrong,
        3.0 * float(rows[1, :2].max()),
        remark,
        "resampling",
        rows[1, 0],
        rows[1, 1],
        float(np.sqrt(np.mean(rows[1, 0] ** 2) / len(trial))),
    )


def resampled_rows(
    plan: Plan, trial: TrialRun, barker: bool, only: Mask, draws: int, seed: int = 0, *, rough: bool = False
) -> Floats:
    """Δ, data use, looks and P(wrong) of the pairs of `only`, and their standard errors: by kind, column and pair.

    NaN for other pairs, those without values, and those whose tests read too much. With `rough`, fewer paths are
    enough, and one pair whose tests read too much makes all others NaN, which saves their time.
    """
    pairs, kept, schedule = len(trial), trial.residuals, plan.schedule
    assert kept is not None
    if schedule.size == 1:  # all data at once
        return np.array([[0.0, 1.0, 1.0, 0.0], [0.0] * 4])[:, :, None] * np.where(only, 1.0, np.nan)
    each = 2 * FEWEST * min(schedule.m, LIKE_NORMAL)
    spend(draws + int(only.sum()) * each, f"draws = {draws:,}, {pairs:,} pairs", "take fewer draws, or fewer pairs")
    sums = np.zeros((pairs, 2, kernels.COLUMNS, kernels.COLUMNS))
    shares, made = np.zeros((pairs, 2)), np.zeros((pairs, 2), dtype=np.int64)
    kernels.resample(
        seed,
        only,
        *(kept.values, kept.weights, kept.starts),
        *(trial.mu, trial.sigma, trial.log_acceptance),
        schedule.n_data,
        *_looks_and_bounds(plan),
        *(barker, schedule.size, LEAST, draws / max(1, int(only.sum())), FEWEST, MOST, 20 if rough else 40),
        *(COMMON, RARE, MANY, rough),
        *(sums, shares, made),
    )
    value, variance = _regressed(sums, np.maximum(made, 1))
    value = np.sum(shares[:, :, None] * value, axis=1)
    error = np.sqrt(np.sum((shares**2)[:, :, None] * variance, axis=1))
    value[:, 1] = np.clip(value[:, 1], schedule.m / schedule.n_data, 1.0)  # the regression may leave the range
    unknown = np.any(made < 0, axis=1) | (made[:, 0] == 0)
    rows = np.stack([value.T, error.T])
    rows[:, :, unknown] = np.nan
    return rows


def _looks_and_bounds(plan: Plan) -> tuple[Ints, Floats, Floats]:
    """The interim looks that a path may reach, with Student's bounds."""
    schedule = plan.schedule
    index = np.arange(min(schedule.size - 1, MOST_LOOKS))
    looks = schedule.at(index)
    bounds = plan.boundary.at(index, looks / schedule.n_data)
    early = int(np.searchsorted(looks, LIKE_NORMAL))
    lower, upper = (np.append(student_bounds(b[:early], looks[:early]), b[early:]) for b in bounds)
    return looks, lower, upper


def _regressed(sums: Floats, made: Ints) -> tuple[Floats, Floats]:
    """Means over the paths and the squares of their standard errors, by regression on quantities of mean 0.

    `sums` has the lower triangles of the sums of products of the columns.
    """
    k = kernels.DELTA
    full = np.tril(sums) + np.swapaxes(np.tril(sums, -1), -1, -2)
    xx, xy = full[..., :k, :k], full[..., :k, k:]
    yy = np.diagonal(full, axis1=-2, axis2=-1)[..., k:]
    inverse = np.linalg.pinv(xx, rcond=1e-9, hermitian=True)
    coefficients = inverse @ xy
    left = np.maximum(yy - np.sum(coefficients * xy, axis=-2), 0.0)
    # the variance of the intercept, which knows how far off the known quantities were on average
    variance = inverse[..., 0, 0][..., None] * left / np.maximum(made - k, 1)[..., None]
    return coefficients[..., 0, :], variance
