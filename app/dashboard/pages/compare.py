"""Page: Compare tests. The cost of each acceptance test on the same pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from app.dashboard import cached
from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.jobs.remembered import answered_once
from app.dashboard.pages import compare_model
from app.dashboard.state import share
from app.dashboard.state.in_use import run_in_use
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.chrome import problems_in_words
from app.dashboard.widgets.knobs import (
    ALPHA,
    BATCH,
    EPSILON,
    GROWTH,
    TOLERANCE,
    Knob,
    knob,
    reset_button,
    shape_knobs,
    shown,
)
from app.figures.compare import costs
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.study.best_tests import best_candidates
from samplers.study.compare_tests import (
    CONTROLLED,
    PLAIN,
    Candidates,
    Measurement,
    Prediction,
    cheapest,
    measure,
    with_control_variates,
)

KIND, BEST = "compare", "cbest"
PAIRS = 20  # in the simulation
PATIENCE = 1.0  # seconds that the page waits for the settings of the tests before it shows a progress bar instead
COUNTED = r"""
A test on a subsample evaluates the likelihood at $\theta$ and at $\theta'$ for each datum it reads. An exact chain that
caches $\log p(x_i;\theta)$ evaluates each datum once. The Barker mini-batch test follows Barker's rule
$1/(1+e^{-A})$, which accepts less often than Metropolis; its error is relative to its own rule. The concentration test
is shown with a known range; without one it must read all data to find it. The exact mini-batch test draws rows by
bounds on their terms; it has no error, and accepts a little less often than exact decisions.

Barker's rule accepts each move at least half as often as Metropolis, and at most as often. The last column therefore
counts each of its steps twice: in a slowly mixing chain two of them are worth one Metropolis step, whatever the
posterior. This holds for tests without error; a test with error is counted as if it had none. Evaluations per right
move are the typical cost, and in many dimensions the exact one: moves that the sequential test accepts in error are not
progress, and only $\min(P_a, P_a + \Delta)$ of its steps count.
"""
SIGNS = {"epsilon": "ε", "alpha": "α", "sigma": "σ₀", "delta": "δ", "range_in_sd": "range"}  # of knobs, in the table

DELTA = Knob(
    "cdelta",
    "Guarantee δ of the concentration test",
    "The probability of a wrong decision is at most this, for any data. A larger δ needs less data.",
    1e-9,
    0.5,
    0.01,
    [0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
    "%.6g",
)
RANGE = Knob(
    "crange",
    "Range of $l_i$ in standard deviations",
    "The concentration test must know a bound on |lᵢ|. A larger range makes the test read more data.",
    1.0,
    1e6,
    6.0,
    [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 50.0, 100.0],
    "%.6g",
)
FACTOR = Knob(
    "cfactor",
    "Control variates divide κ by",
    "The factor by which control variates shrink the standard deviation of the lᵢ. A larger factor makes every test "
    "on a subsample cheaper. Two trial runs measure it, one with and one without: the logistic "
    "examples are such a pair.",
    1.0,
    1e6,
    30.0,
    [1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 500.0, 1000.0],
    "%.6g",
)
KNOBS = (BATCH, EPSILON, ALPHA, GROWTH, TOLERANCE, DELTA, RANGE, FACTOR)


def show() -> None:
    """Draw the page."""
    st.title("Compare tests")
    run = run_in_use()
    if run is None:
        return
    st.caption(f"{run.line} ({run.origin})")
    first = answer_place()
    left, right = st.columns([2, 3], gap="large")
    controlled = compare_model.has_control_variates(run)
    with left:
        values = _knobs(controlled)
        found = compare_model.of_model(run)  # below the knobs: its progress must not push the answer down
    with first:
        trials = {PLAIN: compare_model.with_notes(run.trial, found, controlled=False)}
        if not controlled:  # pairs that have them must not get them twice
            helped = compare_model.with_notes(run.trial, found, controlled=True)
            trials[CONTROLLED] = with_control_variates(helped, values[FACTOR.key])
        tests = _best(trials, values) if values[BEST] else _given(trials, values)
        if tests is None:
            return
        rows = {
            name: cached.predictions(trial.digest, tuple(trial.notes.items()), tests[name], trial)
            for name, trial in trials.items()
        }
        compare_model.tell(run, found)  # who does not need to sample needs no test
        _answer(rows, values[TOLERANCE.key])
    with right:
        measured = _simulation(trials, tests)
        captioned(costs(rows, measured), "costs", _caption(measured, controlled))
    for name, predictions in rows.items():
        st.header(name.capitalize())
        _table(name, predictions, tests[name], measured.get(name, []))
    st.caption(
        "Predictions for the sequential test are exact under the normal theory; for the Barker mini-batch test and "
        "the concentration test, the amount of data read is predicted to within a few per cent. "
        "The simulation checks them all."
    )
    share.download_csv("Predictions as CSV", "compared_tests.csv", lambda: _columns(rows, tests))
    with st.expander("What is counted", icon=":material/function:"):
        st.markdown(COUNTED)
        st.caption("Derivation, measurements and limits: `docs/which_test.md`.")


def _knobs(controlled: bool) -> dict[str, float]:
    """All knobs that matter, by their keys in the URL."""
    best = st.toggle(
        "Each test at its best settings",
        value=True,
        key=BEST,
        bind="query-params",
        persist_state="session",
        help="Every test gets the mini-batch and the threshold that read the fewest data with an error within the "
        "tolerance, so no test loses just because it is badly tuned.",
    )
    drawn = (*(() if best else (BATCH, EPSILON)), TOLERANCE, *(() if controlled else (FACTOR,)))
    values: dict[str, float] = {BEST: best, **{spec.key: knob(spec) for spec in drawn}}
    if not best:
        values[ALPHA.key], values[GROWTH.key] = shape_knobs()
    with st.expander("Concentration test"):
        values |= {spec.key: knob(spec) for spec in ((RANGE,) if best else (DELTA, RANGE))}
    reset_button(KNOBS, {BEST: True})
    share.copy_link(values | share.session_values())
    return values


def _given(trials: Mapping[str, TrialRun], values: Mapping[str, float]) -> dict[str, Candidates]:
    """The tests with the knobs of the page, the same for all pairs."""
    m, barker = int(values[BATCH.key]), BarkerTest(m=int(values[BATCH.key]))
    shape = values[EPSILON.key], values[ALPHA.key], values[GROWTH.key]
    careful = ConcentrationTest(m=m, delta=values[DELTA.key])
    return {
        name: Candidates(Design(trial.n_data, min(m, trial.n_data), *shape), barker, careful, values[RANGE.key])
        for name, trial in trials.items()
    }


def _best(trials: Mapping[str, TrialRun], values: Mapping[str, float]) -> dict[str, Candidates] | None:
    """Each test with its best knobs within the tolerance, for each set of pairs, as a job; None until it has ended."""
    tolerance, spread = values[TOLERANCE.key], values[RANGE.key]
    key = repr((tolerance, spread, [trial.digest for trial in trials.values()]))

    def work(job: Job) -> dict[str, Candidates]:
        return {
            name: best_candidates(trial, tolerance, spread, progress=part, cancelled=job.cancelled)
            for name, trial, part in _parts(trials, job)
        }

    candidates: dict[str, Candidates] | None = answered_once(BEST, key, "Tuning each test", work, PATIENCE)
    return candidates


def _parts(trials: Mapping[str, TrialRun], job: Job) -> Iterator[tuple[str, TrialRun, Callable[[int, int], None]]]:
    """Each set of pairs, with a function that reports its progress as part of the whole job."""
    for before, (name, trial) in enumerate(trials.items()):

        def progress(done: int, total: int, before: int = before, name: str = name) -> None:
            job.progress(before * total + done, len(trials) * total, name)

        yield name, trial, progress


def _answer(rows: Mapping[str, Sequence[Prediction]], tolerance: float) -> None:
    """A sentence on the test that is cheapest per right move."""
    for name, predictions in rows.items():
        best = cheapest(predictions, tolerance)
        st.markdown(
            f"**{name.capitalize()}: {best.test}** needs the fewest likelihood evaluations of the tests with an error "
            f"of at most {tolerance:g}: {best.per_move:,.0f} per right move ({best.data:,.0f} data per step, "
            f"acceptance {best.acceptance:.2f}, error {best.error:.2g}). Note: {best.note}."
        )


def _caption(measured: Mapping[str, Sequence[Measurement]], controlled: bool) -> str:
    """What the figure shows, in words."""
    both = "" if controlled else ", and on the same pairs with the smaller κ of control variates"
    words = (
        f"Data read per step by each test on these pairs{both} (log scale; further left is cheaper). Filled dots: "
        "predictions of the normal theory over all pairs."
    )
    if not any(measured.values()):
        return words
    return (
        f"{words} Diamonds: real tests on simulated data with the moments of {PAIRS} of the pairs, with bars of one "
        "standard error. Open dots: predictions for those same pairs, which should agree."
    )


def _simulation(trials: Mapping[str, TrialRun], tests: Mapping[str, Candidates]) -> dict[str, list[Measurement]]:
    """Real tests to compare with the predictions, as a job."""
    key = repr((tests, [trial.digest for trial in trials.values()]))

    def work(job: Job) -> dict[str, list[Measurement]]:
        return {
            name: measure(
                np.random.default_rng([1]), trial, tests[name], pairs=PAIRS, progress=part, cancelled=job.cancelled
            )
            for name, trial, part in _parts(trials, job)
        }

    st.button(
        "Check by simulation",
        icon=":material/casino:",
        help=f"Runs the real tests on simulated data with the moments of {PAIRS} of the pairs.",
        on_click=_start,
        args=(key, work),
    )
    job = jobs.watch(KIND, "Simulating the tests")
    if job is None:
        return {}
    if job.was_cancelled:
        st.caption("Cancelled.")
    measured: dict[str, list[Measurement]] | None = jobs.outcome_in_words(job)
    if measured is not None and job.key != key:
        st.caption("The simulation is for other settings. Run it again to update the points.")
        return {}
    return measured or {}


def _start(key: str, work: Callable[[Job], dict[str, list[Measurement]]]) -> None:
    with problems_in_words():
        jobs.start(KIND, key, work)


def _table(pairs: str, rows: Sequence[Prediction], tests: Candidates, seen: Sequence[Measurement]) -> None:
    st.dataframe(
        [
            {
                "test": row.test,
                "rule": row.rule,
                "data per step": f"{row.data:,.0f}",
                "evaluations": f"{row.evaluations:,.0f}",
                "acceptance": f"{row.acceptance:.3f}",
                "mean |Δ|": f"{row.error:.2g}",
                "per right move": f"{row.per_move:,.0f}",
                "per Metropolis step, at most": f"{row.per_metropolis_step:,.0f}",
                "knobs": _said(tests.knobs(row.test)),
            }
            for row in rows
        ],
        hide_index=True,
        alt=f"Per test, {pairs}: its rule, data and likelihood evaluations per step, acceptance, error, evaluations "
        "per right move and at most per Metropolis step, its knobs",
    )
    st.caption(" ".join(f"**{row.test}**: {row.note}." for row in rows))  # in a cell they would be cut
    if seen:
        st.dataframe(
            [
                {
                    "simulated test": row.test,
                    "data per step": f"{row.data:,.0f} ± {row.data_se:,.0f}",
                    "predicted for these pairs": f"{row.predicted_data:,.0f}",
                    "acceptance": f"{row.acceptance:.3f} ± {row.acceptance_se:.2g}",
                    "predicted": f"{row.predicted_acceptance:.3f}",
                }
                for row in seen
            ],
            hide_index=True,
            alt=f"Per simulated test, {pairs}: data per step and acceptance, each with its prediction",
        )


def _said(knobs: Mapping[str, float]) -> str:
    """The knobs of a test in words."""
    return ", ".join(f"{SIGNS.get(key, key)} = {shown(value, whole=key == 'm')}" for key, value in knobs.items())


def _columns(rows: Mapping[str, Sequence[Prediction]], tests: Mapping[str, Candidates]) -> dict[str, Any]:
    """Long form: one row per set of pairs and test."""
    parts = [(name, row) for name, predictions in rows.items() for row in predictions]
    return (
        {"pairs": [name for name, _ in parts]}
        | {field: [getattr(row, field) for _, row in parts] for field in Prediction._fields}
        | {"knobs": [_said(tests[name].knobs(row.test)) for name, row in parts]}
    )
