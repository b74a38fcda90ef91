"""Topic: design while it runs."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.further.parts import Topic, below, choice, choice_key, tolerance
from app.dashboard.state import share
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.chrome import problems_in_words
from app.dashboard.widgets.knobs import Knob, knob
from app.figures import redesign as figures
from designer.core.errors import BadInput
from samplers.adapt.redesign import Change, Followed, follow_from
from samplers.config.built_in import BUILT_IN, built_in, twin_notice
from samplers.config.schema import RedesignTable

CHAIN = "redchain"
ABOUT = r"""
Every few steps the chain makes a full pass over the data for the proposal it is at: a pair. With $R$ data read by the
tests so far and $P$ passes made, another is made when

$$(P + 1)\,N\,(1 - s) \le s R,\qquad s = 0.1,$$

so that pairs, but for the first 20, stay below a tenth of all data read. Every so many steps a search on the latest 100
pairs looks for the cheapest design with mean $|\Delta|$ within the tolerance; it is taken if it saves 2% of the data,
or if the design in use breaks the tolerance on these pairs. In `austerity run` this is the table `[redesign]`; the
designs stop changing at the end of the warmup, because a chain whose test keeps adapting to its own past need not
converge to anything. Here they may change up to the last step shown.
"""
TOLERANCE = tolerance(
    "redtol",
    "Largest mean |Δ| to design for",
    "The error in the acceptance probability that every new design keeps on the latest pairs.",
)
BATCH = Knob(
    "redm",
    "Batch m to begin with",
    "Of the design that the chain starts with, before it knows any pairs. A bad one costs data until the first search.",
    2,
    10**9,
    5000,
    [50, 100, 200, 500, 1000, 2000, 5000, 10_000],
)
EPSILON = Knob(
    "redeps",
    "Threshold ε to begin with",
    "Of the design that the chain starts with. Small: much data at first. Large: many wrong decisions at first.",
    1e-12,
    0.5,
    1e-4,
    [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.5],
    "%.6g",
)
EVERY = Knob(
    "redevery",
    "Steps from one search to the next",
    "Raising it gives each search more new pairs, and a bad design more time.",
    100,
    5000,
    500,
    [100, 200, 500, 1000, 2000, 5000],
)
STEPS = Knob(
    "redsteps",
    "Steps of the chain",
    "How far the chain is followed. More steps take longer.",
    500,
    20_000,
    3000,
    [500, 1000, 2000, 3000, 5000, 10_000, 20_000],
)
TOPIC = Topic(
    "redesign",
    (TOLERANCE, BATCH, EPSILON, EVERY, STEPS),
    {choice_key(CHAIN): next(iter(BUILT_IN))},
    ABOUT,
    "redesign.md",
)
FORMATS = {
    "m": st.column_config.NumberColumn(format="localized"),
    "read": st.column_config.NumberColumn("data read", format="localized"),
    "usage": st.column_config.NumberColumn("data per step", format="percent"),
    "old_usage": st.column_config.NumberColumn("data per step, before", format="percent"),
    "error": st.column_config.NumberColumn("mean |Δ|", format="%.3g"),
    "old_error": st.column_config.NumberColumn("mean |Δ|, before", format="%.3g"),
    "epsilon": st.column_config.NumberColumn("ε", format="%.4g"),
    "alpha": st.column_config.NumberColumn("α", format="%.4g"),
    "growth": st.column_config.NumberColumn(format="%.4g"),
}


class Ran(NamedTuple):
    """A chain that was followed, and what it was asked for: the tolerance, and the batch and threshold at its start."""

    followed: Followed
    tolerance: float
    first: tuple[int, float]


def show(run: Loaded) -> None:
    """Draw the topic; it is about built-in chains, and the trial run in use plays no part."""
    st.write(
        "No trial run at all: the chain starts with a guess, records pairs on the way and designs its own test. "
        "This runs a built-in chain; the trial run in use plays no part."
    )
    titles = {key: chain.title for key, chain in BUILT_IN.items()}
    name = choice(CHAIN, "Chain", titles, "The papers' chains, on their data or a synthetic twin of them.")
    if notice := twin_notice(built_in(name)):
        st.caption(f"{notice[0].upper()}{notice[1:]}.")
    left, right = st.columns(2)
    with left:
        values = {spec.key: knob(spec) for spec in TOPIC.knobs[:3]}
    with right:
        values |= {spec.key: knob(spec) for spec in TOPIC.knobs[3:]}
    found = None
    with problems_in_words():
        found = _ran(name, values)
    if found is not None:
        _answer(found)
    with below(TOPIC, {CHAIN: name, **values}):
        if found is not None and found.followed.log:
            share.download_csv("Log as CSV", "redesign.csv", lambda: _columns(found.followed))


def _ran(name: str, values: dict[str, float]) -> Ran | None:
    """The chain that was run last, once it has ended; it may belong to other settings, which is said."""
    if values[EVERY.key] > values[STEPS.key]:
        raise BadInput(f"steps from one search to the next: at most the {values[STEPS.key]:,} steps of the chain")
    key = repr((name, values))
    st.button(
        "Run the chain", icon=":material/play_arrow:", on_click=_start, args=(key, name, values), key="redesign-run"
    )
    job = jobs.watch(TOPIC.key, "Running the chain")
    if job is None:
        return None
    if job.was_cancelled:
        st.caption("Cancelled.")
    if job.key != key:
        st.warning("What is shown belongs to other settings; run the chain again.", icon=":material/history:")
    found: Ran | None = jobs.outcome_in_words(job)
    return found


def _start(key: str, name: str, values: dict[str, float]) -> None:
    jobs.start(TOPIC.key, key, partial(_work, name, values))


def _work(name: str, values: dict[str, float], job: Job) -> Ran:
    job.progress(0, 0, "reading the data and building the model")
    most, m, epsilon, every, steps = (values[spec.key] for spec in TOPIC.knobs)
    table = RedesignTable(tolerance=most, every=int(every), until=int(steps))
    found = follow_from(
        built_in(name), int(m), epsilon, table, int(steps), progress=job.progress, cancelled=job.cancelled
    )
    return Ran(found, most, (min(int(m), found.n_data), epsilon))


def _answer(ran: Ran) -> None:
    found = ran.followed
    if not found.log:
        st.info("Too few pairs were recorded for a search: follow the chain for longer.")
    else:
        first, last = found.log[0], found.log[-1]
        st.success(
            f"It began with a predicted {first.old_usage:.2%} of the data per step and mean |Δ| {first.old_error:.3g}, "
            f"and ended with {last.usage:.2%} and {last.error:.3g} (m = {last.m:,}, ε = {last.epsilon:g}). Pairs took "
            f"{found.passes:,} passes, {found.share:.1%} of all data read."
        )
    captioned(
        figures.over_time(found, ran.tolerance, ran.first),
        "redesign-figure",
        "Over the steps of the chain. Above: share of the data the tests read (line), and what each search predicts "
        "of the design before it (diamonds) and after it (dots). Middle: their predicted mean |Δ|, and the tolerance "
        "(dashed). Below: batch m and threshold ε of the design in use.",
    )
    if found.trial is not None:
        captioned(
            figures.pairs(found),
            "redesign-pairs",
            f"The latest {len(found.trial):,} pairs that the chain recorded on its way; searches use the latest ones.",
        )
    st.dataframe(
        [change._asdict() for change in found.log],
        hide_index=True,
        key="redesign-table",
        column_config=FORMATS,
        alt="Per search: step, pairs, whether the design changed, the design, what is predicted of it and of the one "
        "before, passes, data read, reason",
    )


def _columns(found: Followed) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in found.log] for name in Change._fields}
