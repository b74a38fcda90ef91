"""The trial run in use: loaded from its source, or made again by a job if a link asks for a built-in chain."""

from __future__ import annotations

import streamlit as st

from app.dashboard import cached
from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.state.belongings import run_of_visitor
from app.dashboard.state.built_in_chains import (
    TRIAL_JOB,
    chain_of,
    chains_by_key,
    last_seed,
    mark_used,
    run_key,
    split_key,
    unused_seed,
)
from app.dashboard.state.loaded import Loaded, remember, remembered
from app.dashboard.state.source import STATIONARY, UPLOAD, Source, choose_source, current_source
from designer.pairs.examples import EXAMPLES
from samplers.config.built_in import built_in_text


def run_in_use() -> Loaded | None:
    """The trial run in use; None while a job makes that of a link again, in which case the page shows only the job."""
    return None if being_made() else available_run()


def available_run() -> Loaded | None:
    """The trial run of the current source; None if this session does not have it, and the page says how to get it.

    No other trial run takes its place: an answer must not be about other pairs than the user thinks.
    """
    source, run = current_source(), loaded_run()
    if run is not None:
        if source.digest not in ("", run.trial.digest):
            st.warning(other_pairs(source, run), icon=":material/difference:")
        return run
    if source.kind == UPLOAD:
        st.warning(missing_file(source.digest), icon=":material/upload_file:")
    else:
        st.warning(
            f"This link is about a built-in chain with seed {source.seed}. Its pairs are not here: run the chain on "
            "the Trial run page.",
            icon=":material/play_arrow:",
        )
    return None


def loaded_run() -> Loaded | None:
    """The trial run of the current source; None if this session does not have its file or its chain's run."""
    return load_from(current_source())


def load_from(source: Source) -> Loaded | None:
    """The trial run of a source, if it is available at once; BadInput if its numbers are wrong."""
    if source.kind in EXAMPLES:
        example = EXAMPLES[source.kind]
        origin = f"bundled example: {example.about}"
        return Loaded(example.title, cached.example(source.kind), origin, built_in_text(source.kind))
    if source.kind == STATIONARY:
        trial = cached.at_stationarity(source.n_data, source.acceptance, source.pairs, source.seed, source.spread)
        origin = f"synthetic: a random walk at stationarity that accepts {source.acceptance:g} of its proposals"
        origin += f"; log κ has standard deviation {source.spread:g}" if source.spread else ""
        return Loaded("Synthetic pairs", trial, origin)
    key = source.digest if source.kind == UPLOAD else run_key(source.kind, source.seed)
    if key and key not in remembered() and (run := run_of_visitor(key)) is not None:
        remember(key, run)  # of another window
    return remembered().get(key)


def use_upload(run: Loaded) -> None:
    """Use a trial run that was uploaded."""
    remember(run.trial.digest, run)
    choose_source(Source(UPLOAD, digest=run.trial.digest))


# --- runs of built-in chains ------------------------------------------------------------------------------------------


def being_made() -> bool:
    """Whether a job makes the trial run of a link again; shows its progress, and uses its outcome once it has ended."""
    job = job_of_link()
    if job is None:
        return False
    if job.running:
        st.info(
            "This link is about a built-in chain. The chain runs again to record its pairs.",
            icon=":material/play_arrow:",
        )
    ended = jobs.watch(TRIAL_JOB, chain_of(job).title)
    if ended is not None:
        use_outcome(ended)
    return ended is None


def job_of_link() -> Job | None:
    """The job that makes the trial run of a link again, if that is needed.

    A new session starts it; one that has run another chain since does not.
    """
    source = current_source()
    chain = chains_by_key().get(source.kind)
    if chain is None or loaded_run() is not None:
        return None
    job = jobs.current(TRIAL_JOB) or chain.start(source.seed)
    return job if job.key == run_key(source.kind, source.seed) else None


def use_outcome(job: Job) -> bool:
    """Use the trial run that a built-in chain has made, once; whether there was a new one."""
    if job is st.session_state.get("trial-taken") or job.was_cancelled:
        return False
    run = jobs.outcome_in_words(job)
    if run is None:
        return False
    st.session_state["trial-taken"] = job
    chain, seed = split_key(job.key)
    remember(job.key, run)
    mark_used(chain, seed)
    source = current_source()
    if (source.kind, source.seed) != (chain, seed) or not source.digest:  # else keep the link's digest, to compare
        choose_source(Source(chain, seed=seed, digest=run.trial.digest))
    return True


def last_run(chain: str) -> Source | None:
    """The latest run of a built-in chain that this session remembers."""
    seed = last_seed(chain)
    return None if seed is None else Source(chain, seed=seed, digest=remembered()[run_key(chain, seed)].trial.digest)


def next_seed(chain: str) -> int:
    """The seed of the link if its run is missing, else one that this chain has not had."""
    source = current_source()
    missing = source.kind == chain and loaded_run() is None
    return source.seed if missing else unused_seed(chain)


# --- messages ---------------------------------------------------------------------------------------------------------


def other_pairs(source: Source, run: Loaded) -> str:
    """The warning when a built-in chain did not give the pairs that a link is about."""
    return (
        f"These are not the pairs of the link: seed {source.seed} gave the digest {run.trial.digest[:12]}… here and "
        f"{source.digest[:12]}… there. Another version, other data or another machine made them; the figures differ."
    )


def missing_file(digest: str) -> str:
    """The message for a link that is about somebody's file."""
    known = f"the digest {digest[:12]}…" if digest else "no digest"
    return (
        f"This link is about an uploaded trial run with {known}. Links do not carry files: upload that file on the "
        "Trial run page to see what the link shows."
    )
