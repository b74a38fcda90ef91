"""How many threads BLAS uses: sums over many rows come out differently, in the last bits, with another number.

The mode of a posterior is such a sum, and every draw depends on it. So work that is to be the same on any machine says
how many threads it wants.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import scipy.linalg  # noqa: F401  brings its own BLAS, which must be there to be limited
from threadpoolctl import threadpool_info, threadpool_limits

_changed = threading.Condition()
_users: list[int] = []  # the number that each block inside wants: all the same
_limits: list[threadpool_limits] = []  # in force while there are users
_thread = threading.local()


def default_threads() -> int:
    """As many as BLAS uses at the moment."""
    return max((info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"), default=1)


@contextmanager
def blas_threads(count: int | None) -> Iterator[None]:
    """In this block BLAS uses so many threads; None: as many as it does already.

    Of blocks inside each other, in one thread, the outermost decides. The number is one for the whole process: a block
    that wants another one than those of other threads waits for their end.

    Examples
    --------
    >>> with blas_threads(1):
    ...     default_threads()
    1
    """
    if getattr(_thread, "inside", False):
        yield
        return
    _thread.inside = True
    try:
        if count is not None:
            _begin(count)
        try:
            yield
        finally:
            if count is not None:
                _end(count)
    finally:
        _thread.inside = False


def _begin(count: int) -> None:
    with _changed:
        _changed.wait_for(lambda: not _users or _users[0] == count)
        if not _users:
            _limits.append(threadpool_limits(count, user_api="blas"))
        _users.append(count)


def _end(count: int) -> None:
    with _changed:
        _users.remove(count)
        if not _users:
            _limits.pop().restore_original_limits()
        _changed.notify_all()
