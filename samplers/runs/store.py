"""Chains on disk that a killed run resumes: draws in segments, states in checkpoints, nothing ever read half-written.

::

    RUN/run.bin                                          config and digest, written once
    RUN/chain-0002/draws-000000001000-000000001500.bin   a segment of draws, written once, never changed
    RUN/chain-0002/state-000000001500.bin                a checkpoint; the last three stay
    RUN/chain-0002/lock                                  held by the process that writes the chain
    RUN/run.lock                                         held by the process that runs the chains, here or on a cluster
    RUN/lock                                             held for a moment by whoever writes beside the chains
    RUN/results.nc                                       the draws after warm-up, for ArviZ

Each file (`checksummed_file`) has a checksum and appears whole or not at all. A checkpoint names its last segment by
digest, and every segment the one before it: so a checkpoint is good only if all draws before it are exactly those that
were saved. The sampler makes the steps after the last good checkpoint again, bit for bit; the next save removes the
old ones.
"""

from __future__ import annotations

import fcntl
import os
import re
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from designer.core.errors import BadInput, integer
from designer.core.files import shorten
from samplers.chains.parallel import MAX_CHAINS
from samplers.runs import checksummed_file
from samplers.runs.checksummed_file import ChecksummedFile, Damaged, make_directory
from samplers.runs.differences import differences
from samplers.runs.lock import HALF, holding, remove_half_written, take

MOST_CHECKPOINTS = 3  # of each chain that stay on disk
MAX_STEPS = 10**12
AS_IT_WAS = "resume with the settings it was started with, or choose another directory"

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = Mapping[str, Array]
_Layout: TypeAlias = dict[str, Any] | None  # dtype and shape of one draw of each array
_T = TypeVar("_T")


class DamagedFile(UserWarning):
    """A file of a chain is damaged, so an older checkpoint is used."""


class Checkpoint(NamedTuple):
    """Where a chain is: all that its next step depends on.

    `rng` is a numpy bit generator's state. `state` holds arrays, Python numbers, strings, None, and dicts of them.
    """

    step: int
    rng: Mapping[str, Any]
    state: Mapping[str, Any]


class Store:
    """The directory of one run.

    Nothing is created before something is written. Reading needs no lock and is safe while a run writes.

    Examples
    --------
    >>> import tempfile
    >>> directory, rng = tempfile.TemporaryDirectory(), np.random.default_rng(1)
    >>> store = Store(directory.name)
    >>> with store.chain(0) as chain:
    ...     theta = rng.normal(size=(3, 2))
    ...     chain.save(Checkpoint(3, rng.bit_generator.state, {"theta": theta[-1]}), {"theta": theta})
    >>> store.chain(0).latest().step, store.chain(0).draws()["theta"].shape, store.chains()
    (3, (3, 2), [0])
    >>> directory.cleanup()
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.digest: str | None = None  # of the run that `describe` recorded

    def chain(self, number: int) -> ChainStore:
        """The files of one chain."""
        return ChainStore(self.directory, integer("chain", number, 0, MAX_CHAINS - 1), self.digest)

    def chains(self) -> list[int]:
        """Numbers of the chains on disk."""
        return sorted(int(match[1]) for name in _names(self.directory) if (match := _CHAIN.fullmatch(name)))

    @property
    def begun(self) -> bool:
        """Whether there is anything to resume: not if the run was killed before its first file was whole."""
        return bool(self.chains()) or "run.bin" in _names(self.directory)

    @property
    def foreign(self) -> bool:
        """Whether the directory holds files that no run writes, and none of a run."""
        return not self.begun and not all(map(_LEFT_AT_START.fullmatch, _names(self.directory)))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out from beginning to end, also from chains that this one has not begun or has finished."""
        with holding(self.directory, "run.lock"):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from writing beside the chains; a second one waits a moment.

        Files that a killed process left half-written are removed.
        """
        make_directory(self.directory)
        descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            remove_half_written(self.directory)
            yield
        finally:
            os.close(descriptor)

    def describe(self, meta: Mapping[str, Any]) -> None:
        """Record what this run is, in JSON types; refuse a directory that holds another run.

        `meta["digest"]` identifies the run. `meta["config"]`, if given, holds its settings by name: a refusal names
        those that differ (`samplers.runs.differences`).
        """
        if not isinstance(meta.get("digest"), str):
            raise BadInput("meta: must have a digest")
        with self.alone():
            if (known := self.meta()) is None:
                self._check_checkpoints(meta["digest"])
                checksummed_file.write(self.directory / "run.bin", {"meta": dict(meta)}, {})
            elif known["digest"] != meta["digest"]:
                raise BadInput(f"{self.directory}: holds another run ({differences(known, meta)}); {AS_IT_WAS}")
        self.digest = meta["digest"]

    def _check_checkpoints(self, digest: str) -> None:
        """Where the description was removed, the checkpoints still say of which run they are."""
        for number in self.chains():
            run = self.chain(number).run_of_newest()
            if run not in (None, digest):
                differ = f"its checkpoints are of {shorten(run, 13)}, not {shorten(digest, 13)}; run.bin is missing"
                raise BadInput(f"{self.directory}: holds another run ({differ}); {AS_IT_WAS}")

    def meta(self) -> dict[str, Any] | None:
        """What `describe` recorded; None if there is nothing."""
        path = self.directory / "run.bin"
        try:
            match checksummed_file.read(path).header:
                case {"meta": {"digest": str(), **_rest} as meta}:
                    return dict(meta)
        except FileNotFoundError:
            return None
        except Damaged:
            pass
        raise BadInput(f"{path}: damaged; if you are sure of the settings, remove it and resume")


class _Segment(NamedTuple):
    """Which draws, and the digest of their file."""

    start: int
    stop: int
    digest: str


class _End(NamedTuple):
    """Where the next save continues: the last step, its segment, and which arrays a segment holds."""

    step: int = 0
    segment: _Segment | None = None
    layout: _Layout = None


class ChainStore:
    """The draws and checkpoints of one chain. As a context manager it locks out other writers from the start.

    A save that fails changes nothing that was saved before. It can be tried again with the same or with more draws.
    """

    def __init__(self, directory: Path, number: int, run: str | None = None) -> None:
        self.number, self.run = number, run
        self.directory = directory / f"chain-{number:04d}"
        self._unlock: Callable[[], object] | None = None
        self._end: _End | None = None  # known while the lock is held
        self._steps: list[int] = []  # of the checkpoints on disk, while the lock is held
        self._tidy = False

    def __enter__(self) -> ChainStore:
        self._lock()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock; a later save takes it again."""
        if self._unlock is not None:
            self._unlock()
        self._unlock, self._end, self._tidy = None, None, False

    def latest(self) -> Checkpoint | None:
        """The newest good checkpoint, or None if the chain must start at its beginning.

        All draws before it have been read and checked; each damaged file gives a `DamagedFile` warning.
        """

        def check(path: Path, file: ChecksummedFile) -> tuple[Checkpoint, _End]:
            checkpoint, segment = self._checkpoint(path, file)
            layouts = [segment_file.header.get("layout") for _, segment_file in self._behind(segment)]
            return checkpoint, _End(checkpoint.step, segment, layouts[0] if layouts else None)

        checkpoint, end = self._newest(check) or (None, _End())
        if self._unlock is not None:
            self._end, self._tidy = end, False
        return checkpoint

    def draws(self) -> dict[str, Array]:
        """All draws up to the newest good checkpoint, by name; the first axis is the step."""

        def gather(path: Path, file: ChecksummedFile) -> dict[str, Array]:
            checkpoint, last = self._checkpoint(path, file)
            whole: dict[str, Array] = {}
            for segment, segment_file in self._behind(last):
                for name, piece in segment_file.content().items():
                    if name not in whole:
                        whole[name] = np.empty((checkpoint.step, *piece.shape[1:]), piece.dtype)
                    whole[name][segment.start : segment.stop] = piece
            return whole

        return self._newest(gather) or {}

    def run_of_newest(self) -> str | None:
        """The digest of the run that made the newest good checkpoint; None if there is none, or it does not say."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamagedFile)  # told when the chain is resumed
            run = self._newest(lambda _, file: file.header.get("run"))
        return run if isinstance(run, str) else None

    def recent(self, most: int) -> tuple[int, dict[str, Array]]:
        """The newest draws, at most so many, and the number of the step before them: for a look at a long run.

        Only the files that hold them are read; earlier ones may be damaged.
        """

        def gather(path: Path, file: ChecksummedFile) -> tuple[int, dict[str, Array]]:
            checkpoint, last = self._checkpoint(path, file)
            pieces: list[dict[str, Array]] = []
            start = max(checkpoint.step - most, 0)
            for segment, segment_file in self._behind(last):
                pieces.append(
                    {name: part[max(start - segment.start, 0) :] for name, part in segment_file.content().items()}
                )
                if segment.start <= start:
                    break
            names = pieces[0] if pieces else {}
            return start, {name: np.concatenate([piece[name] for piece in reversed(pieces)]) for name in names}

        return self._newest(gather) or (0, {})

    def save(self, checkpoint: Checkpoint, draws: Arrays) -> None:
        """Write the draws since the last save, one per step, and then the checkpoint at their end."""
        self._lock()
        if self._end is None:
            self.latest()
        end, arrays = self._end or _End(), {name: np.asarray(values) for name, values in draws.items()}
        layout = _check(checkpoint.step, arrays, end)
        if not self._tidy:
            self._clean(end.step)
        self._tidy = False  # until all is written: a failed save may leave a segment behind
        new = checkpoint.step > end.step
        segment = self._save_draws(checkpoint.step, arrays, layout, end) if new else end.segment
        header = {"kind": "state", "chain": self.number, "step": checkpoint.step, "last": segment, "run": self.run}
        checksummed_file.write(
            self._state_path(checkpoint.step), header, {"rng": checkpoint.rng, "state": checkpoint.state}
        )
        self._end, self._tidy = _End(checkpoint.step, segment, layout), True
        self._forget(checkpoint.step)

    # --- writing ------------------------------------------------------------------------------------------------------

    def _lock(self) -> None:
        if self._unlock is None:
            self._unlock = weakref.finalize(self, os.close, take(self.directory))

    def _save_draws(self, stop: int, draws: Arrays, layout: _Layout, end: _End) -> _Segment:
        header = {"kind": "draws", "start": end.step, "stop": stop, "previous": end.segment, "layout": layout}
        return _Segment(end.step, stop, checksummed_file.write(self._draws_path(end.step, stop), header, draws))

    def _clean(self, step: int) -> None:
        """Remove everything after the checkpoint at `step`: checkpoints first, so that none loses its draws."""
        states, names = self._listed(), _names(self.directory)
        _remove(self._state_path(at) for at in states if at > step)
        draws = [match for name in names if (match := _DRAWS.fullmatch(name))]
        _remove(self.directory / match[0] for match in draws if int(match[2]) > step)
        _remove(self.directory / name for name in names if name.endswith(".tmp"))
        self._steps = [at for at in states if at <= step]

    def _forget(self, step: int) -> None:
        """Record the new checkpoint, and remove all but the last three."""
        steps = sorted({*self._steps, step})
        self._steps = steps[-MOST_CHECKPOINTS:]
        _remove(self._state_path(old) for old in steps[:-MOST_CHECKPOINTS])

    # --- reading ------------------------------------------------------------------------------------------------------

    def _newest(self, use: Callable[[Path, ChecksummedFile], _T]) -> _T | None:
        """`use` of the newest checkpoint that is not damaged."""
        steps = self._listed()
        for step in steps:
            path = self._state_path(step)
            try:
                return use(path, checksummed_file.read(path))
            except FileNotFoundError:
                if step not in self._listed():  # a run is writing, and has newer ones by now
                    return self._newest(use)
                _refuse(f"{path}: cannot be found")
            except Damaged as damage:
                _refuse(str(damage))
        if steps:
            _refuse(f"{self.directory}: no good checkpoint is left; the chain starts again at its beginning")
        return None

    def _listed(self) -> list[int]:
        matches = (_STATE.fullmatch(name) for name in _names(self.directory))
        return sorted((int(match[1]) for match in matches if match), reverse=True)

    def _checkpoint(self, path: Path, file: ChecksummedFile) -> tuple[Checkpoint, _Segment | None]:
        match file.header, file.content():
            case (
                {"kind": "state", "chain": self.number, "step": int(step), "last": last},
                {"rng": dict(rng), "state": dict(state)},
            ):
                segment = _segment(path, last)
                if path == self._state_path(step) and step == (segment.stop if segment else 0):
                    return Checkpoint(step, rng, state), segment
        raise Damaged(path, "is not a checkpoint of this chain")

    def _behind(self, segment: _Segment | None) -> Iterator[tuple[_Segment, ChecksummedFile]]:
        """The segments up to `segment`, last one first, each exactly the one that the next one continued."""
        while segment is not None:
            path = self._draws_path(segment.start, segment.stop)
            try:
                file = checksummed_file.read(path)
            except FileNotFoundError:
                raise Damaged(path, "is missing") from None
            previous = _segment(path, file.header.get("previous"))
            if file.digest != segment.digest or (previous.stop if previous else 0) != segment.start:
                raise Damaged(path, "is not the segment that was saved here")
            yield segment, file
            segment = previous

    def _state_path(self, step: int) -> Path:
        return self.directory / f"state-{step:012d}.bin"

    def _draws_path(self, start: int, stop: int) -> Path:
        return self.directory / f"draws-{start:012d}-{stop:012d}.bin"


_CHAIN = re.compile(r"chain-(\d{4})")
_STATE = re.compile(r"state-(\d{12,13})\.bin")
_DRAWS = re.compile(r"draws-(\d{12,13})-(\d{12,13})\.bin")
_LEFT_AT_START = re.compile(rf"lock|run\.lock|cluster\.marker\.\w+|{HALF.pattern}")


def _refuse(message: str) -> None:
    warnings.warn(message, DamagedFile, stacklevel=4)  # blames the caller of `latest` or `draws`


def _check(step: int, draws: Arrays, end: _End) -> _Layout:
    """The layout of `draws`, if they continue the chain: one draw per new step, arrays like those before."""
    added = integer("step", step, end.step, MAX_STEPS) - end.step
    for name, values in draws.items():
        if values.shape[:1] != (added,):
            raise BadInput(f"draws {name!r}: shape {values.shape}, but step {step:,} is {added:,} after the last save")
    if added == 0:
        return end.layout
    if not draws:
        raise BadInput(f"draws: none given for {added:,} steps")
    layout = {name: [values.dtype.str, list(values.shape[1:])] for name, values in draws.items()}
    if end.layout not in (None, layout):
        raise BadInput(f"draws: {shorten(layout, 200)}, but the chain so far has {shorten(end.layout, 200)}")
    return layout


def _segment(path: Path, value: Any) -> _Segment | None:
    """The segment that a header names; its steps are checked, so that following segments comes to an end."""
    match value:
        case None:
            return None
        case [int(start), int(stop), str(digest)] if 0 <= start < stop <= MAX_STEPS:
            return _Segment(start, stop, digest)
    raise Damaged(path, "names no segment")


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def _remove(paths: Iterator[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
