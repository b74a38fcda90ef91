"""Page: Monitor. A run beside what was promised for it, live; runs start, stop and resume here."""

from __future__ import annotations

import streamlit as st

from app.dashboard.jobs import runs
from app.dashboard.pages.monitor import new_run, view
from app.dashboard.pages.monitor.view import watched_file
from app.dashboard.serve.server import MOST_MEGABYTES
from app.dashboard.state.history import going_back
from app.dashboard.state.visitor import owner
from app.dashboard.widgets.captioned import answer_place
from app.dashboard.widgets.choice import name_choice
from app.dashboard.widgets.chrome import problems_in_words
from designer.core.errors import BadInput
from samplers.config.config import SamplerConfig
from samplers.runs.watch import Watched

NEW, UPLOAD = "*new*", "*upload*"
IN_URL, CHOICE = "run", "monitor-choice"
NAMED = "monitor-named"  # the choice when this page was drawn last


def show() -> None:
    """Draw the page."""
    st.title("Monitor")
    st.markdown(
        "Does your chain do what the design promised? Start a run here, or look at one that is running or has finished."
    )
    first = answer_place()
    left, right = st.columns([1, 2], gap="large")
    uploaded: Watched | None = None
    planned: SamplerConfig | None = None
    with left, problems_in_words():
        choice = _choose()
        if choice == NEW:
            planned = new_run.form()
        elif choice == UPLOAD:
            uploaded = _upload()
        else:
            view.controls(choice)
    with first, problems_in_words():
        if uploaded is not None:
            view.verdict(uploaded, None)
        elif choice in (NEW, UPLOAD):
            _empty()
        else:
            view.head(choice)
    with right, problems_in_words():
        if uploaded is not None:
            view.describe(uploaded, None)
            st.caption("An audit or a certificate needs the run's folder: put it into the runs folder.")
        elif planned is not None:
            view.promised(planned)
        elif choice not in (NEW, UPLOAD):
            view.follow(choice)


def _choose() -> str:
    """Which run: the one started last, the one in view before, that of the link, or one that is under way."""
    known = runs.names()
    options = [NEW, *known, UPLOAD]
    started, asked = st.session_state.pop("monitor-started", None), st.query_params.get(IN_URL, "")
    if started in known:
        st.session_state[CHOICE] = started
    elif asked in (*known, UPLOAD) and asked != st.session_state.get(NAMED):  # by a link, as that of the strip
        st.session_state[CHOICE] = asked
    elif st.session_state.get(CHOICE) not in options or going_back():
        st.session_state[CHOICE] = _first(known)
    titles = {NEW: "Start a new run", UPLOAD: "Upload results.nc"}
    choice: str = st.selectbox(
        "Run",
        options,
        key=CHOICE,
        persist_state="session",
        format_func=lambda name: titles.get(name, name),
        help="Runs that were started here, and output folders of `austerity run` in the runs folder.",
    )
    if choice != NEW:
        name_choice(IN_URL, choice)
    elif IN_URL in st.query_params:
        del st.query_params[IN_URL]
    st.session_state[NAMED] = choice
    st.caption(f"Runs folder: `{runs.place.folder.resolve()}` (another one: `austerity app --runs DIR`).")
    return choice


def _first(known: list[str]) -> str:
    """The choice of the URL; on a page that is new, else a run of this visitor that is under way."""
    asked = st.query_params.get(IN_URL, "")
    if asked in (*known, UPLOAD):
        return asked
    going = [] if going_back() else [name for name in runs.of(owner()) if name in known]
    return next((name for name in going if runs.state(name) == "running"), NEW)


def _upload() -> Watched | None:
    file = st.file_uploader(
        f"results.nc of a run, up to {MOST_MEGABYTES} MB",
        ["nc"],
        key="monitor-file",
        max_upload_size=MOST_MEGABYTES,
        help="The file that `austerity run` writes at its end. It is read on the machine that runs this page.",
    )
    if file is None:
        return None
    if file.size > MOST_MEGABYTES * 2**20:  # the check in the browser can be bypassed
        raise BadInput(f"{file.name}: larger than {MOST_MEGABYTES} MB; put the run's folder into the runs folder")
    return watched_file(file.file_id, file.getvalue())


def _empty() -> None:
    """What this page is for."""
    st.info(
        "A design promises an acceptance rate, a share of the data and an error **before** the chain runs. Press "
        "**Start**, and this page puts what the chain really does beside it, while it runs.",
        icon=":material/monitor_heart:",
    )
