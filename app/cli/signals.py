"""Signals that ask a command to stop: it ends as after Ctrl-C, with what there is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = {signal.SIGTERM: "terminated", signal.SIGHUP: "the terminal is gone"}


class Stopped(KeyboardInterrupt):
    """By a signal other than Ctrl-C's: whoever cleans up after that does so now."""

    def __init__(self, number: int) -> None:
        super().__init__(WORDS[signal.Signals(number)])
        self.code = 128 + number  # as a shell tells it


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """`Stopped` is raised in the block when SIGTERM or SIGHUP comes; not where they are ignored, as under nohup."""
    if threading.current_thread() is not threading.main_thread():  # others cannot be told
        yield
        return
    heard = [number for number in WORDS if signal.getsignal(number) == signal.SIG_DFL]
    for number in heard:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)
