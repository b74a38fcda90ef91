"""The dashboard: its pages, in the order a person works. `austerity app` serves it."""

from __future__ import annotations

import streamlit as st

from app.dashboard.pages import compare, design, experiments, explore, further, league, method, step_error, trial_run
from app.dashboard.widgets import chrome

PAGES = [
    st.Page(explore.show, title="Explore", url_path="explore", default=True),
    st.Page(step_error.show, title="Step error", url_path="step-error"),
    st.Page(trial_run.show, title="Trial run", url_path="trial-run"),
    st.Page(design.show, title="Design", url_path="design"),
    st.Page(compare.show, title="Compare tests", url_path="compare"),
    st.Page(further.show, title="Go further", url_path="further"),
    st.Page(league.show, title="League", url_path="league"),
    st.Page(experiments.show, title="Experiments", url_path="experiments"),
    st.Page(method.show, title="Method", url_path="method"),
]

chrome.frame(st.navigation(PAGES, position="top"), method=PAGES[-1])
