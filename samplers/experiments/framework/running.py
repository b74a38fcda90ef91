"""Run an experiment part by part; finished parts are stored, so that a stopped run can continue.

The numbers of a part depend only on the settings, its name and the data. They are stored with an identity of settings,
data and code, and computed again if one of these has changed.
"""

from __future__ import annotations

import io
import json
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import write_whole
from designer.core.progress import Cancelled, ShareProgress
from samplers.chains.blas import blas_threads
from samplers.experiments.framework.identity import identity
from samplers.experiments.framework.report import Report
from samplers.runs.differences import changed
from samplers.runs.lock import holding, remove_half_written

SECONDS = "seconds of this part"  # stored with the values that the part returned
MISSING = (
    "missing"  # a part that returns this key, with the reason, is not stored: another run may be able to compute it
)
MADE_OF = "made of"  # the key of the settings and data of a part, to say what changed
PARTS = "parts"  # the folder of the stored parts, in that of the results
RESULTS = ("report.json", "finding.txt", "experiment.json", "table*.csv", "figure*.png", "figures.html")

Size = Literal["tiny", "quick", "full", "paper"]
Values = Mapping[str, Any]  # arrays, numbers and strings


class ComputedAgain(UserWarning):
    """Stored parts of an experiment are not used, because they are of other settings, data or code."""


def _silent(share: float, note: str) -> None:
    pass


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Work:
    """What a part is given: the folder of data sets, a function for progress, and one that says when to stop."""

    data: Path | None = None
    progress: ShareProgress = _silent
    cancelled: Callable[[], bool] = _never

    def step(self, share: float, note: str = "") -> None:
        """Report the share of this part that is done; raises `Cancelled` if the user has cancelled."""
        if self.cancelled():
            raise Cancelled
        self.progress(share, note)


@dataclass(frozen=True)
class Experiment:
    """One experiment of the papers.

    Parameters
    ----------
    name, title, source
        "e1", what it is about, and where the papers have it.
    question
        What it asks, in a sentence for those who have not read the papers.
    sizes
        Settings (a NamedTuple of plain values) at the sizes tiny (tests), quick (a minute) and full; and paper, if the
        paper's own size is larger than full.
    parts
        Names of the parts, from the settings: each part is computed and stored separately.
    work
        Computes one part: (settings, name, Work) -> arrays, numbers and strings.
    report
        Makes the report from all parts: (settings, {name: values}) -> Report.
    data
        Names of the data sets it reads (see `samplers.data.sources`).
    listing
        Names of settings that only say which parts there are, for example how many chains: stored parts stay valid if
        they change, so that a run can be extended.
    knobs
        What a user may set besides the seed: a name in `samplers.experiments.framework.knobs.KNOBS` each.
    """

    name: str
    title: str
    source: str
    question: str
    sizes: Mapping[Size, Any]
    parts: Callable[[Any], Sequence[str]]
    work: Callable[[Any, str, Work], Values]
    report: Callable[[Any, Mapping[str, Values]], Report]
    data: Sequence[str] = field(default=())
    listing: Sequence[str] = field(default=())
    knobs: Sequence[str] = field(default=())

    def identity(self, settings: Any, fingerprints: Mapping[str, str]) -> str:
        """With which the parts are stored: it changes with all that their numbers depend on."""
        kept = settings._replace(**dict.fromkeys(self.listing))
        return identity(self.name, self.work, kept, fingerprints)


class Batch(NamedTuple):
    """Parts to compute, and the identity with which their numbers are stored."""

    experiment: Experiment
    settings: Any
    names: Sequence[str]
    folder: Path | None
    known: str


# Computes a batch elsewhere: (batch, progress, cancelled) -> (name, values) of each part, in order of completion.
Mapper = Callable[[Batch, ShareProgress, Callable[[], bool]], Iterable[tuple[str, Values]]]


class Done(NamedTuple):
    """A finished experiment: its report, its settings, and the seconds spent on each part, now or in an earlier run."""

    report: Report
    settings: Any
    seconds: Mapping[str, float]


def run_experiment(
    experiment: Experiment,
    size: Size = "quick",
    output: str | Path | None = None,
    *,
    data: str | Path | None = None,
    progress: ShareProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
    mapper: Mapper | None = None,
) -> Done:
    """Run all parts that are not yet stored in `output`, and make the report.

    `data` is a folder with data sets in their own formats. If it is not given, or a file is missing, a synthetic twin
    is used and the report says so. Raises `Cancelled` when `cancelled()` becomes true; finished parts remain stored.
    `mapper` computes the parts elsewhere; without it they are computed here, one after the other.
    """
    if size not in experiment.sizes:
        largest = "; full is the paper's size, or as close to it as this package comes" if size == "paper" else ""
        raise BadInput(f"size = {size!r}: {experiment.name} has {', '.join(experiment.sizes)}{largest}")
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise BadInput(f"data: {folder}: no such directory")
    settings = experiment.sizes[size]
    names = list(experiment.parts(settings))
    fingerprints = fingerprints_of(experiment, folder)
    known = experiment.identity(settings, fingerprints)
    with nullcontext() if output is None else _held(Path(output)):
        of = {f"settings.{name}": str(value) for name, value in settings._asdict().items()}
        of |= {"version": version("austerity")} | {f"data set {name}": mark for name, mark in fingerprints.items()}
        of = {name: value for name, value in of.items() if name.removeprefix("settings.") not in experiment.listing}
        by_name = {} if output is None else _stored_parts(Path(output) / PARTS, names, known, of)
        batch = Batch(experiment, settings, [name for name in names if name not in by_name], folder, known)
        overall = _shifted(progress or _silent, len(by_name), len(batch.names), len(names))
        for name, part in (mapper or _one_by_one)(batch, overall, cancelled or _never):
            by_name[name] = part
            if output is not None and MISSING not in part:
                write_whole(Path(output) / PARTS / f"{name}.npz", _packed(part, known, of))
        values = {name: by_name[name] for name in names}
        done = Done(experiment.report(settings, values), settings, {n: float(v[SECONDS]) for n, v in values.items()})
        if output is not None:
            _write(experiment, size, done, fingerprints, Path(output))
    return done


@contextmanager
def _held(output: Path) -> Iterator[None]:
    """Keep other processes out of the folder, and remove what a killed one left half-written."""
    with holding(output):
        (output / PARTS).mkdir(exist_ok=True)
        remove_half_written(output, output / PARTS)
        yield


def stored(output: str | Path) -> tuple[dict[str, Any], Report]:
    """The description and the report of a finished run in a folder."""
    try:
        described = json.loads((Path(output) / "experiment.json").read_text(encoding="utf-8"))
        return described, Report.from_json((Path(output) / "report.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{output}: contains no finished experiment: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{output}: not a result of `austerity experiment`: {str(error)[:100]}") from None


def shipped(name: str) -> tuple[dict[str, Any], Report] | None:
    """The description and report of a full-size run that comes with the package, or None."""
    folder = Path(__file__).parents[1] / "stored" / name
    return stored(folder) if (folder / "report.json").is_file() else None


def computed(experiment: Experiment, settings: Any, name: str, work: Work) -> dict[str, Any]:
    """Compute one part, and note the seconds it took."""
    work.step(0.0, name)
    named = replace(work, progress=lambda share, note: work.progress(share, note or name))
    start = time.process_time()
    values = dict(experiment.work(settings, name, named))
    values[SECONDS] = time.process_time() - start
    work.progress(1.0, name)
    return values


def _one_by_one(batch: Batch, progress: ShareProgress, cancelled: Callable[[], bool]) -> Iterable[tuple[str, Values]]:
    """Compute the parts of a batch in this process."""
    with blas_threads(None):
        for number, name in enumerate(batch.names):
            work = Work(batch.folder, _shifted(progress, number, 1, len(batch.names)), cancelled)
            yield name, computed(batch.experiment, batch.settings, name, work)


def _stored_parts(folder: Path, names: Sequence[str], known: str, of: Mapping[str, str]) -> dict[str, Values]:
    """The parts whose files are undamaged and have this identity; unless all have, old results are removed.

    A `ComputedAgain` warning says why parts of another identity are not used.
    """
    read = {name: _read(folder / f"{name}.npz", known) for name in names}
    if None in read.values():
        _remove_results(folder.parent)
    others = [before for name in names if read[name] is None and (before := _made_of(folder / f"{name}.npz"))]
    if others:
        why = ", ".join(changed(others[0], of)) or "the code of the experiment is another"
        warnings.warn(f"{folder}: {len(others):,} stored parts are computed again: {why}", ComputedAgain, stacklevel=3)
    return {name: values for name, values in read.items() if values is not None}


def _remove_results(output: Path) -> None:
    """Remove the results that an earlier run made from parts that are no longer valid."""
    for pattern in RESULTS:
        for file in output.glob(pattern):
            file.unlink()


def _packed(values: Values, known: str, of: Mapping[str, str] = MappingProxyType({})) -> bytes:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in values.items()}
    texts = {"identity": _with_names(known, arrays), MADE_OF: json.dumps(dict(of))}
    everything: dict[str, Any] = {name: np.array(text) for name, text in texts.items()} | arrays
    np.savez_compressed(buffer, **everything)
    return buffer.getvalue()


def _with_names(known: str, values: Values) -> str:
    """The identity of a file: its numbers have checksums of their own, but their names have none."""
    return "\n".join([known, *sorted(values)])


def _read(file: Path, known: str) -> dict[str, Any] | None:
    """The numbers of a part; None if the file is missing, damaged, or of another identity."""
    values = _arrays(file)
    identity = str(values.pop("identity", ""))
    values.pop(MADE_OF, None)
    if identity not in (known, _with_names(known, values)):  # files of older versions do not include the names
        return None
    return {name: value.item() if value.ndim == 0 else value for name, value in values.items()}


def _made_of(file: Path) -> dict[str, str]:
    """The settings and data that a part was computed with; empty if the file does not tell."""
    with suppress(ValueError):
        return dict(json.loads(str(_arrays(file).get(MADE_OF, "{}"))))
    return {}


def _arrays(file: Path) -> dict[str, Any]:
    """The arrays in a file; none if it is missing or damaged."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return {}


def fingerprints_of(experiment: Experiment, folder: Path | None) -> dict[str, str]:
    """Fingerprints of the data sets that an experiment reads."""
    from samplers.data.sources import fingerprint

    return {name: fingerprint(name, folder) for name in experiment.data}


def _shifted(progress: ShareProgress, before: int, parts: int, total: int) -> ShareProgress:
    """Progress of some of the parts, with `before` parts done already, as progress of all of them."""
    return lambda share, note: progress((before + parts * share) / total, note)


def _write(experiment: Experiment, size: Size, done: Done, fingerprints: Mapping[str, str], output: Path) -> None:
    described = {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "size": size,
        "settings": done.settings._asdict(),
        "data": fingerprints,
        "seconds": done.seconds,
        "version": version("austerity"),
    }
    write_whole(output / "experiment.json", (json.dumps(described, indent=1, default=str) + "\n").encode())
    for number, table in enumerate(done.report.tables, start=1):
        write_whole(output / f"table{number}.csv", table.to_csv().encode())
    write_whole(output / "finding.txt", (done.report.finding + "\n").encode())
    write_whole(
        output / "report.json", done.report.to_json().encode()
    )  # last: its presence means that the run is finished
