"""What the topics share: the knob of the tolerance, answers that are remembered, and what stands below them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.state import share
from app.dashboard.widgets.knobs import Knob, reset_button

KEPT = 30  # answers that are remembered, over all sessions
_answers: dict[tuple[str, str], Any] = {}
_turn = Lock()


class Topic(NamedTuple):
    """A question's name in the URL, its knobs, what its switches stand at first, its formulas and its page in docs."""

    key: str
    knobs: Sequence[Knob]
    switches: Mapping[str, object]
    method: str
    page: str


def tolerance(key: str, label: str, meaning: str) -> Knob:
    """A knob for the largest mean |Δ|."""
    stops = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
    return Knob(key, label, f"{meaning} Raising it saves data.", 1e-6, 1.0, 0.02, stops, "%.6g")


def choice(name: str, label: str, titles: Mapping[str, str], meaning: str) -> str:
    """A list to choose from; the URL has the key of what is chosen, where Streamlit's own binding has its title."""
    keys, asked = list(titles), st.query_params.get(name, "")
    chosen = st.selectbox(
        label,
        keys,
        keys.index(asked) if asked in titles else 0,
        format_func=lambda key: titles[key],
        key=choice_key(name),
        persist_state="session",
        help=meaning,
    )
    if st.query_params.get(name) != chosen:  # a change of page empties the URL
        st.query_params[name] = chosen
    return str(chosen)


def choice_key(name: str) -> str:
    """The widget of such a list."""
    return f"{name}-chosen"


def answered(topic: Topic, key: str, label: str, work: Callable[[Job], Any]) -> Any:
    """What a topic's work gives, at once if it was given to anybody lately; None while it is computed, as a job.

    The key says all that the answer depends on: the digest of the trial run, and the knobs.
    """
    known = _answers.get((topic.key, key))
    if known is not None:
        job = jobs.current(topic.key)
        if job is not None and job.key != key:
            job.cancel()
        return known
    found = jobs.automatic(topic.key, key, label, work)
    if found is not None:
        with _turn:
            _answers[topic.key, key] = found
            for oldest in list(_answers)[:-KEPT]:
                del _answers[oldest]
    return found


def below(topic: Topic, values: Mapping[str, object]) -> DeltaGenerator:
    """Formulas, a link to the page with these values, and a reset; returns the row, for what can be saved."""
    with st.expander("How this is computed", icon=":material/function:"):
        st.markdown(topic.method)
        st.caption(f"Derivation, agreement with real chains and limits: `docs/{topic.page}`.")
    row = st.container(horizontal=True)
    with row:
        share.copy_link({"topic": topic.key, **values, **share.session_values()})
        reset_button(topic.knobs, topic.switches)
    return row
