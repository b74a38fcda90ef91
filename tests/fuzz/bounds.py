"""How long a parser may take for one input, and how much memory: more is a failure, whatever it answers."""

from __future__ import annotations

import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KIBIBYTES = 1024 if sys.platform == "darwin" else 1  # in a unit of ru_maxrss
STATUS, HIGH_WATER = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class TooLong(AssertionError):
    """An input took more time than it may."""


class TooMuch(AssertionError):
    """An input took more memory than it may."""


class _Rung(BaseException):
    """Time is over. No Exception: parsers turn those into refusals."""


@contextmanager
def bounded(seconds: float, megabytes: float) -> Iterator[None]:
    """Raise TooLong or TooMuch if the block takes more than that; memory counts beyond what there was before.

    Only in the main thread. A parser that catches the alarm, or is in foreign code when it rings, fails at its end.
    """
    before, begin = _reset_peak(), time.monotonic()
    usual = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # and again, should the first alarm be caught
    try:
        yield
    except _Rung:
        raise TooLong(f"more than {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, usual)
    if time.monotonic() - begin > seconds:
        raise TooLong(f"more than {seconds:g} s")
    if (grown := _peak() - before) > megabytes:
        raise TooMuch(f"{grown:.0f} MB of memory, more than {megabytes:g}")


def limit_address_space(megabytes: float) -> None:
    """Let the process map no more than that beyond what it has: what would fill the machine ends in MemoryError."""
    if STATUS.exists():
        most = int((_status("VmSize") + megabytes) * 2**20)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _ring(_number: int, _frame: object) -> None:
    raise _Rung


def _reset_peak() -> float:
    """Memory in MB from which growth is counted; on Linux the highest mark of the past is forgotten."""
    try:
        HIGH_WATER.write_text("5")
    except OSError:
        return _peak()
    return _status("VmRSS")


def _peak() -> float:
    """The most that the process ever had in memory (on Linux: since the mark was reset), in MB."""
    if STATUS.exists():
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIBIBYTES / 1024


def _status(name: str) -> float:
    """A line of Linux's description of this process, in MB."""
    text = STATUS.read_text(encoding="ascii", errors="replace")
    return int(text.split(f"{name}:")[1].split()[0]) / 1024
