"""What a run does beside what was promised for it; its controls, audit and certificate."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import streamlit as st

from app.dashboard.jobs import jobs, runs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.state.visitor import owner
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.chrome import problems_in_words
from app.figures import monitor as figures
from designer.core.errors import BadInput
from designer.rule.design import Design
from samplers.config.config import SamplerConfig
from samplers.runs.results import PosteriorSummary
from samplers.runs.run import audit_config
from samplers.runs.saved_run import RESULTS
from samplers.runs.watch import (
    Promise,
    Verdict,
    Watched,
    drift,
    history,
    promises,
    summary_so_far,
    traces,
    watch,
    watch_file,
)
from samplers.study.audit import PASSES as AUDIT_PASSES
from samplers.study.audit import Audit
from samplers.study.certify import PASSES as CERTIFICATE_PASSES
from samplers.study.certify import Certificate, certify

EVERY = 2.0  # seconds from one look at a running run to the next
MOST_PASSES = 1_000_000  # of a certificate
MOST_ROWS = 50  # parameters in the table
MANY = ("slice", "gibbs")  # proposals whose steps make many decisions, of which a design predicts one
AUDIT, CERTIFICATE = "audit", "certificate"  # kinds of jobs
WORDS = {
    "running": ":material/play_circle: running",
    "stopping": ":material/pause_circle: stopping; it saves its last steps",
    "finished": ":material/check_circle: finished",
    "stopped": ":material/stop_circle: stopped; its steps are saved",
}
MARKS = {
    "as promised": ":green[:material/check:] as promised",
    "differs": ":red[:material/warning:] differs",
    "no promise": "nothing promised",
    "not measured": "needs an audit",
    "too early": "too early to tell",
}


# --- on the left ------------------------------------------------------------------------------------------------------


def controls(name: str) -> None:
    """Stop, resume, audit and certify a run."""
    now = runs.state(name)
    with st.container(horizontal=True):
        if now in ("running", "stopping"):
            st.button(
                "Stop",
                icon=":material/stop:",
                key="monitor-stop",
                disabled=now == "stopping",
                on_click=runs.stop,
                args=(name,),
                help="Like Ctrl-C: the run saves its last steps and ends. It can be resumed.",
            )
        elif now == "stopped" and runs.started_here(name):
            if st.button("Resume", icon=":material/resume:", key="monitor-resume", type="primary"):
                runs.resume(name, owner())
                st.rerun()
        elif now == "stopped":
            st.caption("Started elsewhere: stop or resume it where it was started.")
    _checks(name)


def _checks(name: str) -> None:
    st.header("Is it right?")
    with st.container(horizontal=True):
        audit = st.button(
            "Audit",
            icon=":material/fact_check:",
            key="monitor-audit",
            help=f"Decides up to {AUDIT_PASSES:,} steps of the chain also with all data: how often is the test wrong?",
        )
        certificate = st.button(
            "Certificate",
            icon=":material/verified:",
            key="monitor-certificate",
            help="Runs exact chains alongside tested ones: how far are means and standard deviations from those of the "
            "exact posterior?",
        )
    passes = st.number_input(
        "Passes over the data for a certificate",
        100,
        MOST_PASSES,
        CERTIFICATE_PASSES,
        step=1000,
        key="monitor-passes",
        help="Chains that mix slowly need more; a certificate that fails says how many.",
    )
    if audit:
        jobs.start(AUDIT, name, partial(_audit, _config_of(name)))
    if certificate:
        jobs.start(CERTIFICATE, name, partial(_certify, _certified(name), int(passes)))
    found = _outcome(AUDIT, name, "Audit")
    if isinstance(found, Audit):
        tell = st.success if found.agrees else st.error
        tell(_sentence(found.sentence))
        st.caption(_sentence(found.details))
    proved = _outcome(CERTIFICATE, name, "Certificate")
    if isinstance(proved, Certificate):
        {"certified": st.success, "wrong": st.error}.get(proved.outcome, st.warning)(_sentence(proved.sentence))


def _outcome(kind: str, name: str, label: str) -> object:
    """What the job of this run found; None while it runs, or if there is none."""
    job = jobs.current(kind)
    if job is None or job.key != name:
        return None
    ended = jobs.watch(kind, label)
    if ended is None:
        return None
    if ended.was_cancelled:
        st.caption(f"{label}: cancelled.")
        return None
    return jobs.outcome_in_words(ended)


def _config_of(name: str) -> SamplerConfig:
    config = watch(runs.output_of(name)).config
    if config is None:
        raise BadInput(f"{name}: its folder does not say which config it was run with; audit the config itself")
    return config


def _certified(name: str) -> Path | SamplerConfig:
    """The folder if it has results, whose states are good starts; otherwise the config."""
    output = runs.output_of(name)
    return output if (output / RESULTS).is_file() else _config_of(name)


def _audit(config: SamplerConfig, job: Job) -> Audit:
    job.progress(0, 0, "reading the data and warming up")
    return audit_config(config, progress=job.progress, cancelled=job.cancelled)


def _certify(source: Path | SamplerConfig, passes: int, job: Job) -> Certificate:
    job.progress(0, 0, "reading the data and warming up")
    return certify(source, passes, progress=job.progress, cancelled=job.cancelled)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


# --- above: how it stands ---------------------------------------------------------------------------------------------


def head(name: str) -> None:
    """How the run stands, and whether it does what was promised; again and again while it goes."""
    if _goes(name):
        _live_head(name)
    else:
        _head(name)


@st.fragment(run_every=EVERY)
def _live_head(name: str) -> None:
    with problems_in_words():
        _head(name)


def _head(name: str) -> None:
    now = runs.state(name)
    try:
        seen = _seen(name)
    except BadInput:
        _nothing_yet(name, now)
        return
    if now == "stopped" and seen.process is not None:
        state = f":material/play_circle: running in process {seen.process}, started elsewhere"
    else:
        state = WORDS[now]
    st.markdown(f"**{name}**: {state}")
    if seen.share < 1.0:
        st.progress(seen.share, f"{seen.share:.0%} of its steps are saved")
    verdict(seen, name)


def verdict(seen: Watched, name: str | None) -> None:
    """Whether a run does what was promised; uploaded results have no name."""
    if (reason := seen.no_promise) is not None:
        st.info(reason, icon=":material/info:")
    elif words := drift(seen):
        st.error(_sentence(words), icon=":material/warning:")
    elif any(row.verdict == "too early" for row in _with_audit(promises(seen), name)[:2]):
        st.info("Too early to tell whether the run does what was promised.", icon=":material/hourglass_top:")
    else:
        done = "The run did" if seen.process is None else "So far the run does"
        st.success(f"{done} what its design promised.", icon=":material/check_circle:")


# --- on the right -----------------------------------------------------------------------------------------------------


def promised(config: SamplerConfig) -> None:
    """What the design of a config promises for its run."""
    design = config.test
    if not isinstance(design, Design) or config.proposal.kind in MANY:
        return
    seen = Watched({"design": design.to_toml(), "n_data": design.n_data}, {}, {})
    if seen.expected is None:
        return
    st.header("What this run promises")
    columns = ("per step", "promised", "band")
    st.table([{name: cells[name] for name in columns} for cells in map(_cells, promises(seen))])
    st.caption("The band is what the pairs of the trial run leave open; for wrong decisions, it ends at the tolerance.")


def follow(name: str) -> None:
    """The run, looked at again and again while it goes."""
    runs.see(name, owner())
    if _goes(name):
        _live(name)
    else:
        _look(name)


@st.fragment(run_every=EVERY)
def _live(name: str) -> None:
    with problems_in_words():
        _look(name)
    was, now = st.session_state.get("monitor-state"), runs.state(name)
    st.session_state["monitor-state"] = (name, now)
    if was is not None and was[0] == name and was[1] != now:
        st.rerun()  # the buttons on the left


def _goes(name: str) -> bool:
    """Whether the run goes on, started here or elsewhere."""
    if runs.state(name) in ("running", "stopping"):
        return True
    try:
        return _seen(name).process is not None
    except BadInput:
        return False


def _look(name: str) -> None:
    try:
        seen = _seen(name)
    except BadInput:  # said above
        return
    describe(seen, name)
    _log(name)


def _nothing_yet(name: str, now: str) -> None:
    words = runs.last_words(name)
    if now == "running":
        st.info("The run has started: it reads its data and builds its model. Its first steps appear in a few seconds.")
    else:
        st.error("The run ended before it saved anything. Its last output:", icon=":material/error:")
        st.code("\n".join(words) or "(none)", language=None, wrap_lines=True)


def _log(name: str) -> None:
    if words := runs.last_words(name):
        with st.expander("What `austerity run` says"):
            st.code("\n".join(words), language=None, wrap_lines=True)


def _seen(name: str) -> Watched:
    """A look at the run; the last one is kept as long as nothing new is saved."""
    output = runs.output_of(name)
    mark = (name, _newest(output))
    kept = st.session_state.get("monitor-seen")
    if kept is None or kept[0] != mark or time.monotonic() - kept[2] > 30.0:
        kept = (mark, watch(output), time.monotonic())
        st.session_state["monitor-seen"] = kept
    seen: Watched = kept[1]
    return seen


def _newest(output: Path) -> tuple[str, ...]:
    """Changes whenever a chain saves."""
    return tuple(max((file.name for file in chain.glob("state-*.bin")), default="") for chain in output.glob("chain-*"))


def watched_file(key: str, content: bytes) -> Watched:
    """The results in an uploaded file, read once."""
    kept = st.session_state.get("monitor-file-read")
    if kept is None or kept[0] != key:
        kept = (key, watch_file(content))
        st.session_state["monitor-file-read"] = kept
    seen: Watched = kept[1]
    return seen


def describe(seen: Watched, name: str | None) -> None:
    """Promised against measured, how it went, and the parameters; uploaded results have no name."""
    rows = _with_audit(promises(seen), name)
    st.table([_cells(row) for row in rows])
    st.caption(_of_which(seen))
    if seen.draws:
        captioned(
            figures.course(history(seen), rows),
            "monitor-course",
            "How the run went, in pieces of equally many steps of all chains; grey: what was promised, with the band "
            "that the pairs of the trial run allow.",
        )
        _parameters(seen)


def _with_audit(rows: list[Promise], name: str | None) -> list[Promise]:
    """With the wrong decisions that an audit of this run has counted."""
    job = jobs.current(AUDIT)
    if job is None or job.running or job.was_cancelled or job.key != name:
        return rows
    try:
        found = job.outcome()
    except Exception:  # the page says it beside the buttons
        return rows
    if not isinstance(found, Audit):
        return rows
    verdict: Verdict = "as promised" if found.agrees else "differs"
    return [*rows[:3], rows[3]._replace(measured=found.error.value, se=found.error.se, verdict=verdict, why="")]


def _cells(row: Promise) -> dict[str, str]:
    share = row.quantity in ("acceptance", "data use")
    return {
        "per step": "wrong decisions (mean |Δ|)" if row.quantity == "wrong decisions" else row.quantity,
        "promised": "–" if row.promised is None else _number(row.promised, share=share),
        "band": "–" if row.band is None else " to ".join(_number(end, share=share) for end in row.band),
        "measured": "–"
        if row.measured is None
        else _number(row.measured, share=share) + _error(row.measured, row.se, share=share),
        "verdict": MARKS[row.verdict] + (f" ({row.why})" if row.why and row.verdict != "not measured" else ""),
    }


def _number(value: float, *, share: bool, digits: int = 3) -> str:
    return f"{100.0 * value:.{digits}g}%" if share else f"{value:.{digits}g}"


def _error(value: float, se: float | None, *, share: bool) -> str:
    """The standard error, unless it is nothing but rounding."""
    return "" if se is None or se <= 1e-6 * abs(value) else f" ± {_number(se, share=share, digits=2)}"


def _of_which(seen: Watched) -> str:
    if not seen.draws:
        done = max(seen.steps.values(), default=0)
        return f"In its warm-up: {done:,} of {seen.warmup:,} steps are saved. The warm-up is not compared."
    newest = "the newest " if seen.left_out else ""
    chains = f"{len(seen.draws)} chain{'s' if len(seen.draws) > 1 else ''}"
    return f"Of {newest}{seen.kept:,} draws of {chains}, after a warm-up of {seen.warmup:,} steps."


def _parameters(seen: Watched) -> None:
    st.header("Parameters")
    table = summary_so_far(seen)
    if table is None:
        st.caption("Too few draws for a table.")
        return
    for remark in table.remarks:
        if not remark.startswith("warning"):  # said above
            st.caption(f":material/info: {_sentence(remark.replace('r_hat', 'R-hat'))}")
    worst = table.worst(MOST_ROWS)
    st.dataframe(_parameter_rows(worst), hide_index=True, key="monitor-table")
    if len(table.rows) > MOST_ROWS:
        st.caption(_sentence(worst.note))
    names = seen.names
    if names:
        name = st.selectbox("Trace of", names, key="monitor-parameter")
        captioned(
            figures.paths(traces(seen, names.index(name)), name),
            "monitor-trace",
            f"Draws of {name}, chain by chain. Chains that agree cover the same range.",
        )


def _parameter_rows(table: PosteriorSummary) -> list[dict[str, object]]:
    return [
        {
            "parameter": row.name,
            "mean": _three(row.mean),
            "sd": _three(row.sd),
            "± mean": _three(row.mcse, 2),
            "effective draws": None if row.ess_bulk != row.ess_bulk else round(row.ess_bulk),
            "in the tails": None if row.ess_tail != row.ess_tail else round(row.ess_tail),
            "R-hat": None if row.r_hat != row.r_hat else round(row.r_hat, 3),
        }
        for row in table.rows
    ]


def _three(value: float, digits: int = 3) -> float:
    return float(f"{value:.{digits}g}")
