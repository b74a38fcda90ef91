"""Page: Monitor. A run beside what was promised for it, live; runs start, stop and resume here."""

from __future__ import annotations

import streamlit as st

from app.dashboard.jobs import runs
from app.dashboard.pages.monitor import new_run, view
from app.dashboard.pages.monitor.view import watched_file
from app.dashboard.serve.server import MOST_MEGABYTES
from app.dashboard.widgets.chrome import problems_in_words
from designer.core.errors import BadInput
from samplers.config.config import SamplerConfig
from samplers.runs.watch import Watched

NEW, UPLOAD = "*new*", "*upload*"
IN_URL, CHOICE = "run", "monitor-choice"


def show() -> None:
    """Draw the page."""
    st.title("Monitor")
    st.markdown(
        "Does your chain do what the design promised? Start a run here, or look at one that is running or has finished."
    )
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
    with right, problems_in_words():
        if choice == UPLOAD and uploaded is not None:
            view.describe(uploaded, None)
            st.caption("An audit or a certificate needs the run's folder: put it into the runs folder.")
        elif choice not in (NEW, UPLOAD):
            view.follow(choice)
        else:
            _empty(planned)


def _choose() -> str:
    """Which run: the one of the link, the one started last, or the newest in the folder."""
    known = runs.names()
    options = [NEW, *known, UPLOAD]
    started = st.session_state.pop("monitor-started", None)
    if started in known:
        st.session_state[CHOICE] = started
    elif st.session_state.get(CHOICE) not in options:
        asked = st.query_params.get(IN_URL, "")
        st.session_state[CHOICE] = asked if asked in known else NEW
    titles = {NEW: "Start a new run", UPLOAD: "Upload results.nc"}
    choice: str = st.selectbox(
        "Run",
        options,
        key=CHOICE,
        format_func=lambda name: titles.get(name, name),
        help="Runs that were started here, and output folders of `austerity run` in the runs folder.",
    )
    if choice in known:
        st.query_params[IN_URL] = choice
    elif IN_URL in st.query_params:
        del st.query_params[IN_URL]
    st.caption(f"Runs folder: `{runs.place.folder.resolve()}` (another one: `austerity app --runs DIR`).")
    return choice


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


def _empty(planned: SamplerConfig | None) -> None:
    """What the run to be started promises."""
    st.info(
        "A design promises an acceptance rate, a share of the data and an error **before** the chain runs. Press "
        "**Start**, and this page puts what the chain really does beside it, while it runs.",
        icon=":material/monitor_heart:",
    )
    if planned is not None:
        view.promised(planned)
