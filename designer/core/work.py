"""How much one call may do: counted before each computation begins, and refused beyond a limit.

A unit is the smallest piece of work in an inner loop: one normal density, or one datum drawn. A density takes 1 to
8 ns, a datum of a simulation more where N is large.

Public functions are marked with `one_call`: all that a call computes counts together. Those that take `progress` and
`cancelled` are not: each of their computations keeps to the limit by itself, and `cancelled` is asked between them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from designer.core.errors import BadInput
from designer.core.progress import raise_if

MOST_WORK = 2e10  # units of one call: 5,000,000 pairs with skewness need 1.1e10
MOST_AT_ONCE = 5e6  # numbers of one array that an inner loop goes through: they must not fill the memory

Given = ParamSpec("Given")
Found = TypeVar("Found")

_lock = threading.Lock()
_done = 0.0
_call: ContextVar[float | None] = ContextVar("_call", default=None)  # the units of the call under way so far
_stop: ContextVar[Callable[[], bool] | None] = ContextVar("_stop", default=None)


def one_call(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Mark a public function: the computations of one call count together, also those of functions that it calls.

    Examples
    --------
    >>> @one_call
    ... def twice() -> None:
    ...     spend(0.75 * MOST_WORK, "once", "")
    ...     spend(0.75 * MOST_WORK, "twice", "do it once")
    >>> twice()
    Traceback (most recent call last):
    designer.core.errors.BadInput: twice: takes 3e+10 operations, more than the limit of 2e+10; do it once
    """

    @wraps(function)
    def counted(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        if _call.get() is not None:
            return function(*args, **kwargs)
        token = _call.set(0.0)
        try:
            return function(*args, **kwargs)
        finally:
            _call.reset(token)

    return counted


@contextmanager
def stopped_by(cancelled: Callable[[], bool]) -> Iterator[None]:
    """Within the block, raise Cancelled before the next computation once `cancelled` says so; in this thread only.

    Examples
    --------
    >>> with stopped_by(lambda: True):
    ...     spend(1.0, "anything", "")
    Traceback (most recent call last):
    designer.core.progress.Cancelled
    """
    token = _stop.set(cancelled)
    try:
        yield
    finally:
        _stop.reset(token)


def spend(units: float, what: str, advice: str) -> None:
    """Count work that is about to be done; BadInput if it is too much.

    Examples
    --------
    >>> spend(1e20, "repeats = 1e+12", "take fewer")
    Traceback (most recent call last):
    designer.core.errors.BadInput: repeats = 1e+12: takes 1e+20 operations, more than the limit of 2e+10; take fewer
    """
    global _done
    raise_if(_stop.get())
    before = _call.get()
    total = units + (before or 0.0)
    if not total <= MOST_WORK:
        raise BadInput(f"{what}: takes {total:.2g} operations, more than the limit of {MOST_WORK:.0e}; {advice}")
    if before is not None:
        _call.set(total)
    with _lock:
        _done += units


def work_done() -> float:
    """The units counted in this process so far; the difference of two calls is the work between them.

    Examples
    --------
    >>> before = work_done()
    >>> spend(1000.0, "nothing", "")
    >>> work_done() - before
    1000.0
    """
    return _done
