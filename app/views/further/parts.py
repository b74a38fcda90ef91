"""What the topics share: the knob of the tolerance, and what stands below an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import session, share
from app.knobs import Knob, reset_button


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


def below(topic: Topic, values: Mapping[str, object]) -> DeltaGenerator:
    """Formulas, a link to the page with these values, and a reset; returns the row, for what can be saved."""
    with st.expander("How this is computed", icon=":material/function:"):
        st.markdown(topic.method)
        st.caption(f"Derivation, agreement with real chains and limits: `docs/{topic.page}`.")
    row = st.container(horizontal=True)
    with row:
        share.copy_link({"topic": topic.key, **values, **session.link_values()})
        reset_button(topic.knobs, topic.switches)
    return row
