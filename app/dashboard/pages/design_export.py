"""Exports of the Design page: files, lines that reproduce them, and loading a design from a file."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.dashboard.export import exports, languages, report
from app.dashboard.state import share
from app.dashboard.state.chosen import choose_design
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.question import SearchAnswer
from app.dashboard.state.source import current_source
from designer.core.errors import BadInput
from designer.core.toml_json import MAX_TEXT
from designer.rule.design import Design


def offer(design: Design, answer: SearchAnswer, run: Loaded, *, given: bool) -> None:
    """Download buttons, and the lines that reproduce the design."""
    st.header("Take it away")
    asked, source = answer.question, current_source()  # now: a download is made outside the session
    what = "Sampler config (TOML)" if run.config else "Design (TOML)"
    with st.container(horizontal=True):
        _button(
            what,
            exports.sampler_config(design, run.config),
            exports.DESIGN_FILE,
            "application/toml",
            "For `austerity run --design`. You can load it here again.",
        )
        _button("Design (JSON)", design.to_json(), "design.json", "application/json", "For other programs.")
        _button(
            "All designs evaluated (CSV)",
            exports.evaluated_csv(answer.result.evaluated),
            "evaluated.csv",
            "text/csv",
            "Every design that the search evaluated, with error, data use and cost.",
        )
        _button(
            "Trial run (CSV)",
            lambda: exports.trial_csv(run.trial),
            exports.trial_name(run.trial),
            "text/csv",
            "The pairs that the design was made for; the command below reads this file.",
        )
        _button(
            "Report (HTML)",
            lambda: report.html(design, answer, run, source),
            "report.html",
            "text/html",
            "One file with the figures, the table of looks, assumptions and provenance; it opens without a network.",
        )
    if given:
        command, script = exports.given_lines(design, asked, source, run.trial)
    else:
        command = exports.command_line(asked, source, run.trial)
        script = exports.python_lines(asked, source, run.trial, answer.result.best)
    shell, python, r, julia = st.tabs(["Command line", "Python", "R", "Julia"])
    for place, text, language in ((shell, command, "bash"), (python, script, "python")):
        with place:
            if exports.trial_name(run.trial) in text:
                st.caption("Save the trial run in the same folder first (button *Trial run (CSV)*).")
            st.code(text, language=language, wrap_lines=True)
    for place, text, language in ((r, languages.r_lines(design), "r"), (julia, languages.julia_lines(design), "julia")):
        with place:
            st.caption(f"The test in your own chain. Save its file first (button *{what}*).")
            st.code(text, language=language, wrap_lines=True)


def load_back(run: Loaded) -> None:
    """Load a design or config from a file, to show it on the pairs in use."""
    with st.expander("Load a design", icon=":material/file_open:"):
        file = st.file_uploader(
            "A design or sampler config, TOML or JSON",
            ["toml", "json"],
            key="design-file",
            max_upload_size=1,
            help="As exported below, or written by `austerity design --output`. The page then shows this design "
            "instead of the search's.",
        )
        if file is None or st.session_state.get("design-read") == file.file_id:
            return
        try:
            if file.size > 4 * MAX_TEXT:
                raise BadInput(f"{file.name}: {file.size:,} bytes are too many for a design")
            design = Design.from_text(file.getvalue().decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise BadInput(f"{file.name}: the text is not UTF-8") from None
        except BadInput as problem:
            raise BadInput(f"{file.name}: {problem}") from None
        if design.n_data != run.trial.n_data:
            raise BadInput(
                f"{file.name}: the design is for N = {design.n_data:,}, the trial run in use for "
                f"N = {run.trial.n_data:,}"
            )
        st.session_state["design-read"] = file.file_id
        choose_design(design)


def _button(label: str, data: str | Callable[[], str], name: str, mime: str, words: str) -> None:
    st.download_button(
        label,
        share.made_later(data, name, mime) if callable(data) else data,
        name,
        mime,
        icon=":material/download:",
        on_click="ignore",
        help=words,
        key=f"download-{name}",
    )
