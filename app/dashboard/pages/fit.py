"""Page: Fit. A regression of a table, each update decided by a test on a growing sample, beside other methods."""

from __future__ import annotations

import hashlib
import shlex
from functools import cache
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.dashboard.jobs import jobs
from app.dashboard.jobs.fitting import column_names, run_fit
from app.dashboard.jobs.job_queue import Job
from app.dashboard.serve.server import MOST_MEGABYTES
from app.dashboard.state import addresses, belongings, share
from app.dashboard.state.table import Table
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.choice import choice
from app.dashboard.widgets.chrome import problems_in_words
from app.figures import fit as figures
from designer.core.errors import BadInput
from samplers.config.fit_config import FitConfig
from samplers.fit.examples import EXAMPLES, POSITIVE, example_csv
from samplers.fit.of_table import columns_formula
from samplers.fit.report import html_report, rival_rows
from samplers.fit.rivals import TITLES
from samplers.fit.table_fit import TableFit
from samplers.fit.trace import Look

KIND, PATIENCE = "fit", 1.0  # the job, and seconds that the page waits for it before it shows its progress
UPLOAD = "upload"
FORMATS = ["csv", "tsv", "txt", "parquet"]
LOSSES = {
    "lad": "The median (least absolute deviations)",
    "quantile": "Another quantile",
    "lp": "A power of the residuals",
    "logistic": "Yes or no (logistic regression)",
    "poisson": "Counts (Poisson regression)",
}
MOST_IN_URL = 50  # columns of a table whose choice the URL has
TOLERANCES = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-8]
RIVALS = {name: TITLES[name] for name in ("batch", "sgd")}
INTRODUCTION = (
    "Fit a regression to your table. Each update looks at a growing sample of rows until a test is sure of its "
    "direction, so that the first updates are cheap and the last ones exact."
)
FORMULA_HELP = (
    "The response, a tilde, and the terms: `wage ~ age + C(region)`. Columns of text have a coefficient for each "
    "level; `offset(log(exposure))` adds a known part."
)
WAY = {"columns": "Choose columns", "formula": "Write a formula"}


class Fitted(NamedTuple):
    """A fit, what was asked for, and of which example."""

    fit: TableFit
    config: FitConfig
    example: str | None


def show() -> None:
    """Draw the page."""
    st.title("Fit")
    st.markdown(INTRODUCTION)
    first = answer_place()
    left, right = st.columns([1, 2], gap="large")
    config: FitConfig | None = None
    with left, problems_in_words():
        table = _table()
        if table is not None:
            config = _question(table)
            _start(config, table)
    with right, problems_in_words():
        _answer(config, table, first)


# --- the question -----------------------------------------------------------------------------------------------------


def _table() -> Table | None:
    """The table to fit; None until there is one."""
    titles = {name: f"Example: {example.title}" for name, example in EXAMPLES.items()} | {UPLOAD: "Upload a table"}
    kind = choice("table", "Table", titles, "Your own table stays on this machine.")
    if kind != UPLOAD:
        table = _example(kind)
        st.caption(EXAMPLES[kind].about)
        st.download_button(
            "Download this table",
            table.content,
            table.name,
            "text/csv",
            key="fit-example",
            icon=":material/download:",
            on_click="ignore",
        )
        return table
    return _uploaded()


@cache
def _example(name: str) -> Table:
    content = example_csv(name).encode()
    return Table(f"{name}.csv", content, column_names(f"{name}.csv", content), name)


def _uploaded() -> Table | None:
    file = st.file_uploader(
        "A table with named columns",
        FORMATS,
        key="fit-file",
        max_upload_size=MOST_MEGABYTES,
        help=f"CSV, TSV or Parquet, at most {MOST_MEGABYTES} MB; larger ones on the command line.",
    )
    mine = belongings.mine()
    if file is not None:  # the uploader empties when the page changes: the server keeps the table
        content = file.getvalue()
        if len(content) > MOST_MEGABYTES * 2**20:
            raise BadInput(f"{file.name}: larger than {MOST_MEGABYTES} MB; use the command line")
        before = mine.table
        if before is None or (before.name, before.content) != (file.name, content):  # read its header only once
            mine.table = Table(file.name, content, column_names(file.name, content))
    kept = mine.table
    if kept is None:
        st.info("Upload a table, or choose an example.", icon=":material/upload:")
        return None
    listed = ", ".join(kept.columns[:8]) + (", …" if len(kept.columns) > 8 else "")
    st.caption(f"{kept.name}: {len(kept.columns)} columns ({listed})")
    return kept


def _question(table: Table) -> FitConfig:
    """What to fit to it, from the widgets; their keys carry the table, so that each table has its own."""
    example = EXAMPLES.get(table.example or "")
    mark = table.example or hashlib.sha256(table.content).hexdigest()[:8]
    usual = example.loss if example is not None else "lad"
    loss = st.selectbox(
        "What to explain",
        list(LOSSES),
        list(LOSSES).index(usual),
        format_func=LOSSES.__getitem__,
        key=f"fit-loss-{mark}",
        persist_state="session",
        bind="query-params",
        help="The loss: what the coefficients minimise, on average over the rows.",
    )
    options: dict[str, object] = {"loss": loss}
    if loss == "quantile":
        options["quantile"] = st.number_input(
            "Quantile",
            0.01,
            0.99,
            0.9,
            0.05,
            key=f"fit-quantile-{mark}",
            persist_state="session",
            bind="query-params",
            help="0.9: nine of ten rows lie below the fit.",
        )
    if loss == "lp":
        options["p"] = st.number_input(
            "Power p",
            1.0,
            4.0,
            1.5,
            0.25,
            key=f"fit-p-{mark}",
            persist_state="session",
            bind="query-params",
            help="1 is the median, 2 the mean (least squares).",
        )
    formula, positive = _formula(table, mark, str(loss))
    if positive:
        options["positive"] = positive
    options |= _reading(mark)
    return FitConfig.of(table.name, formula, **options)


def _formula(table: Table, mark: str, loss: str) -> tuple[str, str | None]:
    """The formula, written or made of columns, and which value of a yes-or-no response counts as 1."""
    example = EXAMPLES.get(table.example or "")
    way = st.radio(
        "How",
        list(WAY),
        1 if example is not None else 0,
        format_func=WAY.__getitem__,
        horizontal=True,
        key=f"fit-way-{mark}",
        persist_state="session",
        bind="query-params",
    )
    if way == "formula":
        first = example.formula if example is not None else f"{_quoted(table.columns[0])} ~ "
        formula = st.text_input(
            "Formula", first, key=f"fit-formula-{mark}", persist_state="session", bind="query-params", help=FORMULA_HELP
        )
    else:
        response = st.selectbox(
            "Response", table.columns, key=f"fit-response-{mark}", persist_state="session", bind="query-params"
        )
        others = [name for name in table.columns if name != response]
        columns = st.multiselect(
            "Explained by",
            others,
            others[:5],
            key=f"fit-columns-{mark}",
            persist_state="session",
            bind="query-params" if len(others) <= MOST_IN_URL else None,
        )
        formula = columns_formula(str(response), columns)
    positive = None
    if loss == "logistic":
        positive = st.text_input(
            "Value that counts as 1",
            POSITIVE.get(table.example or "", ""),
            key=f"fit-positive-{mark}",
            persist_state="session",
            bind="query-params",
            placeholder="not needed for 0 and 1",
            help="For a response with two text values, such as yes and no.",
        )
    return str(formula), positive or None


def _reading(mark: str) -> dict[str, object]:
    """How much to read, and what to compare with."""
    tolerance = st.select_slider(
        "Stop when an update gains less than",
        TOLERANCES,
        1e-6,
        format_func=lambda value: f"{value:g}",
        key=f"fit-tolerance-{mark}",
        persist_state="session",
        bind="query-params",
        help="Share of the mean loss that an update on all rows would still gain. 1e-6: what all rows give. A larger "
        "value stops earlier, on part of the rows; the table of coefficients then says how far off they may be.",
    )
    against = st.multiselect(
        "Compare with",
        list(RIVALS),
        list(RIVALS),
        format_func=RIVALS.__getitem__,
        key=f"fit-against-{mark}",
        persist_state="session",
        bind="query-params",
        help="Other methods on the same rows. Tuning the steps of SGD (stochastic gradients) takes the longest.",
    )
    with st.expander("More options"):
        missing = st.checkbox(
            "Leave out rows with missing values",
            key=f"fit-missing-{mark}",
            persist_state="session",
            bind="query-params",
        )
        epsilon = st.number_input(
            "Threshold ε",
            1e-6,
            0.5,
            0.01,
            format="%.6g",
            key=f"fit-epsilon-{mark}",
            persist_state="session",
            bind="query-params",
            help="Probability, at each look, of accepting a direction that leads uphill.",
        )
        seed = st.number_input(
            "Seed", 0, 10**6, 0, key=f"fit-seed-{mark}", persist_state="session", bind="query-params"
        )
    found: dict[str, object] = {"tolerance": tolerance, "against": against, "epsilon": epsilon, "seed": seed}
    return found | ({"missing": "drop"} if missing else {})


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _key(config: FitConfig, table: Table) -> str:
    """What an answer depends on."""
    return hashlib.sha256(config.to_toml().encode() + table.content).hexdigest()


def _start(config: FitConfig, table: Table) -> None:
    """Start the fit when its button is pressed; an example that is opened is fitted unasked.

    It starts in the run of the page that saw the click: then it knows what was typed just before.
    """
    pressed = st.button("Fit it", icon=":material/play_arrow:", type="primary", key="start-fit")
    if pressed or _just_opened(table):
        looks: list[Look] = []
        content, example = table.content, table.example

        def work(job: Job) -> Fitted:
            return Fitted(run_fit(job, config, content, looks), config, example)

        jobs.start(KIND, _key(config, table), work).wait(PATIENCE)
        belongings.keep("fit-looks", looks)
    share.copy_link(addresses.parameters() | {"table": table.example or UPLOAD})


def _just_opened(table: Table) -> bool:
    """Whether an example is shown for the first time, and would take the place of no table of the user."""
    opened: set[str | None] = st.session_state.setdefault("fit-opened", set())
    new, first, own = table.example not in opened, not opened, None in opened
    opened.add(table.example)
    if table.example is None or not new or own:
        return False
    return not first or jobs.current(KIND) is None  # a page that is loaded again keeps its answer


# --- the answer -------------------------------------------------------------------------------------------------------


def _answer(config: FitConfig | None, table: Table | None, first: DeltaGenerator) -> None:
    """The answer as a sentence at the top of the page, the rest beside the knobs."""
    job = jobs.current(KIND)
    if job is None:
        st.info("Choose a table and press *Fit it*. The answer is then here.", icon=":material/play_arrow:")
        return
    jobs.show_on_page(job, "Fitting")
    if job.running:
        _live()
        return
    if job.was_cancelled:
        st.info("Cancelled before the first update.", icon=":material/cancel:")
        return
    found: Fitted | None = jobs.outcome_in_words(job)
    if found is None:
        return
    if config is None or table is None or job.key != _key(config, table):
        first.warning("This is the answer to an earlier question. **Fit it** answers the new one.")
    with first.container(border=True):
        st.markdown(f"## {_plain(found.fit.sentence)}")
        st.markdown(f"It stopped because {_plain(found.fit.why)}.")
    _draw(*found)


@st.fragment(run_every=0.5)
def _live() -> None:
    """Progress, and the figures so far."""
    job = jobs.current(KIND)
    if job is None or not job.running:
        st.rerun()
        return
    note = "waiting for a free worker" if job.started is None else job.state.note
    st.progress(job.share, f"Fitting: {job.share:.0%}")
    st.caption(note)
    st.button("Cancel", key=f"cancel-{KIND}", icon=":material/cancel:", on_click=job.cancel)
    looks = list(belongings.kept("fit-looks") or [])
    if looks:
        captioned(figures.growth(looks, None), "fit-growth-live", "Rows of the batch at the end of each iteration.")
        captioned(figures.test_trace(looks), "fit-trace-live", "The test at each look so far, and its bound.")


def _draw(fit: TableFit, config: FitConfig, example: str | None) -> None:
    """Coefficients, figures, comparison and files."""
    for remark in fit.remarks:
        st.warning(remark, icon=":material/info:")
    st.header("Coefficients")
    number = st.column_config.NumberColumn
    rows = [{name: value for name, value in row._asdict().items() if value is not None} for row in fit.table]
    st.dataframe(
        rows,
        hide_index=True,
        column_config={
            "name": "coefficient",
            "estimate": number(format="%.4g"),
            "se": number("standard error", format="%.2g"),
            "off": number("at most off", format="%.2g"),
        },
        alt="Table of the coefficients, with standard errors where they are known",
    )
    st.caption(f"{fit.about_errors}.")
    st.header("What it read")
    batches = fit.trace.n
    captioned(
        figures.growth(fit.looks, fit.n_rows),
        "fit-growth",
        f"Batches grew from {int(batches[0]):,} to {int(batches.max()):,} of {fit.n_rows:,} rows.",
    )
    captioned(
        figures.test_trace(fit.looks),
        "fit-trace",
        f"The test of the direction at each of {len(fit.looks):,} looks. Above the dashed bound an update is taken; "
        "below it, more rows are read. Statistics beyond five bounds are drawn there.",
    )
    if fit.rivals:
        st.header("Beside other methods")
        st.markdown(_plain(fit.against))
        captioned(
            figures.comparison(fit.rivals, fit.n_rows),
            "fit-comparison",
            "Mean loss above the least of any method, against rows read. Lower left is better. The tuning of SGD is "
            "not counted.",
        )
        head, *body = rival_rows(fit)
        st.dataframe([dict(zip(head, row, strict=True)) for row in body], hide_index=True, alt="Table of the methods")
    _files(fit, config, example)


def _files(fit: TableFit, config: FitConfig, example: str | None) -> None:
    """Downloads, and the lines that reproduce it."""
    st.header("Take it with you")
    files = (
        ("Config", config.to_toml, "fit.toml", "application/toml"),
        ("Report", lambda: html_report(fit), "fit.html", "text/html"),
        ("Coefficients", fit.to_csv, "coefficients.csv", "text/csv"),
    )
    for column, (label, make, name, kind) in zip(st.columns(3), files, strict=True):
        column.download_button(
            label,
            share.made_later(make, name, kind),
            name,
            kind,
            key=f"fit-{name}",
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
        )
    if example is not None:
        st.caption(f"The lines below read {config.data.path}: *Download this table* has it.")
    st.code(command_line(config), language="bash", wrap_lines=True)
    st.code(python_lines(config), language="python", wrap_lines=True)


def command_line(config: FitConfig) -> str:
    """The command that makes the same fit."""
    words = ["austerity", "fit", config.data.path, "--formula", config.fit.formula, "--loss", config.fit.loss]
    for name, value in config.changed.items():
        words += [f"--{name.replace('_', '-')}", ",".join(value) if isinstance(value, tuple) else str(value)]
    return shlex.join(words)


def python_lines(config: FitConfig) -> str:
    """The same in Python."""
    options = [repr(config.fit.formula), repr(config.data.path), repr(config.fit.loss)]
    options += [f"{name}={value!r}" for name, value in config.changed.items()]
    return f"import austerity as au\n\nfit = au.fit_table({', '.join(options)})\nprint(fit.report())\n"


def _plain(text: str) -> str:
    """Text in which Markdown finds nothing to change: a formula has stars, powers and tildes."""
    for sign in "\\*_~$[]`|^":
        text = text.replace(sign, f"\\{sign}")
    return text
