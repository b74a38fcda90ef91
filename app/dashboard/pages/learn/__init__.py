"""Page: Learn. A test look by look, a boundary to drag, and stories told by other pages."""

from __future__ import annotations

import streamlit as st

from app.dashboard.pages.learn import boundary, one_test, stories
from app.dashboard.widgets.chrome import problems_in_words

PARTS = {"look by look": one_test.show, "drag the boundary": boundary.show, "stories": stories.show}
IN_URL = "part"


def show() -> None:
    """Draw the page."""
    st.title("Learn")
    st.markdown("How does a test decide from part of the data, and what does it cost to be right?")
    asked = st.query_params.get(IN_URL, "")
    st.session_state.setdefault("learn-part", asked if asked in PARTS else next(iter(PARTS)))
    part = st.segmented_control(
        "Part", list(PARTS), key="learn-part", format_func=str.capitalize, label_visibility="collapsed"
    ) or next(iter(PARTS))  # it can be switched off
    st.query_params[IN_URL] = part
    with problems_in_words():
        PARTS[part]()
