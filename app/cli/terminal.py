"""What every command shares: its answer, numbers from the command line, a progress bar."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from designer.core.errors import BadInput
from designer.core.files import is_special, shorten

if TYPE_CHECKING:
    from designer.rule.design import Design
    from samplers.chains.parallel import RunProgress
    from samplers.cluster.client import Cluster


DESIGN_FILES = (".toml", ".json")


class Show(Protocol):
    """Draws a progress bar."""

    def __call__(self, done: int, total: int, note: str = "", /) -> None: ...


class Answer(NamedTuple):
    """What a command found: for programs (`--json`), for people, and the exit code."""

    data: dict[str, Any]
    lines: list[str]
    code: int = 0


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options among `names` that were given."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def in_words(problem: Exception) -> str:
    """A problem as it is told: of the file system's, the file and what is wrong with it; notes at the end."""
    told = str(problem)
    if isinstance(problem, MemoryError):
        told = f"not enough memory{told and f': {shorten(told, 200)}'}"
    if isinstance(problem, OSError) and problem.strerror and problem.filename is not None:
        told = f"{problem.filename}: {problem.strerror}"
    return "; ".join([told, *getattr(problem, "__notes__", [])])


def check_target(path: str | None, *suffixes: str) -> None:
    """Refuse a file that could not be written, or has none of these suffixes, before the work and not after."""
    if path is None:
        return
    if suffixes and not path.lower().endswith(suffixes):
        raise BadInput(f"output = {path!r}: must end in {' or '.join(suffixes)}")
    if is_special(path):
        if not os.access(path, os.W_OK):
            raise BadInput(f"{path}: cannot be written")
        return
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise BadInput(f"{path}: there is no directory {folder}")
    if Path(path).is_dir():
        raise BadInput(f"{path}: is a directory")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{path}: cannot be written in {folder}")


def write_design(path: str, design: Design) -> None:
    """Write a design in the format of the file's suffix, as `read_design` reads it."""
    design.save(path)


def read_design(path: str | None) -> Design | None:
    """Read the design in a file. Error messages begin with the file's name."""
    from designer.rule.design import Design

    return None if path is None else Design.load(path)


def integer_argument(text: str) -> int:
    """A whole number, also as 1e6, 1_000_000 or 1,000,000."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        text = text.replace(",", "")
    number = number_argument(text)
    if number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text) if text.lstrip("+-").isdigit() else int(number)


def number_argument(text: str) -> float:
    """A finite number."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number - number != 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def numbers_argument(text: str) -> list[float]:
    """Finite numbers separated by commas."""
    return [number_argument(part) for part in text.split(",")]


@contextmanager
def cluster_at(address: str | None) -> Iterator[Cluster | None]:
    """The cluster whose scheduler is at an address; None if none was given."""
    if address is None:
        yield None
        return
    from samplers.cluster.client import Cluster

    with Cluster(address) as cluster:
        yield cluster


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Show | None]:
    """A progress bar with the time left, on standard error when that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()

    def show(done: int, total: int, note: str = "") -> None:
        left = (time.monotonic() - start) / done * (total - done)
        bar = "#" * (30 * done // total)
        line = f"[{bar:<30}] {done:,}/{total:,}, about {left:.0f} s left  {note}"
        print(f"\r{line:<100}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r" + 110 * " " + "\r", end="", file=sys.stderr, flush=True)


@contextmanager
def doing(what: str, *, quiet: bool) -> Iterator[None]:
    """Say on a terminal what takes a while and has no progress to show."""
    shown = not quiet and sys.stderr.isatty()
    if shown:
        print(f"\r{what} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print("\r" + 110 * " " + "\r", end="", file=sys.stderr, flush=True)


def steps_shown_by(show: Show | None) -> Callable[[RunProgress], None] | None:
    """Show the progress of chains, a few times a second."""
    if show is None:
        return None
    shown = [0.0]

    def tell(progress: RunProgress) -> None:
        if progress.seconds - shown[0] >= 0.2 or progress.done == progress.total:
            shown[0] = progress.seconds
            note = (
                f"{progress.rate:,.0f} steps/s, acceptance {progress.acceptance:.2f}, {progress.usage:.2%} of the data"
            )
            show(progress.done, progress.total, note)

    return tell
