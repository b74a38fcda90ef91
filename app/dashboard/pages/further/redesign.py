"""Topic: design while it runs."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.further.parts import Topic, below
from app.dashboard.state import share
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.choice import choice, choice_key
from app.dashboard.widgets.chrome import problems_in_words
from app.dashboard.widgets.knobs import TOLERANCE, Knob, knob
from app.dashboard.widgets.strip import tell, verdict_of
from app.figures import redesign as figures
from designer.core.errors import BadInput
from samplers.adapt.redesign import Change, Followed, follow_from
from samplers.config.built_in import BUILT_IN, built_in, twin_notice
from samplers.config.schema import RedesignTable

CHAIN = "redchain"
ABOUT = r"""
Every few steps the chain makes a full pass over the data for its current proposal, which gives a pair. With $R$ data
read by the tests so far and $P$ passes made, it makes another one when

$$(P + 1)\,N\,(1 - s) \le s R,\qquad s = 0.1,$$

so that passes, after the first 20, are less than a tenth of all data read. At regular intervals a search on the latest
100 pairs looks for the cheapest design with mean $|\Delta|$ within the tolerance. The chain uses it if it saves 2% of
the data, or if the current design exceeds the tolerance on these pairs. In `austerity run` this is the table
`[redesign]`; there designs stop changing at the end of the warm-up, because a chain whose test keeps adapting to its
own past need not converge. Here they may change up to the last step shown.
"""
BATCH = Knob(
    "redm",
    "First mini-batch size m",
    "Of the design that the chain starts with, before it has recorded any pairs. A bad one costs data until the first "
    "search.",
    2,
    10**9,
    5000,
    [50, 100, 200, 500, 1000, 2000, 5000, 10_000],
)
EPSILON = Knob(
    "redeps",
    "First threshold ε",
    "Of the design that the chain starts with. Small: much data at first. Large: many wrong decisions at first.",
    1e-12,
    0.5,
    1e-4,
    [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.5],
    "%.6g",
)
EVERY = Knob(
    "redevery",
    "Steps between searches",
    "A larger value gives each search more new pairs, but keeps a bad design longer.",
    100,
    5000,
    500,
    [100, 200, 500, 1000, 2000, 5000],
)
STEPS = Knob(
    "redsteps",
    "Steps of the chain",
    "How many steps to run. More steps take longer.",
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
    "epsilon": st.column_config.NumberColumn("ε", format="%.3g"),
    "alpha": st.column_config.NumberColumn("α", format="%.3g"),
    "growth": st.column_config.NumberColumn(format="%.3g"),
}


class Ran(NamedTuple):
    """A chain that was run, its tolerance, and the m and ε of its first design."""

    followed: Followed
    tolerance: float
    first: tuple[int, float]


def show(run: Loaded) -> None:
    """Draw the topic. It runs built-in chains and does not use the trial run."""
    st.write(
        "Without a trial run: the chain starts with a guess, records pairs as it runs and designs its own test. "
        "This topic runs a built-in chain and does not use the trial run."
    )
    titles = {key: chain.title for key, chain in BUILT_IN.items()}
    name = choice(CHAIN, "Chain", titles, "The chains of the papers, on their data or on synthetic data like them.")
    if notice := twin_notice(built_in(name)):
        st.caption(f"{notice[0].upper()}{notice[1:]}.")
    left, right = st.columns(2)
    with left:
        values = {spec.key: knob(spec) for spec in TOPIC.knobs[:3]}
    with right:
        values |= {spec.key: knob(spec) for spec in TOPIC.knobs[3:]}
    ran = None
    with problems_in_words():
        ran = _ran(name, values)
    if ran is not None:
        _answer(ran)
    with below(TOPIC, {CHAIN: name, **values}):
        if ran is not None and ran.followed.log:
            share.download_csv("Log as CSV", "redesign.csv", lambda: _columns(ran.followed))


def _ran(name: str, values: dict[str, float]) -> Ran | None:
    """The chain that was run last, once it has ended, with a warning if it was run with other settings."""
    if values[EVERY.key] > values[STEPS.key]:
        raise BadInput(f"steps between searches: must be at most {values[STEPS.key]:,}, the steps of the chain")
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
        st.warning(
            "These results are for other settings. Run the chain again to update them.", icon=":material/history:"
        )
    ran: Ran | None = jobs.outcome_in_words(job)
    return ran


def _start(key: str, name: str, values: dict[str, float]) -> None:
    with problems_in_words():
        jobs.start(TOPIC.key, key, partial(_work, name, values))


def _work(name: str, values: dict[str, float], job: Job) -> Ran:
    job.progress(0, 0, "reading the data and building the model")
    most, m, epsilon, every, steps = (values[spec.key] for spec in TOPIC.knobs)
    table = RedesignTable(tolerance=most, every=int(every), until=int(steps))
    followed = follow_from(
        built_in(name), int(m), epsilon, table, int(steps), progress=job.progress, cancelled=job.cancelled
    )
    return Ran(followed, most, (min(int(m), followed.n_data), epsilon))


def _answer(ran: Ran) -> None:
    followed = ran.followed
    if not followed.log:
        st.info("Too few pairs were recorded for a search. Run the chain for more steps.")
    else:
        first, last = followed.log[0], followed.log[-1]
        tell(
            f"The first design has a predicted data use of {first.old_usage:.2%} and mean |Δ| of "
            f"{first.old_error:.3g}; the last one {last.usage:.2%} and {last.error:.3g} (m = {last.m:,}, ε = "
            f"{last.epsilon:g}). Pairs took {followed.passes:,} passes, {followed.share:.1%} of all data read.",
            None if followed.trial is None else verdict_of(last.usage, followed.trial),
        )
    captioned(
        figures.over_time(followed, ran.tolerance, ran.first),
        "redesign-figure",
        "Against the steps of the chain. Above: data use of the tests (line), and the prediction of each search for "
        "the design before it (diamonds) and after it (dots). Middle: predicted mean |Δ|, and the tolerance (dashed). "
        "Below: mini-batch size m and threshold ε of the design in use.",
    )
    if followed.trial is not None:
        captioned(
            figures.pairs(followed),
            "redesign-pairs",
            f"The latest {len(followed.trial):,} pairs that the chain recorded; searches use these.",
        )
    st.dataframe(
        [change._asdict() for change in followed.log],
        hide_index=True,
        key="redesign-table",
        column_config=FORMATS,
        alt="Per search: step, pairs, whether the design changed, the design, its prediction and that of the design "
        "before, passes, data read, reason",
    )


def _columns(followed: Followed) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in followed.log] for name in Change._fields}
