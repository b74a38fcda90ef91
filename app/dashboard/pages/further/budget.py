"""Topic: a time budget."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.further.parts import Topic, answered, below
from app.dashboard.state import share
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.knobs import BATCH, Knob, batch_knob, knob
from app.figures import budget as figures
from designer.further.budget.epsilon import Option, Quantity, best_option, time_options
from designer.further.budget.phases import RiskCurves, TimePlan, anytime_schedule, risk_curves, time_schedule
from designer.pairs.trial_run import TrialRun
from designer.search.criteria import Cost
from samplers.adapt.phases import schedule_text

MODEL = r"""
A test heats the posterior to a temperature $H$ (the question *What it does to my posterior*). The mean of a quantity
with sensitivity $s$ is then off by $b = s\,(H - 1)$. With $c$ seconds per step, $\tau$ steps of the exact chain per
independent draw, acceptance rates $P_0$ of the exact chain and $P_\varepsilon$ of this one, and a variance of the draws
that grows like $H^g$, the risk after $t$ seconds is

$$b^2 + \frac{V}{t},\qquad V = H^g\,\tau_H\,c,\qquad \tau_H = \tau\,H\,\frac{P_0}{P_\varepsilon}.$$

Phases of $t_j$ seconds whose means are weighted with $w_j$ have risk $(\sum w_j b_j)^2 + \sum w_j^2 V_j/t_j$. With the
best times this is the squared distance from the origin of a point in the convex hull of the tests'
$(b, \sqrt{V/t})$: two tests are enough, and where their curve is convex no schedule beats the best fixed test. An exact
chain that keeps its log-likelihoods evaluates one per datum, a test two. All is per posterior variance of the quantity,
for chains that start at stationarity. On a linear regression it met the risk of real chains from about ten independent
draws on; where the $l_i$ are too skewed for the batch, tests heat more than this says.
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
    "Bias in posterior standard deviations per unit of temperature: about half the skewness for a parameter's mean, "
    "0.71 for the mean of its square. Raising it makes bias dearer, and so smaller ε better.",
    0.0,
    100.0,
    0.1,
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 0.71],
    "%.4g",
)

DEGREE = Knob(
    "bdeg",
    "Degree of your quantity",
    "1 for parameters, 2 for their squares: how its variance grows with the temperature. Raising it makes hot chains "
    "noisier.",
    0.0,
    10.0,
    1.0,
    [0.0, 1.0, 2.0, 3.0, 4.0],
    "%.4g",
)
M = BATCH._replace(key="bm")
TOPIC = Topic("budget", (SECONDS, TAU, SENSITIVITY, DEGREE, FIXED, PER_DATUM, M), {}, MODEL, "time_budget.md")


class _Asked(NamedTuple):
    seconds: float
    tau: float
    sensitivity: float
    degree: float
    fixed: float
    per_datum: float
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
        of_quantity = (knob(SECONDS), knob(TAU), knob(SENSITIVITY), knob(DEGREE))
    with right:
        asked = _Asked(*of_quantity, knob(FIXED), knob(PER_DATUM), batch_knob(M, run.trial.n_data))
    work = partial(_work, run.trial, asked)
    key = f"{run.trial.digest}-{asked!r}"
    found: _Found | None = answered(TOPIC, key, "Weighing bias and variance", work)
    if found is not None:
        _answer(found, asked.seconds)
        _figures(found, asked.seconds)
        _phases(found, run.trial.n_data)
    with below(TOPIC, dict(zip((spec.key for spec in TOPIC.knobs), asked, strict=True))):
        if found is not None:
            share.download_csv("Tests as CSV", "budget.csv", lambda: _columns(found, asked.seconds))


def _work(trial: TrialRun, asked: _Asked, job: Job) -> _Found:
    cost, quantity = Cost(asked.fixed, asked.per_datum), Quantity(asked.tau, asked.sensitivity, asked.degree)
    known = time_options(trial, cost, quantity, m=[asked.m], progress=job.progress, cancelled=job.cancelled)
    best, plan = best_option(known, asked.seconds), time_schedule(known, asked.seconds)
    return _Found(known, best, plan, anytime_schedule(known, asked.seconds), risk_curves(known, asked.seconds))


def _answer(found: _Found, seconds: float) -> None:
    best, plan = found.best, found.plan
    st.markdown(
        f"**Best fixed test: {best.name}**, with risk {best.risk(seconds):.3g} of a posterior variance (bias "
        f"{best.bias:.3g} standard deviations, temperature {best.temperature:.3f}, {best.usage:.1%} of the data per "
        f"step)."
    )
    if best.design is None:
        st.info(
            "In this time no test on a part of the data pays: its heat costs more than the data it saves. Tests pay "
            "when steps are short, so that most are accepted, or with control variates.",
            icon=":material/info:",
        )
    if len(plan.phases) == 1:
        st.markdown("**No schedule of several tests does better.**")
        return
    steps = "; then ".join(
        f"{phase.steps:,} steps with {phase.option.name} (weight {phase.weight:.2f})" for phase in plan.phases
    )
    risk, fixed = f"{plan.risk:.3g}", f"{best.risk(seconds):.3g}"
    st.markdown(f"**Best schedule:** risk {risk}{', no less to three digits' if risk == fixed else ''}: {steps}.")


def _figures(found: _Found, seconds: float) -> None:
    captioned(
        figures.risk_against_epsilon(found.known, seconds, found.best, found.plan.risk),
        "b-epsilon",
        "Risk (solid) at the end of the time over ε: squared bias (dotted) grows with ε, variance (dashed) is that of "
        "the steps there is time for. Horizontal grey lines: exact decisions and the best schedule. Both axes are "
        "logarithmic; a bias of 0 is not drawn.",
    )
    captioned(
        figures.risk_against_time(found.curves.times.tolist(), found.curves.risks),
        "b-time",
        "Risk over time, both axes logarithmic. A biased test levels off at its squared bias; exact decisions have "
        "none. The schedule for any time changes to a smaller ε whenever that has become better; no line lies below "
        "that of the best for each time, which has to know the end. Equal lines lie over each other, the widest below.",
    )


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
        column_config={
            "steps": st.column_config.NumberColumn(format="localized"),
            **{name: st.column_config.NumberColumn(format="%.4g") for name in ("seconds", "weight of its mean")},
            "temperature": st.column_config.NumberColumn(format="%.3f"),
        },
        alt="Per phase of the schedule for any time: its test, seconds, steps, weight of its mean, temperature",
    )
    st.caption("Phases of the schedule for any time. As tables of a run's config:")
    st.code(schedule_text(found.follow, n_data), language="toml")


def _columns(found: _Found, seconds: float) -> dict[str, list[float]]:
    names = ("epsilon", "bias", "temperature", "usage", "acceptance")
    columns = {name: [getattr(option, name) for option in found.known] for name in names}
    return columns | {"risk": [option.risk(seconds) for option in found.known]}
