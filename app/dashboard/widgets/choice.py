"""Choices that the URL names: a widget takes them from there when it is new, and when the browser goes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.dashboard.state.history import going_back


def choice(name: str, label: str, titles: Mapping[str, str], meaning: str) -> str:
    """A list to choose from. The URL has the key of the choice; Streamlit's own binding would put its title there."""
    keys = list(titles)
    take_named(name, choice_key(name), {key: key for key in keys}, keys[0])
    chosen = st.selectbox(
        label,
        keys,
        format_func=lambda key: titles[key],
        key=choice_key(name),
        persist_state="session",
        help=meaning,
    )
    return name_choice(name, str(chosen))


def choice_key(name: str) -> str:
    """The key of the widget of such a list."""
    return f"{name}-chosen"


def take_named(name: str, key: str, options: Mapping[str, Any], usual: Any) -> None:
    """Let the widget with this key show what the URL names, if it is new or the browser goes back or forward."""
    if going_back() or key not in st.session_state:
        st.session_state[key] = options.get(st.query_params.get(name, ""), usual)


def name_choice(name: str, chosen: str) -> str:
    """Name a choice in the URL, and return it."""
    if st.query_params.get(name) != chosen:  # a change of page empties the URL
        st.query_params[name] = chosen
    return chosen
