"""Run an experiment part by part; finished parts are kept, so that a stopped run goes on where it was.

A part is a function of the settings, its own name and the data alone; its numbers are stored with the identity of
settings, data and code, and are computed anew when one of them has changed.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.errors import BadInput
from designer.files import write_whole
from designer.search import Cancelled
from samplers.experiments.identity import identity
from samplers.experiments.report import Report

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
        Names of the data sets it reads (see `samplers.sources`).
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
) -> Done:
    """Run all parts that are not yet in `output`, and report.

    `data` is a folder with data sets in their own formats; without it, or without the file, a synthetic twin stands in
    and the report says so. Raises `Cancelled` when `cancelled()` turns true; finished parts stay.
    """
    if size not in experiment.sizes:
        raise BadInput(f"size = {size!r}: {experiment.name} has {', '.join(experiment.sizes)}")
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise BadInput(f"data: {folder}: no such directory")
    settings = experiment.sizes[size]
    names = list(experiment.parts(settings))
    fingerprints = _fingerprints(experiment, folder)
    known = identity(experiment.name, experiment.work, settings, fingerprints)
    parts = None if output is None else Path(output) / "parts"
    if parts is not None:
        parts.mkdir(parents=True, exist_ok=True)
    values: dict[str, Values] = {}
    for number, name in enumerate(names):
        work = Work(folder, _shifted(tell or _silent, number, len(names), name), cancelled or _never)
        values[name] = _part(experiment, settings, name, work, parts, known)
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
    folder = Path(__file__).with_name("stored") / name
    return stored(folder) if (folder / "report.json").is_file() else None


def _part(
    experiment: Experiment, settings: Any, name: str, work: Work, folder: Path | None, known: str
) -> Mapping[str, Any]:
    """One piece: from its file if that is whole and belongs to these settings and data, else computed and stored."""
    file = None if folder is None else folder / f"{name}.npz"
    kept = None if file is None else _read(file, known)
    if kept is None:
        if folder is not None:
            _remove_results(folder.parent)
        work.step(0.0, name)
        start = time.perf_counter()
        kept = dict(experiment.work(settings, name, work))
        kept[SECONDS] = time.perf_counter() - start
        if file is not None and MISSING not in kept:
            write_whole(file, _packed(kept, known))
    work.tell(1.0, name)
    return kept


def _remove_results(output: Path) -> None:
    """What an earlier run made of parts that are no longer there."""
    for pattern in RESULTS:
        for file in output.glob(pattern):
            file.unlink()


def _packed(values: Values, known: str) -> bytes:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in values.items()}
    np.savez_compressed(buffer, identity=np.array(known), **arrays)
    return buffer.getvalue()


def _read(file: Path, known: str) -> dict[str, Any] | None:
    """The numbers of a part, or None if there are none that can be used (a damaged file counts as none)."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            values = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError):
        return None
    if str(values.pop("identity", "")) != known:
        return None
    return {name: value.item() if value.ndim == 0 else value for name, value in values.items()}


def _fingerprints(experiment: Experiment, folder: Path | None) -> dict[str, str]:
    """Of the data sets that it reads."""
    from samplers.sources import fingerprint

    return {name: fingerprint(name, folder) for name in experiment.data}


def _shifted(tell: Tell, number: int, total: int, name: str) -> Tell:
    """Progress of one part as progress of the whole."""
    return lambda share, note: tell((number + share) / total, note or name)


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
