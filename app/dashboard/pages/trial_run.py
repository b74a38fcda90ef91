"""Page: Trial run. The proposals that the test will meet: an example, synthetic pairs, a file, or a built-in chain."""

from __future__ import annotations

import io
import math
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.dashboard import cached
from app.dashboard.export import exports
from app.dashboard.jobs import jobs
from app.dashboard.pages import get_trial, posterior_upload
from app.dashboard.pages.posterior_upload import FromDraws
from app.dashboard.serve.server import MOST_MEGABYTES
from app.dashboard.state import share
from app.dashboard.state.built_in_chains import TRIAL_JOB, BuiltInChain, chain_of, chains_by_key
from app.dashboard.state.in_use import (
    available_run,
    being_made,
    job_of_link,
    last_run,
    load_from,
    loaded_run,
    missing_file,
    next_seed,
    use_outcome,
    use_upload,
)
from app.dashboard.state.loaded import Loaded, remembered_files
from app.dashboard.state.source import FIRST, LIMITS, STATIONARY, UPLOAD, Source, choose_source, current_source
from app.dashboard.widgets import knobs
from app.dashboard.widgets.captioned import answer_place, captioned
from app.dashboard.widgets.chrome import problems_in_words
from app.dashboard.widgets.knobs import Knob, knob
from app.figures import trial_run as figures
from designer.core.errors import BadInput
from designer.pairs.columns import BadFile
from designer.pairs.diagnostics import SUMMARY_LEVELS, StudentCheck, TailCheck, TrialSummary
from designer.pairs.examples import EXAMPLES
from designer.pairs.mistakes import odd_pairs
from designer.pairs.refusals import pairs_problem
from designer.pairs.trial_run import TrialRun
from designer.rule.looks import MAX_N_DATA

FORMATS = ["csv", "tsv", "txt", "parquet", "npz", "nc"]
PREVIEW = 100  # rows of the table shown
SYNTHETIC = ("n_data", "acceptance", "spread", "pairs", "seed")  # fields of `Source` for synthetic pairs

VERDICTS = {
    "good": "Yes. Even at the most skewed proposal the error rates of a look are off by at most a quarter.",
    "fair": "Nearly. At the most skewed proposal the error rates of a look are off, but by less than a factor of 2.",
    "poor": "No. At the most skewed proposal an error rate of a look is off by more than a factor of 2. Use a larger "
    "m, or audit the chain.",
}

CHECK_M = Knob(
    "check_m",
    "Mini-batch size m of the check",
    "Checks the first look of a test with this m. Means of larger mini-batches are closer to normal.",
    20,
    2000,
    500,
    [20, 50, 100, 200, 300, 500, 700, 1000, 1500, 2000],
)
CHECK_EPSILON = Knob(
    "check_eps",
    "Threshold ε of the check",
    "The tail probability to check. A smaller ε is further out in the tail, where the normal approximation is worse.",
    0.01,
    0.5,
    0.05,
    [0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5],
    "%.6g",
)


def show() -> None:
    """Draw the page."""
    st.title("Trial run")
    st.markdown("What do the proposals of your chain look like? The Design page finds the best test for them.")
    if being_made():
        return
    first = answer_place()
    get_trial.panel()
    left, right = st.columns([1, 2], gap="large")
    with left, problems_in_words():
        _choose_source()
    with right, problems_in_words():
        if (run := available_run()) is not None:
            _describe(run, first)
    with left:
        _link_and_reset()  # last, when all knobs are drawn


# --- where it comes from ----------------------------------------------------------------------------------------------


def _choose_source() -> None:
    wanted, files = current_source(), remembered_files()
    chains = chains_by_key()
    titles = {name: f"Example: {example.title}" for name, example in EXAMPLES.items()}
    titles |= {STATIONARY: "No trial run yet: synthetic pairs", UPLOAD: "Upload a file"}
    titles |= {digest: f"Your file: {run.name} ({digest[:8]})" for digest, run in files.items()}
    titles |= {key: f"Run: {chain.title}" for key, chain in chains.items()}
    if st.session_state.get("source-kind") not in titles:  # a new session, or a file that is no longer kept
        st.session_state["source-kind"] = wanted.digest if wanted.digest in files else wanted.kind
    kind = st.selectbox(
        "Trial run from",
        list(titles),
        key="source-kind",
        format_func=lambda key: titles[key],
        help="The source of the pairs (θ, θ′). The link carries the choice.",
    )
    if kind in EXAMPLES:
        if kind != wanted.kind:
            choose_source(Source(kind))
    elif kind == STATIONARY:
        _synthetic(wanted)
    elif kind == UPLOAD:
        _upload(wanted)
    elif kind in files:
        if kind != wanted.digest:
            choose_source(Source(UPLOAD, digest=kind))
    else:
        _run_chain(chains[kind])


def _link_and_reset() -> None:
    with st.container(horizontal=True):
        share.copy_link(_link_values())
        st.button(
            "Reset to defaults",
            icon=":material/restart_alt:",
            on_click=_reset,
            help="Back to the first example and the default check. Your uploaded files stay in the list.",
        )


def _link_values() -> dict[str, object]:
    """What a link to this page must carry."""
    turned = {spec.key: st.session_state.get(spec.key, spec.default) for spec in (CHECK_M, CHECK_EPSILON)}
    usual = {spec.key: spec.default for spec in (CHECK_M, CHECK_EPSILON)}
    return {**{key: value for key, value in turned.items() if value != usual[key]}, **share.session_values()}


def _reset() -> None:
    usual = Source()
    choose_source(usual)
    st.session_state["source-kind"] = FIRST
    for name in SYNTHETIC:
        st.session_state[f"made-{name}"] = getattr(usual, name)
    knobs.reset((CHECK_M, CHECK_EPSILON))


def _synthetic(wanted: Source) -> None:
    """Synthetic pairs, for people who have not run their chain yet."""
    st.caption("The pairs of a random walk at stationarity: A ~ N(−κ²/2, κ²), with κ from the acceptance rate.")
    for name in SYNTHETIC:
        st.session_state.setdefault(f"made-{name}", getattr(wanted, name))
    n_data = st.number_input(
        "Number of data N",
        *_whole("n_data"),
        key="made-n_data",
        help="Rows in your data set. With more rows, each look is a smaller share of the data.",
    )
    acceptance = _paired(
        "acceptance",
        "Acceptance rate",
        "The share of proposals that your chain accepts. 0.234 is optimal for a random walk in many dimensions. A "
        "higher rate means smaller steps, and decisions that need less data.",
    )
    spread = _paired(
        "spread",
        "Spread of log κ",
        "Standard deviation of log κ over the proposals. 0: all have the same κ. About 1/√(2D) for a random walk on D "
        "parameters: 0.22 for ten. A larger spread makes steps vary more in length, with the same mean acceptance.",
    )
    pairs = st.number_input("Pairs", *_whole("pairs"), key="made-pairs", help="Number of synthetic proposals.")
    seed = st.number_input("Seed", *_whole("seed"), key="made-seed", help="Another seed gives other proposals.")
    chosen = Source(STATIONARY, int(n_data), acceptance, int(pairs), int(seed), spread)
    if chosen != wanted:
        choose_source(chosen)


def _paired(field: str, label: str, meaning: str) -> float:
    """A slider beside the exact number."""
    key, slider_key = f"made-{field}", f"{field}-slider"
    left, right = st.columns([3, 2], vertical_alignment="bottom", gap="small")
    number = right.number_input(
        f"{label}, exactly", *LIMITS[field], step=0.01, format="%.6g", key=key, label_visibility="collapsed"
    )
    st.session_state[slider_key] = number
    left.slider(label, *LIMITS[field], step=0.01, key=slider_key, on_change=_slide, args=(field,), help=meaning)
    return number


def _slide(field: str) -> None:
    st.session_state[f"made-{field}"] = st.session_state[f"{field}-slider"]


def _whole(field: str) -> tuple[int, int]:
    low, high = LIMITS[field]
    return int(low), int(high)


def _upload(wanted: Source) -> None:
    """The user's own file; the trial run in use stays until a new file is read without problems."""
    if upload():
        return
    if load_from(wanted) is None:
        st.info(missing_file(wanted.digest), icon=":material/upload_file:")
    else:
        st.caption("No new file yet: the page still shows the trial run in use.")


def upload() -> bool:
    """Draw the fields for a file, and use its pairs; whether there is a file, with good pairs or not."""
    n_data = st.number_input(
        "Number of data N, if the file does not say",
        2,
        MAX_N_DATA,
        None,
        key="upload-n",
        placeholder="from the file",
        help="A file can give it in a line '# n_data: 12214', in its metadata or in a column.",
    )
    file = st.file_uploader(
        f"CSV, TSV, Parquet, NPZ, or a posterior as netCDF, up to {MOST_MEGABYTES} MB",
        FORMATS,
        key="upload-file",
        max_upload_size=MOST_MEGABYTES,
        help="The file is read on the machine that runs this page and stays there, for you only and some hours at "
        "most. A posterior of PyMC, Stan or NumPyro (.nc of ArviZ) needs the group log_likelihood.",
    )
    if file is None:
        return False
    posterior = posterior_upload.choices() if file.name.lower().endswith(".nc") else None
    _read(file, None if n_data is None else int(n_data), posterior)
    return True


def _read(file: Any, n_data: int | None, posterior: FromDraws | None) -> None:
    """Read an uploaded file once for each N given with it, and a posterior for each choice of pairs."""
    seen = (file.file_id, n_data, posterior)
    if st.session_state.get("upload-read") == seen:
        return
    origin = "uploaded file"
    limit = MOST_MEGABYTES * 2**20
    try:
        if file.size > limit:  # the check in the browser can be bypassed
            raise BadInput(f"{file.name}: larger than {MOST_MEGABYTES} MB; use the command line for such a file")
        if posterior is None:
            trial = TrialRun.from_upload(file.name, io.BytesIO(file.getvalue()), n_data)
        else:
            draws = posterior_upload.pairs(file.getvalue(), posterior)
            if n_data not in (None, draws.trial.n_data):
                raise BadInput(
                    f"{file.name}: has the log-likelihoods of {draws.trial.n_data:,} data, not of {n_data:,}"
                )
            trial, origin = draws.trial, "; ".join([f"{posterior.kind} draws of an uploaded posterior", *draws.remarks])
        if len(trial) > (most := _whole("pairs")[1]):
            here = f"{len(trial):,} pairs, more than the {most:,} that a page can work on"
            raise BadInput(f"{file.name}: {here}; upload some of them, or use the command line")
    except BadFile as problem:
        _tell_problems(file.name, problem)
        return
    asked = current_source()
    if asked.kind == UPLOAD and loaded_run() is None and asked.digest not in ("", trial.digest):
        what = "file" if posterior is None else "file, or not the choice of pairs,"
        st.warning(f"This is not the {what} of the link: the digest is {trial.digest[:12]}…, not {asked.digest[:12]}….")
    use_upload(Loaded(file.name, trial, origin))
    st.session_state["upload-read"] = seen


def _tell_problems(name: str, problem: BadFile) -> None:
    """Show the problems of a file: line, column, value and reason."""
    st.error(f"{name}: {problem.summary.removeprefix('the data: ')}", icon=":material/error:")
    if problem.problems:
        rows = [
            {p.unit: p.line, "column": p.column or "the whole line", "value": p.value, "reason": p.reason}
            for p in problem.problems
        ]
        wide = {"reason": st.column_config.TextColumn(width="large")}
        st.dataframe(rows, hide_index=True, key="upload-problems", column_config=wide)
        if problem.count > len(rows):
            st.caption(f"The first {len(rows)} of {problem.count:,} problems.")
    st.caption("Nothing was loaded from this file. The trial run in use stays the same.")


def _run_chain(chain: BuiltInChain) -> None:
    """Make the trial run by a built-in chain, as a job."""
    st.caption(chain.about)
    last = last_run(chain.key)
    if last is not None and current_source().kind != chain.key:
        choose_source(last)
    words = "Runs an exact chain here and records its proposals. Every run has a new seed."
    if st.button(
        "Run it" if last is None else "Run it again", icon=":material/play_arrow:", type="primary", help=words
    ):
        chain.start(next_seed(chain.key))
        st.rerun()
    job = jobs.current(TRIAL_JOB)
    if job is None:
        return
    running = chain_of(job)
    if job.running and running.key != chain.key:
        st.caption(f"Another chain is still running; starting **{chain.title}** cancels it.")
    ended = jobs.watch(TRIAL_JOB, running.title)
    if ended is None or running.key != chain.key or ended is job_of_link():
        return
    if ended.was_cancelled:
        st.info("Cancelled. The trial run in use stays the same.", icon=":material/cancel:")
    elif use_outcome(ended):
        st.rerun()


# --- what it looks like -----------------------------------------------------------------------------------------------


def _describe(run: Loaded, first: DeltaGenerator) -> None:
    trial = run.trial
    summary = cached.summary_of(trial.digest, "metropolis", trial)
    with first:
        st.markdown(f"**In use — {run.line}**")
        said = _mistake(trial) or _sentence(summary, trial)
    st.caption(run.origin)
    for remark in summary.remarks:
        if not (said and remark.endswith(said)):
            st.warning(remark, icon=":material/info:")
    _metrics(summary)
    _histograms(trial)
    _normality(trial)
    _table(run, summary)


def _mistake(trial: TrialRun) -> str:
    """Say why these pairs cannot be right, instead of any result; empty if nothing speaks against them."""
    problem = pairs_problem(trial)
    if problem is not None:
        st.error(f"No design can be made: {problem}.", icon=":material/error:")
    return problem or ""


def _sentence(summary: TrialSummary, trial: TrialRun) -> str:
    """The main result, in a sentence; no data use without the error that it buys. Returns what is odd, said first."""
    odd = odd_pairs(trial)
    if odd is not None:
        st.warning(odd, icon=":material/info:")
    kappa, accepted, usual = summary.kappa.quantiles[3], summary.probability.mean, summary.usual
    step = cached.steps(usual, trial.digest, "metropolis", trial)
    test = f"A typical test (m = {usual.m:,}, ε = {usual.epsilon:g})"
    cost = (
        f"{test} would read **{step.mean_usage:.1%}** of the data per step, with an acceptance probability that is off "
        f"by **{step.mean_abs_delta:.2g}** on average."
    )
    if not math.isfinite(step.mean_abs_delta):
        cost = f"What a typical test (m = {usual.m:,}, ε = {usual.epsilon:g}) would do is not known: {step.remark}."
    st.info(
        f"The exact chain accepts **{accepted:.0%}** of these {summary.pairs:,} proposals. The median noise scale κ "
        f"is **{kappa:.3g}**. {cost} The **Design** page finds the best test."
    )
    return odd or ""


def _metrics(summary: TrialSummary) -> None:
    with st.container(horizontal=True):
        st.metric("Pairs", f"{summary.pairs:,}", help="Proposals in the trial run.")
        st.metric("N", f"{summary.n_data:,}", help="Number of data.")
        st.metric("Mean acceptance", f"{summary.probability.mean:.3f}", help="Mean of min(1, exp A).")
        st.metric(
            "Median κ",
            f"{summary.kappa.quantiles[3]:.3g}",
            help="Noise scale: the standard error of the log acceptance ratio when half of the data are read.",
        )
        skew = (
            "not recorded"
            if summary.skew is None
            else f"{summary.skew.quantiles[0]:.2g} … {summary.skew.quantiles[-1]:.2g}"
        )
        st.metric("Skewness", skew, help="Smallest and largest skewness of the terms lᵢ over the proposals.")


def _histograms(trial: TrialRun) -> None:
    histograms = cached.histograms(trial.digest, trial)
    places = [*st.columns(2), *st.columns(2)]
    for place, (name, counts) in zip(places, histograms.items(), strict=False):
        with place:
            captioned(figures.bars(name, counts), f"bars-{name}", figures.caption(name, counts))
    with st.expander("The formulas"):
        st.latex(r"A = N\mu - c, \qquad \kappa = \frac{N\sigma}{\sqrt{N-1}}, \qquad P_a = \min(1, e^{A})")
        st.markdown(
            "A proposal enters the error analysis only through A and κ: given u, the standardised mean is "
            "$\\mu_{std} = (A - \\log u)/\\kappa$."
        )


def _normality(trial: TrialRun) -> None:
    st.header("Is the normal approximation good enough?")
    if trial.skew is None:
        st.info(
            "This trial run does not record the skewness of its terms, so this cannot be checked. Add a column `skew` "
            "to the file: the third central moment of the terms $l_i$ of each pair, divided by σ³."
        )
        return
    with st.expander("At which m and ε"):
        m, epsilon = int(knob(CHECK_M)), knob(CHECK_EPSILON)
    tails = cached.tails(trial.digest, m, epsilon, trial)
    student = cached.student(trial.digest, m, epsilon, trial)
    if tails is None or student is None:
        return
    _verdict(tails, student, m)
    captioned(
        figures.quantiles(student, m),
        "qq",
        "Quantiles of the t statistic at the first look against those of Student's t (K14 Fig. 7). Points off the "
        "dashed line are errors of the theory. A trial run does not contain the lᵢ themselves, so the statistic was "
        "simulated: with gamma-distributed lᵢ, as skewed as those of the most skewed proposal. The nominal tail "
        f"probability is {student.wanted:.3g}; {student.accept:.3g} were above the bound and "
        f"{student.reject:.3g} below it." + figures.outside_in_words(student),
    )


def _verdict(tails: TailCheck, student: StudentCheck, m: int) -> None:
    """The verdict of the first-order correction or, where that does not apply, of the simulated statistic."""
    judge: TailCheck | StudentCheck = student if tails.verdict == "unknown" else tails
    how = "first-order correction"
    if judge is student:
        how = "simulated as below: such skewness is beyond the first-order correction"
    tell = {"good": st.success, "fair": st.warning, "poor": st.error}[judge.verdict]
    tell(
        f"**{VERDICTS[judge.verdict]}** At m = {m:,} a look that should err with probability {judge.wanted:.3g} "
        f"accepts wrongly with probability {judge.accept:.3g} and rejects wrongly with probability {judge.reject:.3g} "
        f"({how})."
    )


def _table(run: Loaded, summary: TrialSummary) -> None:
    with st.expander("The pairs, and their summary"):
        spreads = {name: getattr(summary, name) for name in figures.PANELS if getattr(summary, name) is not None}
        levels = [f"{level:.0%}" for level in SUMMARY_LEVELS]
        st.dataframe(
            [
                {"quantity": figures.PANELS[name][0], "mean": s.mean, "sd": s.sd}
                | dict(zip(levels, s.quantiles, strict=True))
                for name, s in spreads.items()
            ],
            hide_index=True,
            key="summary-table",
        )
        head = {name: column[:PREVIEW] for name, column in run.trial.columns.items()}
        st.dataframe(head, key="preview", height=240)
        shown = min(PREVIEW, summary.pairs)
        st.caption(f"The first {shown:,} of {summary.pairs:,} rows; N = {summary.n_data:,}.")
    name = exports.trial_name(run.trial)
    st.download_button(
        "These pairs as CSV",
        share.made_later(lambda: exports.trial_csv(run.trial), name, "text/csv"),
        name,
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
        help="The trial run in use, exact to the last bit, as the command line reads it.",
    )
