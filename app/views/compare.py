"""Page: Compare tests on the same pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from app import cached, jobs, session
from app.figures.compare import costs
from app.knobs import Knob, knob
from designer.records import Design, TrialRun
from samplers.accept.barker import BarkerTest
from samplers.accept.concentration import ConcentrationTest
from samplers.advice import Candidates, Measured, Prediction, cheapest, measure, with_control_variates

KIND = "compare"
COUNTED = r"""
A test on a subsample evaluates the likelihood at $\theta$ and at $\theta'$ for each datum it reads. An exact chain that
keeps $\log p(x_i;\theta)$ of every datum evaluates each once. The Barker minibatch test follows Barker's acceptance
$1/(1+e^{-A})$, which accepts less often than Metropolis'; its error is against its own rule. The concentration test is
shown with a known range; without one it must read all data to find it.
"""
PLAIN, CONTROLLED = "these pairs", "with control variates"

M = Knob(
    "cm",
    "Batch size m of all tests",
    "Data read before the first look.",
    2,
    10**9,
    500,
    [50, 100, 200, 300, 400, 500, 600, 800, 1000, 2000, 5000, 10_000],
)
EPSILON = Knob(
    "ceps",
    "Threshold ε of the sequential test",
    "Raising it stops earlier: less data, more error.",
    1e-12,
    0.5,
    0.05,
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5],
    "%.6g",
)
TOLERANCE = Knob(
    "ctol",
    "Largest mean |Δ| to tolerate",
    "Tests with a larger error in the acceptance probability are not recommended. Raising it lets cheaper tests win.",
    1e-9,
    1.0,
    0.05,
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2],
    "%.6g",
)
DELTA = Knob(
    "cdelta",
    "Guarantee δ of the concentration test",
    "It decides wrongly with at most this probability, whatever the data. Raising it needs less data.",
    1e-9,
    0.5,
    0.01,
    [0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
    "%.6g",
)
RANGE = Knob(
    "crange",
    "Range of $l_i$ in standard deviations",
    "The concentration test must know a bound on |l_i|. Raising it makes the test more careful.",
    1.0,
    1e6,
    6.0,
    [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 50.0, 100.0],
    "%.6g",
)


def show() -> None:
    """Draw the page."""
    st.title("Compare tests")
    run = session.in_use()
    st.caption(f"{run.line} ({run.origin})")
    left, right = st.columns([1, 2], gap="large")
    with left:
        m, epsilon, tolerance = knob(M), knob(EPSILON), knob(TOLERANCE)
        with st.expander("Concentration test"):
            delta, spread = knob(DELTA), knob(RANGE)
        factor = st.number_input(
            "With control variates, κ shrinks by a factor of",
            1.0,
            1e6,
            30.0,
            key="cfactor",
            bind="query-params",
            help="What control variates would do to the spread of the log-likelihood differences. A trial run with "
            "them measures it; the two bundled logistic examples are such a pair.",
        )
    tests = Candidates(
        Design(run.trial.n_data, int(min(m, run.trial.n_data)), epsilon),
        BarkerTest(m=int(m)),
        ConcentrationTest(m=int(m), delta=delta),
        spread,
    )
    trials = {PLAIN: run.trial, CONTROLLED: with_control_variates(run.trial, factor)}
    rows = {name: cached.predictions(trial.digest, tests, trial) for name, trial in trials.items()}
    with right:
        _answer(rows, tolerance)
        measured = _simulation(trials, tests)
        st.plotly_chart(costs(rows, measured), key="costs", config={"displaylogo": False})
        st.caption(
            "Data read per step by each test on these pairs, and on the same pairs with the smaller κ of control "
            "variates; log scale. Points are real tests on simulated data with the same moments."
        )
    for name, found in rows.items():
        st.subheader(name.capitalize())
        _table(found)
    with st.expander("What is counted"):
        st.markdown(COUNTED)


def _answer(rows: Mapping[str, Sequence[Prediction]], tolerance: float) -> None:
    """The cheapest test per accepted move, in a sentence."""
    for name, found in rows.items():
        best = cheapest(found, tolerance)
        st.markdown(
            f"**{name.capitalize()}: {best.test}** needs the fewest likelihood evaluations of the tests with an error "
            f"of at most {tolerance:g}: {best.per_move:,.0f} per accepted move ({best.data:,.0f} data per step, "
            f"acceptance {best.acceptance:.2f}, error {best.error:.2g})."
        )


def _simulation(trials: dict[str, TrialRun], tests: Candidates) -> dict[str, list[Measured]]:
    """Real tests beside the predictions, as a job."""
    key = repr((tests, [trial.digest for trial in trials.values()]))

    def work(job: jobs.Job) -> dict[str, list[Measured]]:
        return {
            name: measure(session.stream(1), trial, tests, progress=job.progress, cancelled=job.cancelled)
            for name, trial in trials.items()
        }

    st.button(
        "Check by simulation",
        icon=":material/casino:",
        help="Runs the real tests on populations with the moments of 20 of the pairs.",
        on_click=_start,
        args=(key, work),
    )
    job = jobs.watch(KIND, "Simulating the tests")
    if job is None:
        return {}
    found: dict[str, list[Measured]] | None = jobs.outcome_in_words(job)
    if found is not None and job.key != key:
        st.caption("The simulation belongs to other settings; run it again to update the points.")
        return {}
    return found or {}


def _start(key: str, work: Callable[[jobs.Job], dict[str, list[Measured]]]) -> None:
    jobs.start(KIND, key, work)


def _table(rows: Sequence[Prediction]) -> None:
    st.dataframe(
        [
            {
                "test": row.test,
                "rule": row.rule,
                "data per step": f"{row.data:,.0f}",
                "likelihood evaluations": f"{row.evaluations:,.0f}",
                "acceptance": f"{row.acceptance:.3f}",
                "mean |Δ|": f"{row.error:.2g}",
                "evaluations per move": f"{row.per_move:,.0f}",
                "note": row.note,
            }
            for row in rows
        ],
        hide_index=True,
    )
