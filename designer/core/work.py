"""How much one computation may do: counted before it begins, and refused beyond a limit.

A unit is the smallest piece of work in an inner loop: one normal density, or one datum drawn. It takes 1 to 10 ns.
Functions that take `progress` and `cancelled` keep to the limit between two calls of `cancelled`.
"""

from __future__ import annotations

import threading

from designer.core.errors import BadInput

MOST_WORK = 1e10  # units of one computation: some ten seconds
MOST_AT_ONCE = 3e6  # numbers of one array that an inner loop goes through: they must not fill the memory

_lock = threading.Lock()
_done = 0.0


def spend(units: float, what: str, advice: str) -> None:
    """Count work that is about to be done; BadInput if it is too much.

    Examples
    --------
    >>> spend(1e20, "repeats = 1e+12", "take fewer")
    Traceback (most recent call last):
    designer.core.errors.BadInput: repeats = 1e+12: takes 1e+20 operations, more than the limit of 1e+10; take fewer
    """
    global _done
    if not units <= MOST_WORK:
        raise BadInput(f"{what}: takes {units:.0e} operations, more than the limit of {MOST_WORK:.0e}; {advice}")
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
