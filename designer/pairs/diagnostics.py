"""Does a trial run suit the theory? Summaries, and checks of the normal approximation with verdicts in words."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.check import _t_test_kernels
from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer
from designer.core.work import one_call, spend
from designer.engine.skew import LARGEST
from designer.engine.step_error import Rule, acceptance, check_rule, exact_probability
from designer.pairs.mistakes import odd_pairs
from designer.pairs.refusals import pairs_problem
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import LEAST_EPSILON, epsilon_of
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan
from designer.search.criteria import ENOUGH_PAIRS, measure_of
from designer.search.space import Space

Verdict = Literal["good", "fair", "poor", "unknown"]

GOOD, FAIR = 1.25, 2.0  # tail probabilities off by at most these factors
MADE_UP = 200_000  # most values of a synthetic population
CLIP = 2.0  # a Q-Q plot shows t statistics up to this multiple of the theoretical extremes
USUAL_EPSILON, ROUGH = 0.05, 1e-4  # ε of the usual test in the summary, and its numerical accuracy
MUCH = 0.5  # data use per step above which the summary has a remark
ODD, SMALL_CHANGE = 0.2, 1e-3  # relative and absolute change of mean |Δ| by skewness above which it has one
RANDOM_WALK = "random-walk"  # as configs name this proposal
SUMMARY_LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


class Spread(NamedTuple):
    """Mean, standard deviation and quantiles (at SUMMARY_LEVELS) of one quantity over the pairs."""

    mean: float
    sd: float
    quantiles: tuple[float, ...]


class TrialSummary(NamedTuple):
    """The distribution of the pairs of a trial run, with remarks.

    Attributes
    ----------
    pairs, n_data
        Number of pairs, and of data N.
    log_acceptance, kappa, probability
        `Spread` of A, of κ and of the exact acceptance probability: mean, sd and quantiles over the pairs.
    skew
        `Spread` of the skewness; None if it is not recorded.
    usual, usage
        A usual test (the smallest m of the search, constant bounds with ε = 0.05) and its mean data use per step.
    remarks
        What to know before trusting a design for these pairs; may be empty.

    Examples
    --------
    >>> summary = summarise(TrialRun.at_stationarity(20_000, 0.5, 400, np.random.default_rng(1)))
    >>> summary.usual.m, round(summary.kappa.mean, 2), summary.skew
    (500, 1.35, None)
    """

    pairs: int
    n_data: int
    log_acceptance: Spread
    kappa: Spread
    probability: Spread
    skew: Spread | None
    usual: Design
    usage: float
    remarks: list[str]


class TailCheck(NamedTuple):
    """One-sided error rates of the first look at μ = μ₀: nominal, and with skewness.

    Attributes
    ----------
    wanted
        The nominal rate on either side.
    accept, reject
        The rates with skewness; None if the first-order correction does not apply.
    factor
        The worse of their ratios to the nominal rate (or the inverse ratio).
    verdict, sentence
        "good", "fair", "poor", or "unknown" if the first-order correction does not apply; and the same in words.

    Examples
    --------
    >>> tail_check(Design(100_000, 500, 0.05), skew=20.0).verdict
    'unknown'
    """

    wanted: float
    accept: float | None
    reject: float | None
    factor: float | None
    verdict: Verdict
    sentence: str


class StudentCheck(NamedTuple):
    """The t statistic under resampling (K14 Fig. 7), compared with Student's distribution.

    Attributes
    ----------
    t, theoretical
        Sorted values, and the matching quantiles of Student's distribution.
    distance, p_value
        Largest distance between the distribution functions (Kolmogorov-Smirnov), and the probability of a larger one.
    accept, reject, wanted
        Observed error rates at the first look's bounds, and the nominal rate.
    verdict, sentence
        "good", "fair" or "poor", and the same in words.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> student_check(rng, Design(10_000, 500, 0.05), rng.standard_normal(10_000)).verdict
    'good'
    """

    t: Floats
    theoretical: Floats
    distance: float
    p_value: float
    accept: float
    reject: float
    wanted: float
    verdict: Verdict
    sentence: str

    def curve(self, points: int = 200) -> tuple[Floats, Floats]:
        """Theoretical and observed quantiles for a Q-Q plot: evenly spread ranks, and the extremes on both sides.

        Values too far out for the plot are left out; `outside` counts them.
        """
        last, tail = self.t.size - 1, min(20, self.t.size)
        ranks = np.linspace(0, last, min(points, self.t.size)).astype(int)
        ranks = np.unique(np.concatenate([np.arange(tail), ranks, last - np.arange(tail)]))
        ranks = ranks[self._shown[ranks]]
        return self.theoretical[ranks], self.t[ranks]

    @property
    def outside(self) -> int:
        """The number of values too far out for a Q-Q plot."""
        return int(np.count_nonzero(~self._shown))

    @property
    def _shown(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.abs(self.t) <= CLIP * self.theoretical[-1])


class Histogram(NamedTuple):
    """Counts between edges; `below` and `above` count the values outside."""

    edges: Floats
    counts: npt.NDArray[np.int64]
    below: int
    above: int

    @property
    def centres(self) -> Floats:
        """The centres of the bins."""
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    @property
    def widths(self) -> Floats:
        """The widths of the bins."""
        return np.diff(self.edges)

    @property
    def outside(self) -> int:
        """The number of values outside."""
        return self.below + self.above


def histogram(values: npt.ArrayLike, bins: int = 30) -> Histogram:
    """A histogram that outliers cannot squeeze: it covers all but 0.5% of the values at either end, and a margin.

    Examples
    --------
    >>> histogram([0.0, 1.0, 1.0, 2.0], bins=2).counts
    array([1, 3])
    """
    x, bins = np.asarray(values, dtype=np.float64), integer("bins", bins, 1, 1000)
    if x.size == 0 or not np.all(np.isfinite(x)):
        raise BadInput("values: must be one or more finite numbers")
    inner = np.quantile(x, [0.005, 0.995])
    room = 0.1 * (inner[1] - inner[0])
    low, high = max(x.min(), inner[0] - room), min(x.max(), inner[1] + room)
    if not low < high:
        room = max(abs(low), 1.0) * 1e-3
        low, high = low - room, high + room
    counts, edges = np.histogram(x, bins, (low, high))
    return Histogram(edges, counts, int(np.count_nonzero(x < low)), int(np.count_nonzero(x > high)))


def summarise(trial: TrialRun, rule: Rule = "metropolis") -> TrialSummary:
    """Summary of A, κ, acceptance probability and skewness, with remarks.

    Parameters
    ----------
    trial
        The pairs.
    rule
        "metropolis" or "barker", for the acceptance probability.

    Returns
    -------
    TrialSummary
        Spreads over the pairs, and remarks.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 400, np.random.default_rng(1))
    >>> round(summarise(trial).probability.mean, 1)
    0.5
    """
    a, kappa, probability = _spread(trial.log_acceptance), _spread(trial.kappa), _spread(_probability(trial, rule))
    skew = None if trial.skew is None else _spread(trial.skew)
    usual = Design(trial.n_data, Space().checked(trial.n_data).m_range[0], USUAL_EPSILON)
    usage = measure_of("average", trial, rule, 0.5).small()(as_plan(usual), ROUGH).usage
    summary = TrialSummary(len(trial), trial.n_data, a, kappa, probability, skew, usual, usage, [])
    problem = pairs_problem(trial)
    odd = odd_pairs(trial) if problem is None else f"no design can be made: {problem}"
    remarks = [*([] if odd is None else [odd]), *_remarks(summary, trial.proposal)]
    if "no_residuals" in trial.notes:
        remarks.append(f"no residuals, which predictions at small m need: {trial.notes['no_residuals']}")
    return summary._replace(remarks=[*remarks, *_skewness_remarks(usual, trial, rule)])


def histograms_of(trial: TrialRun, rule: Rule = "metropolis") -> dict[str, Histogram]:
    """Histograms of the quantities in `summarise`, by the same names."""
    columns = {"log_acceptance": trial.log_acceptance, "kappa": trial.kappa, "probability": _probability(trial, rule)}
    columns |= {} if trial.skew is None else {"skew": trial.skew}
    return {name: histogram(values) for name, values in columns.items()}


@one_call
def tail_check(design: Design | Plan, skew: float) -> TailCheck:
    """How skewness of the lᵢ changes the first look's error rates at μ = μ₀.

    Uses the first-order (Edgeworth) correction of the studentised mean without replacement: the sample standard
    deviation is correlated with the mean, and the mean itself is skewed. If the skewness is too large for the first
    order (`designer.engine.skew`), the verdict says so, without rates.

    Parameters
    ----------
    design
        The test, of which the first look is checked.
    skew
        Skewness of the lᵢ.

    Returns
    -------
    TailCheck
        Rates and verdict.

    Examples
    --------
    >>> check = tail_check(Design(100_000, 500, 0.05), skew=1.0)
    >>> round(check.accept, 4), round(check.reject, 4), check.verdict
    (0.0454, 0.0553, 'good')
    """
    plan = as_plan(design)
    n, pi, bound = _first_look(plan)
    wanted = epsilon_of(bound)
    if abs(skew) > LARGEST * math.sqrt(n):
        enough = math.ceil((skew / LARGEST) ** 2)
        larger = f"take m >= {enough:,}, or " if enough < plan.schedule.n_data else ""
        sentence = f"unknown: skewness {skew:.3g} is beyond the first-order correction at m = {n:,}"
        return TailCheck(wanted, None, None, None, "unknown", f"{sentence}; {larger}audit the chain")
    rates = [epsilon_of(_effective_bound(side, bound, skew, n, pi)) for side in (1.0, -1.0)]
    factor = _worse_factor(rates, wanted)
    verdict = _verdict(factor)
    sentence = (
        f"{verdict}: with skewness {skew:.2g} and m = {n:,} a look that should err with probability {wanted:.2g} "
        f"accepts wrongly with {rates[0]:.2g} and rejects wrongly with {rates[1]:.2g}"
    )
    return TailCheck(wanted, rates[0], rates[1], factor, verdict, sentence)


def worst_tail_check(trial: TrialRun, m: int, epsilon: float) -> TailCheck | None:
    """`tail_check` for the most skewed pair of a trial run, at batch size m or half the data; None without skewness."""
    if trial.skew is None:
        return None
    most = float(trial.skew[np.abs(trial.skew).argmax()])
    return tail_check(Design(trial.n_data, max(2, min(m, trial.n_data // 2)), epsilon), most)


@one_call
def student_check(
    rng: np.random.Generator, design: Design | Plan, population: npt.ArrayLike, repeats: int = 5000
) -> StudentCheck:
    """Resample the first look's t statistic at μ = μ₀ from log-likelihood differences lᵢ (K14 Fig. 7).

    Parameters
    ----------
    rng
        Random numbers.
    design
        The test, of which the first look is checked.
    population
        All N values lᵢ of one pair.
    repeats
        Number of samples.

    Returns
    -------
    StudentCheck
        Observed and theoretical quantiles, and a verdict.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> check = student_check(rng, Design(10_000, 100, 0.05), rng.standard_exponential(10_000) ** 2)
    >>> check.verdict, check.accept < 0.05 < check.reject
    ('poor', True)
    """
    from scipy.special import kolmogorov, stdtr, stdtrit

    plan = as_plan(design)
    n, _, upper = _first_look(plan)
    values = np.ascontiguousarray(population, dtype=np.float64)
    if values.shape != (plan.schedule.n_data,) or not np.all(np.isfinite(values)) or np.ptp(values) == 0:
        raise BadInput(f"population: must be {plan.schedule.n_data:,} finite numbers, not all equal")
    wanted = epsilon_of(upper)
    # rare exceedances need many repeats: expect at least a hundred of them
    repeats = max(integer("repeats", repeats, 100, 10**7), min(10**6, math.ceil(100.0 / wanted)))
    spend(float(repeats) * n, f"repeats = {repeats:,}, m = {n:,}", "take fewer repeats, or smaller batches")
    t = np.empty(repeats)
    _t_test_kernels.t_statistics(rng, values, float(values.mean()), n, np.arange(values.size), t)
    t.sort()
    bound = -float(stdtrit(n - 1.0, wanted))
    accept, reject = float(np.mean(t > bound)), float(np.mean(t < -bound))
    cdf, grid = stdtr(n - 1.0, t), np.arange(repeats + 1) / repeats
    distance = float(max(np.max(grid[1:] - cdf), np.max(cdf - grid[:-1])))
    p_value = float(kolmogorov(math.sqrt(repeats) * distance))
    noise = 2.0 * math.sqrt(wanted * (1.0 - wanted) / repeats)
    # beyond sampling noise
    excess = [wanted + math.copysign(max(0.0, abs(rate - wanted) - noise), rate - wanted) for rate in (accept, reject)]
    verdict = _verdict(_worse_factor(excess, wanted))
    sentence = (
        f"{verdict}: at m = {n:,} the t statistic exceeds its {wanted:.2g} bound with probability {accept:.2g} above "
        f"and {reject:.2g} below (±{0.5 * noise:.1g}); distance to Student's distribution {distance:.3f}"
    )
    theoretical = stdtrit(n - 1.0, (np.arange(repeats) + 0.5) / repeats)
    return StudentCheck(t, theoretical, distance, p_value, accept, reject, wanted, verdict, sentence)


def skewed_population(n_data: int, skew: float) -> Floats:
    """N synthetic values with mean 0, standard deviation 1 and this skewness: quantiles of a gamma distribution.

    They stand for the lᵢ of a pair when only their skewness is known; the tails of the real lᵢ may differ.
    """
    from scipy.special import gammaincinv, ndtri

    n_data = integer("n_data", n_data, 2, 10**8)
    if abs(skew) > max(0.01, most := _most_skewness(n_data)):
        raise BadInput(f"skew = {skew:g}: {n_data:,} numbers have at most {most:.3g}")
    level = (np.arange(n_data) + 0.5) / n_data
    gamma = abs(skew) > 1e-3
    values = math.copysign(1.0, skew) * gammaincinv(4.0 / skew**2, level) if gamma else ndtri(level)
    values -= values.mean()
    return np.asarray(values / values.std())


def _most_skewness(n_data: int) -> float:
    """The largest skewness of N numbers: all but one are equal."""
    return (n_data - 2) / math.sqrt(n_data - 1)


def worst_student_check(rng: np.random.Generator, trial: TrialRun, m: int, epsilon: float) -> StudentCheck | None:
    """`student_check` on synthetic lᵢ as skewed as those of the most skewed pair; None without skewness.

    There are at most MADE_UP of them, as skewed as that many numbers can be: the first look hardly depends on N.
    """
    if trial.skew is None:
        return None
    n_data, most = min(trial.n_data, MADE_UP), float(trial.skew[np.abs(trial.skew).argmax()])
    most = math.copysign(min(abs(most), _most_skewness(n_data)), most)
    design = Design(n_data, max(2, min(m, n_data // 2)), epsilon)
    return student_check(rng, design, skewed_population(n_data, most))


def _first_look(plan: Plan) -> tuple[int, float, float]:
    if plan.schedule.size == 1:
        raise BadInput("the test reads all the data at its first look: there is nothing to check")
    n = plan.schedule.m
    pi = n / plan.schedule.n_data
    lower, upper = plan.boundary.at(np.zeros(1, dtype=np.int64), np.array([pi]))
    if not 0 <= upper[0] < math.inf or lower[0] != -upper[0]:
        raise BadInput("the check needs symmetric, finite bounds at the first look")
    return n, pi, float(upper[0])


def _effective_bound(side: float, bound: float, skew: float, n: int, pi: float) -> float:
    """The normal bound that the studentised mean exceeds as often, to first order in the skewness."""
    d = side * bound * (1.0 + 0.5 * skew * math.sqrt((1.0 - pi) / n) * side * bound)
    k3 = skew * (1.0 - 2.0 * pi) / math.sqrt(n * (1.0 - pi))
    return side * (d - k3 / 6.0 * (d * d - 1.0))


def _worse_factor(rates: list[float], wanted: float) -> float:
    """The largest ratio between a rate and the wanted one, either way; below the smallest ε all rates are alike."""
    aim = max(wanted, LEAST_EPSILON)
    ratios = [max(rate, LEAST_EPSILON) / aim for rate in rates]
    return max(max(ratio, 1.0 / ratio) for ratio in ratios)


def _probability(trial: TrialRun, rule: Rule) -> Floats:
    """The exact acceptance probability of every pair."""
    return exact_probability(trial.log_acceptance, check_rule(rule) == "barker")


def _verdict(factor: float) -> Verdict:
    return "good" if factor <= GOOD else "fair" if factor <= FAIR else "poor"


def _spread(values: Floats) -> Spread:
    quantiles = tuple(float(q) for q in np.quantile(values, SUMMARY_LEVELS))
    return Spread(float(values.mean()), float(values.std()), quantiles)


def _remarks(summary: TrialSummary, proposal: str | None) -> list[str]:
    """What is odd about the pairs; what is right for a random walk may be wrong for another proposal."""
    probability, remarks = summary.probability, []
    if summary.pairs < 50:
        remarks.append(f"{summary.pairs} pairs are few: 100 or more give cheaper designs")
    if probability.mean < 0.05:
        cure = (
            "take smaller steps" if proposal == RANDOM_WALK else "make it closer to the posterior, or its steps smaller"
        )
        remarks.append(f"mean acceptance is {probability.mean:.2g}: the proposal is nearly always rejected; {cure}")
    if probability.mean > 0.95 and proposal == RANDOM_WALK:
        remarks.append(f"mean acceptance is {probability.mean:.2g}: the random walk's steps are too small")
    if summary.usage > MUCH:
        remarks.append(
            f"κ is {summary.kappa.mean:.2g} on average, so decisions need much of the data: control variates lower it"
        )
    return remarks


def _skewness_remarks(usual: Design, trial: TrialRun, rule: Rule) -> list[str]:
    """Whether skewness matters at the usual test: pairs beyond the correction, or an error that it changes by much."""
    if trial.skew is None:
        return ["no skewness recorded: the normal approximation can hardly be checked"]
    spread = np.linspace(0, len(trial) - 1, min(len(trial), ENOUGH_PAIRS)).astype(int)
    some = trial if spread.size == len(trial) else trial.subset(spread)
    plain, skewed = (acceptance(usual, some, rule, ROUGH, skew=known) for known in (False, True))
    if skewed.remark is not None and trial.residuals is not None:
        many = f"{np.count_nonzero(np.isnan(skewed.delta)):,} of {len(some):,} pairs"
        return [f"{many} are too skewed for the theory at m = {usual.m:,}: predictions resample their residuals"]
    if skewed.remark is not None:
        return [skewed.remark]
    change = skewed.mean_abs_delta - plain.mean_abs_delta
    if abs(change) <= max(SMALL_CHANGE, ODD * plain.mean_abs_delta):
        return []
    return [
        f"skewness changes mean |Δ| of a usual test (m = {usual.m:,}, ε = {usual.epsilon:g}) from "
        f"{plain.mean_abs_delta:.2g} to {skewed.mean_abs_delta:.2g}: correct for it (skew), or take a larger m"
    ]
