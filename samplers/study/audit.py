"""Audits: how wrong a chain's test is in the steps that the chain makes, against its tolerance.

Every audited step costs one pass over the data and yields Δ of its pair, all u together (`samplers.study.integrated`),
instead of one decision that happens to be right or wrong. So tens of steps tell mean |Δ| to a few percent. An audit
goes on until it would notice an error worth noticing, twice the tolerance, with a probability of 90%; or it says what
it could have noticed. Where proposals do not depend on the state, the same steps tell how far the errors move the
posterior means (`samplers.study.mean_bias`); elsewhere an audit says that it does not judge them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from designer.core.errors import BadInput, integer, real
from designer.core.progress import Progress, raise_if
from designer.engine.step_error import acceptance
from designer.rule.design import Design
from designer.rule.plan import Plan
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.protocol import MarkovChain
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.exact import ExactTest
from samplers.study.integrated import PRECISION, StepError
from samplers.study.mean_bias import NOT_JUDGED, WISH, MeansJudged, mean_bias
from samplers.study.means import Mean
from samplers.study.observe import WITHOUT_ERROR, Observed, check_observable, observing

SURPRISE = 3.0  # standard errors beyond which a prediction and a measurement disagree
WOLF = 0.995  # confidence with which mean |Δ| must exceed the tolerance before an audit says so
SURE = 0.95  # confidence of the limit that is shown
POWER = 0.9  # wanted probability of noticing twice the tolerance
WORTH_NOTICING = 2.0  # tolerances
CLEARLY = 4.5  # standard errors beyond the tolerance at which an audit ends early: looked at 19 times, by chance 0.1%
PILOT, MORE = 40, 20  # audited steps before the first judgement, and between two of them
PASSES = 400  # most audited steps
EVERY = 10  # steps from one audited step to the next
NOISE = 0.1  # wanted standard error of Δ of a step, in tolerances
FEW_FOR_MEANS = 20  # fewer audited steps say nothing of the means
ASSUMED = 0.01  # tolerance where nothing states one
LEEWAY, SMALLEST = 1.25, 0.001  # of a prediction, relative and absolute, that stands in for a tolerance

Verdict = Literal["within", "near", "beyond", "unclear"]


class MeasuredValue(NamedTuple):
    """A measured value beside its prediction.

    Attributes
    ----------
    value, se
        As measured, and its standard error.
    predicted
        By the calculator; nan if it predicts nothing for this test.

    Examples
    --------
    >>> MeasuredValue(value=0.021, se=0.004, predicted=0.018).predicted
    0.018
    """

    value: float
    se: float
    predicted: float


class Standard(NamedTuple):
    """What mean |Δ| is judged by: a number, and where it comes from."""

    value: float
    source: Literal["tolerance", "prediction", "assumed"]

    @property
    def name(self) -> str:
        """In words, with its value."""
        return {
            "tolerance": f"the tolerance {self.value:.3g}",
            "prediction": f"the prediction with leeway, {self.value:.3g}",
            "assumed": f"{self.value:.3g} (assumed: no tolerance is stated)",
        }[self.source]


class Audit(NamedTuple):
    """What a test does in the steps that a chain makes, against its tolerance and beside its design's predictions.

    Attributes
    ----------
    pairs
        How many steps were audited.
    wrong
        Rate of wrong decisions, a `MeasuredValue`; nan for a test whose decision shares no u with the exact one.
    delta
        Mean Δ: accepted wrongly minus rejected wrongly.
    usage
        Data use.
    agrees, sentence
        Whether mean |Δ| is not noticeably beyond the tolerance, nor a mean off by more than the wish (0.05 sd by
        default), as far as this audit can tell; and that in words.
    error
        Mean |Δ|, a `MeasuredValue`.
    lower, upper
        Limits of mean |Δ|: it is larger than `lower` with confidence 99.5%, smaller than `upper` with 95%.
    tolerance
        What mean |Δ| is judged by.
    source
        "tolerance", of the design or given; "prediction", for these pairs, with leeway; or "assumed".
    detectable
        The mean |Δ| that this audit would have called beyond the tolerance with a probability of 90%.
    power
        The probability with which it would have noticed twice the tolerance.
    verdict
        "within" if the upper limit is within the tolerance, "near" if within twice the tolerance, "beyond" if the
        lower limit is beyond it, and otherwise "unclear".
    means
        How far the errors move the posterior means, a `MeansJudged`; None where the audit does not judge them.

    Examples
    --------
    >>> value = MeasuredValue(0.005, 0.001, 0.005)
    >>> limits = 0.003, 0.007, 0.01, "tolerance", 0.013, 1.0
    >>> found = Audit(200, value, value, value, True, "within the tolerance", value, *limits, "within")
    >>> found.verdict, found.upper
    ('within', 0.007)
    """

    pairs: int
    wrong: MeasuredValue
    delta: MeasuredValue
    usage: MeasuredValue
    agrees: bool
    sentence: str
    error: MeasuredValue
    lower: float
    upper: float
    tolerance: float
    source: str
    detectable: float
    power: float
    verdict: Verdict
    means: MeansJudged | None = None

    def with_means(self, means: MeansJudged | None) -> Audit:
        """The same with what was learnt of the means, or with the remark that they were not judged."""
        if means is None:
            return self._replace(sentence=f"{self.sentence}; {NOT_JUDGED}")
        agrees = self.agrees and means.verdict != "beyond"
        return self._replace(means=means, agrees=agrees, sentence=f"{self.sentence}; {means.words}")

    @property
    def details(self) -> str:
        """The other measurements beside their predictions, in words."""
        rows = {"wrong decisions": (self.wrong, ".3g"), "mean Δ": (self.delta, ".2g"), "data use": (self.usage, ".3%")}
        known = {name: row for name, row in rows.items() if not math.isnan(row[0].value)}
        return ", ".join(f"{name} {_beside(*row)}" for name, row in known.items())


def audit(design: Design | Plan | None, observed: Observed, n_data: int, tolerance: float | None = None) -> Audit:
    """Judge mean |Δ| of the recorded steps by a tolerance, and put the design's predictions beside the measurements.

    Parameters
    ----------
    design
        The test that the chain used; None if it has no design.
    observed
        What `observe` returned for a chain with that test.
    n_data
        Number of data N.
    tolerance
        Of mean |Δ|. By default that in the design's provenance; without one, a quarter more than the design predicts
        for these pairs; without a design, 0.01.

    Returns
    -------
    Audit
        The verdict, what could have been noticed, and the measurements.

    Examples
    --------
    >>> from samplers import Chain, Logistic, RandomWalk, SequentialTest, observe
    >>> x = np.random.default_rng(0).standard_normal((2000, 2))
    >>> model, design = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0), Design(2000, 200, 0.05)
    >>> parts = model, RandomWalk.isotropic(0.2, 2), SequentialTest.from_design(design)
    >>> recorded = observe(Chain(*parts, np.array([4.0, 0.0]), np.random.default_rng(1)), steps=400, every=2)
    >>> result = audit(design, recorded, model.n_data, tolerance=0.2)
    >>> result.pairs, result.verdict
    (200, 'within')
    """
    if not observed.errors:
        raise BadInput(
            "observed: no step of a test other than the exact one was recorded, so there is nothing to audit"
        )
    kept = [pair.sigma > 0 for pair in observed.pairs]
    errors = [error for error, keep in zip(observed.errors, kept, strict=True) if keep]
    predicted = [math.nan] * 4
    if design is not None:
        theory = acceptance(design, observed.trial(n_data), observed.rule)
        predicted = [float(row.mean()) for row in (theory.wrong, theory.delta, theory.usage)] + [theory.mean_abs_delta]
    return judge(errors, standard(design, tolerance, predicted[3]), predicted)


def audit_chain(
    chain: MarkovChain,
    design: Design | Plan | None = None,
    *,
    tolerance: float | None = None,
    passes: int = PASSES,
    every: int = EVERY,
    steps: int | None = None,
    wish: float = WISH,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Audit:
    """Advance a chain and audit every `every`-th step, until twice the tolerance would be noticed.

    Parameters
    ----------
    chain
        With the test to audit, after its warm-up.
    design, tolerance
        As for `audit`.
    passes
        Most audited steps; each costs a pass over the data.
    every
        Steps from one audited step to the next.
    steps
        Make exactly this many instead.
    wish
        Largest bias of a mean, in posterior standard deviations, where means can be judged.
    progress, cancelled
        Called with (audited steps done, most of them); when `cancelled` says so, `Cancelled` is raised.

    Returns
    -------
    Audit
        As `audit` returns it.

    Raises
    ------
    BadInput
        If the chain's test is exact, or its steps are not decisions about pairs.

    Examples
    --------
    >>> from samplers import Chain, Logistic, RandomWalk, SequentialTest
    >>> x = np.random.default_rng(0).standard_normal((2000, 2))
    >>> model, hasty = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0), Design(2000, 50, 0.4)
    >>> parts = model, RandomWalk.isotropic(0.2, 2), SequentialTest.from_design(hasty)
    >>> chain = Chain(*parts, np.array([4.0, 0.0]), np.random.default_rng(1))
    >>> audit_chain(chain, tolerance=0.01).verdict
    'beyond'
    """
    if isinstance(chain.test, WITHOUT_ERROR):
        name = "exact" if isinstance(chain.test, ExactTest) else "exact mini-batch"
        raise BadInput(f"test: the {name} test has no error to audit; its chain has the exact posterior")
    check_observable(chain)
    if tolerance is None and isinstance(chain.test, ConcentrationTest):
        tolerance = chain.test.delta  # a decision is wrong no more often, so |Δ| is no larger
    every = integer("every", every, 1, 10**9)
    most = integer("passes", passes, 1, 10**6) if steps is None else max(1, integer("steps", steps, 1, 10**9) // every)
    goals = [*range(PILOT, most, MORE), most] if steps is None else [most]
    errors: list[StepError] = []
    observed = Observed(Draws.empty(0, chain.theta.size), [], chain.rule, errors)
    first, last = chain.steps, chain.steps + (steps or 0)
    stated = standard(design, tolerance, math.nan).value
    precision = PRECISION if math.isnan(stated) else NOISE * stated
    bias, found = None if len(goals) == 1 and goals[0] < FEW_FOR_MEANS else mean_bias(chain, wish=wish), None
    for goal in goals:
        end = max(first + goal * every, last if goal == most else 0)
        try:
            for _ in observing(chain, end, every, observed.pairs, errors=errors, precision=precision):
                raise_if(cancelled)
                if progress is not None:
                    progress(len(errors), most)
        except ChainStopped as stopped:
            if errors:
                stopped.add_note(f"before that, {audit(design, observed, chain.n_data, tolerance).sentence}")
            raise
        if not any(pair.sigma > 0 for pair in observed.pairs):
            continue
        decided = [k for k, pair in enumerate(observed.pairs) if pair.sigma > 0]
        means = None
        if bias is not None:
            means = bias.judge([observed.pairs[k] for k in decided], [errors[k] for k in decided])
        found = audit(design, observed, chain.n_data, tolerance).with_means(means)
        settled = means is None or means.enough <= goal or means.enough > most  # or more steps would not do either
        if found.power >= POWER and found.verdict != "unclear" and settled:
            break
        if found.error.value - CLEARLY * found.error.se > found.tolerance:
            break
    if found is None:
        raise BadInput("no step was decided by the data, so there is nothing to audit")
    return found


def standard(design: Design | Plan | None, tolerance: float | None, predicted: float) -> Standard:
    """What mean |Δ| should not exceed."""
    if tolerance is not None:
        return Standard(real("tolerance", tolerance, 0.0, 1.0, open_low=True), "tolerance")
    notes = design.provenance if isinstance(design, Design) else None
    if notes is not None and notes.tolerance:
        return Standard(notes.tolerance, "tolerance")
    if design is not None:
        return Standard(max(LEEWAY * predicted, predicted + SMALLEST), "prediction")
    return Standard(ASSUMED, "assumed")


def judge(errors: Sequence[StepError], by: Standard, predicted: Sequence[float]) -> Audit:
    """Mean |Δ| of these steps against a standard; `predicted`: wrong decisions, mean Δ, data use, mean |Δ|."""
    delta, low, wrong, usage = (
        np.array([getattr(error, name) for error in errors]) for name in ("delta", "low", "wrong", "usage")
    )
    high = np.abs(delta)
    above, below = Mean.of(high), Mean.of(low)  # their expectations bracket mean |Δ|
    value, gap = 0.5 * (above.value + below.value), 0.5 * abs(above.value - below.value)
    se = math.hypot(above.se, gap)
    lower, upper = max(0.0, below.lower(WOLF)), above.upper(SURE)
    detectable, power = what_shows(se, value, by.value, min(above.draws, below.draws))
    verdict: Verdict = (
        "beyond"
        if lower > by.value
        else "within"
        if upper <= by.value
        else "near"
        if upper <= WORTH_NOTICING * by.value
        else "unclear"
    )
    rows = [
        MeasuredValue(*Mean.of(x)[:2], expected) for x, expected in zip((wrong, delta, usage), predicted, strict=False)
    ]
    error = MeasuredValue(value, se, predicted[3])
    said = _words(verdict, by, error, upper, detectable, power)
    return Audit(
        pairs=len(errors),
        wrong=rows[0],
        delta=rows[1],
        usage=rows[2],
        agrees=verdict in ("within", "near"),
        sentence=f"{len(errors):,} audited steps: {said}",
        error=error,
        lower=lower,
        upper=upper,
        tolerance=by.value,
        source=by.source,
        detectable=detectable,
        power=power,
        verdict=verdict,
    )


def what_shows(se: float, value: float, tolerance: float, draws: float) -> tuple[float, float]:
    """The mean |Δ| that is noticed with probability POWER, and the probability of noticing twice the tolerance.

    Noticed means: found beyond the tolerance with confidence WOLF, by the Student limit of this many effective steps.
    The errors are taken to spread as those seen, and in proportion to their mean if that is beyond the tolerance.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    if not math.isfinite(se):
        return 1.0, 0.0
    relative, alarm = se / max(value, tolerance), float(stdtrit(max(draws - 1.0, 1.0), WOLF))
    margin = (alarm + float(ndtri(POWER))) * relative
    detectable = min(1.0, tolerance / (1.0 - margin)) if margin < 1.0 else 1.0
    twice = WORTH_NOTICING * tolerance
    power = float(ndtr((twice - tolerance) / (relative * twice) - alarm)) if relative > 0.0 else 1.0
    return detectable, power


def _words(verdict: Verdict, by: Standard, error: MeasuredValue, upper: float, detectable: float, power: float) -> str:
    measured = f"mean |Δ| {_beside(error, '.3g')}, at most {upper:.3g} (95%)"
    predicted = by.source == "prediction"
    says = {
        "within": "as predicted" if predicted else f"within {by.name}",
        "near": "as predicted" if predicted else f"near {by.name}",
        "beyond": f"{'NOT as predicted' if predicted else 'TOO LARGE'}: beyond {by.name}",
        "unclear": f"UNCLEAR whether beyond {by.name}: allow more passes",
    }[verdict]
    if verdict == "beyond":
        return f"{measured}: {says}; find a design from pairs of this chain, or take a larger m"
    shows = f"{detectable:.3g} would have been noticed with a probability of 90%"
    return f"{measured}: {says}; {shows}, {WORTH_NOTICING * by.value:.3g} with {power:.0%}"


def _beside(row: MeasuredValue, form: str) -> str:
    """A measured value with its error, and what the normal theory predicts for the same pairs."""
    predicted = "" if math.isnan(row.predicted) else f" ({row.predicted:{form}} by normal theory)"
    return f"{row.value:{form}} ± {row.se:{form}}{predicted}"
