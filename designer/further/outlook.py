"""Is a sequential test worth it? The best one for a trial run, in the user's terms.

The user says how much wider posterior standard deviations may get. That gives a tolerance on mean |Δ|
(`tolerance_for_growth`), the tolerance gives a test (`search`), and the test is put beside an exact chain that keeps
its log-likelihoods.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from designer.core.errors import BadInput, NumericalFailure, real
from designer.engine.predict import batch_problem, predict
from designer.further.posterior.error import PosteriorError, posterior_error
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.search.criteria import Cost
from designer.search.remarks import beside_exact
from designer.search.resample import Band, bootstrap
from designer.search.space import usual_batch

USUAL_TOLERANCE = 0.01  # on mean |Δ|, where the posterior gives none: that of `search`
MARGIN = 1.5  # real chains widen posteriors by at most so many times the predicted widening (docs/posterior.md)
LEAST_GAIN = 1.5  # times fewer evaluations than an exact chain: less does not pay for reading rows in random order
CAREFUL, FEW_LOOKS = 0.005, 50  # ε and looks of a test whose effect on the posterior is small, and quickly computed
MOST_PAIRS = 2000  # that the effect on the posterior is computed from; more change nothing that is shown


class Tolerance(NamedTuple):
    """The tolerance on mean |Δ| for a growth of posterior sds, and why it is the usual one if it is.

    Examples
    --------
    >>> Tolerance(0.01, "").value
    0.01
    """

    value: float
    remark: str

    def smaller(self, factor: float) -> Tolerance:
        """This many times smaller at least, with two digits."""
        return Tolerance(_rounded_down(self.value * min(0.95, factor)), self.remark)


class Outlook(NamedTuple):
    """What to expect of a test, beside an exact chain that keeps log p(xᵢ; θ).

    Attributes
    ----------
    rows
        Rows read per step, a `Band` of 95% over the pairs.
    share
        The same as a share of the data.
    evaluations, exact
        Likelihood evaluations per step of the test (two for each row it reads) and of the exact chain.
    gain
        How many times fewer they are.
    growth
        Posterior sds grow by less than this: the prediction times a margin for its error. None if it is not known.
    temperature
        At which the posterior is sampled; None if it is not known.
    unknown
        Why the effect on the posterior is not known; empty if it is.
    worth
        Whether the test is worth using.
    reason
        Why, in one sentence.
    bound
        Bound on mean |Δ| that holds whatever the distribution of the lᵢ; infinite if the test may take several looks.
    doubt
        Why the normal theory is not to be trusted on these pairs, where it matters; empty if it is.

    Examples
    --------
    >>> from designer.pairs.examples import example
    >>> found = outlook(Design(100_000, 500, 0.5), example("control"))
    >>> round(found.rows.value), round(found.gain), found.worth, found.growth < 0.01
    (500, 100, True, True)
    """

    rows: Band
    share: Band
    evaluations: float
    exact: float
    gain: float
    growth: float | None
    temperature: float | None
    unknown: str
    worth: bool
    reason: str
    bound: float
    doubt: str


def tolerance_for_growth(trial: TrialRun, growth: float) -> Tolerance:
    """The tolerance on mean |Δ| that lets posterior sds grow by at most this share.

    Parameters
    ----------
    trial
        The pairs.
    growth
        0.01 for standard deviations at most 1% too large, a margin for the error of the prediction included.

    Returns
    -------
    Tolerance
        Two digits, rounded down; the usual one, with a remark, if the pairs are not of a random walk. It is a good
        guess, since the growth is nearly proportional to mean |Δ|: `outlook` says what the design does in the end.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=100, rng=np.random.default_rng(0))
    >>> tolerance_for_growth(trial, 0.05).value
    0.009
    """
    most, n_data = real("growth", growth, 1e-4, 1.0) / MARGIN, trial.n_data
    at_once = _effect(Design(n_data, usual_batch(n_data), 0.5), trial)
    if not isinstance(at_once, str) and at_once.sd_ratio - 1.0 <= most:  # even with one look, which no test has less of
        return Tolerance(USUAL_TOLERANCE, "")
    careful = _effect(Design(n_data, max(usual_batch(n_data), n_data // FEW_LOOKS), CAREFUL), trial)
    if isinstance(careful, str):
        return Tolerance(USUAL_TOLERANCE, careful)
    if careful.mean_abs_delta <= 0.0 or careful.sd_ratio <= 1.0:
        return Tolerance(USUAL_TOLERANCE, "")
    return Tolerance(_rounded_down(min(1.0, most * careful.mean_abs_delta / (careful.sd_ratio - 1.0))), "")


def outlook(design: Design, trial: TrialRun, seed: int = 0) -> Outlook:
    """What to expect of a test on the pairs of a trial run.

    Parameters
    ----------
    design
        The test.
    trial
        The pairs.
    seed
        Of the bootstrap over the pairs.

    Returns
    -------
    Outlook
        Rows per step, the gain, what happens to the posterior, and a verdict.

    Examples
    --------
    >>> from designer.pairs.examples import example
    >>> outlook(Design(100_000, 500, 0.001), example("logistic")).worth
    False
    """
    predicted = predict(design, trial)
    step, bound = predicted.step, float(predicted.bound.mean())
    if not math.isfinite(step.mean_usage):
        raise BadInput(step.remark or "the data use of this test is not known for these pairs")
    usage = bootstrap(np.random.default_rng(seed), design, trial).usage
    beside = beside_exact(Cost(), trial.n_data, step.mean_usage, 1.0, trial.n_heavy)
    gain, effect = beside.exact / beside.test, _effect(design, trial)
    growth, temperature, unknown = None, None, effect if isinstance(effect, str) else ""
    if not isinstance(effect, str):
        growth = MARGIN * max(0.0, effect.sd_ratio - 1.0) + effect.estimate
        temperature = effect.temperature
    rows = Band(*(trial.n_data * part for part in usage))
    doubt = "" if math.isfinite(bound) else batch_problem(trial, design.m, design.epsilon) or ""
    effect_on_it = growth, temperature, unknown
    return Outlook(rows, usage, beside.test, beside.exact, gain, *effect_on_it, *_verdict(gain, trial), bound, doubt)


def at_most(n_data: int, m: int = 500) -> float:
    """The largest gain that any data can have: every step reads a mini-batch, and evaluates it twice.

    Examples
    --------
    >>> at_most(100_000)
    100.0
    """
    return n_data / (2.0 * min(m, n_data))


def _effect(design: Design, trial: TrialRun) -> PosteriorError | str:
    """What the test does to the posterior, or why that is not known."""
    try:
        return posterior_error(design, _some(trial))
    except (BadInput, NumericalFailure) as problem:
        return str(problem)


def _verdict(gain: float, trial: TrialRun) -> tuple[bool, str]:
    if gain < 1.0:
        return False, (
            f"an exact chain that remembers the log-likelihood of every row evaluates {trial.n_data:,} rows per step "
            "and makes no error: it is cheaper. Control variates may change that"
        )
    if gain < LEAST_GAIN:
        return False, (
            "it saves less than a third of the evaluations of an exact chain that remembers the log-likelihoods of "
            f"its {trial.n_data:,} rows, and reading rows in random order may cost as much"
        )
    return True, (
        f"an exact chain that remembers the log-likelihood of every row evaluates {trial.n_data:,} rows per step; the "
        "test evaluates each row that it reads twice, and the comparison counts both"
    )


def _some(trial: TrialRun) -> TrialRun:
    """Not more pairs than are needed, evenly spread over the run."""
    if len(trial) <= MOST_PAIRS:
        return trial
    return trial.subset(np.linspace(0, len(trial) - 1, MOST_PAIRS).astype(np.int64))


def _rounded_down(value: float, digits: int = 2) -> float:
    """A number with few digits that is not larger."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.floor(value / unit) * unit:.{digits}g}")
