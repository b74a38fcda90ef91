"""Page: Go further. Questions beyond the choice of one test, each answered for the trial run in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import streamlit as st

from app import session
from app.chrome import problems_in_words
from app.session import Loaded
from app.views.further import boundary, budget, posterior, redesign, steps, strata

KEY = "topic"


class Topic(NamedTuple):
    """A question: its name in the URL, its label, and what draws the answer."""

    key: str
    label: str
    show: Callable[[Loaded], None]


TOPICS: tuple[Topic, ...] = (
    Topic("steps", "Step size and test together", steps.show),
    Topic("strata", "Designs by κ", strata.show),
    Topic("redesign", "Design while it runs", redesign.show),
    Topic("boundary", "Best possible boundary", boundary.show),
    Topic("posterior", "What it does to my posterior", posterior.show),
    Topic("budget", "A time budget", budget.show),
)


def show() -> None:
    """Draw the page: one topic at a time, so that only its work is done."""
    st.title("Go further")
    run = session.in_use()
    st.caption(f"Trial run in use — {run.line}")
    by_key = {topic.key: topic for topic in TOPICS}
    chosen = _chosen(by_key)
    with problems_in_words():
        by_key[chosen].show(run)


def _chosen(by_key: Mapping[str, Topic]) -> str:
    """The topic asked for; the URL has its key, where the list has its label."""
    keys, asked = list(by_key), st.query_params.get(KEY, "")
    chosen = st.selectbox(
        "What do you want to know?",
        keys,
        keys.index(asked) if asked in by_key else 0,
        format_func=lambda key: by_key[key].label,
        key="topic-chosen",
        persist_state="session",
        help="Each answers another question about the same pairs.",
    )
    if st.query_params.get(KEY) != chosen:  # a change of page empties the URL
        st.query_params[KEY] = chosen
    return str(chosen)
