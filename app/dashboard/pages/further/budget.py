"""Topic: a time budget."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.further.parts import Topic, answered, batch_warning, below
from app.dashboard.state import share
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.knobs import BATCH, Knob, batch_knob, knob
from app.figures import budget as figures
from designer.further.budget.epsilon import Option, Quantity, best_option, time_options
from designer.further.budget.phases import RiskCurves, TimePlan, anytime_schedule, risk_curves, time_schedule
from designer.pairs.trial_run import TrialRun
from designer.search.criteria import Cost
from samplers.adapt.phases import schedule_text

MODEL = r"""
A test raises the temperature of the posterior to $H$ (topic *What it does to my posterior*). The mean of a quantity
with sensitivity $s$ then has the bias $b = s\,(H - 1)$. With $c$ seconds per step, $\tau$ steps of the exact chain per
independent draw, acceptance rates $P_0$ of the exact chain and $P_\varepsilon$ of this one, and a variance of the draws
that grows like $H^g$, the risk after $t$ seconds is

$$b^2 + \frac{V}{t},\qquad V = H^g\,\tau_H\,c,\qquad \tau_H = \tau\,H\,\frac{P_0}{P_\varepsilon}.$$

Phases of $t_j$ seconds whose means are weighted with $w_j$ have risk $(\sum w_j b_j)^2 + \sum w_j^2 V_j/t_j$. With the
best times this is the squared distance from the origin of a point in the convex hull of the tests'
$(b, \sqrt{V/t})$: two tests are enough, and where their curve is convex no schedule beats the best fixed test. An exact
chain that caches its log-likelihoods evaluates one per datum, a test two. Risks are relative to the posterior variance
of the quantity, for chains that start at stationarity. On a linear regression the model agreed with the risk of real
chains from about ten independent draws on. Where the $l_i$ are too skewed for the mini-batch, tests raise the
temperature more than the model says.
"""

SECONDS = Knob(
    "bsec",
    "Time budget in seconds",
    "How long the chain may run. A larger budget lowers the best ε: variance falls with time, bias does not.",
    1e-3,
    1e9,
    60.0,
    [1.0, 10.0, 60.0, 300.0, 600.0, 3600.0, 36_000.0, 86_400.0],
    "%.6g",
)
FIXED = Knob(
    "bfix",
    "Fixed seconds per step",
    "Proposal and bookkeeping, whatever the step reads. A larger value makes cheap tests gain less.",
    0.0,
    1e3,
    5e-6,
    [0.0, 1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 1e-3],
    "%.3g",
)
PER_DATUM = Knob(
    "bdat",
    "Seconds per datum that a test reads",
    "Two likelihood evaluations. To measure it, divide the seconds of a step by the data it read. A larger value makes "
    "exact steps more expensive.",
    1e-12,
    1.0,
    4e-8,
    [1e-9, 1e-8, 2e-8, 4e-8, 1e-7, 1e-6, 1e-5],
    "%.3g",
)
TAU = Knob(
    "btau",
    "Autocorrelation of the exact chain, in steps",
    "Steps per independent draw of your quantity: draws divided by effective draws. A larger value makes "
    "variance matter more, which favours a larger ε.",
    1.0,
    1e9,
    200.0,
    [10.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0],
    "%.6g",
)
SENSITIVITY = Knob(
    "bsens",
    "Sensitivity of your quantity to temperature",
    "Bias in posterior standard deviations per unit of temperature: about half the skewness for a parameter's mean, "
    "0.71 for the mean of its square. A larger value makes bias matter more, which favours a smaller ε.",
    0.0,
    100.0,
    0.1,
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 0.71],
    "%.4g",
)

DEGREE = Knob(
    "bdeg",
    "Degree of your quantity",
    "1 for parameters, 2 for their squares: how its variance grows with the temperature. A larger value makes chains "
    "at a higher temperature noisier.",
    0.0,
    10.0,
    1.0,
    [0.0, 1.0, 2.0, 3.0, 4.0],
    "%.4g",
)
M = BATCH
TOPIC = Topic("budget", (SECONDS, TAU, SENSITIVITY, DEGREE, FIXED, PER_DATUM, M), {}, MODEL, "time_budget.md")


class _BudgetQuestion(NamedTuple):
    seconds: float
    tau: float
    sensitivity: float
    degree: float
    fixed: float
    per_datum: float
    m: int


class _BudgetAnswer(NamedTuple):
    options: tuple[Option, ...]
    best: Option
    plan: TimePlan
    follow: TimePlan
    curves: RiskCurves


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write("In a fixed time, should you run a biased chain with many steps, or an exact one with few?")
    first = answer_place()
    left, right = st.columns(2)
    with left:
        of_quantity = (knob(SECONDS), knob(TAU), knob(SENSITIVITY), knob(DEGREE))
    with right:
        question = _BudgetQuestion(*of_quantity, knob(FIXED), knob(PER_DATUM), batch_knob(M, run.trial.n_data))
        st.caption("Tests with the same bound at every look (α = 0.5): the phases of a config have no other.")
    work = partial(_work, run.trial, question)
    key = f"{run.trial.digest}-{question!r}"
    with first:
        answer: _BudgetAnswer | None = answered(TOPIC, key, "Weighing bias and variance", work)
    batch_warning(run.trial, question.m)
    if answer is not None:
        with first:
            _answer(answer, question.seconds)
        _figures(answer, question.seconds)
        _phases(answer, run.trial.n_data)
    with below(TOPIC, dict(zip((spec.key for spec in TOPIC.knobs), question, strict=True))):
        if answer is not None:
            share.download_csv("Tests as CSV", "budget.csv", lambda: _columns(answer, question.seconds))


def _work(trial: TrialRun, question: _BudgetQuestion, job: Job) -> _BudgetAnswer:
    seconds, cost = question.seconds, Cost(question.fixed, question.per_datum)
    quantity = Quantity(question.tau, question.sensitivity, question.degree)
    options = time_options(trial, cost, quantity, m=[question.m], progress=job.progress, cancelled=job.cancelled)
    best, plan = best_option(options, seconds), time_schedule(options, seconds)
    return _BudgetAnswer(options, best, plan, anytime_schedule(options, seconds), risk_curves(options, seconds))


def _answer(answer: _BudgetAnswer, seconds: float) -> None:
    best, plan = answer.best, answer.plan
    st.markdown(
        f"**Best fixed test: {best.name}**, with risk {best.risk(seconds):.3g} of a posterior variance (bias "
        f"{best.bias:.3g} standard deviations, temperature {best.temperature:.3f}, {best.usage:.1%} of the data per "
        f"step)."
    )
    if best.design is None:
        st.info(
            "In this time no test on part of the data pays off: its higher temperature costs more than the data it "
            "saves. Tests pay when steps are short, so that most are accepted, or with control variates.",
            icon=":material/info:",
        )
    if len(plan.phases) == 1:
        st.markdown("**No schedule of several tests does better.**")
        return
    steps = "; then ".join(
        f"{phase.steps:,} steps with {phase.option.name} (weight {phase.weight:.2f})" for phase in plan.phases
    )
    risk, fixed = f"{plan.risk:.3g}", f"{best.risk(seconds):.3g}"
    st.markdown(f"**Best schedule:** risk {risk}{', the same to three digits' if risk == fixed else ''}: {steps}.")


def _figures(answer: _BudgetAnswer, seconds: float) -> None:
    captioned(
        figures.risk_against_epsilon(answer.options, seconds, answer.best, answer.plan.risk),
        "b-epsilon",
        "Risk at the end of the time against ε (solid). It is the sum of the squared bias (dotted), which grows with "
        "ε, and the variance (dashed). Horizontal grey lines: exact decisions and the best schedule. Both axes are "
        "logarithmic; a bias of 0 is not drawn.",
    )
    captioned(
        figures.risk_against_time(answer.curves.times.tolist(), answer.curves.risks),
        "b-time",
        "Risk against time, both axes logarithmic. A biased test levels off at its squared bias; exact decisions have "
        "none. The anytime schedule changes to a smaller ε whenever that becomes better. No line lies below the best "
        "schedule for each time, which must know the end in advance. Equal lines overlap, the widest at the back.",
    )


def _phases(answer: _BudgetAnswer, n_data: int) -> None:
    st.header("If you may stop earlier")
    st.dataframe(
        [
            {
                "test": phase.option.name,
                "seconds": phase.seconds,
                "steps": phase.steps,
                "weight of its mean": phase.weight,
                "temperature": phase.option.temperature,
            }
            for phase in answer.follow.phases
        ],
        hide_index=True,
        key="budget-table",
        column_config={
            "steps": st.column_config.NumberColumn(format="localized"),
            **{name: st.column_config.NumberColumn(format="%.3g") for name in ("seconds", "weight of its mean")},
            "temperature": st.column_config.NumberColumn(format="%.3f"),
        },
        alt="Per phase of the anytime schedule: its test, seconds, steps, weight of its mean, temperature",
    )
    st.caption("Phases of the anytime schedule. As tables of a config:")
    st.code(schedule_text(answer.follow, n_data), language="toml")


def _columns(answer: _BudgetAnswer, seconds: float) -> dict[str, list[float]]:
    names = ("epsilon", "bias", "temperature", "usage", "acceptance")
    columns = {name: [getattr(option, name) for option in answer.options] for name in names}
    return columns | {"risk": [option.risk(seconds) for option in answer.options]}
