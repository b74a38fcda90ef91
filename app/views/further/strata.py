"""Topic: designs by kappa."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from app import share
from app.captioned import captioned
from app.figures import strata as figures
from app.jobs import Job
from app.knobs import Knob, knob
from app.session import Loaded
from app.views.further.parts import Topic, answered, below, tolerance
from designer.acceptance import Acceptance, acceptance
from designer.further.strata import stratified
from designer.further.strata_records import Stratified, StratumRow
from designer.records import TrialRun
from designer.schedule import Floats

MODEL = r"""
A pair's noise has the scale $\kappa = N\sigma/\sqrt{N-1}$. The spread of the first $m_0$ data tells it to about
$\kappa/\sqrt{2 m_0}$, and the test goes on with the design of that stratum $k$. All strata share one tolerance:

$$\min\ \overline{U_i} + \lambda\,\overline{|\Delta_i|},\qquad
\Delta_i = \sum_k w_k(\kappa_i)\,\Delta_{i,k},\qquad w_k(\kappa) = P(\hat\kappa \text{ lies in stratum } k),$$

with $U_i$ the data read for pair $i$: each stratum gets the error at which one more unit would save the same data
everywhere, and pairs near an edge that are put into the wrong stratum are counted. If strata save less than 0.1%, one
design is given. Edges and designs are fitted to these pairs: on fresh ones a part of the saving is gone.
"""
TOLERANCE = tolerance(
    "strtol",
    "Largest mean |Δ| over all pairs",
    "The error in the acceptance probability that you tolerate, with one design or several.",
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
TOPIC = Topic("strata", (TOLERANCE, STRATA), {}, MODEL, "strata.md")
FORMATS = {
    "m": st.column_config.NumberColumn(format="localized"),
    "share of pairs": st.column_config.NumberColumn(format="percent"),
    "data per step": st.column_config.NumberColumn(format="percent"),
    **{name: st.column_config.NumberColumn(format="%.4g") for name in ("ε", "α", "mean |Δ|")},
}


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
        most = knob(TOLERANCE)
    with right:
        number = int(knob(STRATA))
    work = partial(_work, run.trial, most, number)
    found: Found | None = answered(TOPIC, f"{run.trial.digest}-{most!r}-{number}", "Searching designs by κ", work)
    if found is not None:
        _answer(run.trial, found)
    with below(TOPIC, {TOLERANCE.key: most, STRATA.key: number}):
        if found is not None:
            _saves(run.trial, found)


def _work(trial: TrialRun, most: float, number: int, job: Job) -> Found:
    strata = stratified(trial, most, number, progress=job.progress, cancelled=job.cancelled)
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
        "Expected share of the data read for each pair over its κ (log scale): crosses with the best single design, "
        "circles with the design of the pair's stratum"
        + (". Dashed lines: the edges of the strata." if strata.edges else ", which is the same one here."),
    )
    st.dataframe(
        [
            {
                "κ": _between(row),
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
        column_config=FORMATS,
        key="strata-table",
        alt="Per stratum: its range of κ, batch, threshold and shape of its design, share of pairs, error, data",
    )


def _between(row: StratumRow) -> str:
    """A range of kappa in words."""
    if row.high == float("inf"):
        return f"from {row.low:.4g}" if row.low > 0 else "all"
    return f"{row.low:.4g} to {row.high:.4g}" if row.low > 0 else f"up to {row.high:.4g}"


def _saves(trial: TrialRun, found: Found) -> None:
    st.download_button(
        "Designs as TOML",
        found.strata.to_toml(),
        "strata.toml",
        "application/toml",
        icon=":material/download:",
        on_click="ignore",
        help="For `austerity run CONFIG.toml --design strata.toml`.",
    )
    share.download_csv("Pairs as CSV", "strata_pairs.csv", lambda: _columns(trial, found))


def _columns(trial: TrialRun, found: Found) -> dict[str, Floats]:
    return {
        "kappa": trial.kappa,
        "usage_single": found.alone.usage,
        "usage_strata": found.step.usage,
        "delta_single": found.alone.delta,
        "delta_strata": found.step.delta,
    }
