"""What all topics share: the tolerance knob, their answers, and the row below them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.dashboard import cached
from app.dashboard.jobs.job_queue import Job
from app.dashboard.jobs.remembered import answered_once
from app.dashboard.state import share
from app.dashboard.widgets.knobs import Knob, reset_button
from designer.pairs.trial_run import TrialRun


class Topic(NamedTuple):
    """A topic: its name in the URL, knobs, defaults of its switches, formulas, and its page in docs."""

    key: str
    knobs: Sequence[Knob]
    switches: Mapping[str, object]
    method: str
    page: str


def answered(topic: Topic, key: str, label: str, work: Callable[[Job], Any]) -> Any:
    """The answer of a topic, remembered or computed as a job; None until it is there."""
    return answered_once(topic.key, key, label, work)


def batch_warning(trial: TrialRun, m: int) -> None:
    """A warning if the trial run does not support predictions at this mini-batch size."""
    words = cached.batch_problem(trial.digest, m, trial)
    if words is not None:
        st.warning(words, icon=":material/query_stats:")


def below(topic: Topic, values: Mapping[str, object]) -> DeltaGenerator:
    """Draw the formulas, a link with these values and a reset button; return their row, for download buttons."""
    with st.expander("How this is computed", icon=":material/function:"):
        st.markdown(topic.method)
        st.caption(f"Derivation, comparison with real chains, and limits: `docs/{topic.page}`.")
    row = st.container(horizontal=True)
    with row:
        share.copy_link({"topic": topic.key, **values, **share.session_values()})
        reset_button(topic.knobs, topic.switches)
    return row
