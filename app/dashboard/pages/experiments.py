"""Page: Experiments. The experiments of the papers: stored results at full size, live runs at a quick size."""

from __future__ import annotations

import streamlit as st

from app.dashboard import cached
from app.dashboard.jobs import jobs, live
from app.dashboard.state import share
from app.dashboard.widgets.captioned import captioned
from app.figures.panels import figure
from samplers.experiments import NAMES, experiment
from samplers.experiments.framework.report import Panel, Report

KIND = "experiment"
IN_URL = "experiment"
CREDIT = "Data: "  # begins a notice that credits real data; other notices are warnings
SIZE = "Full size; `docs/beside_the_papers.md` compares it with the paper."


def show() -> None:
    """Draw the page."""
    st.title("Experiments of the papers")
    name = _chosen()
    chosen = experiment(name)
    st.markdown(f"**{chosen.question}** ({chosen.source})")
    share.copy_link({IN_URL: name})
    stored = cached.stored_experiment(name)
    if stored is not None:
        described, report = stored
        st.header("Stored result")
        st.caption(f"{SIZE} Made with austerity {described['version']}.")
        _draw(report, "stored")
    else:
        st.info(f"This version has no stored result of {name}. Run it here, or on the command line.")
    st.header("Live")
    st.markdown(
        f"At a quick size, which takes about a minute, on synthetic data. With your own data or at full size: "
        f"`austerity experiment {name} --data DIR --output DIR`."
    )
    _live(name)


def _chosen() -> str:
    """The chosen experiment; the URL has its name, the list also its title."""
    asked = st.query_params.get(IN_URL, "").lower()
    first = NAMES.index(asked) if asked in NAMES else 0
    name = st.selectbox(
        "Experiment", NAMES, first, format_func=_label, key="experiment-chosen", persist_state="session"
    )
    if st.query_params.get(IN_URL) != name:  # a change of page empties the URL
        st.query_params[IN_URL] = name
    return str(name)


def _label(name: str) -> str:
    return f"{name.upper()}: {experiment(name).title}"


def _live(name: str) -> None:
    """A button that runs it, and the progress or the result of the run."""
    job = jobs.current(KIND)
    other = job.key if job is not None and job.key != name else None
    st.button(
        "Run it now", icon=":material/play_arrow:", key="run-experiment", on_click=_start, args=(name,), type="primary"
    )
    if job is None:
        return
    if other and job.running:
        st.caption(f"{other} is running. Only one experiment runs at a time: starting {name} cancels it.")
    ended = jobs.watch(KIND, f"{job.key} at a quick size")
    if ended is None:
        return
    if ended.was_cancelled:
        st.info("Cancelled." if other is None else f"{other} was cancelled.", icon=":material/cancel:")
    elif other:
        st.caption(f"The live run of {other} has ended: choose it above to see it.")
    else:
        fresh = jobs.outcome_in_words(ended)
        if fresh is not None:
            _draw(fresh, "live")


def _start(name: str) -> None:
    jobs.start(KIND, name, lambda job: live.run_quick(job, name))


def _draw(report: Report, prefix: str) -> None:
    """Finding, checks, figures and tables of a report."""
    for notice in report.notices:
        if notice.startswith(CREDIT):
            st.caption(notice)
        else:
            st.warning(notice, icon=":material/info:")
    st.markdown(report.finding)
    for statement, true in report.checks.items():
        st.markdown(f":{'green' if true else 'red'}-badge[{'holds' if true else 'does not hold'}] {statement}")
    for number, panel in enumerate(report.panels):
        captioned(figure(panel), f"{prefix}-panel-{number}", _words(panel))
    for number, table in enumerate(report.tables):
        st.subheader(table.title)
        st.dataframe(
            [dict(zip(table.columns, row, strict=True)) for row in table.rows],
            hide_index=True,
            alt=f"Table: {table.title}",
        )
        st.download_button(
            "Download as CSV",
            table.to_csv(),
            f"{table.title}.csv",
            "text/csv",
            key=f"{prefix}-table-{number}",
            on_click="ignore",
        )


def _words(panel: Panel) -> str:
    """What a panel shows: its note, or else its axes and series."""
    listed = ", ".join(series.name for series in panel.series)
    return panel.note or f"{panel.title}: {panel.y} against {panel.x}, for {listed}."
