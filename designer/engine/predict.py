"""One prediction of a test for the pairs of a trial run, from whatever source supports it, and which one that was.

For each pair, the first that applies:

1. the normal theory with skewness, where the first order is accurate: m >= 100, skewness and kurtosis small enough;
2. resampling of the values that the trial run keeps: any m >= 5;
3. the normal theory alone, if the trial run records no skewness, so that nothing speaks against it;
4. the distribution-free bound, if the test takes one look: then |Δ| is at most what is given;
5. nothing: NaN, and a remark that says what to do.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.work import one_call
from designer.engine.bounds import one_look_bound
from designer.engine.resampled import DRAWS, SMALLEST_M, resampled_rows
from designer.engine.skew import LARGEST, Mask, out_of_range
from designer.engine.step_error import Acceptance, Rule, Source, acceptance, check_rule, covered
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan

SMALLEST_THEORY = 100  # m from which the correction for skewness has been checked (docs/skewness.md)
SMALLEST_SEARCHED, USUAL_BATCH = 10, 500  # m from which searches begin, with residuals and by default
HEAVIEST = 0.5  # of (kurtosis - 3) / m: beyond it heavy tails matter, which the skewness may not show
NORMAL: Source = "normal theory"
SKEWED: Source = "normal theory with skewness"
RESAMPLED: Source = "resampling"
BOUND: Source = "distribution-free bound"


class Prediction(NamedTuple):
    """What a test does to the pairs of a trial run, and where each number comes from.

    Attributes
    ----------
    step
        An `Acceptance`; its `source` is "several sources" if the pairs have different ones.
    sources
        The source of each pair; None where there is no prediction.
    bound
        Bound on |Δ| of each pair that holds for any distribution of the lᵢ; infinite if the test may take several
        looks.

    Examples
    --------
    >>> trial = TrialRun(20_000, mu=[0.0, -1e-4], sigma=[0.01, 0.01], skew=[0.1, 9.0])
    >>> found = predict(Design(20_000, 500, 0.05), trial)
    >>> found.sources
    ('normal theory with skewness', None)
    >>> found.words
    'normal theory with skewness (1 pair), nothing (1 pair)'
    """

    step: Acceptance
    sources: tuple[Source | None, ...]
    bound: Floats

    @property
    def words(self) -> str:
        """The sources in words, with the number of pairs if there are several."""
        return in_words(self.sources)


def in_words(sources: tuple[Source | None, ...]) -> str:
    """Sources in words, with the number of pairs if there are several."""
    counts = Counter(source or "nothing" for source in sources).most_common()
    if len(counts) == 1:
        return counts[0][0]
    return ", ".join(f"{source} ({count:,} pair{'s' * (count != 1)})" for source, count in counts)


@one_call
def predict(
    design: Design | Plan,
    trial: TrialRun,
    rule: Rule = "metropolis",
    tolerance: float = 1e-10,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Prediction:
    """Δ and expected data use of every pair, each from the best source that supports it.

    Parameters
    ----------
    design
        The test, a `Design` or a `Plan`.
    trial
        The pairs; better with `skew`, best with `residuals`.
    rule
        "metropolis" or "barker".
    tolerance
        Numerical error allowed where theory is used, as for `acceptance`.
    draws, seed
        Where resampling is used, as for `resampled`.

    Returns
    -------
    Prediction
        Numbers and sources; NaN, with a remark, for pairs that no source supports.

    Examples
    --------
    >>> trial = TrialRun(20_000, mu=[-0.7 / 20_000], sigma=[1.3 * 19_999**0.5 / 20_000], skew=[1.0])
    >>> found = predict(Design(20_000, 500, 0.05), trial)
    >>> found.step.delta.round(3), found.words
    (array([0.018]), 'normal theory with skewness')
    """
    plan, barker = as_plan(design), check_rule(rule) == "barker"
    bound = one_look_bound(plan, trial, rule)
    theory = trusted(plan, trial, barker)
    step = acceptance(plan, trial, rule, tolerance, skew=trial.skew is not None)
    theory &= np.isfinite(step.delta)
    known = NORMAL if trial.skew is None else SKEWED
    rows = np.stack([step.delta, step.usage, step.looks, step.wrong])
    rows[:, ~theory] = np.nan
    delta_se, usage_se = np.zeros((2, len(trial)))
    estimate = step.estimate if theory.any() else 0.0
    again = resampleable(plan, trial) & ~theory
    if again.any():
        part, errors = resampled_rows(plan, trial, barker, again, draws, seed)
        rows[:, again], (delta_se, usage_se) = part[:, again], np.where(again, errors[:2], 0.0)
        estimate = float(np.fmax(estimate, 3.0 * np.nanmax(errors[:2], initial=0.0)))
    loose = np.isnan(rows[0]) & np.isfinite(bound)
    rows[:, loose] = _at_most(plan, trial, bound, barker)[:, loose]
    sources = [
        known if theory[k] else BOUND if loose[k] else RESAMPLED if np.isfinite(rows[0, k]) else None
        for k in range(len(trial))
    ]
    delta, usage, looks, wrong = rows
    kinds = {*sources}
    whole = step._replace(
        delta=delta,
        usage=usage,
        mean_abs_delta=float(np.abs(delta).mean()),
        mean_usage=float(usage.mean()),
        looks=looks,
        wrong=wrong,
        estimate=estimate,
        remark=_remark(plan, trial, np.isfinite(delta)),
        source=(sources[0] or known) if len(kinds) == 1 else "several sources",
        delta_se=delta_se if again.any() else None,
        usage_se=usage_se if again.any() else None,
        mean_abs_delta_se=float(np.sqrt(np.nansum(delta_se**2)) / len(trial)),
    )
    return Prediction(whole, tuple(sources), bound)


def step_of(
    design: Design | Plan, trial: TrialRun, rule: Rule, tolerance: float = 1e-10, *, skew: bool | None = None
) -> Acceptance:
    """By `predict`, or if `skew` is given by the normal theory with or without skewness."""
    if skew is None:
        return predict(design, trial, rule, tolerance).step
    return acceptance(design, trial, rule, tolerance, skew=skew)


def smallest_batch(trial: TrialRun | None, skew: bool | None = None, *, by_theory: bool = False) -> int:
    """The smallest m from which a search begins by default: what the trial run supports, 500 if it says nothing.

    Resampling is about pairs: the hardest decision (criterion worst-case) is predicted only `by_theory`.

    Examples
    --------
    >>> smallest_batch(TrialRun(20_000, [0.0], [0.01], skew=[1.5])), smallest_batch(None)
    (144, 500)
    """
    if trial is None or skew is not None:
        return USUAL_BATCH
    if not by_theory and trial.residuals is not None and np.all(trial.residuals.sizes > 0):
        return SMALLEST_SEARCHED
    if trial.skew is None:
        return USUAL_BATCH
    in_range = math.ceil((float(np.abs(trial.skew).max()) / LARGEST) ** 2)
    return min(max(in_range, SMALLEST_THEORY), USUAL_BATCH)


def trusted(plan: Plan, trial: TrialRun, barker: bool) -> Mask:
    """Which pairs the normal theory may be used for: with skewness if it is recorded."""
    everyone = np.ones(len(trial), dtype=np.bool_)
    if plan.schedule.size == 1:
        return everyone
    m = plan.schedule.m
    if trial.skew is None:
        return everyone if trial.residuals is None else ~resampleable(plan, trial)
    if m < min(SMALLEST_THEORY, max(2, trial.n_data // 20)):
        return ~everyone
    light = everyone
    if trial.residuals is not None:
        light = ~(trial.residuals.kurtosis - 3.0 > HEAVIEST * m)
    return covered(plan, trial, barker) & light


def batch_problem(trial: TrialRun, m: int, epsilon: float = 0.05) -> str | None:
    """Why the normal theory, by which some questions are answered, is not to be trusted at mini-batches of m.

    None if it is, for every pair.

    Examples
    --------
    >>> batch_problem(TrialRun(20_000, mu=[0.0], sigma=[0.01], skew=[4.0]), 200)
    'm = 200: 1 of 1 pairs are too skewed or heavy-tailed for the normal theory used here; take m >= 1,024'
    """
    if trial.skew is None:
        return None
    plan = as_plan(Design(trial.n_data, min(m, trial.n_data), epsilon))
    known = trusted(plan, trial, barker=False)
    if known.all():
        return None
    least = max(float(SMALLEST_THEORY), (float(np.abs(trial.skew).max()) / LARGEST) ** 2)
    if trial.residuals is not None:
        least = max(least, (float(np.nanmax(trial.residuals.kurtosis)) - 3.0) / HEAVIEST)
    many = f"{np.count_nonzero(~known):,} of {len(trial):,} pairs"
    cure = f"take m >= {math.ceil(least):,}" if m < least < trial.n_data else "audit the chain"
    return f"m = {m:,}: {many} are too skewed or heavy-tailed for the normal theory used here; {cure}"


def resampleable(plan: Plan, trial: TrialRun) -> Mask:
    """Which pairs can be resampled."""
    if trial.residuals is None or plan.schedule.m < SMALLEST_M:
        return np.zeros(len(trial), dtype=np.bool_)
    return trial.residuals.sizes > 0


def _at_most(plan: Plan, trial: TrialRun, bound: Floats, barker: bool) -> Floats:
    """Of a test that takes one look: bounds on |Δ| and P(wrong), its data use and its looks, in the order of rows."""
    noise = trial.kappa * np.sqrt((trial.n_data - plan.schedule.m) / plan.schedule.m)
    wrong = np.minimum(0.25 * noise if barker else noise, 1.0)  # E |F(A + X) - F(A)|, F of slope at most 1/4 or 1
    return np.stack([bound, np.full(len(trial), plan.schedule.m / trial.n_data), np.ones(len(trial)), wrong])


def _remark(plan: Plan, trial: TrialRun, known: Mask) -> str | None:
    """Why numbers are missing, and what to do."""
    if known.all():
        return None
    if trial.residuals is None and trial.skew is not None:
        m = plan.schedule.m
        if m < SMALLEST_THEORY:
            return f"m = {m}: too small for the theory; keep the residuals (a trial run in .parquet or .npz)"
        return out_of_range(plan, trial.skew, known)
    count = int(np.count_nonzero(~known))
    of_all = f"{count:,} of {len(trial):,} pairs"
    return f"{of_all} cannot be predicted: their tests read too much to be resampled; take larger m"
