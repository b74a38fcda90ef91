"""What a session holds besides its widgets: the trial run in use and the pinned designs, both told by the URL.

The parameters here are not bound to widgets, so they stay in the URL from page to page: a link to any page carries the
trial run. Bundled and made-up runs are made again from the link; of an uploaded one the link holds the digest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import streamlit as st

from app import cached
from app.jobs import Job
from designer.errors import BadInput
from designer.examples import EXAMPLES
from designer.records import Design, TrialRun
from designer.schedule import MAX_N_DATA
from designer.stationary import MOST_SPREAD
from samplers.experiments.configs import BUILT_IN, built_in, twin_notice
from samplers.runner import collect_pairs

MOST_PINS = 4
FIRST = "logistic"  # the example on first paint
STATIONARY, UPLOAD = "stationary", "upload"
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
    """Where the trial run comes from: an example, pairs at stationarity (with these numbers), or a file's digest."""

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
# parameters of each kind of source in the URL: name there, and the field it fills
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
    for name in ("source", *(name for names in _PARAMETERS.values() for name in names)):
        if name in wanted:
            st.query_params[name] = wanted[name]
        elif name in st.query_params:
            del st.query_params[name]


def link_values() -> dict[str, str | list[str]]:
    """What a link must carry for the trial run, the chosen design and the pins."""
    design, pinned = chosen(), [pin_text(other) for other in pins()]
    values: dict[str, str | list[str]] = {**_source_values(source())}
    return values | ({"chosen": pin_text(design)} if design else {}) | ({"pin": pinned} if pinned else {})


def _source_values(wanted: Source) -> dict[str, str]:
    """The parameters of a source in the URL; those at their defaults are left out."""
    values = {name: str(getattr(wanted, field)) for name, field in _PARAMETERS.get(wanted.kind, {}).items()}
    return values if wanted.kind == FIRST else {"source": wanted.kind, **values}


def _source_in_url() -> Source:
    """What the URL names; defaults where it is damaged."""
    kind = st.query_params.get("source", FIRST)
    if kind not in (*EXAMPLES, STATIONARY, UPLOAD, *(builtin.key for builtin in builtin_sources())):
        return Source()
    found = Source(kind)
    for name, field in _PARAMETERS.get(kind, {}).items():
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
    return _kept().get(wanted.digest if wanted.kind == UPLOAD else wanted.kind)


def in_use() -> Loaded:
    """The trial run in use. If the link wants a file that is not here, that is told, and the first example used."""
    run = loaded()
    if run is not None:
        return run
    wanted = source()
    if wanted.kind == UPLOAD:
        st.warning(missing_file(wanted.digest), icon=":material/upload_file:")
    else:
        st.warning("This link is about a built-in experiment: run it on the page Trial run. Until then, an example.")
    first = load_from(Source())
    assert first is not None
    return first


def missing_file(digest: str) -> str:
    """What a link says that was made for somebody's file."""
    known = f"the digest {digest[:12]}…" if digest else "no digest"
    return (
        f"This link is about an uploaded trial run with {known}; files do not travel in links. Load that file on the "
        "page Trial run to see what the link shows; until then, the first example is used."
    )


def load(run: Loaded, key: str | None = None) -> None:
    """Use a trial run that was uploaded, or computed by the built-in experiment of this key."""
    kept = {name: other for name, other in _kept().items() if name != (key or run.trial.digest)}
    kept[key or run.trial.digest] = run
    st.session_state["kept-runs"] = dict([*kept.items()][-MOST_KEPT:])
    choose(Source(key) if key else Source(UPLOAD, digest=run.trial.digest))


def kept_files() -> dict[str, Loaded]:
    """The uploaded files that this session remembers, by digest."""
    return {key: run for key, run in _kept().items() if key == run.trial.digest}


def next_seed(key: str) -> int:
    """0 for the first run of a built-in experiment in this session, another number for every further one."""
    seed: int = st.session_state.get(f"next-seed-{key}", 0)
    st.session_state[f"next-seed-{key}"] = seed + 1
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
    kept = [other for other in pins() if other != design.bare]
    _write_pins([*kept, design.bare][-MOST_PINS:])


def unpin(design: Design) -> None:
    """Take a pinned design away."""
    _write_pins([other for other in pins() if other != design.bare])


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
