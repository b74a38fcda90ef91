"""Page: Learn. A test look by look, a boundary to drag, and stories told by other pages."""

from __future__ import annotations

import streamlit as st

from app.dashboard.pages.learn import boundary, one_test, stories
from app.dashboard.widgets.choice import name_choice, take_named
from app.dashboard.widgets.chrome import problems_in_words

PARTS = {"look by look": one_test.show, "drag the boundary": boundary.show, "stories": stories.show}
IN_URL, KEY = "part", "learn-part"


def show() -> None:
    """Draw the page."""
    st.title("Learn")
    st.markdown("How does a test decide from part of the data, and what does it cost to be right?")
    first = next(iter(PARTS))
    take_named(IN_URL, KEY, {name: name for name in PARTS}, first)
    part = st.segmented_control(
        "Part",
        list(PARTS),
        key=KEY,
        format_func=str.capitalize,
        label_visibility="collapsed",
        persist_state="session",
    )
    with problems_in_words():
        PARTS[name_choice(IN_URL, part or first)]()  # it can be switched off
