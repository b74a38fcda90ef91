"""A directory in which the finished steps of a flow are kept, so that a stopped one goes on where it was.

::

    DIR/steps/mode.bin, laplace.bin, ...   what a step found and decided; each appears whole or not at all
    DIR/trial.parquet, design.toml         as `austerity trial` and `design` write them
    DIR/run/                               the chains, as `austerity run` saves them
    DIR/decisions.json, audit.json         for people and programs
    DIR/results.nc, report.html            the posterior and the report
    DIR/lock                               held by the process that works here

Steps are files with checksums (`samplers.runs.checksummed_file`); a damaged one is made again.
"""

from __future__ import annotations

import json
import math
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import write_whole
from samplers.flow.decisions import Decision
from samplers.flow.which_test import ChosenTest
from samplers.models.control.heavy import RowSplit
from samplers.proposals import ProxyStep, RandomWalk
from samplers.proposals.profile import Profile
from samplers.runs import checksummed_file
from samplers.runs.checksummed_file import Damaged, make_directory
from samplers.runs.lock import HALF, holding, remove_half_written
from samplers.runs.store import DamagedFile, Store
from samplers.study.audit import Audit, MeasuredValue
from samplers.study.certify import Certificate
from samplers.study.laplace import LaplaceVerdict
from samplers.study.mean_bias import MeansJudged
from samplers.study.predict_minibatch import MinibatchPrediction
from samplers.study.weighted_draws import Laplace, WeightedDraws

STEPS, RUN, LOCK = "steps", "run", "lock"
WRITTEN = ("trial.parquet", "design.toml", "decisions.json")  # before there are draws
KNOWN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(Audit, Certificate, Decision, Laplace, LaplaceVerdict, MeansJudged, MeasuredValue, MinibatchPrediction),
        *(Profile, ProxyStep, RandomWalk, RowSplit, ChosenTest, WeightedDraws),
    )
}


class Finished(NamedTuple):
    """What a step found, what it decided, the seconds it took, and wishes that it rests on and that may change."""

    value: Any
    decisions: tuple[Decision, ...]
    seconds: float
    of: Mapping[str, Any] = MappingProxyType({})


class Place:
    """The directory of a flow.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Place(Path(folder))
    ...     place.save("mode", Finished(np.zeros(2), (Decision("mode", "found", ""),), 0.1))
    ...     place.load("mode").value, place.load("laplace")
    (array([0., 0.]), None)
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def begun(self) -> bool:
        """Whether it holds a flow."""
        return (self.directory / STEPS).is_dir()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out, and remove what a killed one left half-written."""
        with holding(self.directory, LOCK):
            remove_half_written(self.directory, self.directory / STEPS)
            yield

    @property
    def has_draws(self) -> bool:
        """Whether chains have saved any."""
        return bool(Store(self.directory / RUN).chains())

    def clear(self) -> None:
        """Remove what a flow without draws wrote: the directory can be used again."""
        for folder in (STEPS, RUN):
            shutil.rmtree(self.directory / folder, ignore_errors=True)
        for name in (*WRITTEN, LOCK):
            (self.directory / name).unlink(missing_ok=True)

    def path(self, name: str) -> Path:
        """Of a file for people."""
        return self.directory / name

    def load(self, name: str) -> Finished | None:
        """What a step found; None if it is not finished."""
        try:
            content = checksummed_file.read(self._step(name)).content()
            decisions = tuple(unpacked(content["decisions"]))
            of = unpacked(content["of"]) if "of" in content else {}
            return Finished(unpacked(content["value"]), decisions, content["seconds"], of)
        except FileNotFoundError:
            return None
        except Damaged as damage:
            warnings.warn(f"{damage}: the step is made again", DamagedFile, stacklevel=2)
            return None

    def save(self, name: str, finished: Finished) -> None:
        """A step is finished."""
        make_directory(self._step(name).parent)
        content = {name: packed(value) for name, value in finished._asdict().items()}
        checksummed_file.write(self._step(name), {}, content)

    def write_json(self, name: str, value: Any) -> None:
        """A file for programs; numbers that JSON does not have are null."""
        write_whole(self.path(name), json.dumps(plain(value), indent=1, ensure_ascii=False) + "\n")

    def _step(self, name: str) -> Path:
        return self.directory / STEPS / f"{name}.bin"


def check_place(directory: Path, *, resume: bool) -> None:
    """A new flow needs a directory that is empty or does not exist; one to resume must hold a flow, or nothing yet."""
    if directory.exists() and not directory.is_dir():
        raise BadInput(f"{directory}: is a file; must be a directory for the results")
    begun = Place(directory).begun
    if begun and not resume:
        raise BadInput(f"{directory}: holds results already; continue with --resume (resume=True) or choose another")
    others = [name for name in _names(directory) if name != LOCK and not HALF.fullmatch(name)]
    if not begun and others:
        raise BadInput(f"{directory}: is not empty; sampling needs a directory of its own")


def _names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()] if directory.is_dir() else []


def packed(value: Any) -> Any:
    """Known records, sequences, arrays and numbers as the tree that a checksummed file holds."""
    if type(value).__name__ in KNOWN and isinstance(value, KNOWN[type(value).__name__]):
        return {"kind": type(value).__name__, "parts": {name: packed(part) for name, part in _parts(value).items()}}
    if isinstance(value, Mapping):
        return {"kind": "dict", "parts": {str(name): packed(part) for name, part in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"kind": "tuple", "parts": {str(number): packed(part) for number, part in enumerate(value)}}
    return value


def unpacked(tree: Any) -> Any:
    """What `packed` was given; lists are tuples."""
    if not isinstance(tree, dict):
        return tree
    parts = {name: unpacked(part) for name, part in tree["parts"].items()}
    if tree["kind"] == "tuple":
        return tuple(parts.values())
    return parts if tree["kind"] == "dict" else KNOWN[tree["kind"]](**parts)


def _parts(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(value._asdict())


def plain(value: Any) -> Any:
    """Records as dicts and arrays as lists, for JSON."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
