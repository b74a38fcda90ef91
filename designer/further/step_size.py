"""Step size and test together: the step of a random walk and the test that explore most per likelihood evaluation.

Larger steps have a larger κ, so their decisions need more data: the best step of a chain with a sequential test is
not that of the exact chain. Along one proposed direction the log posterior is quadratic to second order. A step r times
as large has

    A(r) = r a - r² q / 2,    κ(r) = r^p κ,    squared jump r² q

with q the squared length of the step in the posterior's own metric and a = A + q / 2 the linear part. At stationarity
a ~ N(0, q) given q. The pairs give A, and q is their κ² times a constant (without control variates both are
quadratic forms of the step) or the same for all of them (in many dimensions); the pairs show which.
With trial runs at several steps this law is needed only from one of them to the next.

Wrong moves are not counted as progress. What an error per step does to the chain's stationary
distribution depends on how fast the chain forgets it: a fair comparison of steps allows an error in proportion to the
squared jump (`hold`). Otherwise the smallest and the largest steps win, by errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.core.progress import Cancelled
from designer.engine.predict import step_of
from designer.engine.step_error import Rule, check_rule, exact_probability
from designer.pairs.limits import LARGEST
from designer.pairs.refusals import check_pairs, pairs_problem
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.search.criteria import Cost
from designer.search.search import LEAST_TOLERANCE, SEARCH_ACCURACY, search
from designer.search.space import Space
from designer.search.upper_limit import USUAL_CONFIDENCE

SCALES = tuple(round(2.0 ** (k / 2), 4) for k in range(-4, 3))  # 0.25 to 2 times the trial run's steps
EVALUATIONS = Cost(per_datum=2.0)  # a datum is read for θ and for θ'
LEAST, MOST = 1e-3, 1e3  # relative steps
FLAT = 0.95  # of the best efficiency: practically as good
MOST_SCALES = 200
LIKE = 25.0  # κ² within this factor of q may be q up to a constant (information, curvature); else it is a residual

Trials = TrialRun | Mapping[float, TrialRun]
Hold = Literal["step", "jump"]


class StepLaw(NamedTuple):
    """How the pairs of a trial run change with the step: q of each pair, its shape, and the power p of κ."""

    squared_length: Floats
    proportional: bool  # q is a constant times κ², not the same for all pairs
    kappa_power: float

    def scaled(self, trial: TrialRun, relative: float) -> TrialRun:
        """The pairs that steps `relative` times as large would give."""
        q, n = self.squared_length, trial.n_data
        a = relative * (trial.log_acceptance + 0.5 * q) - 0.5 * relative**2 * q
        return TrialRun(n, a / n, trial.sigma * relative**self.kappa_power, skew=trial.skew)


class StepRow(NamedTuple):
    """One step size with its best test, beside the exact chain with the same step.

    If no test meets the tolerance at this step, the design is None and all numbers that depend on it are NaN.

    Attributes
    ----------
    scale
        Step relative to that of the trial run.
    kappa
        Median κ of the pairs.
    tolerance
        Largest mean |Δ| allowed at this step.
    design, error, usage, acceptance
        The best test, its mean |Δ|, data use and acceptance rate.
    jump, jump_error
        Expected squared jump in the posterior's metric, by moves that the exact chain would also make; and its standard
        error over the pairs, given the fitted lengths.
    cost, efficiency
        Cost of a step, and jump / cost.
    exact_acceptance, exact_jump, exact_efficiency
        The same for the exact chain, which evaluates every datum once per step.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(100_000, 0.234, 60, np.random.default_rng(1))
    >>> (row,) = best_step(trial, 0.05, [1.0], refine=False).rows
    >>> row.efficiency == row.jump / row.cost
    True
    """

    scale: float
    kappa: float  # median of the pairs
    tolerance: float
    design: Design | None
    error: float
    usage: float
    acceptance: float
    jump: float
    cost: float
    efficiency: float
    exact_acceptance: float
    exact_jump: float
    exact_efficiency: float
    jump_error: float


class BestStep(NamedTuple):
    """All steps with their tests, and the best of them.

    Attributes
    ----------
    rows
        A `StepRow` per step.
    best
        The most efficient step with a test; None if no step has one.
    exact
        The most efficient step of the exact chain.
    flat
        Between these two steps the efficiency is within 5% of the best.
    sentence
        The result in words.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(100_000, 0.234, 60, np.random.default_rng(1))
    >>> result = best_step(trial, 0.05, [0.5, 1.0], refine=False)
    >>> [row.scale for row in result.rows], result.best in result.rows
    ([0.5, 1.0], True)
    """

    rows: list[StepRow]
    best: StepRow | None
    exact: StepRow
    flat: tuple[float, float] | None
    sentence: str


def fit_step_law(trial: TrialRun, kappa_power: float = 1.0) -> StepLaw:
    """q of every pair by maximum likelihood under A ~ N(-q/2, q), with q = b κ² or with q = b for all.

    With w = κ² or 1, b solves (S/4) b² + n b - T = 0 for S = sum w, T = sum A²/w. The shape is the one whose means
    -q/2 are nearer to the A; but if κ² is far from q it is not a length. (Nor does the likelihood choose the shape:
    with control variates κ is tiny, yet large where |A| is, of either sign.)

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(100_000, acceptance=0.3, pairs=2000, rng=np.random.default_rng(1))
    >>> law = fit_step_law(trial)
    >>> float((law.squared_length / trial.kappa**2).mean().round(1))
    1.0
    """
    power = real("kappa_power", kappa_power, 0.1, 4.0)
    a, n = trial.log_acceptance, len(trial)
    if not np.any(a != 0.0):
        raise BadInput("the pairs of the trial run all have A = 0: such small steps say nothing about larger ones")
    shapes = [_fitted(a, weights) for weights in (trial.kappa, np.ones(n))]
    off = [float(np.sum((a + 0.5 * q) ** 2)) for q in shapes]
    ratio = float(np.mean(shapes[0]) / np.mean(trial.kappa**2))
    proportional = off[0] <= off[1] and 1.0 / LIKE <= ratio <= LIKE
    return StepLaw(shapes[0] if proportional else shapes[1], proportional, power)


def _fitted(a: Floats, roots: Floats) -> Floats:
    """q = b w for w = roots², with b by maximum likelihood; at most LARGEST.

    In logarithms: A of one pair may be 10^100 times its κ, and another pair's κ 10^100 times that.
    """
    log_w, seen = 2.0 * np.log(roots), a != 0.0
    total = scipy.special.logsumexp
    log_s, log_t = total(log_w), total(2.0 * np.log(np.abs(a[seen])) - log_w[seen])
    log_n = math.log(a.size)
    log_b = math.log(2.0) + log_t - np.logaddexp(log_n, 0.5 * np.logaddexp(2.0 * log_n, log_s + log_t))
    q: Floats = np.exp(np.minimum(log_b + log_w, math.log(LARGEST)))  # the positive root, without cancellation
    return q


def best_step(
    trial: Trials,
    tolerance: float,
    scales: Iterable[float] = SCALES,
    *,
    cost: Cost = EVALUATIONS,
    hold: Hold = "jump",
    refine: bool = True,
    rule: Rule = "metropolis",
    kappa_power: float = 1.0,
    skew: bool | None = None,
    space: Space | None = None,
    confidence: float | None = USUAL_CONFIDENCE,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> BestStep:
    """The step and the test that make the largest expected squared jump per unit of cost.

    Parameters
    ----------
    trial
        Pairs of a random walk; or several trial runs of the same posterior by their relative step, {1.0: ..., 2.0:
        ...}. Each scale then uses the trial run with the nearest step, and κ's power is fitted.
    tolerance
        Largest mean |Δ|, at steps of relative size 1.
    scales
        Steps to consider, relative to that of the trial run (of the one at 1.0).
    cost
        What a step costs; by default likelihood evaluations, two per datum read. The exact chain reads every datum
        once, for half of `per_datum`.
    hold
        "jump": other steps are allowed an error in proportion to the exact chain's squared jump, so that the bias of
        the stationary distribution, error over mixing (K14 Theorem 1), is about the same for all. "step": the same
        tolerance for every step.
    refine
        Also try two steps next to the best one.
    kappa_power
        How κ grows with the step, if there is one trial run: 1 without control variates; with them 1 for small
        steps, up to 3 for large ones.
    rule, skew, space, confidence, workers, progress, cancelled
        As for `search`.

    Returns
    -------
    BestStep
        Every step with its best test, and the best of them (docs/step_size.md).

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(100_000, 0.234, 60, np.random.default_rng(1))
    >>> result = best_step(trial, 0.05, [0.5, 1.0], refine=False)
    >>> result.best.error <= result.best.tolerance
    True
    """
    runs, rule, cost = _runs(trial), check_rule(rule), cost.checked()
    for run in runs.values():
        check_pairs(run)
    power = kappa_power if len(runs) == 1 else _fitted_power(runs)
    laws = {scale: fit_step_law(run, power) for scale, run in runs.items()}
    relative = _checked_scales(scales)
    if hold not in ("step", "jump"):
        raise BadInput(f"hold = {hold!r}: must be 'step' or 'jump'")
    tolerance = real("tolerance", tolerance, LEAST_TOLERANCE, 1.0)
    reference = exact_jump(*_at(runs, laws, 1.0), rule == "barker")
    if not reference > 0.0:
        raise BadInput("no proposal of the trial run has a chance of being accepted: use smaller steps")
    options: dict[str, Any] = {"rule": rule, "skew": skew, "space": space, "confidence": confidence}
    options |= {"workers": workers, "cancelled": cancelled}
    rows: list[StepRow] = []

    def add(some: list[float], total: int) -> None:
        for scale in some:
            if cancelled is not None and cancelled():
                raise Cancelled
            pairs, lengths = _at(runs, laws, scale)
            share = 1.0 if hold == "step" else exact_jump(pairs, lengths, rule == "barker") / reference
            target = min(1.0, max(tolerance * share, LEAST_TOLERANCE))
            absurd = pairs_problem(pairs) is not None  # so large a step that no test could decide
            design = None if absurd else search(pairs, target, cost=cost, **options).best
            rows.append(_row(scale, pairs, lengths, design, target, cost, rule, skew))
            if progress is not None:
                progress(len(rows), total)

    add(relative, len(relative) + 2 * refine)
    if refine:
        more = _between(_concluded(rows), relative)
        add(more, len(relative) + len(more))
    rows.sort(key=lambda row: row.scale)
    return _concluded(rows)


def _between(result: BestStep, known: list[float]) -> list[float]:
    """Steps half-way (in logarithms) from the best one to its neighbours."""
    if result.best is None:
        return []
    place = known.index(result.best.scale)
    near = known[max(0, place - 1) : place] + known[place + 1 : place + 2]
    middles = [float(f"{math.sqrt(scale * result.best.scale):.4g}") for scale in near]
    return [scale for scale in middles if scale not in known]


def exact_jump(pairs: TrialRun, squared_length: Floats, barker: bool = False) -> float:
    """Expected squared jump of the exact chain, mean(q P_a)."""
    return float(np.mean(squared_length * exact_probability(pairs.log_acceptance, barker)))


def effective_share(jump: float, dimension: int) -> float:
    """Effective draws per step, (1 - ρ) / (1 + ρ), where ρ = 1 - jump / (2 D) is the autocorrelation at lag 1.

    Exact for chains whose autocorrelations fall off geometrically; a random walk's do so roughly.

    Parameters
    ----------
    jump
        Expected squared jump in the posterior's metric, as in `StepRow`.
    dimension
        Number of parameters D.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(effective_share(jump=1.3, dimension=50), 4)
    0.0065
    """
    half = real("jump", jump, 0.0, 1e300) / (2.0 * integer("dimension", dimension, 1, 10**9))
    return min(half, 1.0) / (2.0 - min(half, 1.0))


def _runs(trial: Trials) -> dict[float, TrialRun]:
    """Trial runs by their relative step, at least one, all of the same data."""
    runs = {1.0: trial} if isinstance(trial, TrialRun) else dict(trial)
    steps = sorted(real("step of a trial run", scale, LEAST, MOST) for scale in runs)
    if not steps:
        raise BadInput("trial: at least one trial run is needed")
    checked = {scale: runs[scale] for scale in steps}
    sizes = sorted({run.n_data for run in checked.values()})
    if len(sizes) > 1:
        raise BadInput(f"the trial runs have different n_data: {sizes[0]:,} and {sizes[1]:,}")
    return checked


def _checked_scales(scales: Iterable[float]) -> list[float]:
    checked = sorted({real("scales", scale, LEAST, MOST) for scale in scales})
    if not 1 <= len(checked) <= MOST_SCALES:
        raise BadInput(f"scales: {len(checked)} given; must be 1 to {MOST_SCALES}")
    return checked


def _fitted_power(runs: Mapping[float, TrialRun]) -> float:
    """Slope of the mean log κ in the log step."""
    x = np.log(list(runs))
    y = np.array([float(np.log(run.kappa).mean()) for run in runs.values()])
    slope = float(np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2))
    if not slope > 0.0:
        raise BadInput("κ does not grow with the step of the trial runs: check the steps they are listed under")
    return min(max(slope, 0.1), 4.0)


def _at(runs: Mapping[float, TrialRun], laws: Mapping[float, StepLaw], scale: float) -> tuple[TrialRun, Floats]:
    """Pairs at a step with the squared lengths of the steps, from the trial run whose step is nearest."""
    near = min(runs, key=lambda known: abs(math.log(scale / known)))
    law, relative = laws[near], scale / near
    pairs = runs[near] if relative == 1.0 else law.scaled(runs[near], relative)
    return pairs, law.squared_length * relative**2


def _row(
    scale: float,
    pairs: TrialRun,
    lengths: Floats,
    design: Design | None,
    tolerance: float,
    cost: Cost,
    rule: Rule,
    skew: bool | None,
) -> StepRow:
    """One step size: with its best test, and exactly."""
    n, nan = pairs.n_data, math.nan
    right = exact_probability(pairs.log_acceptance, rule == "barker")
    jump = float(np.mean(lengths * right))
    exact = (float(right.mean()), jump, jump / cost.exact(n))
    kappa = float(np.median(pairs.kappa))
    if design is None:
        return StepRow(scale, kappa, tolerance, None, nan, nan, nan, nan, nan, nan, *exact, nan)
    step = step_of(design, pairs, rule, SEARCH_ACCURACY, skew=skew)
    taken = right + step.delta
    price = cost.of(n, step.mean_usage, float(step.looks.mean()))
    each = lengths * np.minimum(taken, right)
    jump = float(each.mean())
    jump_error = float(each.std(ddof=1)) / math.sqrt(each.size) if each.size > 1 else nan
    measured = (step.mean_abs_delta, step.mean_usage, float(taken.mean()), jump, price, jump / price)
    return StepRow(scale, kappa, tolerance, design, *measured, *exact, jump_error)


def _concluded(rows: list[StepRow]) -> BestStep:
    exact = max(rows, key=lambda row: row.exact_efficiency)
    if not exact.exact_efficiency > 0.0:
        return BestStep(rows, None, exact, None, "no proposal is accepted at any of these steps: try smaller ones")
    tested = [row for row in rows if row.design is not None]
    if not tested:
        none = "no test meets the tolerance at any of these steps: raise it, or use the exact chain"
        return BestStep(rows, None, exact, None, none)
    best = max(tested, key=lambda row: row.efficiency)
    good = [row.scale for row in tested if row.efficiency >= FLAT * best.efficiency]
    assert best.design is not None
    gain = best.efficiency / exact.exact_efficiency
    sentence = (
        f"steps {best.scale:.3g} times the trial run's, m = {best.design.m:,}, ε = {best.design.epsilon:.3g}: "
        f"acceptance {best.acceptance:.3f}, {best.usage:.2%} of the data per step, {gain:.3g} times the efficiency of "
        f"the exact chain at its best step ({exact.scale:.3g})"
    )
    return BestStep(rows, best, exact, (min(good), max(good)), sentence)
