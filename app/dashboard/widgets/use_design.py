"""A button that makes the test of the knobs the design in use on all pages."""

from __future__ import annotations

import streamlit as st

from app.dashboard.state.chosen import choose_design
from app.dashboard.state.current import current_design
from app.dashboard.state.in_use import loaded_run
from designer.rule.design import Design


def use_button(design: Design) -> None:
    """Offer to use this design, if it is for the data of the trial run in use and is not in use yet."""
    run = loaded_run()
    if run is None or run.trial.n_data != design.n_data:
        return
    used = current_design(run.trial)
    if used is not None and used.without_notes == design.without_notes:
        st.caption("This is the design in use.")
        return
    st.button(
        "Use this design on all pages",
        icon=":material/check:",
        on_click=choose_design,
        args=(design,),
        help="It will then appear in the strip above, and the Design page shows it instead of the search's.",
    )
