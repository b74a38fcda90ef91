"""Page: Experiments. The experiments of the papers: stored results at full size, live runs at a quick size."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from app.dashboard import cached
from app.dashboard.jobs import jobs, live
from app.dashboard.state import share
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.choice import choice_key, name_choice, take_named
from app.dashboard.widgets.chrome import problems_in_words
from app.dashboard.widgets.experiment_knobs import experiment_knobs
from app.dashboard.widgets.plotting import draw
from app.figures.facets import facets
from app.figures.panels import FEW, LINE, figure
from samplers.experiments import NAMES, experiment
from samplers.experiments.framework.report import Panel, Report, in_words
from samplers.experiments.framework.stories import beside_the_paper, story, three

KIND = "experiment"
IN_URL = "experiment"
TWIN = "SYNTHETIC DATA"  # begins a notice that is a warning
COLOURS = {True: "green", False: "red", None: "gray"}  # of a check
BESIDE, SMALL = 3, 320  # small plots in a row, and their height in pixels, without a legend


def show() -> None:
    """Draw the page."""
    st.title("Experiments of the papers")
    name = _chosen()
    chosen = experiment(name)
    st.markdown(f"**{chosen.question}** ({chosen.source})")
    stored = cached.stored_experiment(name)
    if stored is not None:
        described, report = stored
        told = story(name, report)
        st.markdown(told.words)
        _story(told.panels)
        _links(name, str(described["version"]))
        _details(report, "stored", told.panels)
    else:
        st.info(f"This version has no stored result of {name}. Run it here, or on the command line.")
    share.copy_link({IN_URL: name})
    st.header("Run it here")
    st.markdown(
        f"At a quick size, which takes about a minute, on synthetic data. With your own data or at full size: "
        f"`austerity experiment {name} --data DIR --output DIR`."
    )
    _live(name)


def _links(name: str, version: str) -> None:
    """Where the docs say more, and what the paper reports."""
    st.caption(
        f"Made with austerity {version}, at the sizes that `docs/beside_the_papers.md` (section {name}) compares with "
        f"the paper's. All figures and tables: below, and in `docs/experiments.md` (section {name.upper()}). Equations "
        "and functions: `docs/equations.md`."
    )
    if beside := beside_the_paper(name):
        with st.expander("Compared with the paper: what it reports, and how our setting differs"):
            st.markdown(beside)


def _chosen() -> str:
    """The chosen experiment; the URL has its name, the list also its title."""
    options = {name: name for name in NAMES} | {name.upper(): name for name in NAMES}
    take_named(IN_URL, choice_key(IN_URL), options, NAMES[0])
    name = st.selectbox("Experiment", NAMES, format_func=_label, key=choice_key(IN_URL), persist_state="session")
    return name_choice(IN_URL, str(name))


def _label(name: str) -> str:
    return f"{name.upper()}: {experiment(name).title}"


def _live(name: str) -> None:
    """A button that runs it, and the progress or the result of the run."""
    job, arguments = jobs.current(KIND), experiment_knobs(experiment(name))
    other = job.key if job is not None and job.key != name else None
    st.button(
        "Run it now",
        icon=":material/play_arrow:",
        key="run-experiment",
        on_click=_start,
        args=(name, arguments),
        type="primary",
        disabled=arguments is None,
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
            st.markdown(fresh.finding)
            _details(fresh._replace(finding=""), "live")


def _start(name: str, arguments: Sequence[str]) -> None:
    with problems_in_words():
        jobs.start(KIND, name, lambda job: live.run_quick(job, name, arguments), process=True)


def _details(report: Report, prefix: str, shown: Sequence[Panel] = ()) -> None:
    """Checks, the finding in full, what is special about the data, further figures, and tables."""
    with st.expander(f"Checks: {counted(report)}"):
        for statement, true in report.checks.items():
            st.markdown(f":{COLOURS[true]}-badge[{in_words(true)}] {statement}")
    for notice in report.notices:
        if notice.startswith(TWIN):
            st.warning(notice, icon=":material/info:")
        else:
            st.caption(notice)
    if report.finding:
        st.header("In detail")
        st.markdown(report.finding)
    _plots([panel for panel in report.panels if not any(panel is one for one in shown)], prefix)
    for number, table in enumerate(report.tables):
        st.header(table.title)
        columns = headings(table.columns)
        st.dataframe(
            [dict(zip(columns, map(three, row), strict=True)) for row in table.rows],
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
            help="With all digits.",
        )


def counted(report: Report) -> str:
    """How many checks hold, how many do not, and how many are open.

    Examples
    --------
    >>> counted(Report("", {"a": True, "b": True, "c": None}, [], []))
    '2 hold, 1 unresolved'
    """
    said = [in_words(true) for true in report.checks.values()]
    each = ((word.replace("holds", "hold"), said.count(word)) for word in map(in_words, COLOURS))
    return ", ".join(f"{count} {word.replace('does not', 'do not')}" for word, count in each if count)


def headings(columns: Sequence[str]) -> list[str]:
    """The headings of a table, made different where two are the same by spaces that nobody sees.

    Examples
    --------
    >>> [len(heading) for heading in headings(["a", "± s.e.", "b", "± s.e."])]
    [1, 6, 1, 7]
    """
    return [name + "\u200b" * list(columns[:place]).count(name) for place, name in enumerate(columns)]


def _story(panels: Sequence[Panel]) -> None:
    """The first figure: one panel, or some beside each other."""
    if len(panels) == 1:
        _plots(panels, "story")
    else:
        _row("story", [(_small(panel), _words(panel)) for panel in panels])
        st.caption(" ".join(dict.fromkeys(map(_words, panels))))


def _plots(panels: Sequence[Panel], prefix: str) -> None:
    """Each panel in full width, or as small plots with the same axes."""
    for number, panel in enumerate(panels):
        key, parts = f"{prefix}-panel-{number}", facets(panel)
        if len(parts) == 1:
            captioned(figure(panel), key, _words(panel))
            continue
        st.markdown(f"**{panel.title}**")
        _row(key, [(_small(one, panel), f"{one.title}: {_words(panel)}") for one in parts])
        st.caption(_words(panel))


def _small(panel: Panel, axes: Panel | None = None) -> go.Figure:
    """A plot in a third of the page; its legend has a line for each series."""
    return figure(panel, height=SMALL + LINE * min(len(panel.series), FEW), axes=axes)


def _row(key: str, plots: Sequence[tuple[go.Figure, str]]) -> None:
    """Small plots beside each other, three in a row, or two if there are two or four; on a phone below each other."""
    wide = 2 if len(plots) in (2, 4) else BESIDE
    for first in range(0, len(plots), wide):
        for place, column in enumerate(st.columns(wide)[: len(plots) - first], start=first):
            with column:
                draw(plots[place][0], f"{key}-{place}", plots[place][1])


def _words(panel: Panel) -> str:
    """What a panel shows: its note, or else its axes and series."""
    listed = ", ".join(series.name for series in panel.series)
    return panel.note or f"{panel.title}: {panel.y} against {panel.x}, for {listed}."
