"""What people and programs see of a command: its output, and its progress while it works."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from samplers.chains.parallel import RunProgress

BAR = "{percentage:3.0f}% |{bar}| {remaining} left{postfix}"
START_UP = 0.01  # a first report of less than this share took most of its time to load data and compile
REDRAW = 0.2  # seconds, at least
SMOOTHING = 0.05  # weight of the latest speed in the time left: that of the last few seconds counts


class CommandOutput(NamedTuple):
    """What a command has to say: to programs (`--json`), to people, and as its exit code."""

    data: dict[str, Any]
    lines: list[str]
    code: int = 0


class ShowProgress(Protocol):
    """Draws the progress bar."""

    def __call__(self, done: int, total: int, note: str = "", /) -> None: ...


def heavy_lines(notes: Mapping[Any, Any]) -> list[str]:
    """A line about the rows that every step reads, if a trial run or results have any."""
    return [f"heavy rows: {notes['heavy']}"] if notes.get("heavy") else []


def as_json(value: Any) -> Any:
    """A record as a dict, an array as a list, and None for numbers that JSON does not have."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: as_json(part) for name, part in value._asdict().items()}
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
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
    """A progress bar with the time left, or None if nobody watches; `counts`: also show the numbers done and total.

    Work may have several parts: when `done` falls, a new part begins and the clock starts again. The total may
    shrink, as when chains of a resumed run find their earlier steps.
    """
    if not shows_progress(options):
        yield None
        return
    with _tqdm("starting …") as bar:

        def show(done: int, total: int, note: str = "") -> None:
            count = f"{done:,}/{total:,}" if counts else ""
            bar.set_postfix_str(", ".join(filter(None, [count, note])), refresh=False)
            starting = bar.bar_format != BAR
            bar.bar_format, bar.total = BAR, total
            if starting and done < START_UP * total:
                bar.reset()
            elif done < bar.n:
                begin = bar.last_print_t  # what is done of the new part took the time since the last report
                bar.reset()
                bar.start_t = bar.last_print_t = begin
            bar.update(done - bar.n)

        yield show


@contextmanager
def status(what: str, options: argparse.Namespace) -> Iterator[None]:
    """Say what takes a while and has no progress to show."""
    if not shows_progress(options):
        yield
        return
    with _tqdm(f"{what} …"):
        yield


def _tqdm(text: str) -> Any:
    """A line on standard error that shows this text, and disappears in the end."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread to redraw a bar that waits: chains run in threads and processes of their own
    return tqdm(
        desc=text,
        bar_format="{desc}",
        leave=False,
        dynamic_ncols=True,
        mininterval=REDRAW,
        miniters=1,  # or a slow part after a fast one would not be drawn
        smoothing=SMOOTHING,
        file=sys.stderr,
    )


def chain_progress(show: ShowProgress | None) -> Callable[[RunProgress], None] | None:
    """Show the progress of chains: speed, acceptance rate and data use."""
    if show is None:
        return None

    def report(progress: RunProgress) -> None:
        speed, rates = f"{progress.rate:,.0f} steps/s", (progress.acceptance, progress.usage)
        note = f"{speed}, acceptance {rates[0]:.2f}, data use {rates[1]:.2%}"
        show(progress.done, progress.total, f"{note}, not as predicted" if progress.warning else note)

    return report
