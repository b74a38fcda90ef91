"""Topic: what a test does to the posterior."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import streamlit as st

from app.dashboard.jobs.jobs import Job
from app.dashboard.pages.further.parts import Topic, answered, below
from app.dashboard.state import share
from app.dashboard.state.session import Loaded
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.knobs import BATCH, EPSILON, Knob, batch_knob, knob
from app.figures import posterior as figures
from designer.core.errors import BadInput
from designer.further.posterior.error import PosteriorError, marginals, posterior_error
from designer.further.posterior.tolerance import PosteriorTolerance, inflation_curve, tolerance_for
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design

T = TypeVar("T")
MODEL = r"""
Wrong decisions let the chain wander where it should not: it samples nearly the posterior at a higher temperature,
$\pi^{1/T}$. On a Gaussian target a random walk whose steps have $A \sim N(-k^2/2,\ k^2 T)$ settles at the $T$ where

$$E\big[A\,\big(P_a(A) + \Delta(A, \kappa)\big)\big] = 0,$$

because $|\theta|^2$ changes by $-2A$ when a step is accepted; standard deviations are then $\sqrt T$ times too large.
$k$ comes from the trial run's acceptance rate and $\kappa$ from its pairs. A symmetric posterior gets wider and stays
centred; a skewed one also moves towards its long tail. With one parameter the chain's own stationary distribution is
computed. Beside real chains on 1 to 20 parameters the factor was right to about 0.03. It is about random walks, and
about $l_i$ that are not too skewed for the batch (page *Trial run*).
"""

M = BATCH._replace(key="pm")
THRESHOLD = EPSILON._replace(key="peps")
DIMENSION = Knob(
    "pdim",
    "Number of parameters",
    "Of the model. Raising it changes little beyond ten.",
    1,
    10**6,
    50,
    [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000],
)
SKEWNESS = Knob(
    "pskew",
    "Skewness of the parameter you look at",
    "Of its exact posterior. 0: symmetric, no bias in its mean. Raising it moves the mean further when the test heats "
    "the posterior.",
    -1.5,
    1.5,
    0.0,
    [-1.5, -1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 1.5],
    "%.4g",
)
INFLATION = Knob(
    "pinfl",
    "Standard deviations may grow by the share",
    "Your wish: 0.05 allows posterior standard deviations that are 5% too large. Raising it allows a cheaper test.",
    1e-4,
    5.0,
    0.05,
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0],
    "%.4g",
)


TOPIC = Topic("posterior", (M, THRESHOLD, DIMENSION, SKEWNESS, INFLATION), {}, MODEL, "posterior.md")


class _Asked(NamedTuple):
    m: int
    epsilon: float
    dimension: int
    skewness: float
    inflation: float


class _Found(NamedTuple):
    """Each part on its own: a test may heat beyond what is computed, and a wish be out of reach; then it is said."""

    error: PosteriorError | str
    wish: PosteriorTolerance | str
    epsilons: list[float]
    errors: list[PosteriorError]


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write("How far is what the chain samples from the posterior, and which error per step could you afford?")
    left, right = st.columns(2)
    with left:
        m, epsilon, inflation = batch_knob(M, run.trial.n_data), knob(THRESHOLD), knob(INFLATION)
    with right:
        dimension, skewness = int(knob(DIMENSION)), knob(SKEWNESS)
    asked = _Asked(m, epsilon, dimension, skewness, inflation)
    work = partial(_work, run.trial, asked)
    found: _Found | None = answered(TOPIC, f"{run.trial.digest}-{asked!r}", "Computing what is sampled", work)
    if found is not None:
        _answer(found, asked)
        _figures(found, asked)
    values = dict(zip((spec.key for spec in TOPIC.knobs), asked, strict=True))
    with below(TOPIC, values):
        if found is not None and found.errors:
            share.download_csv("Curve as CSV", "posterior.csv", lambda: _columns(found))


def _work(trial: TrialRun, asked: _Asked, job: Job) -> _Found:
    epsilons, errors = inflation_curve(
        trial, asked.m, dimension=asked.dimension, progress=job.progress, cancelled=job.cancelled
    )
    test, dimension = Design(trial.n_data, asked.m, asked.epsilon), asked.dimension
    error = _or_why(lambda: posterior_error(test, trial, dimension=dimension, skewness=asked.skewness))
    wish = _or_why(lambda: tolerance_for(trial, asked.inflation, asked.m, dimension=dimension))
    return _Found(error, wish, epsilons, errors)


def _or_why(compute: Callable[[], T]) -> T | str:
    """What is computed, or why it cannot be."""
    try:
        return compute()
    except (BadInput, ArithmeticError) as problem:
        return str(problem)


def _answer(found: _Found, asked: _Asked) -> None:
    if isinstance(found.error, str):
        st.error(found.error, icon=":material/error:")
    else:
        _tell(found.error, asked)
    if isinstance(found.wish, str):
        st.warning(f"Your wish: {found.wish}", icon=":material/info:")
        return
    wish = found.wish
    st.markdown(
        f"**To stay within a factor {wish.most_ratio:g}**, tolerate a mean |Δ| of **{wish.tolerance:.3g}** on the "
        f"page Design; with batches of {wish.design.m:,} that is ε up to {wish.design.epsilon:.3g}."
    )


def _tell(error: PosteriorError, asked: _Asked) -> None:
    heat = "" if error.temperature is None else f" (temperature {error.temperature:.3f})"
    st.markdown(
        f"**Standard deviations come out {error.sd_ratio:.3f} times as large**{heat}; the mean is off by "
        f"{error.bias:.3f} standard deviations; the marginal's total variation distance is "
        f"{error.total_variation:.3f}. The error per step behind it is a mean |Δ| of {error.mean_abs_delta:.3g}."
    )
    bound = f"{error.theorem_1_bound:.3g}, with a contraction of {error.contraction:.3f} per step"
    useless = "1, which says nothing: no contraction below 1 is known for more than one parameter"
    st.caption(
        f"The factor is computed to {error.estimate:.1g}, as far as the model goes. The bound of K14 Theorem 1 on "
        f"the distance is {bound if asked.dimension == 1 else useless}."
    )


def _figures(found: _Found, asked: _Asked) -> None:
    first, second = st.columns(2)
    with first:
        star = None if isinstance(found.error, str) else found.error.sd_ratio
        captioned(figures.inflation(found.epsilons, found.errors, asked.epsilon, star), "p-inflation", _CURVE)
    if isinstance(found.error, str):
        return
    with second:
        if found.error.temperature is None:
            st.caption("With one parameter the sampled density is no power of the exact one; its figures are above.")
        else:
            drawn = figures.marginals(marginals(found.error.temperature, asked.skewness))
            captioned(drawn, "p-marginals", _DENSITY)


def _columns(found: _Found) -> dict[str, list[float | None]]:
    names = ("sd_ratio", "temperature", "acceptance", "mean_abs_delta")
    return {"epsilon": list(found.epsilons)} | {
        name: [getattr(error, name) for error in found.errors] for name in names
    }


_CURVE = (
    "Factor by which the test inflates posterior standard deviations, over its threshold ε (log scale); the star is "
    "your test. At 1 they are right."
)
_DENSITY = (
    "Density of one parameter: exact (dashed) and as the chain with your test samples it (solid), wider because wrong "
    "decisions heat the posterior."
)
