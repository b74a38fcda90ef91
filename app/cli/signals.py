"""Signals that ask a command to stop: it ends as after Ctrl-C, with its progress saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = {signal.SIGTERM: "terminated", signal.SIGHUP: "the terminal was closed"}


class Stopped(KeyboardInterrupt):
    """A signal other than Ctrl-C's asks to stop; code that cleans up after Ctrl-C cleans up after it, too."""

    def __init__(self, number: int) -> None:
        super().__init__(WORDS[signal.Signals(number)])
        self.code = 128 + number  # as a shell reports it


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise `Stopped` in the block on SIGTERM or SIGHUP, unless they are ignored, as under nohup."""
    if threading.current_thread() is not threading.main_thread():  # only that one receives signals
        yield
        return
    handled = [number for number in WORDS if signal.getsignal(number) == signal.SIG_DFL]
    for number in handled:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)
