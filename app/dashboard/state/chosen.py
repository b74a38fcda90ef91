"""The design that the Design page shows instead of the search's: loaded from a file, or from another page."""

from __future__ import annotations

import streamlit as st

from app.dashboard.state.design_text import design_text, parse_design
from designer.rule.design import Design


def chosen_design() -> Design | None:
    """The chosen design; a new session takes it from its URL."""
    if "chosen" not in st.session_state:
        st.session_state["chosen"] = parse_design(st.query_params.get("chosen", ""))
    design: Design | None = st.session_state["chosen"]
    if design is not None and "chosen" not in st.query_params:  # a change of page empties the URL
        choose_design(design)
    return design


def choose_design(design: Design | None) -> None:
    """Show this design; None goes back to the design that the search finds."""
    st.session_state["chosen"] = design
    if design is not None:
        st.query_params["chosen"] = design_text(design)
    elif "chosen" in st.query_params:
        del st.query_params["chosen"]
