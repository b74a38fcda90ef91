"""The strip on every page: trial run, tolerance and design in use, running jobs, undo, and the session as a file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from app.dashboard import cached
from app.dashboard.jobs import jobs, runs
from app.dashboard.state import belongings, session_file, share
from app.dashboard.state.current import current_design, last_answer, tolerance
from app.dashboard.state.in_use import loaded_run
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.pins import pinned_designs
from app.dashboard.state.source import current_source
from app.dashboard.state.visitor import owner
from designer.core.errors import BadInput
from designer.further.outlook import LEAST_GAIN
from designer.pairs.examples import EXAMPLES
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.search.criteria import Cost
from designer.search.remarks import beside_exact

MOST_PAIRS = 2000  # for which the data use of a chosen design is computed on every page
MONITOR = "monitor"  # the page of runs

STYLE = """
.strip { display: flex; flex-wrap: wrap; gap: 0.15rem 0.9rem; font-size: 0.85rem; line-height: 1.5; }
.strip b { font-weight: 600; }
.st-key-strip { border-bottom: 1px solid light-dark(#dfe3e8, #3a424d); padding-bottom: 0.5rem; }
.st-key-strip [data-testid=stElementContainer]:has(.strip) { flex: 1 1 0; min-width: 16rem; }
@media (max-width: 640px) { .st-key-strip [data-testid=stElementContainer]:has(.strip) { flex: 1 1 100%; } }
.st-key-strip [data-testid=stPopover] button { min-height: 2rem; padding: 0.1rem 0.6rem; }
.verdict { border-radius: 0.4rem; padding: 0 0.45rem; white-space: nowrap; }
.verdict.good { background: light-dark(#d9f0e0, #12402a); color: light-dark(#0b4f29, #b4ecc9); }
.verdict.bad { background: light-dark(#fde6cc, #4d2f08); color: light-dark(#6b3900, #ffd7a3); }
.verdict.open { background: light-dark(#e6e9ee, #2f3640); color: light-dark(#333b45, #d4dae2); }
.undo { display: flex; gap: 0.3rem; }
.undo button { font: inherit; font-size: 0.9rem; padding: 0.2rem 0.6rem; border-radius: 0.5rem; cursor: pointer;
  color: inherit; background: transparent; border: 1px solid light-dark(#c3c9d2, #525b68); }
.undo button:disabled { opacity: 0.45; cursor: default; }
.undo button:focus-visible { outline: 2px solid light-dark(#0b65b0, #4da3ec); outline-offset: 2px; }
"""
UNDO = """<div class="undo">
<button type="button" aria-label="Undo the last change" title="The browser's Back">↶</button>
<button type="button" aria-label="Redo the change" title="The browser's Forward">↷</button>
</div>"""
SCRIPTS = ("access.js", "history.js")  # of every page
_history = st.components.v2.component(
    "history",
    html=UNDO,
    js="".join(Path(__file__).with_name("static").joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS),
    isolate_styles=False,
)


class Verdict(NamedTuple):
    """What the design in use costs, beside an exact chain: the share of the data, and whether it is worth it."""

    share: float
    worth: bool

    @property
    def html(self) -> str:
        """In words, coloured by what they mean."""
        kind, words = ("good", "worth it") if self.worth else ("bad", "not worth it")
        return f'<span class="verdict {kind}">reads {percent(self.share)} of the data: {words}</span>'


def percent(share: float) -> str:
    """A share with two digits, as a person says it: 63%, 0.51%."""
    return f"{share:.0%}" if share >= 0.0995 else f"{100 * share:.2g}%"


def draw(page: str, pages: Mapping[str, StreamlitPage]) -> DeltaGenerator:
    """Draw the strip of a page, and return the place of what is in use; `pages` are all pages by their paths."""
    pinned_designs()  # keeps them in the URL
    with st.container(key="strip", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            place = st.empty()
            _history(data={"open": st.session_state.get("open-session", "")}, key="history", width="content")
            _session(page)
        if _under_way(page):
            _follow_jobs(page, pages)
        else:
            _jobs(page, pages)
    update(place)
    return place


def update(place: DeltaGenerator) -> None:
    """Say what is in use, which a run of the page may have changed."""
    place.html(f'<div class="strip">{"".join(_in_use(loaded_run()))}</div>')


def _in_use(run: Loaded | None) -> list[str]:
    if run is None:
        return ['<span><b>Trial run</b> none</span><span class="verdict open">upload it, or choose another</span>']
    trial, design = run.trial, current_design(run.trial)
    what = "Example" if current_source().kind in EXAMPLES else "Trial run"
    said = [
        f"<span><b>{what}</b> {escape(run.name)} ({trial.n_data:,} rows, {len(trial):,} pairs)</span>",
        f"<span><b>Tolerance</b> {tolerance():.3g}</span>",
    ]
    if design is None:
        return [*said, "<span><b>Design</b> none yet</span>"]
    verdict = verdict_on(design, trial)
    symbols = escape(in_symbols(design), quote=True)
    words = f'<span title="{symbols}"><b>Design</b> mini-batches of {design.m:,}</span>'
    return [*said, words, "" if verdict is None else verdict.html]


def in_symbols(design: Design) -> str:
    """A design in a few symbols."""
    shape = "bounds by look" if design.explicit else f"ε = {design.epsilon:.3g}, α = {design.alpha:.3g}"
    return f"m = {design.m:,}, {shape}" + ("" if design.growth == 1 else f", growth {design.growth:.3g}")


def verdict_on(design: Design, trial: TrialRun) -> Verdict | None:
    """Whether a design is worth it on these pairs; None if that is not known."""
    answer = last_answer(trial)
    if len(trial) <= MOST_PAIRS:
        share = cached.steps(design.without_notes, trial.digest, "metropolis", trial).mean_usage
    elif answer is not None and answer.result.best == design and answer.result.usage is not None:
        share = answer.result.usage
    else:
        return None
    return verdict_of(share, trial)


def verdict_of(share: float, trial: TrialRun) -> Verdict | None:
    """Whether it is worth it to read this share of the data of each step; None if the share is not known."""
    if not 0.0 <= share <= 1.0:
        return None
    beside = beside_exact(Cost(), trial.n_data, share, 1.0, trial.n_heavy)
    return Verdict(share, beside.exact >= LEAST_GAIN * beside.test)


def _runs(page: str) -> list[str]:
    """The runs of this visitor that the page does not show: under way, or ended since they were last looked at."""
    return [] if page == MONITOR else runs.of(owner())


def tell(words: str, verdict: Verdict | None) -> None:
    """A result in a box that is coloured by what it means."""
    if verdict is None:
        st.info(words, icon=":material/info:")
    elif verdict.worth:
        st.success(words, icon=":material/check_circle:")
    else:
        st.warning(f"{words} **That is not worth it.**", icon=":material/info:")


def _under_way(page: str) -> bool:
    """Whether a job or a run that the page does not show goes on."""
    return any(job.running for job in jobs.elsewhere(page).values()) or any(
        runs.state(name) in ("running", "stopping") for name in _runs(page)
    )


@st.fragment(run_every=1.0)
def _follow_jobs(page: str, pages: Mapping[str, StreamlitPage]) -> None:
    if not _under_way(page):
        st.rerun()  # what has ended need not be asked about again
    _jobs(page, pages)


def _jobs(page: str, pages: Mapping[str, StreamlitPage]) -> None:
    """Jobs and runs that other pages have started; those that have ended until their page is opened."""
    for kind, job in jobs.elsewhere(page).items():
        words, more, stop = st.columns([6, 2, 2], vertical_alignment="center")
        if job.running:
            words.progress(job.share, jobs.in_words(job))
            stop.button("Cancel", key=f"strip-cancel-{kind}", icon=":material/cancel:", on_click=job.cancel)
        else:
            words.markdown(f"{job.label}: done")
        if job.page in pages:
            more.page_link(pages[job.page], label="Open", icon=":material/open_in_new:")
    for name in _runs(page):
        words, more, stop = st.columns([6, 2, 2], vertical_alignment="center")
        now, seconds = runs.state(name), runs.seconds_running(name)
        words.markdown(f"Run {name}: {now}" + ("" if seconds is None else f", for {seconds:,.0f} s"))
        if now == "running":
            stop.button("Stop", key=f"strip-stop-{name}", icon=":material/stop:", on_click=runs.stop, args=(name,))
        if MONITOR in pages:
            more.page_link(pages[MONITOR], label="Open", icon=":material/open_in_new:", query_params={"run": name})


def _session(page: str) -> None:
    now = belongings.mine(), page, current_source(), loaded_run()  # a download is made outside the session
    with st.popover("Session", icon=":material/save:"):
        st.caption(
            "A session file contains the settings of all pages, your trial runs and the table of your fit; of these, "
            f"what {session_file.MOST_MEGABYTES} MB can hold."
        )
        st.download_button(
            "Save the session",
            share.made_later(partial(session_file.session_text, *now), session_file.FILE, "application/json"),
            session_file.FILE,
            "application/json",
            icon=":material/download:",
            on_click="ignore",
            key="session-save",
        )
        file = st.file_uploader(
            "Load a session", ["json"], key="session-file", max_upload_size=session_file.MOST_MEGABYTES
        )
        if file is None or st.session_state.get("session-read") == file.file_id:
            return
        st.session_state["session-read"] = file.file_id
        try:
            if file.size > session_file.MOST_MEGABYTES * 2**20:
                raise BadInput(f"session: larger than {session_file.MOST_MEGABYTES} MB")
            address = session_file.load_session(file.getvalue())
        except BadInput as problem:
            st.error(str(problem), icon=":material/error:")
            return
        st.session_state["open-session"] = f"{address} {time.monotonic()}"
        st.rerun()
