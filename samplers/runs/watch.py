"""A run beside its promises, while it goes or when it has ended: from its directory, or from its results.

`watch` only reads, and takes no lock: the run does not notice it. Long runs are judged by their newest draws.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.rule.design import Design
from samplers.config.config import SamplerConfig
from samplers.runs.monitor import Expected, Measured, batched, judged, measured
from samplers.runs.saved_run import RESULTS
from samplers.runs.store import Array, DamagedFile, Store

if TYPE_CHECKING:
    from xarray import DataTree

    from samplers.runs.results import PosteriorSummary

MOST_DRAWS = 20_000  # of each chain that a look reads
PIECES = 40  # of the draws, in a history
MOST_POINTS = 1_000  # of a chain, in a trace
CHANGING = ("schedule", "redesign")  # tables of a config whose test changes during the run
_HOLDER = re.compile(r"process (\d+) on (.+)")

Verdict = Literal["as promised", "differs", "no promise", "not measured", "too early"]


class Watched(NamedTuple):
    """A run as far as it is saved.

    Attributes
    ----------
    facts
        What its directory or its results say about it.
    steps
        Steps saved of each chain, with those of the warm-up.
    draws
        The newest draws after warm-up of each chain that has any, at most `MOST_DRAWS`: arrays by name.
    planned
        Steps of each chain with warm-up, and chains; None if nothing says so.
    process
        The process that writes it on this machine; None if there is none, or nothing left to write.

    Examples
    --------
    >>> seen = Watched({"warmup": 10}, {0: 60, 1: 40}, {}, planned=(100, 2))
    >>> seen.share, seen.warmup
    (0.5, 10)
    """

    facts: Mapping[str, Any]
    steps: Mapping[int, int]
    draws: Mapping[int, Mapping[str, Array]]
    planned: tuple[int, int] | None = None
    process: int | None = None

    @property
    def warmup(self) -> int:
        """Steps of each chain that are not compared."""
        return int(self.facts.get("warmup", 0))

    @property
    def n_data(self) -> int:
        """Data that the test samples from."""
        return int(self.facts.get("n_data", 0))

    @property
    def share(self) -> float:
        """The share of the planned steps that is saved; 1 if no plan is known."""
        if self.planned is None:
            return 1.0
        steps, chains = self.planned
        return min(1.0, sum(min(steps, done) for done in self.steps.values()) / (steps * chains))

    @property
    def kept(self) -> int:
        """Draws of each chain that are looked at, of the chain that has the fewest."""
        return min((part["accepted"].size for part in self.draws.values()), default=0)

    @property
    def left_out(self) -> bool:
        """Whether earlier draws are not looked at."""
        return any(self.steps[number] - self.warmup > part["accepted"].size for number, part in self.draws.items())

    @property
    def names(self) -> list[str]:
        """Of the parameters."""
        dimension = next((part["theta"].shape[1] for part in self.draws.values() if part["theta"].ndim == 2), 0)
        given = self.facts.get("names")
        return list(given) if given and len(given) == dimension else [f"theta[{j}]" for j in range(dimension)]

    @property
    def config(self) -> SamplerConfig | None:
        """The config that it is run with, if the directory says so."""
        source = self.facts.get("source")
        text = source.get("config") if isinstance(source, Mapping) else None
        try:
            return None if text is None else SamplerConfig.from_toml(str(text))
        except BadInput:  # of a newer version
            return None

    @property
    def design(self) -> Design | None:
        """Its sequential test, if it has one."""
        text = self.facts.get("design")
        try:
            return Design.from_toml(text) if isinstance(text, str) else None
        except BadInput:
            return None

    @property
    def expected(self) -> Expected | None:
        """What its design predicts for it; None if it predicts nothing."""
        return None if self._changes else Expected.of_run(self.facts)

    @property
    def _changes(self) -> str | None:
        known = {*self.facts, *(key.partition(".")[0] for key in self.facts.get("config") or {})}
        return next((name for name in CHANGING if name in known), None)

    @property
    def no_promise(self) -> str | None:
        """Why there is nothing to compare the run with, in a sentence; None if there is."""
        if self.expected is not None:
            return None
        if self._changes:
            return f"Nothing was promised for this run: its test changes on the way ([{self._changes}])."
        if self.design is None:
            return (
                "Nothing was promised for this run: only a sequential test made for a trial run promises acceptance, "
                "data use and error, and this run has another test."
            )
        predicted = self.design.predicted
        if predicted is None or predicted.acceptance_band is None or predicted.usage_band is None:
            return (
                "The prediction is missing: this run's [test] was not made for a trial run, or its [predicted] table "
                "was left out. The Design page and `austerity design TRIAL` write it; start a run with such a file."
            )
        return "Nothing was promised for this run: a step of it makes many decisions, and a design predicts one."


def watch(directory: str | os.PathLike[str], most: int = MOST_DRAWS) -> Watched:
    """A look at the run in a directory, which may go on meanwhile.

    Parameters
    ----------
    directory
        Of a run.
    most
        Newest draws of each chain that are read.

    Returns
    -------
    Watched
        What is saved by now.

    Raises
    ------
    BadInput
        If the directory holds no run, or not yet.

    Examples
    --------
    >>> import tempfile
    >>> from samplers import ExactTest, Logistic, RandomWalk, run
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = RandomWalk.isotropic(0.2, 2), ExactTest()
    ...     _ = run(model, *parts, start=np.zeros(2), draws=50, warmup=10, chains=2, output=f"{folder}/out")
    ...     seen = watch(f"{folder}/out")
    >>> dict(seen.steps), seen.kept, seen.no_promise[:36]
    ({0: 60, 1: 60}, 50, 'Nothing was promised for this run: o')
    """
    store = Store(directory)
    facts = store.meta() if Path(directory).is_dir() else None
    if facts is None:
        raise BadInput(f"{directory}: holds no run yet")
    warmup = int(facts.get("warmup", 0))
    steps, draws = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedFile)  # an older checkpoint is used
        for number in store.chains():
            start, part = store.chain(number).recent(most)
            steps[number] = start + (part["accepted"].size if part else 0)
            kept = {name: values[max(warmup - start, 0) :] for name, values in part.items()}
            if kept and kept["accepted"].size:
                draws[number] = kept
    seen = Watched(facts, steps, draws, process=_writer(Path(directory), steps))
    config = seen.config
    planned = None if config is None else (config.run.warmup + config.run.draws, config.run.chains)
    seen = seen._replace(planned=planned)
    return seen._replace(process=None) if planned is not None and seen.share == 1.0 else seen


def _writer(directory: Path, chains: Mapping[int, int]) -> int | None:
    """The process that writes one of the chains, if it lives on this machine: as its lock says."""
    for number in chains:
        try:
            note = _HOLDER.fullmatch((directory / f"chain-{number:04d}" / "lock").read_text())
        except (OSError, UnicodeDecodeError):
            continue
        if note is None or note[2] != socket.gethostname():
            continue
        try:
            os.kill(int(note[1]), 0)
        except ProcessLookupError:
            continue
        except OSError:  # of somebody else
            pass
        return int(note[1])
    return None


def watch_results(results: DataTree, most: int = MOST_DRAWS) -> Watched:
    """The same of results, as `run_config` or `from_netcdf` returns them.

    Examples
    --------
    >>> from samplers import collect
    >>> rng = np.random.default_rng(1)
    >>> part = {"theta": rng.normal(size=(50, 1)), "accepted": rng.random(50) < 0.5}
    >>> part |= {"n_used": np.full(50, 20), "n_looks": np.ones(50, dtype=int)}
    >>> watch_results(collect([part], {"n_data": 100})).kept
    50
    """
    try:
        theta, stats = results["posterior/theta"], results["sample_stats"]
        arrays = {name: np.asarray(stats[name].values) for name in ("accepted", "n_used", "n_looks")}
    except KeyError as missing:
        raise BadInput(f"results: no {missing.args[0]}: not those of a run of this package") from None
    facts: dict[str, Any] = {str(name): value for name, value in results.attrs.items()}
    if "parameter" in theta.coords:
        facts["names"] = [str(name) for name in theta.coords["parameter"].values]
    arrays["theta"] = np.asarray(theta.values)
    numbers = [int(number) for number in theta.coords["chain"].values]
    draws = {
        number: {name: values[place][-most:] for name, values in arrays.items()} for place, number in enumerate(numbers)
    }
    warmup = int(facts.get("warmup", 0))
    return Watched(facts, dict.fromkeys(numbers, warmup + arrays["theta"].shape[1]), draws)


def watch_file(content: bytes, most: int = MOST_DRAWS) -> Watched:
    """The same of the content of a file `results.nc`."""
    from samplers.runs.results import from_netcdf

    with tempfile.TemporaryDirectory(prefix="austerity-") as folder:
        path = Path(folder) / RESULTS
        path.write_bytes(content)
        try:
            return watch_results(from_netcdf(path), most)
        except BadInput as problem:
            raise BadInput(str(problem).replace(str(path), RESULTS)) from None


# --- promised against measured ----------------------------------------------------------------------------------------


class Promise(NamedTuple):
    """One quantity: what the design promises, within which band, and what the run does; None where unknown."""

    quantity: str
    promised: float | None
    band: tuple[float, float] | None
    measured: float | None
    se: float | None
    verdict: Verdict
    why: str = ""


def promises(seen: Watched) -> list[Promise]:
    """Acceptance, data use and looks of the decisions after warm-up beside what the design promises.

    Wrong decisions cannot be counted in a run, which does not know the right ones: their row waits for an audit.

    Examples
    --------
    >>> from samplers import collect
    >>> rng, n = np.random.default_rng(1), 4000
    >>> test = Design(1_000, 100, 0.05)
    >>> part = {"theta": rng.normal(size=(n, 1)), "accepted": rng.random(n) < 0.5}
    >>> part |= {"n_used": np.full(n, 200), "n_looks": np.full(n, 2)}
    >>> seen = watch_results(collect([part], {"n_data": 1_000, "design": test.to_toml()}))
    >>> [(row.quantity, row.measured, row.verdict) for row in promises(seen)[1:3]]
    [('data use', 0.2, 'no promise'), ('looks per step', 2.0, 'no promise')]
    """
    expected, n_always = seen.expected, int(seen.facts.get("n_always", 0))
    found = measured(batched(seen.draws.values(), n_always), max(seen.n_data, 1)) if seen.draws else None
    accepts, reads = (0, 0) if expected is None or found is None else expected.beyond(found)
    acceptance = None if expected is None else (expected.acceptance, expected.acceptance_band)
    usage = None if expected is None else (expected.usage, expected.usage_band)
    return [
        _row("acceptance", acceptance, found, found and found.acceptance, accepts),
        _row("data use", usage, found, found and found.usage, reads),
        _looks(seen, expected, found, reads, n_always),
        _wrong(seen.design),
    ]


def _row(
    quantity: str,
    promised: tuple[float, tuple[float, float]] | None,
    found: Measured | None,
    value: tuple[float, float] | None,
    beyond: int,
) -> Promise:
    centre, band = promised or (None, None)
    if found is None or value is None:
        return Promise(quantity, centre, band, None, None, "too early", "no steps after the warm-up yet")
    verdict: Verdict = "as promised" if not beyond else "differs"
    if promised is None:
        return Promise(quantity, centre, band, *value, "no promise")
    if found.quantile is None:
        return Promise(quantity, centre, band, *value, "too early", "too few steps to tell")
    return Promise(quantity, centre, band, *value, verdict, "" if not beyond else "above" if beyond > 0 else "below")


def _looks(seen: Watched, expected: Expected | None, found: Measured | None, reads: int, n_always: int) -> Promise:
    """Looks of a decision: with equal mini-batches, their promise is that of the data use in other units."""
    design, factor = seen.design, None
    if expected is not None and design is not None and design.growth == 1.0 and not design.explicit:
        factor = design.n_data / design.m
    promised = None
    if expected is not None and factor is not None:
        low, high = (end * factor for end in expected.usage_band)
        promised = expected.usage * factor, (low, high)
    value = None
    if found is not None:
        looks = [part["n_looks"][part["n_used"] > n_always] for part in seen.draws.values()]
        joined = np.concatenate(looks)
        spread = found.usage[1] / found.usage[0] if found.usage[0] > 0.0 else 0.0
        value = float(joined.mean()), float(joined.mean()) * spread
    return _row("looks per step", promised, found, value, reads)


def _wrong(design: Design | None) -> Promise:
    notes = None if design is None else design.predicted
    promised = None if notes is None else notes.mean_abs_delta
    wished = None if design is None or design.provenance is None else design.provenance.tolerance
    wished = wished if wished is not None or notes is None else notes.error_limit
    limit = None if wished is None else (0.0, wished)
    return Promise("wrong decisions", promised, limit, None, None, "not measured", "an audit measures them")


def drift(seen: Watched) -> str:
    """How the run differs from what its design predicts, beyond chance; empty if it does not."""
    return judged(seen.expected, seen.draws.values())


class History(NamedTuple):
    """Acceptance, data use and looks of all chains, piece by piece; `step` is the end of a piece."""

    step: Floats
    acceptance: Floats
    usage: Floats
    looks: Floats


def history(seen: Watched, pieces: int = PIECES) -> History:
    """How acceptance, data use and looks went, in pieces of equally many steps of all chains; NaN where none decided.

    As in `promises`, steps that read no data do not count, nor do rows that every step reads.
    """
    kept, n_always = seen.kept, int(seen.facts.get("n_always", 0))
    cuts = np.unique(np.linspace(0, kept, min(pieces, kept) + 1).astype(np.int64))
    if cuts.size < 2:
        return History(*(np.empty(0) for _ in History._fields))
    sums = np.zeros((4, cuts.size - 1))
    for part in seen.draws.values():
        accepted, used, looks = (part[name][-kept:] for name in ("accepted", "n_used", "n_looks"))
        reads = used > n_always
        rows = np.array([reads, accepted & reads, (used - n_always) * reads, looks * reads], dtype=np.float64)
        sums += np.add.reduceat(rows, cuts[:-1], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate, used, looks = sums[1:] / sums[0]
    last = min(seen.steps[number] for number in seen.draws)
    most = int(seen.facts.get("data_per_step", seen.n_data + n_always)) - n_always
    return History(last - kept + cuts[1:].astype(np.float64), rate, used / max(most, 1), looks)


class Trace(NamedTuple):
    """Thinned draws of one parameter in one chain."""

    chain: int
    step: Floats
    value: Floats


def traces(seen: Watched, parameter: int, most: int = MOST_POINTS) -> list[Trace]:
    """The draws of one parameter, chain by chain, at most so many of each."""
    found = []
    for number, part in seen.draws.items():
        values = part["theta"].reshape(part["theta"].shape[0], -1)[:, parameter]
        every = max(1, -(-values.size // most))
        step = seen.steps[number] - values.size + 1 + np.arange(values.size)
        found.append(Trace(number, step[::every].astype(np.float64), np.asarray(values[::every], dtype=np.float64)))
    return found


def summary_so_far(seen: Watched) -> PosteriorSummary | None:
    """Means, effective draws and R-hat of the draws that are looked at; None if there are too few."""
    from samplers.runs.results import collect_run, summary

    if seen.kept < 4:
        return None
    facts = {name: value for name, value in seen.facts.items() if name != "source"}
    cut = {number: {name: values[-seen.kept :] for name, values in part.items()} for number, part in seen.draws.items()}
    return summary(collect_run(cut, facts))
