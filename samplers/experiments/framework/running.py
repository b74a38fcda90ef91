"""Run an experiment part by part; finished parts are kept, so that a stopped run goes on where it was.

A part is a function of the settings, its own name and the data alone; its numbers are stored with the identity of
settings, data and code, and are computed anew when one of them has changed.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import write_whole
from designer.core.progress import Cancelled
from samplers.chains.blas import blas_threads
from samplers.experiments.framework.identity import identity
from samplers.experiments.framework.report import Report

SECONDS = "seconds of this part"  # stored beside what the part returned
MISSING = "missing"  # a part that returns this key, with the reason, is not stored: another run may have it
RESULTS = ("report.json", "finding.txt", "experiment.json", "table*.csv", "figure*.png", "figures.html")

Size = Literal["tiny", "quick", "full"]
Values = Mapping[str, Any]  # arrays, numbers and texts
Tell = Callable[[float, str], None]  # the share done, from 0 to 1, and a few words


def _silent(share: float, note: str) -> None:
    pass


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Work:
    """What a part is given: where data sets lie, how to tell progress, and when to stop."""

    data: Path | None = None
    tell: Tell = _silent
    cancelled: Callable[[], bool] = _never

    def step(self, share: float, note: str = "") -> None:
        """Tell the share of this part that is done; raises `Cancelled` if the user has had enough."""
        if self.cancelled():
            raise Cancelled
        self.tell(share, note)


@dataclass(frozen=True)
class Experiment:
    """One experiment of the papers.

    Parameters
    ----------
    name, title, source
        "e1", what it is about, and where it stands in the papers.
    question
        What it asks, in a sentence for those who have not read the papers.
    sizes
        Settings (a NamedTuple of plain values) at the sizes tiny (tests), quick (a minute) and full.
    parts
        Names of the pieces of work, from the settings: each is computed, stored and resumed by itself.
    work
        Computes one piece: (settings, name, Work) -> arrays, numbers and texts.
    report
        Makes the report of all pieces: (settings, {name: values}) -> Report.
    data
        Names of the data sets it reads (see `samplers.data.sources`).
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


class Batch(NamedTuple):
    """Parts to compute, and the identity that their numbers will be stored with."""

    experiment: Experiment
    settings: Any
    names: Sequence[str]
    folder: Path | None
    known: str


# Computes a batch elsewhere: (batch, tell, cancelled) -> (name, values) of each part, in any order, as they are done.
Mapper = Callable[[Batch, Tell, Callable[[], bool]], Iterable[tuple[str, Values]]]


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
    tell: Tell | None = None,
    cancelled: Callable[[], bool] | None = None,
    mapper: Mapper | None = None,
) -> Done:
    """Run all parts that are not yet in `output`, and report.

    `data` is a folder with data sets in their own formats; without it, or without the file, a synthetic twin stands in
    and the report says so. Raises `Cancelled` when `cancelled()` turns true; finished parts stay. `mapper` computes the
    parts elsewhere; without it, they are computed here, one after the other.
    """
    if size not in experiment.sizes:
        raise BadInput(f"size = {size!r}: {experiment.name} has {', '.join(experiment.sizes)}")
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise BadInput(f"data: {folder}: no such directory")
    settings = experiment.sizes[size]
    names = list(experiment.parts(settings))
    fingerprints = fingerprints_of(experiment, folder)
    known = identity(experiment.name, experiment.work, settings, fingerprints)
    parts = None if output is None else Path(output) / "parts"
    if parts is not None:
        parts.mkdir(parents=True, exist_ok=True)
    found = {} if parts is None else _stored_parts(parts, names, known)
    batch = Batch(experiment, settings, [name for name in names if name not in found], folder, known)
    told = _shifted(tell or _silent, len(found), len(batch.names), len(names))
    for name, part in (mapper or _one_by_one)(batch, told, cancelled or _never):
        found[name] = part
        if parts is not None and MISSING not in part:
            write_whole(parts / f"{name}.npz", _packed(part, known))
    values = {name: found[name] for name in names}
    done = Done(experiment.report(settings, values), settings, {n: float(v[SECONDS]) for n, v in values.items()})
    if output is not None:
        _write(experiment, size, done, fingerprints, Path(output))
    return done


def stored(output: str | Path) -> tuple[dict[str, Any], Report]:
    """What a finished run left in a folder: its description and its report."""
    try:
        described = json.loads((Path(output) / "experiment.json").read_text(encoding="utf-8"))
        return described, Report.from_json((Path(output) / "report.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{output}: holds no finished experiment: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{output}: not the files of an experiment: {str(error)[:100]}") from None


def shipped(name: str) -> tuple[dict[str, Any], Report] | None:
    """The description and report of a full-size run that comes with the package, or None."""
    folder = Path(__file__).parents[1] / "stored" / name
    return stored(folder) if (folder / "report.json").is_file() else None


def computed(experiment: Experiment, settings: Any, name: str, work: Work) -> dict[str, Any]:
    """One piece, with the seconds that it took."""
    work.step(0.0, name)
    named = replace(work, tell=lambda share, note: work.tell(share, note or name))
    start = time.perf_counter()
    values = dict(experiment.work(settings, name, named))
    values[SECONDS] = time.perf_counter() - start
    work.tell(1.0, name)
    return values


def _one_by_one(batch: Batch, tell: Tell, cancelled: Callable[[], bool]) -> Iterable[tuple[str, Values]]:
    """The parts of a batch, here."""
    with blas_threads(None):
        for number, name in enumerate(batch.names):
            work = Work(batch.folder, _shifted(tell, number, 1, len(batch.names)), cancelled)
            yield name, computed(batch.experiment, batch.settings, name, work)


def _stored_parts(folder: Path, names: Sequence[str], known: str) -> dict[str, Values]:
    """The pieces whose files are whole and belong to these settings and data; if some do not, no old results stay."""
    read = {name: _read(folder / f"{name}.npz", known) for name in names}
    if None in read.values():
        _remove_results(folder.parent)
    return {name: values for name, values in read.items() if values is not None}


def _remove_results(output: Path) -> None:
    """What an earlier run made of parts that are no longer there."""
    for pattern in RESULTS:
        for file in output.glob(pattern):
            file.unlink()


def _packed(values: Values, known: str) -> bytes:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in values.items()}
    np.savez_compressed(buffer, identity=np.array(_with_names(known, arrays)), **arrays)
    return buffer.getvalue()


def _with_names(known: str, values: Values) -> str:
    """The identity of a file: the numbers in it have checksums of their own, their names have none."""
    return "\n".join([known, *sorted(values)])


def _read(file: Path, known: str) -> dict[str, Any] | None:
    """The numbers of a part, or None if there are none that can be used (a damaged file counts as none)."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            values = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None
    identity = str(values.pop("identity", ""))
    if identity not in (known, _with_names(known, values)):  # files of older versions have no names
        return None
    return {name: value.item() if value.ndim == 0 else value for name, value in values.items()}


def fingerprints_of(experiment: Experiment, folder: Path | None) -> dict[str, str]:
    """Of the data sets that it reads."""
    from samplers.data.sources import fingerprint

    return {name: fingerprint(name, folder) for name in experiment.data}


def _shifted(tell: Tell, before: int, pieces: int, total: int) -> Tell:
    """Progress of some pieces, which come after others, as progress of all of them."""
    return lambda share, note: tell((before + pieces * share) / total, note)


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
    write_whole(output / "report.json", done.report.to_json().encode())  # last: its presence means finished
