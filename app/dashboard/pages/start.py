"""Page: Start. Three questions, and one sentence: is a test on a part of the data worth it, and what does it cost?"""

from __future__ import annotations

import math
from functools import partial
from html import escape
from threading import Lock, Thread, main_thread
from typing import NamedTuple

import numpy as np
import streamlit as st

from app.dashboard import cached
from app.dashboard.export import exports, report
from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages import get_trial, trial_run
from app.dashboard.pages.start_words import WHY, badge, errors, headline, times
from app.dashboard.state import addresses, share
from app.dashboard.state.belongings import keep, kept
from app.dashboard.state.current import (
    DERIVED,
    GROW,
    TOLERANCE,
    USUAL,
    WIDER,
    growth_of,
    last_answer,
    take_answer,
    tolerance,
    tolerance_given,
)
from app.dashboard.state.history import going_back
from app.dashboard.state.in_use import being_made, load_from, loaded_run
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.question import Question, SearchAnswer, answer_question
from app.dashboard.state.source import SHOWN, STATIONARY, Source, choose_source, current_source
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.chrome import problems_in_words
from app.dashboard.widgets.strip import in_symbols, percent
from app.figures import posterior as figures
from app.figures.runs import STYLE as RUNS_STYLE
from app.figures.runs import runs as picture_of_runs
from designer import plotdata
from designer.further.outlook import Outlook, Tolerance, at_most, outlook, tolerance_for_growth
from designer.further.posterior.error import marginals
from designer.pairs.examples import EXAMPLES
from designer.pairs.trial_run import TrialRun
from designer.rule.looks import MAX_N_DATA

LINE = "Decide accept/reject from a fraction of your data, with the error known beforehand."
KIND, PATIENCE = "start", 1.0  # the job, and seconds that the page waits for it before it shows a progress bar
NOTHING, DRAWS, TRIAL, EXAMPLE = "nothing yet", "draws from PyMC, NumPyro or Stan", "a trial run", "an example"
HAVE = (NOTHING, DRAWS, TRIAL, EXAMPLE)
GROWTHS = {"1%": 0.01, "5%": 0.05, "10%": 0.1}
CARDS = {  # the examples, in the order in which they are offered
    "control": "With control variates: logistic regression, 10 coefficients",
    "logistic": "The same chain without control variates",
    "ica": "Unmixing sounds: independent components of four recordings",
}
# largest error of the Laplace approximation in any mean or sd, in posterior sds, with 95% confidence: `laplace_verdict`
# on the data of examples/make_trials.py; both trial runs are of one posterior
LAPLACE = {"control": 0.018, "logistic": 0.018}
CARD = "start-example"  # the key of its widget
SOURCE_SEEN = "start-source"  # the source when this page was drawn last
RUNS = 10
MOST_ANSWERS = 50
TRIES = 3  # searches with a smaller tolerance each, if the posterior gets wider than allowed

STYLE = """<style>
.headline { font-size: clamp(1.25rem, 2.4vw, 1.75rem); line-height: 1.35; font-weight: 600; margin: 0.3rem 0 0.6rem; }
.badge { display: inline-block; font-size: 1rem; font-weight: 600; border-radius: 0.5rem; padding: 0.15rem 0.7rem; }
@media (max-width: 640px) {
  .st-key-start-answer > div > [data-testid=stHorizontalBlock] { flex-direction: column-reverse; }
}
</style>"""


# new runs move once; the same ones stay as they are
_drawing = st.components.v2.component(
    "runs",
    css=RUNS_STYLE,
    js="""export default ({ parentElement, data }) => {
      if (parentElement.dataset.drawn === data.svg) return;
      parentElement.dataset.drawn = data.svg;
      parentElement.querySelector("div.drawing").innerHTML = data.svg;
    }""",
    html='<div class="drawing"></div>',
    isolate_styles=False,
)
_answers: dict[str, StartAnswer] = {}  # of all sessions, by what they depend on
_turn = Lock()


class StartAnswer(NamedTuple):
    """What the page shows: the tolerance and why, the answer of the search, and the outlook of its design."""

    remark: str
    found: SearchAnswer
    outlook: Outlook | None


def show() -> None:
    """Draw the page."""
    st.title("austerity")
    st.html(f"{STYLE}<p>{LINE}</p>")
    with st.container(key="start-answer"):
        left, right = st.columns([2, 3], gap="large")
    with left:
        have, growth = _questions()
    with right:
        run = _run(have)
        if run is None:
            return
        if have == NOTHING:
            _label()
        own = have != NOTHING
        answer = _answer(run, growth, own=own)
        if answer is not None:
            _tell(answer, run, growth, own=own)
    if answer is not None:
        _pictures(answer, run)
    if have == NOTHING:
        with left:
            _your_rows(int(st.session_state["rows"]))


# --- questions --------------------------------------------------------------------------------------------------------


def _questions() -> tuple[str, float]:
    _follow_source()
    rows = st.container()
    have = st.radio(
        "What do you have?",
        HAVE,
        HAVE.index(_has()),
        key="have",
        bind="query-params",
        persist_state="session",
        help="A trial run is a few hundred proposals of your chain, with two numbers for each.",
    )
    if have == EXAMPLE:
        _cards()
    st.session_state[SOURCE_SEEN] = current_source()
    with rows:
        _rows(str(have))
    growths = _growths()
    grow = st.segmented_control(
        WIDER,
        list(growths),
        default="1%",
        required=True,
        key=GROW,
        bind="query-params",
        persist_state="session",
        on_change=_forget_tolerance,
        help="Now and then a test decides wrongly, which makes the sampled posterior a little wider. The more you "
        "allow, the less data a step reads.",
    )
    return str(have), growths[grow or "1%"]


def _growths() -> dict[str, float]:
    """The answers to the last question, with the one that was given on another page."""
    others = [st.session_state.get(GROW) or "", st.query_params.get(GROW, "")]  # they differ where Back leads
    return GROWTHS | {other: share for other in others if (share := growth_of(other)) is not None}


def _rows(have: str) -> None:
    """The number of rows: asked, or known from the trial run."""
    label = "How many rows?"
    if have == NOTHING:
        st.number_input(
            label,
            2,
            MAX_N_DATA,
            100_000,
            key="rows",
            bind="query-params",
            persist_state="session",
            help="Rows of your data. Every step of a test reads at least a mini-batch of some hundred.",
        )
    elif (run := loaded_run()) is not None and (have == EXAMPLE or _is_own()):
        st.text_input(label, f"{run.trial.n_data:,}", disabled=True, help="Taken from the trial run in use.")


def _follow_source() -> None:
    """Answer the question what the user has anew, if another page has chosen another source since."""
    before, has = st.session_state.get(SOURCE_SEEN), _has()
    if before in (None, current_source()) or going_back():
        return
    if has != TRIAL or st.session_state.get("have") not in (TRIAL, DRAWS):
        st.session_state["have"] = has
        st.session_state.pop(CARD, None)


def _has() -> str:
    """What the source in use says about the first question."""
    kind = current_source().kind
    return EXAMPLE if kind in EXAMPLES else NOTHING if kind == STATIONARY else TRIAL


def _cards() -> None:
    source = current_source()
    titles = {name: CARDS.get(name, EXAMPLES[name].title) for name in [*CARDS, *EXAMPLES] if name in EXAMPLES}
    if going_back() or CARD not in st.session_state:
        st.session_state[CARD] = source.kind if source.kind in titles else next(iter(titles))
    chosen = st.radio("Which example?", list(titles), format_func=lambda name: titles[name], key=CARD)
    if chosen != source.kind:
        choose_source(Source(chosen))
        _forget_tolerance()
    st.caption(f"{EXAMPLES[chosen].about}")


def _forget_tolerance() -> None:
    """The tolerance follows from the questions of this page again."""
    keep(DERIVED, (("", 0.0), 0.0))


def _your_rows(rows: int) -> None:
    """What is true of any posterior with so many rows."""
    most = at_most(rows)
    if most < 2.0:
        st.warning(
            f"With {rows:,} rows no test can save much: a mini-batch of {min(500, rows):,} is already a large part of "
            "your data. Run an exact chain.",
            icon=":material/info:",
        )
        return
    st.info(
        f"Whatever your posterior, a step with mini-batches of 500 reads at least {percent(500 / rows)} of "
        f"{rows:,} rows: at most {times(most)} fewer evaluations than an exact chain. How near you come depends on "
        "your chain: record a trial run.",
        icon=":material/info:",
    )


# --- the trial run ----------------------------------------------------------------------------------------------------


def _run(have: str) -> Loaded | None:
    """The trial run that the answer is about; None if there is none, and the page says how to get one."""
    if have == NOTHING:
        return load_from(Source(SHOWN))
    if being_made():
        return None
    run = loaded_run()
    if have == EXAMPLE or (run is not None and _is_own()):
        return run
    what = "posterior (.nc of ArviZ, with log-likelihoods)" if have == DRAWS else "trial run (CSV, Parquet or NPZ)"
    st.info(
        f"Upload your {what}. The answer for your pairs then stands here.",
        icon=":material/upload_file:",
    )
    with problems_in_words():
        trial_run.upload()
        if loaded_run() is not None and _is_own():
            st.rerun()
    get_trial.panel()
    return None


def _is_own() -> bool:
    """Whether the source in use is a file of the user, or the run of a chain."""
    return current_source().kind not in (*EXAMPLES, STATIONARY)


def _label() -> None:
    st.html('<span class="badge verdict open">An example, not your posterior</span>')
    st.caption(f"{CARDS[SHOWN]}. {EXAMPLES[SHOWN].about}")


# --- the answer -------------------------------------------------------------------------------------------------------


def _answer(run: Loaded, growth: float, *, own: bool) -> StartAnswer | None:
    """The answer, remembered or from a job; None while it runs. One that is the user's own is used on all pages."""
    asked = (run.trial.digest, growth)
    by_hand = _by_hand(asked) if own else None
    answer = answer_for(run.trial, growth, by_hand)
    if answer is None:
        return None
    if own:
        if by_hand is None:
            keep(DERIVED, (asked, answer.found.question.tolerance))
            st.session_state[TOLERANCE] = answer.found.question.tolerance
        before = last_answer(run.trial)
        if before is None or before.question != answer.found.question:
            take_answer(answer.found)
    return answer


def _by_hand(asked: tuple[str, float]) -> float | None:
    """The tolerance in use, if it was set on another page since this page has asked for it."""
    if not tolerance_given():
        return None
    before, derived = kept(DERIVED) or (None, None)
    if before != asked and TOLERANCE in st.query_params and (going_back() or not addresses.seen()):
        keep(DERIVED, (asked, math.nan))  # a link, or an entry of the history, names only what was set by hand
        return tolerance()
    if before is None:
        return tolerance() if tolerance() != USUAL.tolerance else None
    return tolerance() if before == asked and tolerance() != derived else None


def answer_for(trial: TrialRun, growth: float, by_hand: float | None) -> StartAnswer | None:
    """The answer to the questions of the page, remembered or from a job; None while it runs."""
    key = repr((trial.digest, growth, by_hand))
    if key in _answers:
        return _answers[key]
    job = jobs.current(KIND)
    if job is None or job.key != key:
        jobs.start(KIND, key, partial(_work, trial, growth, by_hand)).wait(PATIENCE)
    ended = jobs.watch(KIND, "Looking for the best test")
    if ended is None:
        return None
    if ended.was_cancelled:
        st.info("The search was cancelled.", icon=":material/cancel:")
        return None
    answer: StartAnswer | None = jobs.outcome_in_words(ended)
    if answer is not None:
        remember(key, answer)
    return answer


def remember(key: str, answer: StartAnswer) -> None:
    """Keep an answer for all sessions; the oldest goes when there are too many."""
    with _turn:
        _answers[key] = answer
        for oldest in list(_answers)[:-MOST_ANSWERS]:
            del _answers[oldest]


def warm() -> None:
    """Compute the first answer that a visitor sees, before there is one; those of the other examples meanwhile."""
    _prepare(SHOWN)
    Thread(target=_prepare_meanwhile, args=tuple(CARDS), daemon=True, name="cards").start()


def _prepare_meanwhile(*names: str) -> None:
    """The same beside a server, which may end first: then there are no new threads for a search."""
    try:
        _prepare(*names)
    except RuntimeError:
        if main_thread().is_alive():
            raise


def _prepare(*names: str) -> None:
    """Compute the answers that examples are first shown with, unless they are known."""
    growth = GROWTHS["1%"]
    for trial in map(cached.example, names):
        key = repr((trial.digest, growth, None))
        if key not in _answers:
            remember(key, _work(trial, growth, None, Job("warm", lambda job: None)))


def _work(trial: TrialRun, growth: float, by_hand: float | None, job: Job) -> StartAnswer:
    """The tolerance, the search and the outlook; a smaller tolerance if the posterior gets wider than allowed."""
    job.progress(0, 0, "what a test does to the posterior")
    wanted = tolerance_for_growth(trial, growth) if by_hand is None else Tolerance(by_hand, "")
    for _ in range(TRIES):
        found = answer_question(Question(wanted.value), trial, job)
        best = found.result.best
        if best is None:
            return StartAnswer(wanted.remark, found, None)
        job.progress(0, 0, "what the test does to the posterior")
        expected = outlook(best, trial)
        if by_hand is not None or expected.growth is None or expected.growth <= growth:
            return StartAnswer(wanted.remark, found, expected)
        wanted = wanted.smaller(growth / expected.growth)
    return StartAnswer(wanted.remark, found, expected)


def _tell(answer: StartAnswer, run: Loaded, growth: float, *, own: bool) -> None:
    found, expected, design = answer.found, answer.outlook, answer.found.result.best
    if design is None or expected is None:
        st.html('<span class="badge verdict bad">not worth it</span>')
        st.html(f'<p class="headline">No test is exact enough: {escape(found.result.reason or "")}.</p>')
        st.markdown("Allow wider posteriors, or run an exact chain.")
        return
    kind, words, reason = badge(expected, growth, _laplace(run))
    st.html(
        f'<span class="badge verdict {kind}">{words}</span>'
        f'<p class="headline">{escape(headline(expected, run.trial.n_data, growth))}</p>'
    )
    st.markdown(reason)
    st.caption(errors(expected, len(run.trial)))
    if expected.unknown:
        st.warning(
            f"What this does to the posterior is not known from these pairs: {expected.unknown}. The design keeps to "
            f"the tolerance {found.question.tolerance:g}: acceptance probabilities are off by no more, on average.",
            icon=":material/help:",
        )
    if expected.doubt:
        st.warning(f"The numbers above may be wrong: {expected.doubt}.", icon=":material/query_stats:")
    if own and st.session_state.get("start-derived", (None, None))[1] != found.question.tolerance:
        st.caption(
            f"The tolerance in use, {found.question.tolerance:g}, was set on another page. Your next answer to the "
            "last question replaces it."
        )
    _buttons(answer, run)
    with st.expander("Show the design"):
        _symbols(answer, run)


def _laplace(run: Loaded) -> float | None:
    """How far the Laplace approximation is off, where that is known."""
    known = {load.trial.digest: LAPLACE[name] for name in LAPLACE if (load := load_from(Source(name))) is not None}
    return known.get(run.trial.digest)


def _buttons(answer: StartAnswer, run: Loaded) -> None:
    found, design = answer.found, answer.found.result.best
    assert design is not None
    source = current_source() if loaded_run() is run or loaded_run() == run else Source(SHOWN)
    with st.container(horizontal=True):
        st.download_button(
            "Get config",
            exports.sampler_config(design, run.config),
            exports.DESIGN_FILE,
            "application/toml",
            icon=":material/download:",
            on_click="ignore",
            key="start-config",
            type="primary",
            help="For `austerity run`: the whole config if the chain is known, otherwise the design, for `--design`.",
        )
        with st.popover("Python", icon=":material/code:"):
            st.code(exports.python_lines(found.question, source, run.trial, design), language="python", wrap_lines=True)
        st.download_button(
            "Report",
            share.made_later(lambda: report.html(design, found, run, source), "report.html", "text/html"),
            "report.html",
            "text/html",
            icon=":material/description:",
            on_click="ignore",
            key="start-report",
            help="One file with the figures, the table of looks, assumptions and provenance; it opens without a "
            "network.",
        )
        with st.popover("Why?", icon=":material/help:"):
            st.markdown(WHY)


def _symbols(answer: StartAnswer, run: Loaded) -> None:
    """The design in symbols."""
    found, design = answer.found, answer.found.result.best
    assert design is not None
    step = cached.steps(design.without_notes, run.trial.digest, "metropolis", run.trial)
    st.markdown(
        f"**{in_symbols(design)}**, for N = {design.n_data:,}: read m rows and decide if the p-value is below the "
        f"bound of ε; otherwise read m more. Mean |Δ| = {step.mean_abs_delta:.2g} on these pairs, at most "
        f"{found.result.limit or step.mean_abs_delta:.2g} with confidence {found.question.confidence:g}; tolerance "
        f"{found.question.tolerance:g}. The **Design** page has all of it."
    )


def _pictures(answer: StartAnswer, run: Loaded) -> None:
    design, expected = answer.found.result.best, answer.outlook
    if design is None or expected is None:
        return
    first, second = st.columns(2, gap="large")
    with first:
        st.header("The posterior: exact, and with the test")
        if expected.temperature is None:
            st.caption("Not shown: it is not known from these pairs.")
        else:
            captioned(
                figures.marginals(marginals(expected.temperature)).update_layout(height=280),
                "start-posterior",
                "Density of one parameter of a Gaussian posterior: exact (grey area), and as a random walk with this "
                "test samples it (line).",
            )
    with second:
        st.header("Ten decisions")
        where = cached.stops(design.without_notes, 0.0)
        drawn = plotdata.typical_paths(np.random.default_rng(1), where, design, run.trial, RUNS)
        wrong = sum(not path.right for path in drawn)
        words = (
            "Ten decisions at random pairs of the trial run, look by look until they leave the bounds (dashed). Upward "
            f"triangles accept, downward ones reject; {wrong or 'none'} of the ten {'is' if wrong == 1 else 'are'} "
            "wrong (red)."
        )
        _drawing(data={"svg": picture_of_runs(where, drawn, words)}, key="start-runs")
        st.caption(words)
