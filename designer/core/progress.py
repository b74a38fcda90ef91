"""How long computations report progress, and how a caller cancels them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol

BAR = "{percentage:3.0f}% |{bar}| {remaining} left{postfix}"
START_UP = 0.01  # a first report of less than this share took most of its time to load data and compile
REDRAW = 0.2  # seconds, at least
SMOOTHING = 0.05  # weight of the latest speed in the time left: that of the last few seconds counts

Progress = Callable[[int, int], None]  # called with (done, total)
ShareProgress = Callable[[float, str], None]  # called with the share done, from 0 to 1, and what is being done


def raise_if(cancelled: Callable[[], bool] | None) -> None:
    """Raise `Cancelled` if the caller asks to stop."""
    if cancelled is not None and cancelled():
        raise Cancelled


class Cancelled(Exception):
    """The caller cancelled the computation through the argument `cancelled`.

    Examples
    --------
    >>> from designer import search
    >>> search(None, 0.1, "worst-case", n_data=10_000, cancelled=lambda: True)
    Traceback (most recent call last):
    designer.core.progress.Cancelled
    """


class ShowProgress(Protocol):
    """Draws the progress bar."""

    def __call__(self, done: int, total: int, note: str = "", /) -> None: ...


@contextmanager
def progress_line(
    file: IO[str], *, counts: bool = True, text: str = "starting …", name: str = ""
) -> Iterator[ShowProgress]:
    """A progress bar with the time left; `counts`: also show the numbers done and total; `name`: what is being done.

    Work may have several parts: when `done` falls, a new part begins and the clock starts again. The total may
    shrink, as when chains of a resumed run find their earlier steps.
    """
    layout = f"{name}: {BAR}" if name else BAR
    with text_line(file, text) as bar:

        def show(done: int, total: int, note: str = "") -> None:
            count = f"{done:,}/{total:,}" if counts else ""
            bar.set_postfix_str(", ".join(filter(None, [count, note])), refresh=False)
            starting = bar.bar_format != layout
            bar.bar_format, bar.total = layout, total
            if starting and done < START_UP * total:
                bar.reset()
            elif done < bar.n:
                begin = bar.last_print_t  # what is done of the new part took the time since the last report
                bar.reset()
                bar.start_t = bar.last_print_t = begin
            bar.update(done - bar.n)

        yield show


def text_line(file: IO[str], text: str) -> Any:
    """A line that shows this text, and disappears in the end."""
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
        file=file,
    )
