"""The dashboard: its pages, in the order a person works. `austerity app` serves it."""

from __future__ import annotations

import streamlit as st

from app.dashboard.pages import (
    compare,
    design,
    experiments,
    explore,
    fit,
    further,
    league,
    learn,
    method,
    monitor,
    start,
    trial_run,
)
from app.dashboard.widgets import chrome

METHOD = st.Page(method.show, title="Method", url_path="method")
# a section with a name is a menu at the top of every page
PAGES = {
    "": [
        st.Page(start.show, title="Start", url_path="start", default=True),
    ],
    "Design": [
        st.Page(trial_run.show, title="Trial run", url_path="trial-run"),
        st.Page(design.show, title="Design", url_path="design"),
        st.Page(compare.show, title="Compare tests", url_path="compare"),
        st.Page(explore.show, title="Explore", url_path="explore"),
        st.Page(explore.show, title="Explore", url_path="step-error", visibility="hidden"),  # as it was called
        st.Page(further.show, title="Go further", url_path="further"),
    ],
    "Run": [
        st.Page(monitor.show, title="Monitor", url_path="monitor"),
        st.Page(fit.show, title="Fit", url_path="fit"),
    ],
    "Background": [
        st.Page(learn.show, title="Learn", url_path="learn"),
        st.Page(league.show, title="League", url_path="league"),
        st.Page(experiments.show, title="Experiments", url_path="experiments"),
        METHOD,
    ],
}

chrome.frame(st.navigation(PAGES, position="top"), [page for pages in PAGES.values() for page in pages], method=METHOD)
