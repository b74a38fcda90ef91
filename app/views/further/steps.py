"""Topic: step size and test together."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import jobs, session, share
from app.captioned import captioned
from app.figures import steps as figures
from app.jobs import Job
from app.knobs import Knob, knob
from app.session import Loaded
from designer.further.steps import BestStep, Hold, StepRow, best_step
from designer.records import TrialRun

KIND = "steps"
HOLDS: dict[str, Hold] = {"equal bias": "jump", "equal error": "step"}  # as people and the URL say it
MODEL = r"""
Along one proposed direction a step $r$ times as large has $A(r) = r\,a - r^2 q/2$ and $\kappa(r) = r^p\,\kappa$, with
$q$ the squared length of the step in the posterior's own metric and $a = A + q/2$. At stationarity
$A \sim N(-q/2,\ q)$, from which $q$ is fitted. The squared jump $r^2 q$, times the probability of moves that the exact
chain makes too, divided by the cost of a step, is the efficiency. It is about random walks only.
"""

TOLERANCE = Knob(
    "steptol",
    "Largest mean |Δ| at the trial run's step",
    "The error in the acceptance probability that you tolerate. Raising it saves data at every step size.",
    1e-6,
    1.0,
    0.02,
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2],
    "%.6g",
)
POWER = Knob(
    "steppow",
    "Power p of κ in the step",
    "κ grows like step^p. 1 without control variates. With them, 1 for steps small beside the posterior and up to 3 "
    "for large ones: raising it makes large steps dearer.",
    0.1,
    4.0,
    1.0,
    [0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
    "%.4g",
)


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write(
        "Larger steps move further but need more data to decide on. Which step, with which test, explores most per "
        "likelihood evaluation?"
    )
    left, right = st.columns(2)
    with left:
        tolerance = knob(TOLERANCE)
    with right:
        power = knob(POWER)
    said = st.segmented_control(
        "What other steps must keep",
        list(HOLDS),
        default="equal bias",
        required=True,
        key="stephold",
        bind="query-params",
        persist_state="session",
        help="The bias of the chain's distribution is about error per step over mixing per step. To keep it, the error "
        "allowed falls with the squared jump. Equal error per step favours steps that hardly move.",
    )
    hold = HOLDS[str(said)]
    key = f"{run.trial.digest}-{tolerance!r}-{power!r}-{hold}"
    work = partial(_work, run.trial, tolerance, power, hold)
    found: BestStep | None = jobs.automatic(KIND, key, "Searching a test for each step", work)
    if found is None:
        return
    (st.success if found.best is not None else st.error)(found.sentence[0].upper() + found.sentence[1:] + ".")
    captioned(figures.efficiency(found), "steps-efficiency", _words(found))
    captioned(
        figures.shares(found),
        "steps-shares",
        "Left: acceptance rate with each step's best test, beside the exact chain's. Right: share of the data that the "
        "test reads per step.",
    )
    st.dataframe([_shown(row) for row in found.rows], hide_index=True, key="steps-table")
    with st.expander("How this is computed"):
        st.markdown(MODEL)
    chosen = {"topic": KIND, TOLERANCE.key: tolerance, POWER.key: power, "stephold": said}
    share.copy_link(chosen | session.link_values())
    share.download_csv("Save as CSV", "steps.csv", lambda: _columns(found))


def _work(trial: TrialRun, tolerance: float, power: float, hold: Hold, job: Job) -> BestStep:
    return best_step(trial, tolerance, hold=hold, kappa_power=power, progress=job.progress, cancelled=job.cancelled)


def _words(found: BestStep) -> str:
    words = f"Squared jump per likelihood evaluation over the step. The exact chain is best at {found.exact.scale:.3g}"
    if found.best is None or found.flat is None:
        return f"{words}; no step has a test that keeps the tolerance."
    low, high = found.flat
    return (
        f"{words}, the chain with a test at {found.best.scale:.3g}; from {low:.3g} to {high:.3g} it is within 5% of "
        "that. An exact chain is counted with one evaluation of every datum per step, a test with two of each it reads."
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


def _columns(found: BestStep) -> dict[str, list[object]]:
    rows = [_shown(row) for row in found.rows]
    return {name: [row[name] for row in rows] for name in rows[0]}
