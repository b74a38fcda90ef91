"""What people and programs see of a command: its output, and its progress while it works."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from samplers.chains.chain import Progress

BAR = "{percentage:3.0f}% |{bar}| {remaining} left{postfix}"


class CommandOutput(NamedTuple):
    """What a command has to say: to programs (`--json`), to people, and as its exit code."""

    data: dict[str, Any]
    lines: list[str]
    code: int = 0


class ShowProgress(Protocol):
    """Draws the progress bar."""

    def __call__(self, done: int, total: int, note: str = "", /) -> None: ...


def say(text: str, file: IO[str] | None = None) -> None:
    """Print text that the terminal's encoding may lack: Greek letters, or file names that are not text."""
    file = file or sys.stdout
    encoding = getattr(file, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=file)


def shows_progress(options: argparse.Namespace) -> bool:
    """Whether somebody watches: standard error is a terminal, and neither `--quiet` nor `--json` was given."""
    return sys.stderr.isatty() and not (options.quiet or options.json)


@contextmanager
def progress_bar(options: argparse.Namespace, *, counts: bool = True) -> Iterator[ShowProgress | None]:
    """A progress bar with the time left, or None if nobody watches; with `counts`, it tells done and total.

    Work may have several parts, each with its own bar: when `done` falls, the clock starts again. The total may
    shrink, as it does when chains of a resumed run find their earlier steps.
    """
    if not shows_progress(options):
        yield None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread that redraws: chains report several times a second
    with tqdm(total=0, bar_format=BAR, leave=False, dynamic_ncols=True, smoothing=0.1, file=sys.stderr) as bar:

        def show(done: int, total: int, note: str = "") -> None:
            if done < bar.n:
                bar.reset()
            bar.total = total
            count = [f"{done:,}/{total:,}"] if counts else []
            bar.set_postfix_str(", ".join([*count, note]) if note else "".join(count), refresh=False)
            bar.update(done - bar.n)

        yield show


@contextmanager
def status(what: str, options: argparse.Namespace) -> Iterator[None]:
    """Say what takes a while and has no progress to show."""
    if not shows_progress(options):
        yield
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0
    with tqdm(desc=f"{what} …", bar_format="{desc}", leave=False, dynamic_ncols=True, file=sys.stderr):
        yield


def chain_progress(show: ShowProgress | None) -> Callable[[Progress], None] | None:
    """Show the progress of chains: speed, acceptance rate and data use."""
    if show is None:
        return None

    def report(progress: Progress) -> None:
        speed, rates = f"{progress.rate:,.0f} steps/s", (progress.acceptance, progress.usage)
        show(progress.done, progress.total, f"{speed}, acceptance {rates[0]:.2f}, data use {rates[1]:.2%}")

    return report
