"""What a session holds besides its widgets: the trial run in use and the pinned designs, both told by the URL.

The parameters here are not bound to widgets, so they stay in the URL from page to page: a link to any page carries the
trial run. Bundled, made-up and built-in runs are made again from the link (the last as a job, checked by its digest);
of an uploaded one the link holds the digest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import streamlit as st

from app.dashboard import cached
from app.dashboard.jobs import jobs
from app.dashboard.jobs.jobs import Job
from designer.core.errors import BadInput
from designer.pairs.examples import EXAMPLES
from designer.pairs.stationary import MOST_SPREAD
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.looks import MAX_N_DATA
from samplers.config.built_in import BUILT_IN, built_in, twin_notice
from samplers.runs.run import collect_pairs

MOST_PINS = 4
FIRST = "logistic"  # the example on first paint
STATIONARY, UPLOAD = "stationary", "upload"
TRIAL_JOB = "trial"  # the kind of job in which built-in experiments make trial runs
BUILT_IN_PAIRS = 100
MOST_KEPT = 3  # trial runs uploaded or computed in one session that are remembered


class Loaded(NamedTuple):
    """A trial run in use: what to call it, where it came from, and the run's config if that is known."""

    name: str
    trial: TrialRun
    origin: str
    config: str | None = None

    @property
    def line(self) -> str:
        """Name, pairs, N and digest, in one line."""
        return f"{self.name}: {len(self.trial):,} pairs, N = {self.trial.n_data:,}, digest {self.trial.digest[:12]}"


class Source(NamedTuple):
    """Where the trial run comes from: an example, pairs at stationarity (with these numbers), a file's digest, or a
    built-in experiment with its seed, and the digest of what that gave."""

    kind: str = FIRST
    n_data: int = 1_000_000
    acceptance: float = 0.3
    pairs: int = 400
    seed: int = 0
    spread: float = 0.0
    digest: str = ""


class Builtin(NamedTuple):
    """A built-in experiment that makes a trial run: its key in the URL, a title, what it is, and the work by seed."""

    key: str
    title: str
    about: str
    make: Callable[[int, Job], Loaded]

    def start(self, seed: int) -> Job:
        """Make the trial run of a seed, as a job of this session."""
        return jobs.start(TRIAL_JOB, run_key(self.key, seed), partial(self.make, seed))


def builtin_sources() -> Sequence[Builtin]:
    """The built-in experiments that can make a trial run."""
    return [
        Builtin(f"run-{name}", chain.title, chain.about, partial(_collect, name)) for name, chain in BUILT_IN.items()
    ]


def _collect(name: str, seed: int, job: Job) -> Loaded:
    """Pairs of a built-in chain, with the config that runs it."""
    config = built_in(name, seed=seed)
    job.progress(0, 0, "reading the data and building the model; the first steps come after that")

    def told(done: int, steps: int) -> None:
        doing = "warming up" if done < config.run.warmup else "recording pairs"
        job.progress(done, steps, f"{doing}: step {done:,} of {steps:,}")

    trial = collect_pairs(config, BUILT_IN_PAIRS, progress=told, cancelled=job.cancelled)
    about = " ".join(filter(None, (BUILT_IN[name].about, twin_notice(config))))
    return Loaded(BUILT_IN[name].title, trial, f"run here with seed {seed}: {about}", config.to_toml())


# --- the trial run ----------------------------------------------------------------------------------------------------

# of pairs at stationarity; more than these are for the command line
LIMITS: dict[str, tuple[float, float]] = {
    "n_data": (2, MAX_N_DATA),
    "acceptance": (0.02, 0.98),
    "pairs": (1, 20_000),
    "seed": (0, 2**31),
    "spread": (0.0, MOST_SPREAD),
}
# parameters of each kind of source in the URL: name there, and the field it fills; of built-in experiments those below
_PARAMETERS = {
    STATIONARY: {
        "trial_n": "n_data",
        "acceptance": "acceptance",
        "pairs": "pairs",
        "seed": "seed",
        "spread": "spread",
    },
    UPLOAD: {"digest": "digest"},
}
_RUN_PARAMETERS = {"seed": "seed", "digest": "digest"}


def source() -> Source:
    """The source in use; a new session takes it from its URL, the first example if that names none."""
    if "source" not in st.session_state:
        st.session_state["source"] = _source_in_url()
    found: Source = st.session_state["source"]
    if found != _source_in_url():  # a change of page empties the URL
        choose(found)
    return found


def choose(chosen: Source) -> None:
    """Use another source, and name it in the URL; what is not said there is the default."""
    st.session_state["source"] = chosen
    wanted = _source_values(chosen)
    for name in ("source", *(name for names in (*_PARAMETERS.values(), _RUN_PARAMETERS) for name in names)):
        if name in wanted:
            st.query_params[name] = wanted[name]
        elif name in st.query_params:
            del st.query_params[name]


def link_values() -> dict[str, str | list[str]]:
    """What a link must carry for the trial run, the chosen design and the pins."""
    design, pinned = chosen(), [pin_text(other) for other in pins()]
    values: dict[str, str | list[str]] = {**_source_values(source())}
    return values | ({"chosen": pin_text(design)} if design else {}) | ({"pin": pinned} if pinned else {})


def _parameters(kind: str) -> dict[str, str]:
    """What the URL holds of a kind of source besides its name."""
    return _RUN_PARAMETERS if kind in _builtins() else _PARAMETERS.get(kind, {})


def _builtins() -> dict[str, Builtin]:
    return {builtin.key: builtin for builtin in builtin_sources()}


def _source_values(wanted: Source) -> dict[str, str]:
    """The parameters of a source in the URL; those at their defaults are left out."""
    values = {name: str(getattr(wanted, field)) for name, field in _parameters(wanted.kind).items()}
    return values if wanted.kind == FIRST else {"source": wanted.kind, **values}


def _source_in_url() -> Source:
    """What the URL names; defaults where it is damaged."""
    kind = st.query_params.get("source", FIRST)
    if kind not in (*EXAMPLES, STATIONARY, UPLOAD, *_builtins()):
        return Source()
    found = Source(kind)
    for name, field in _parameters(kind).items():
        usual = getattr(found, field)
        try:
            value = type(usual)(st.query_params.get(name, usual))
        except ValueError:
            continue
        if field not in LIMITS or LIMITS[field][0] <= value <= LIMITS[field][1]:
            found = found._replace(**{field: value})
    return found


def loaded() -> Loaded | None:
    """The trial run that the URL names; None if that is of a file, or of work, that this session does not have."""
    return load_from(source())


def load_from(wanted: Source) -> Loaded | None:
    """The trial run of a source, if it can be had at once; BadInput if its numbers are wrong."""
    if wanted.kind in EXAMPLES:
        example = EXAMPLES[wanted.kind]
        return Loaded(example.title, cached.example(wanted.kind), f"bundled example: {example.about}")
    if wanted.kind == STATIONARY:
        trial = cached.at_stationarity(wanted.n_data, wanted.acceptance, wanted.pairs, wanted.seed, wanted.spread)
        origin = f"made up: a random walk at stationarity that accepts {wanted.acceptance:g} of its proposals"
        origin += f", log κ with standard deviation {wanted.spread:g}" if wanted.spread else ""
        return Loaded("No trial run yet", trial, origin)
    return _kept().get(wanted.digest if wanted.kind == UPLOAD else run_key(wanted.kind, wanted.seed))


def in_use() -> Loaded | None:
    """The trial run in use; None while that of a link is being made again, which is then all there is to see."""
    return None if being_made() else present()


def present() -> Loaded:
    """The trial run that is here.

    If the link wants a file that is not here, or work that was cancelled, that is told, and the first example used.
    """
    wanted, run = source(), loaded()
    if run is not None:
        if wanted.digest not in ("", run.trial.digest):
            st.warning(other_pairs(wanted, run), icon=":material/difference:")
        return run
    if wanted.kind == UPLOAD:
        st.warning(missing_file(wanted.digest), icon=":material/upload_file:")
    else:
        st.warning(
            f"This link is about a built-in experiment with seed {wanted.seed}, whose pairs are not here: run it on "
            "the page Trial run. Until then, the first example is used.",
            icon=":material/play_arrow:",
        )
    first = load_from(Source())
    assert first is not None
    return first


def being_made() -> bool:
    """Whether the trial run of a link is being made again; if so its progress is shown, and its end puts it in use."""
    job = job_of_link()
    if job is None:
        return False
    if job.running:
        st.info("This link is about a built-in experiment: its pairs are made again.", icon=":material/play_arrow:")
    ended = jobs.watch(TRIAL_JOB, builtin_of(job).title)
    if ended is not None:
        take(ended)
    return ended is None


def job_of_link() -> Job | None:
    """The job that makes the trial run of a link again, if there is need of it.

    A new session starts it; one that has run something else since does not.
    """
    wanted = source()
    builtin = _builtins().get(wanted.kind)
    if builtin is None or loaded() is not None:
        return None
    job = jobs.current(TRIAL_JOB) or builtin.start(wanted.seed)
    return job if job.key == run_key(wanted.kind, wanted.seed) else None


def take(job: Job) -> bool:
    """Use what a built-in experiment has made, once; whether there was something new."""
    if job is st.session_state.get("trial-taken") or job.was_cancelled:
        return False
    run = jobs.outcome_in_words(job)
    if run is None:
        return False
    st.session_state["trial-taken"] = job
    kind, seed = _run_of(job.key)
    _keep(job.key, run)
    st.session_state[f"next-seed-{kind}"] = max(seed + 1, st.session_state.get(f"next-seed-{kind}", 0))
    made, wanted = Source(kind, seed=seed, digest=run.trial.digest), source()
    if (wanted.kind, wanted.seed) != (kind, seed) or not wanted.digest:  # else the link's digest stays, to be compared
        choose(made)
    return True


def other_pairs(wanted: Source, run: Loaded) -> str:
    """What is said when a built-in experiment did not give the pairs that a link is about."""
    return (
        f"These are not the pairs of the link: seed {wanted.seed} gave the digest {run.trial.digest[:12]}… here, "
        f"{wanted.digest[:12]}… there. Another version, other data or another machine made them; the figures differ."
    )


def missing_file(digest: str) -> str:
    """What a link says that was made for somebody's file."""
    known = f"the digest {digest[:12]}…" if digest else "no digest"
    return (
        f"This link is about an uploaded trial run with {known}; files do not travel in links. Load that file on the "
        "page Trial run to see what the link shows; until then, the first example is used."
    )


def load(run: Loaded) -> None:
    """Use a trial run that was uploaded."""
    _keep(run.trial.digest, run)
    choose(Source(UPLOAD, digest=run.trial.digest))


def _keep(key: str, run: Loaded) -> None:
    kept = {name: other for name, other in _kept().items() if name != key}
    st.session_state["kept-runs"] = dict([*kept.items(), (key, run)][-MOST_KEPT:])


def kept_files() -> dict[str, Loaded]:
    """The uploaded files that this session remembers, by digest."""
    return {key: run for key, run in _kept().items() if key == run.trial.digest}


def run_key(kind: str, seed: int) -> str:
    """What the job and the outcome of a built-in experiment with a seed are called."""
    return f"{kind}:{seed}"


def _run_of(key: str) -> tuple[str, int]:
    """Experiment and seed of such a key."""
    kind, _, seed = key.rpartition(":")
    return kind, int(seed)


def builtin_of(job: Job) -> Builtin:
    """The built-in experiment that a job runs."""
    return _builtins()[_run_of(job.key)[0]]


def last_run(kind: str) -> Source | None:
    """The last run of a built-in experiment that this session remembers."""
    made = [(key, run) for key, run in _kept().items() if key.rpartition(":")[0] == kind]
    return Source(kind, seed=_run_of(made[-1][0])[1], digest=made[-1][1].trial.digest) if made else None


def next_seed(kind: str) -> int:
    """That of the link if its run is missing; else 0 for the first run of an experiment, and another for each more."""
    wanted = source()
    if wanted.kind == kind and loaded() is None:
        return wanted.seed
    seed: int = st.session_state.get(f"next-seed-{kind}", 0)
    st.session_state[f"next-seed-{kind}"] = seed + 1
    return seed


def _kept() -> dict[str, Loaded]:
    found: dict[str, Loaded] = st.session_state.get("kept-runs", {})
    return found


# --- a design that was chosen and not searched ------------------------------------------------------------------------


def chosen() -> Design | None:
    """The design that was loaded to be looked at instead of a search's; a new session takes it from its URL."""
    if "chosen" not in st.session_state:
        st.session_state["chosen"] = design_of(st.query_params.get("chosen", ""))
    found: Design | None = st.session_state["chosen"]
    if found is not None and "chosen" not in st.query_params:
        set_chosen(found)
    return found


def set_chosen(design: Design | None) -> None:
    """Look at this design; None goes back to what the search finds."""
    st.session_state["chosen"] = design
    if design is not None:
        st.query_params["chosen"] = pin_text(design)
    elif "chosen" in st.query_params:
        del st.query_params["chosen"]


# --- pins -------------------------------------------------------------------------------------------------------------


def pins() -> list[Design]:
    """The pinned designs; a new session takes them from its URL: any number of `pin=N,m,epsilon,alpha,growth`."""
    if "pins" not in st.session_state:
        st.session_state["pins"] = _pins_in_url()
    found: list[Design] = st.session_state["pins"]
    if found and found != _pins_in_url():  # a change of page empties the URL
        _write_pins(found)
    return found


def pin(design: Design) -> None:
    """Pin a design; the oldest goes when there are too many."""
    kept = [other for other in pins() if other != design.without_notes]
    _write_pins([*kept, design.without_notes][-MOST_PINS:])


def unpin(design: Design) -> None:
    """Take a pinned design away."""
    _write_pins([other for other in pins() if other != design.without_notes])


def pin_text(design: Design) -> str:
    """A pinned design as the URL has it; bounds of its own, lower ones first, follow its five knobs."""
    knobs = (design.n_data, design.m, design.epsilon, design.alpha, design.growth)
    return ",".join(repr(v) for v in (*knobs, *(design.lower or ()), *(design.upper or ())))


def design_of(text: str) -> Design | None:
    """The design in a text of the URL, if there is one."""
    try:
        n_data, m, epsilon, alpha, growth, *rest = text.split(",")
        bounds = [float(bound) for bound in rest]
        lower, upper = bounds[: len(bounds) // 2] or None, bounds[len(bounds) // 2 :] or None
        return Design(int(n_data), int(m), float(epsilon), float(alpha), float(growth), lower=lower, upper=upper)
    except (ValueError, BadInput):
        return None


def _pins_in_url() -> list[Design]:
    found: list[Design] = []
    for text in st.query_params.get_all("pin")[:MOST_PINS]:
        design = design_of(text)
        found += [] if design is None else [design]  # a damaged link shows what is left of it
    return found


def _write_pins(designs: list[Design]) -> None:
    st.session_state["pins"] = designs
    st.query_params["pin"] = [pin_text(design) for design in designs]


def stream(*key: int) -> np.random.Generator:
    """Random numbers for pictures: the same for the same key, so that a redraw shows the same."""
    return np.random.default_rng(key)
