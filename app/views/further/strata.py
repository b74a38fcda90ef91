"""Topic: designs by kappa."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from app import jobs, session, share
from app.captioned import captioned
from app.figures import strata as figures
from app.jobs import Job
from app.knobs import Knob, knob
from app.session import Loaded
from designer.acceptance import Acceptance, acceptance
from designer.further.strata import stratified
from designer.further.strata_records import Stratified, StratumRow
from designer.records import TrialRun

KIND = "strata"
MODEL = r"""
A pair's noise has the scale $\kappa = N\sigma/\sqrt{N-1}$. The spread of the first $m_0$ data tells it to about
$\kappa/\sqrt{2 m_0}$, and the test goes on with the design of that stratum. All strata share one tolerance on mean
$|\Delta|$: each gets the error at which one more unit would save the same data everywhere (one Lagrange multiplier).
Pairs near an edge that are put into the wrong stratum are counted. If strata save less than 0.1%, one design is given.
"""
TOLERANCE = Knob(
    "strtol",
    "Largest mean |Δ| over all pairs",
    "The error in the acceptance probability that you tolerate, with one design or several. Raising it saves data.",
    1e-6,
    1.0,
    0.02,
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2],
    "%.6g",
)
STRATA = Knob(
    "strnum",
    "Strata at most",
    "Into how many ranges of κ the pairs may be divided. More ranges fit the pairs better, and chance as well.",
    2,
    8,
    3,
    list(range(2, 9)),
)
SHARES = {name: st.column_config.NumberColumn(format="percent") for name in ("share of pairs", "data per step")}


class Found(NamedTuple):
    """The strata, and both tests on every pair."""

    strata: Stratified
    rows: list[StratumRow]
    step: Acceptance
    alone: Acceptance


def show(run: Loaded) -> None:
    """Draw the topic."""
    st.write(
        "Pairs differ in how noisy their log ratio is, and the first batch shows it. Does it pay to choose the test "
        "by that?"
    )
    left, right = st.columns(2)
    with left:
        tolerance = knob(TOLERANCE)
    with right:
        number = int(knob(STRATA))
    key = f"{run.trial.digest}-{tolerance!r}-{number}"
    work = partial(_work, run.trial, tolerance, number)
    found: Found | None = jobs.automatic(KIND, key, "Searching designs by κ", work)
    if found is not None:
        _answer(run.trial, found)
    with st.expander("How this is computed"):
        st.markdown(MODEL)
    share.copy_link({"topic": KIND, TOLERANCE.key: tolerance, STRATA.key: number} | session.link_values())


def _work(trial: TrialRun, tolerance: float, number: int, job: Job) -> Found:
    strata = stratified(trial, tolerance, number, progress=job.progress, cancelled=job.cancelled)
    assert strata.single is not None
    return Found(strata, strata.rows(trial), strata.acceptance(trial), acceptance(strata.single, trial))


def _answer(trial: TrialRun, found: Found) -> None:
    strata, gain = found.strata, found.strata.gain
    if not strata.edges or gain is None:
        st.info("On these pairs designs by κ save nothing: one design is as good for all of them.")
    else:
        st.success(
            f"Designs by κ read **{found.step.mean_usage:.2%}** of the data per step, one design "
            f"{found.alone.mean_usage:.2%}: they save **{gain:.2%}** at a mean |Δ| of {found.step.mean_abs_delta:.4g}. "
            f"κ is judged after {strata.first:,} data."
        )
    captioned(
        figures.by_kappa(trial, strata, found.alone, found.step),
        "strata-figure",
        "Expected share of the data read for each pair over its κ: crosses with the best single design, dots with the "
        "design of the pair's stratum. Dashed lines: the edges of the strata.",
    )
    st.dataframe(
        [
            {
                "κ from": row.low,
                "to": row.high if row.high < float("inf") else None,
                "m": row.design.m,
                "ε": row.design.epsilon,
                "α": row.design.alpha,
                "share of pairs": row.share,
                "mean |Δ|": row.error,
                "data per step": row.usage,
            }
            for row in found.rows
        ],
        hide_index=True,
        column_config=SHARES,
        key="strata-table",
    )
    st.download_button(
        "Designs as TOML",
        strata.to_toml(),
        "strata.toml",
        "application/toml",
        icon=":material/download:",
        on_click="ignore",
        help="For `austerity run CONFIG.toml --design strata.toml`.",
    )
    columns = {"kappa": trial.kappa, "usage_single": found.alone.usage, "usage_strata": found.step.usage}
    columns |= {"delta_single": found.alone.delta, "delta_strata": found.step.delta}
    share.download_csv("Pairs as CSV", "strata_pairs.csv", lambda: columns)
