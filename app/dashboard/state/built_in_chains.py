"""Built-in chains that make a trial run, as a job of the session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st

from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job
from app.dashboard.state.loaded import Loaded, remembered
from samplers.config.built_in import BUILT_IN, built_in, twin_notice
from samplers.runs.run import collect_pairs

TRIAL_JOB = "trial"  # the kind of job that makes trial runs
PAIRS = 100


class BuiltInChain(NamedTuple):
    """A built-in chain: its key in the URL, a title, a description, and the work that makes its trial run by seed."""

    key: str
    title: str
    about: str
    make: Callable[[int, Job], Loaded]

    def start(self, seed: int) -> Job:
        """Make the trial run of a seed, as a job of this session."""
        return jobs.start(TRIAL_JOB, run_key(self.key, seed), partial(self.make, seed))


def built_in_chains() -> Sequence[BuiltInChain]:
    """All built-in chains."""
    return [
        BuiltInChain(f"run-{name}", chain.title, chain.about, partial(_collect, name))
        for name, chain in BUILT_IN.items()
    ]


def chains_by_key() -> dict[str, BuiltInChain]:
    """All built-in chains, by their keys in the URL."""
    return {chain.key: chain for chain in built_in_chains()}


def chain_of(job: Job) -> BuiltInChain:
    """The built-in chain that a job runs."""
    return chains_by_key()[split_key(job.key)[0]]


def run_key(chain: str, seed: int) -> str:
    """The key of the job, and of the remembered trial run, of a chain with a seed."""
    return f"{chain}:{seed}"


def split_key(key: str) -> tuple[str, int]:
    """Chain and seed of such a key."""
    chain, _, seed = key.rpartition(":")
    return chain, int(seed)


def last_seed(chain: str) -> int | None:
    """The seed of the chain's latest run that this session remembers."""
    seeds = [split_key(key)[1] for key in remembered() if key.rpartition(":")[0] == chain]
    return seeds[-1] if seeds else None


def unused_seed(chain: str) -> int:
    """0 for a chain's first run in this session, and another seed for each further one."""
    seed: int = st.session_state.get(f"next-seed-{chain}", 0)
    st.session_state[f"next-seed-{chain}"] = seed + 1
    return seed


def mark_used(chain: str, seed: int) -> None:
    """Let the next run of a chain have a larger seed than this one."""
    st.session_state[f"next-seed-{chain}"] = max(seed + 1, st.session_state.get(f"next-seed-{chain}", 0))


def _collect(name: str, seed: int, job: Job) -> Loaded:
    """Record pairs of a built-in chain; the result has the config that runs it."""
    config = built_in(name, seed=seed)
    job.progress(0, 0, "reading the data and building the model")

    def report(done: int, steps: int) -> None:
        job.progress(done, steps, f"recording pairs, after a warm-up: step {done:,} of {steps:,}")

    trial = collect_pairs(config, PAIRS, progress=report, cancelled=job.cancelled)
    about = " ".join(filter(None, (BUILT_IN[name].about, twin_notice(config))))
    return Loaded(BUILT_IN[name].title, trial, f"run here with seed {seed}: {about}", config.to_toml())
