"""Topic: step size and test together."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.further.parts import Topic, answered, below
from app.dashboard.state import share
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.knobs import TOLERANCE, Knob, knob
from app.figures import steps as figures
from designer.further.step_size import BestStep, Hold, StepRow, best_step
from designer.pairs.trial_run import TrialRun

HOLD = "stephold"
HOLDS: dict[str, Hold] = {"equal bias": "jump", "equal error": "step"}  # as shown, and as the URL has it
MODEL = r"""
Along one proposed direction a step $r$ times as large has

$$A(r) = r\,a - \tfrac12 r^2 q,\qquad \kappa(r) = r^p\,\kappa,$$

with $q$ the squared length of the step in the posterior's own metric and $a = A + q/2$. At stationarity
$A \sim N(-q/2,\ q)$, from which $q$ is fitted. The best step maximises the squared jump of moves that the exact chain
makes too, divided by the cost of a step $C$, here in likelihood evaluations:

$$\frac{1}{C}\;\overline{r^2 q\,\min(P_a,\ P_a + \Delta)}.$$

This holds for random walks only; steps beyond about 1.5 times the trial run's are extrapolations.
"""

POWER = Knob(
    "steppow",
    "Power p of κ in the step",
    "κ grows like step^p. Without control variates p is 1. With them it is 1 for steps that are small compared with "
    "the posterior and up to 3 for large ones. A larger p makes large steps more expensive.",
    0.1,
    4.0,
    1.0,
    [0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
    "%.4g",
)

TOPIC = Topic("steps", (TOLERANCE, POWER), {HOLD: next(iter(HOLDS))}, MODEL, "step_size.md")
FORMATS = {
    "m": st.column_config.NumberColumn(format="localized"),
    "data per step": st.column_config.NumberColumn(format="percent"),
    **{name: st.column_config.NumberColumn(format="%.3g") for name in ("step", "ε", "α", "mean |Δ|", "acceptance")},
    "squared jump": st.column_config.NumberColumn(format="%.3g"),
    **{name: st.column_config.NumberColumn(format="%.2e") for name in ("efficiency", "exact efficiency")},
}


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write(
        "Larger steps move further, but are accepted less often and need another test. Which step, with which test, "
        "explores most per likelihood evaluation?"
    )
    first = answer_place()
    left, right = st.columns(2)
    with left:
        most = knob(TOLERANCE)
    with right:
        power = knob(POWER)
    label = st.segmented_control(
        "What other steps must keep equal",
        list(HOLDS),
        default=next(iter(HOLDS)),
        required=True,
        key=HOLD,
        bind="query-params",
        persist_state="session",
        help="The bias of the chain's distribution is about the error per step divided by the mixing per step. Equal "
        "bias: the error allowed is proportional to the squared jump. Equal error per step favours "
        "steps that hardly move.",
    )
    hold = HOLDS[label or next(iter(HOLDS))]  # a link may leave it out
    key = f"{run.trial.digest}-{most!r}-{power!r}-{hold}"
    work = partial(_work, run.trial, most, power, hold)
    with first:
        result: BestStep | None = answered(TOPIC, key, "Searching for a test for each step", work)
    if result is not None:
        with first:
            _answer(result)
        _figures(result)
    with below(TOPIC, {TOLERANCE.key: most, POWER.key: power, HOLD: label}):
        if result is not None:
            share.download_csv("Steps as CSV", "steps.csv", lambda: _columns(result))


def _answer(result: BestStep) -> None:
    sentence = f"{result.sentence[0].upper()}{result.sentence[1:]}.".replace("epsilon", "ε")
    if result.best is None:
        st.error(sentence, icon=":material/error:")
    elif result.best.efficiency < result.exact.exact_efficiency:
        st.info(f"{sentence} **An exact chain that caches its log-likelihoods explores more.**", icon=":material/info:")
    else:
        st.success(sentence, icon=":material/check_circle:")


def _figures(result: BestStep) -> None:
    captioned(figures.efficiency(result), "steps-efficiency", _words(result))
    captioned(
        figures.shares(result),
        "steps-shares",
        "Left: acceptance rate with the best test of each step, and of the exact chain. Right: data use of the test.",
    )
    st.dataframe(
        [_shown(row) for row in result.rows],
        hide_index=True,
        key="steps-table",
        column_config=FORMATS,
        placeholder="—",
        alt="Per step: its best test, error, acceptance, data per step, squared jump, efficiency with it and exactly",
    )


def _work(trial: TrialRun, most: float, power: float, hold: Hold, job: Job) -> BestStep:
    return best_step(trial, most, hold=hold, kappa_power=power, progress=job.progress, cancelled=job.cancelled)


def _words(result: BestStep) -> str:
    words = (
        f"Squared jump per likelihood evaluation against the step. The exact chain is best at {result.exact.scale:.3g}"
    )
    if result.best is None or result.flat is None:
        return f"{words}; no step has a test within the tolerance."
    low, high = result.flat
    return (
        f"{words}, the chain with a test at {result.best.scale:.3g}; from {low:.3g} to {high:.3g} it is within 5% of "
        "that. An exact step counts one evaluation of every datum, a test two of each datum it reads."
    )


def _shown(row: StepRow) -> dict[str, object]:
    """A line of the table."""
    design = row.design
    return {
        "step": row.scale,
        "m": None if design is None else design.m,
        "ε": None if design is None else design.epsilon,
        "α": None if design is None else design.alpha,
        "mean |Δ|": row.error,
        "acceptance": row.acceptance,
        "data per step": row.usage,
        "squared jump": row.jump,
        "efficiency": row.efficiency,
        "exact efficiency": row.exact_efficiency,
    }


def _columns(result: BestStep) -> dict[str, list[object]]:
    rows = [_shown(row) for row in result.rows]
    return {name: [row[name] for row in rows] for name in rows[0]}
