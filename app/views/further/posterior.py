"""Topic: what a test does to the posterior."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from app import jobs, session, share
from app.captioned import captioned
from app.figures import posterior as figures
from app.jobs import Job
from app.knobs import BATCH, EPSILON, Knob, knob
from app.session import Loaded
from designer.further.posterior import PosteriorError, Wish, inflation_curve, marginals, posterior_error, tolerance_for
from designer.records import Design, TrialRun

KIND = "posterior"
MODEL = r"""
Wrong decisions let the chain climb where it should not: it samples nearly the posterior at a higher temperature,
$\pi^{1/T}$. On a Gaussian target a random walk whose steps have $A \sim N(-k^2/2,\ k^2 T)$ settles at the $T$ where
$E[A\,(P_a(A) + \Delta(A, \kappa))] = 0$, because $|\theta|^2$ changes by $-2A$ when a step is accepted. $k$ comes from
the trial run's acceptance rate and $\kappa$ from its pairs. A symmetric posterior gets wider and stays centred; a
skewed one also moves towards its long tail. With one parameter the chain's own stationary distribution is computed.
"""

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


class _Asked(NamedTuple):
    m: int
    epsilon: float
    dimension: int
    skewness: float
    inflation: float


class _Found(NamedTuple):
    error: PosteriorError
    wish: Wish
    epsilons: list[float]
    errors: list[PosteriorError]


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write("How far is what the chain samples from the posterior, and which error per step could you afford?")
    left, right = st.columns(2)
    with left:
        m, epsilon = knob(BATCH, key="pm", most=run.trial.n_data), knob(EPSILON, key="peps")
    with right:
        dimension, skewness = knob(DIMENSION), knob(SKEWNESS)
    inflation = knob(INFLATION)
    asked = _Asked(int(min(m, run.trial.n_data)), epsilon, int(dimension), skewness, inflation)
    work = partial(_work, run.trial, asked)
    found: _Found | None = jobs.automatic(KIND, f"{run.trial.digest}-{asked!r}", "Computing what is sampled", work)
    if found is None:
        return
    _answer(found, asked)
    first, second = st.columns(2)
    with first:
        captioned(figures.inflation(found.epsilons, found.errors, epsilon, found.error.sd_ratio), "p-inflation", _CURVE)
    with second:
        if found.error.temperature is None:
            st.caption("With one parameter the sampled density is no power of the exact one; its figures are above.")
        else:
            drawn = figures.marginals(marginals(found.error.temperature, skewness))
            captioned(drawn, "p-marginals", _DENSITY)
    with st.expander("How this is computed"):
        st.markdown(MODEL)
    values = {"pm": asked.m, "peps": epsilon, "pdim": asked.dimension, "pskew": skewness, "pinfl": inflation}
    share.copy_link({"topic": KIND} | values | session.link_values())
    share.download_csv("Save as CSV", "posterior.csv", lambda: _columns(found))


_CURVE = (
    "Factor by which the test inflates posterior standard deviations, over its threshold ε (log scale); the star is "
    "your test. At 1 the posterior is exact."
)
_DENSITY = (
    "Density of one parameter: exact (dashed) and as the chain with your test samples it (solid), wider because wrong "
    "decisions heat the posterior."
)


def _work(trial: TrialRun, asked: _Asked, job: Job) -> _Found:
    test = Design(trial.n_data, asked.m, asked.epsilon)
    error = posterior_error(test, trial, dimension=asked.dimension, skewness=asked.skewness)
    epsilons, errors = inflation_curve(
        trial, asked.m, dimension=asked.dimension, progress=job.progress, cancelled=job.cancelled
    )
    wish = tolerance_for(trial, asked.inflation, asked.m, dimension=asked.dimension)
    return _Found(error, wish, epsilons, errors)


def _answer(found: _Found, asked: _Asked) -> None:
    error, wish = found.error, found.wish
    heat = "" if error.temperature is None else f" (temperature {error.temperature:.3f})"
    st.markdown(
        f"**Standard deviations come out {error.sd_ratio:.3f} times as large**{heat}; the mean is off by "
        f"{error.bias:.3f} standard deviations; the marginal's total variation distance is "
        f"{error.total_variation:.3f}. The error per step behind it is a mean |Δ| of {error.mean_abs_delta:.3g}."
    )
    st.markdown(
        f"**To stay within a factor {wish.most_ratio:g}**, tolerate a mean |Δ| of **{wish.tolerance:.3g}** on the "
        f"page Design; with batches of {wish.design.m:,} that is ε up to {wish.design.epsilon:.3g}."
    )
    bound = f"{error.theorem_1_bound:.3g}, with a contraction of {error.contraction:.3f} per step"
    useless = "1, which says nothing: no contraction below 1 is known for more than one parameter"
    st.caption(f"The bound of K14 Theorem 1 on the distance is {bound if asked.dimension == 1 else useless}.")


def _columns(found: _Found) -> dict[str, list[float | None]]:
    names = ("sd_ratio", "temperature", "acceptance", "mean_abs_delta")
    return {"epsilon": list(found.epsilons)} | {
        name: [getattr(error, name) for error in found.errors] for name in names
    }
