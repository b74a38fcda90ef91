"""The pinned designs of this session, in the URL as any number of `pin=N,m,epsilon,alpha,growth`."""

from __future__ import annotations

import streamlit as st

from app.dashboard.state.design_text import design_text, parse_design
from designer.rule.design import Design

MOST_PINS = 4


def pinned_designs() -> list[Design]:
    """The pinned designs; a new session takes them from its URL."""
    if "pins" not in st.session_state:
        st.session_state["pins"] = _pins_in_url()
    designs: list[Design] = st.session_state["pins"]
    if designs and designs != _pins_in_url():  # a change of page empties the URL
        _write(designs)
    return designs


def pin(design: Design) -> None:
    """Pin a design; the oldest pin goes when there are too many."""
    others = [other for other in pinned_designs() if other != design.without_notes]
    _write([*others, design.without_notes][-MOST_PINS:])


def unpin(design: Design) -> None:
    """Unpin a design."""
    _write([other for other in pinned_designs() if other != design.without_notes])


def _pins_in_url() -> list[Design]:
    designs = [parse_design(text) for text in st.query_params.get_all("pin")[:MOST_PINS]]
    return [design for design in designs if design is not None]  # of a damaged link, what can be read


def _write(designs: list[Design]) -> None:
    st.session_state["pins"] = designs
    st.query_params["pin"] = [design_text(design) for design in designs]
