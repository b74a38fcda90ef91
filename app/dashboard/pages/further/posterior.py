"""Topic: what a test does to the posterior."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import streamlit as st

from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.further.parts import Topic, answered, batch_warning, below
from app.dashboard.state import share
from app.dashboard.state.current import MOST_EXACT, WIDER, WIDEST, say_growth, take_growth
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.knobs import ALPHA, BATCH, EPSILON, GROWTH, Knob, batch_knob, knob, shape_knobs
from app.figures import posterior as figures
from designer.core.errors import BadInput
from designer.further.posterior.error import PosteriorError, marginals, posterior_error
from designer.further.posterior.tolerance import PosteriorTolerance, inflation_curve, tolerance_for
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design

T = TypeVar("T")
MODEL = r"""
Wrong decisions let the chain stray too far: it samples approximately the posterior at a higher temperature,
$\pi^{1/T}$. On a Gaussian target a random walk whose steps have $A \sim N(-k^2/2,\ k^2 T)$ settles at the $T$ where

$$E\big[A\,\big(P_a(A) + \Delta(A, \kappa)\big)\big] = 0,$$

because $|\theta|^2$ changes by $-2A$ when a step is accepted; standard deviations are then $\sqrt T$ times too large.
$k$ comes from the trial run's acceptance rate and $\kappa$ from its pairs. A symmetric posterior gets wider and stays
centred; a skewed one also moves towards its long tail. With one parameter the chain's own stationary distribution is
computed. Compared with real chains on 1 to 20 parameters, the factor was right to about 0.03. The model is for random
walks, and for $l_i$ that are not too skewed for the mini-batch (*Trial run* page).
"""

DIMENSION = Knob(
    "pdim",
    "Number of parameters",
    "The dimension of the posterior. Beyond ten it changes little.",
    1,
    10**6,
    50,
    [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000],
)
SKEWNESS = Knob(
    "pskew",
    "Skewness of your parameter",
    "Of its exact posterior. 0: symmetric, no bias in its mean. With more skewness, a higher temperature moves the "
    "mean further.",
    -1.5,
    1.5,
    0.0,
    [-1.5, -1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 1.5],
    "%.4g",
)
INFLATION = Knob(
    "pinfl",
    WIDER,
    "0.01 allows posterior standard deviations that are 1% too large. A larger value allows a cheaper test. The Start "
    "page asks the same.",
    MOST_EXACT,
    WIDEST,
    0.01,
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0],
    "%.4g",
)


KNOBS = (BATCH, EPSILON, ALPHA, GROWTH, DIMENSION, SKEWNESS, INFLATION)
TOPIC = Topic("posterior", KNOBS, {}, MODEL, "posterior.md")


class _PosteriorQuestion(NamedTuple):
    m: int
    epsilon: float
    alpha: float
    growth: float
    dimension: int
    skewness: float
    inflation: float


class _PosteriorAnswer(NamedTuple):
    """Each part, or the reason why it could not be computed."""

    error: PosteriorError | str
    wish: PosteriorTolerance | str
    epsilons: list[float]
    errors: list[PosteriorError]


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write("How far is the sampled distribution from the posterior, and how much error per step can you afford?")
    first = answer_place()
    left, right = st.columns(2)
    with left:
        m, epsilon = batch_knob(BATCH, run.trial.n_data), knob(EPSILON)
        alpha, growth = shape_knobs()
    with right:
        take_growth(INFLATION.key)
        inflation, dimension, skewness = knob(INFLATION), int(knob(DIMENSION)), knob(SKEWNESS)
        say_growth(inflation)
    question = _PosteriorQuestion(m, epsilon, alpha, growth, dimension, skewness, inflation)
    work = partial(_work, run.trial, question)
    with first:
        answer: _PosteriorAnswer | None = answered(
            TOPIC, f"{run.trial.digest}-{question!r}", "Computing the sampled distribution", work
        )
    batch_warning(run.trial, question.m)
    if answer is not None:
        with first:
            _answer(answer, question)
        _figures(answer, question)
    values = dict(zip((spec.key for spec in TOPIC.knobs), question, strict=True))
    with below(TOPIC, values):
        if answer is not None and answer.errors:
            share.download_csv("Curve as CSV", "posterior.csv", lambda: _columns(answer))


def _work(trial: TrialRun, question: _PosteriorQuestion, job: Job) -> _PosteriorAnswer:
    try:
        epsilons, errors = inflation_curve(
            trial,
            question.m,
            alpha=question.alpha,
            growth=question.growth,
            dimension=question.dimension,
            progress=job.progress,
            cancelled=job.cancelled,
        )
    except BadInput:  # said below
        epsilons, errors = [], []
    m, epsilon, alpha, growth, dimension, *_ = question
    test = Design(trial.n_data, m, epsilon, alpha, growth)
    error = _or_why(lambda: posterior_error(test, trial, dimension=dimension, skewness=question.skewness))
    wish = _or_why(lambda: tolerance_for(trial, question.inflation, m, alpha=alpha, dimension=dimension))
    return _PosteriorAnswer(error, wish, epsilons, errors)


def _or_why(compute: Callable[[], T]) -> T | str:
    """The result, or the reason why there is none."""
    try:
        return compute()
    except (BadInput, ArithmeticError) as problem:
        return str(problem)


def _answer(answer: _PosteriorAnswer, question: _PosteriorQuestion) -> None:
    if isinstance(answer.error, str):
        st.error(answer.error, icon=":material/error:")
    else:
        _tell(answer.error, question)
    if isinstance(answer.wish, str):
        if answer.wish == answer.error:  # one reason for both
            return
        st.warning(f"{WIDER} {answer.wish}", icon=":material/info:")
        return
    wish = answer.wish
    if wish.unbounded:  # the largest ε there is: a ceiling of the family, not advice
        st.markdown(
            f"**Any ε stays within a factor {wish.most_ratio:g}** with mini-batches of {wish.design.m:,}: even the "
            f"first look alone (ε = 0.5) makes standard deviations only {wish.error.sd_ratio:.3f} times as large. "
            "Smaller mini-batches would do; the **Design** page finds the cheapest test for a tolerance."
        )
        return
    st.markdown(
        f"**To stay within a factor {wish.most_ratio:g}**, tolerate a mean |Δ| of **{wish.tolerance:.3g}** on the "
        f"Design page; with mini-batches of {wish.design.m:,} that is an ε of up to {wish.design.epsilon:.3g}."
    )


def _tell(error: PosteriorError, question: _PosteriorQuestion) -> None:
    heat = "" if error.temperature is None else f" (temperature {error.temperature:.3f})"
    st.markdown(
        f"**Standard deviations are {error.sd_ratio:.3f} times as large as they should be**{heat}; the mean is off by "
        f"{error.bias:.3f} standard deviations; the marginal's total variation distance is "
        f"{error.total_variation:.3f}. The error per step is a mean |Δ| of {error.mean_abs_delta:.3g}."
    )
    bound = f"{error.theorem_1_bound:.3g}, with a contraction of {error.contraction:.3f} per step"
    useless = "1, which is uninformative: no contraction below 1 is known for more than one parameter"
    st.caption(
        f"The numerical error of the factor is {error.estimate:.1g}; the error of the model adds to it. The bound "
        f"of K14 Theorem 1 on the distance is {bound if question.dimension == 1 else useless}."
    )


def _figures(answer: _PosteriorAnswer, question: _PosteriorQuestion) -> None:
    if not answer.errors:
        return
    first, second = st.columns(2)
    with first:
        star = None if isinstance(answer.error, str) else answer.error.sd_ratio
        captioned(figures.inflation(answer.epsilons, answer.errors, question.epsilon, star), "p-inflation", _CURVE)
    if isinstance(answer.error, str):
        return
    with second:
        if answer.error.temperature is None:
            st.caption("With one parameter the sampled density is not a power of the exact one; its numbers are above.")
        else:
            drawn = figures.marginals(marginals(answer.error.temperature, question.skewness))
            captioned(drawn, "p-marginals", _DENSITY)


def _columns(answer: _PosteriorAnswer) -> dict[str, list[float | None]]:
    names = ("sd_ratio", "temperature", "acceptance", "mean_abs_delta")
    return {"epsilon": list(answer.epsilons)} | {
        name: [getattr(error, name) for error in answer.errors] for name in names
    }


_CURVE = (
    "Factor by which the test inflates posterior standard deviations, against its threshold ε (log scale). At 1 they "
    "are right. The star is your test."
)
_DENSITY = (
    "Density of one parameter: exact (grey area) and sampled by the chain with your test (line), which is wider "
    "because wrong decisions raise the temperature."
)
