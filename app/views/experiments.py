"""Page: Experiments of the papers, stored at full size and live at a quick one."""

from __future__ import annotations

import streamlit as st

from app import cached, jobs, live
from app.figures.panels import figure
from samplers.experiments import NAMES, experiment
from samplers.experiments.report import Report

KIND = "experiment"


def show() -> None:
    """Draw the page."""
    st.title("Experiments of the papers")
    name = st.selectbox("Experiment", NAMES, format_func=_label, key="experiment", bind="query-params")
    found = experiment(name)
    st.markdown(f"**{found.question}** ({found.source})")
    kept = cached.stored_experiment(name)
    if kept is not None:
        described, report = kept
        st.caption(f"Stored result: size {described['size']}, austerity {described['version']}.")
        _draw(report, "stored")
    else:
        st.info(f"No stored result of {name} comes with this version. Run it here, or on the command line.")
    st.subheader("Live")
    st.markdown(
        f"At a quick size, about a minute, on synthetic data. With your own data or at full size: "
        f"`austerity experiment {name} --data DIR --output DIR`."
    )
    st.button(
        "Run it now", icon=":material/play_arrow:", key="run-experiment", on_click=_start, args=(name,), type="primary"
    )
    job = jobs.watch(KIND, f"{name} at a quick size")
    if job is not None and job.key == name:
        fresh = jobs.outcome_in_words(job)
        if fresh is not None:
            _draw(fresh, "live")


def _label(name: str) -> str:
    return f"{name.upper()}: {experiment(name).title}"


def _start(name: str) -> None:
    jobs.start(KIND, name, lambda job: live.run_quick(job, name))


def _draw(report: Report, prefix: str) -> None:
    """Finding, checks, figures and tables of a report."""
    for notice in report.notices:
        st.warning(notice, icon=":material/info:")
    st.markdown(report.finding)
    for statement, true in report.checks.items():
        st.markdown(f":{'green' if true else 'red'}-badge[{'holds' if true else 'does not hold'}] {statement}")
    for number, panel in enumerate(report.panels):
        st.plotly_chart(figure(panel), key=f"{prefix}-panel-{number}", config={"displaylogo": False})
        if panel.note:
            st.caption(panel.note)
    for number, table in enumerate(report.tables):
        st.subheader(table.title)
        st.dataframe([dict(zip(table.columns, row, strict=True)) for row in table.rows], hide_index=True)
        st.download_button(
            "Download as CSV",
            table.to_csv(),
            f"{table.title}.csv",
            "text/csv",
            key=f"{prefix}-table-{number}",
            on_click="ignore",
        )
