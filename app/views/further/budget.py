"""Topic: a time budget."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from app import jobs, session, share
from app.captioned import captioned
from app.figures import budget as figures
from app.jobs import Job
from app.knobs import BATCH, Knob, knob
from app.session import Loaded
from designer.criteria import Cost
from designer.further.budget import (
    Option,
    Quantity,
    RiskCurves,
    TimePlan,
    anytime_schedule,
    best_option,
    options,
    risk_curves,
    schedule,
)
from designer.records import TrialRun
from samplers.schedules import schedule_text

KIND = "budget"
MODEL = r"""
A test heats the posterior to a temperature $T$ (the topic *What it does to my posterior*). A quantity is then biased by
its sensitivity times $T - 1$, and $n$ steps estimate it with variance $T\,\tau_T / n$, where
$\tau_T = \tau\, T\, P_0 / P_\varepsilon$ steps make one independent draw. With $c$ seconds per step the risk after $t$
seconds is $b^2 + T\tau_T c / t$. Phases with weights $w$ have risk $(\sum w b)^2 + \sum w^2 v$, least for
$w \propto (1 - b\,c)/v$; with the best times it is that of a point in the convex hull of the tests' (bias, spread).
"""

SECONDS = Knob(
    "bsec",
    "Time budget in seconds",
    "How long the chain may run. Raising it lowers the best ε: bias stays while variance falls.",
    1e-3,
    1e9,
    60.0,
    [1.0, 10.0, 60.0, 300.0, 600.0, 3600.0, 36_000.0, 86_400.0],
    "%.6g",
)
FIXED = Knob(
    "bfix",
    "Seconds per step, whatever it reads",
    "Proposal, bookkeeping. Raising it makes cheap tests less of a gain.",
    0.0,
    1e3,
    5e-6,
    [0.0, 1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 1e-3],
    "%.3g",
)
PER_DATUM = Knob(
    "bdat",
    "Seconds per datum that a test reads",
    "Two likelihoods. Measure it: seconds of a step over the data it read. Raising it makes exact steps dearer.",
    1e-12,
    1.0,
    4e-8,
    [1e-9, 1e-8, 2e-8, 4e-8, 1e-7, 1e-6, 1e-5],
    "%.3g",
)
TAU = Knob(
    "btau",
    "Autocorrelation of the exact chain, in steps",
    "Steps worth one independent draw of your quantity: draws over effective sample size. Raising it makes variance "
    "dearer, and so larger ε better.",
    1.0,
    1e9,
    200.0,
    [10.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0],
    "%.6g",
)
SENSITIVITY = Knob(
    "bsens",
    "Sensitivity of your quantity to heat",
    "Bias in posterior standard deviations per unit of temperature: about half the skewness for a mean, 0.71 for a "
    "variance. Raising it makes bias dearer, and so smaller ε better.",
    0.0,
    100.0,
    0.1,
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 0.71],
    "%.4g",
)


class _Asked(NamedTuple):
    seconds: float
    cost: Cost
    quantity: Quantity
    m: int


class _Found(NamedTuple):
    known: tuple[Option, ...]
    best: Option
    plan: TimePlan
    follow: TimePlan
    curves: RiskCurves


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write("With so many seconds to spend: a biased chain that makes many steps, or an exact one that makes few?")
    left, right = st.columns(2)
    with left:
        seconds, tau, sensitivity = knob(SECONDS), knob(TAU), knob(SENSITIVITY)
    with right:
        fixed, per_datum, m = knob(FIXED), knob(PER_DATUM), knob(BATCH, key="bm", most=run.trial.n_data)
    quantity = Quantity(tau, sensitivity)
    asked = _Asked(seconds, Cost(fixed, per_datum), quantity, int(min(m, run.trial.n_data)))
    work = partial(_work, run.trial, asked)
    found: _Found | None = jobs.automatic(KIND, f"{run.trial.digest}-{asked!r}", "Weighing bias and variance", work)
    if found is None:
        return
    _answer(found, seconds)
    captioned(
        figures.risk_against_epsilon(found.known, seconds, found.best, found.plan.risk),
        "b-epsilon",
        "Risk (solid) at the end of the time over ε: squared bias (dotted) grows with ε, variance (dashed) is that of "
        "the steps there is time for. Horizontal lines: the exact test and the best schedule. Both axes are "
        "logarithmic.",
    )
    captioned(
        figures.risk_against_time(found.curves.times.tolist(), found.curves.risks),
        "b-time",
        "Risk over time. A fixed test levels off at its squared bias. The schedule for any time lowers ε as it goes; "
        "the lowest line is what is possible when the end is known.",
    )
    _phases(found, run.trial.n_data)
    with st.expander("How this is computed"):
        st.markdown(MODEL)
    values = {"bsec": seconds, "bfix": fixed, "bdat": per_datum, "btau": tau, "bsens": sensitivity, "bm": asked.m}
    share.copy_link({"topic": KIND} | values | session.link_values())
    share.download_csv("Save as CSV", "budget.csv", lambda: _columns(found, seconds))


def _work(trial: TrialRun, asked: _Asked, job: Job) -> _Found:
    known = options(trial, asked.cost, asked.quantity, m=[asked.m], progress=job.progress, cancelled=job.cancelled)
    best, plan = best_option(known, asked.seconds), schedule(known, asked.seconds)
    return _Found(known, best, plan, anytime_schedule(known, asked.seconds), risk_curves(known, asked.seconds))


def _answer(found: _Found, seconds: float) -> None:
    best, plan = found.best, found.plan
    st.markdown(
        f"**Best fixed test: {best.name}**, with risk {best.risk(seconds):.3g} of a posterior variance (bias "
        f"{best.bias:.3g} standard deviations, temperature {best.temperature:.3f}, {best.usage:.1%} of the data per "
        f"step)."
    )
    steps = "; then ".join(
        f"{phase.steps:,} steps with {phase.option.name} (weight {phase.weight:.2f})" for phase in plan.phases
    )
    st.markdown(f"**Best schedule:** risk {plan.risk:.3g}: {steps}.")


def _phases(found: _Found, n_data: int) -> None:
    st.subheader("If you may stop earlier")
    st.dataframe(
        [
            {
                "test": phase.option.name,
                "seconds": phase.seconds,
                "steps": phase.steps,
                "weight of its mean": phase.weight,
                "temperature": phase.option.temperature,
            }
            for phase in found.follow.phases
        ],
        hide_index=True,
        key="budget-table",
    )
    st.caption("Phases of the schedule for any time. As tables of a run's config:")
    st.code(schedule_text(found.follow, n_data), language="toml")


def _columns(found: _Found, seconds: float) -> dict[str, list[float]]:
    names = ("epsilon", "bias", "temperature", "usage", "acceptance")
    columns = {name: [getattr(option, name) for option in found.known] for name in names}
    return columns | {"risk": [option.risk(seconds) for option in found.known]}
