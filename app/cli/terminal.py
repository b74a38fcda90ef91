"""What people and programs see of a command: its output, and its progress while it works."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from designer.core.progress import ShowProgress
    from samplers.chains.parallel import RunProgress


class CommandOutput(NamedTuple):
    """What a command has to say: to programs (`--json`), to people, and as its exit code."""

    data: dict[str, Any]
    lines: list[str]
    code: int = 0


_NOTES = {"heavy": "heavy rows", "table": "table", "field": "field", "uncorrected": "warning"}


def note_lines(notes: Mapping[Any, Any]) -> list[str]:
    """Lines about the rows that every step reads, and about rows left out, if a trial run or results have any."""
    return [f"{what}: {notes[name]}" for name, what in _NOTES.items() if notes.get(name)]


def as_json(value: Any) -> Any:
    """A record as a dict, an array as a list, and None for numbers that JSON does not have."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: as_json(part) for name, part in value._asdict().items()}
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    if isinstance(value, dict):
        return {name: as_json(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def say(text: str, file: IO[str] | None = None) -> None:
    """Print text that the terminal's encoding may lack: Greek letters, or file names that are not text."""
    file = file or sys.stdout
    encoding = getattr(file, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=file)


def say_above(text: str) -> None:
    """Print a line on standard error, above a progress bar if there is one."""
    if sys.stderr is None:
        return
    from tqdm import tqdm

    with tqdm.external_write_mode(file=sys.stderr):
        say(text, sys.stderr)


def shows_progress(options: argparse.Namespace) -> bool:
    """Whether somebody watches: standard error is a terminal, and neither `--quiet` nor `--json` was given."""
    return sys.stderr is not None and sys.stderr.isatty() and not (options.quiet or options.json)


@contextmanager
def progress_bar(options: argparse.Namespace, *, counts: bool = True) -> Iterator[ShowProgress | None]:
    """A progress bar with the time left, or None if nobody watches (`designer.core.progress.progress_line`).

    `options.watcher`, if there is one, is told instead: it belongs to a program that may want to stop the work.
    """
    if (watcher := getattr(options, "watcher", None)) is not None:
        yield watcher
        return
    if not shows_progress(options):
        yield None
        return
    from designer.core.progress import progress_line

    with progress_line(sys.stderr, counts=counts) as show:
        yield show


@contextmanager
def status(what: str, options: argparse.Namespace) -> Iterator[None]:
    """Say what takes a while and has no progress to show."""
    if not shows_progress(options):
        yield
        return
    from designer.core.progress import text_line

    with text_line(sys.stderr, f"{what} …"):
        yield


def chain_progress(show: ShowProgress | None) -> Callable[[RunProgress], None] | None:
    """Show the progress of chains: speed, acceptance rate and data use."""
    if show is None:
        return None

    def report(progress: RunProgress) -> None:
        speed, rates = f"{progress.rate:,.0f} steps/s", (progress.acceptance, progress.usage)
        note = f"{speed}, acceptance {rates[0]:.2f}, data use {rates[1]:.2%}"
        show(progress.done, progress.total, f"{note}, not as predicted" if progress.warning else note)

    return report
