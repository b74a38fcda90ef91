"""How many threads BLAS uses: the last bits of sums over many rows depend on it.

The mode of a posterior is such a sum, and every draw depends on it. So work that must give the same numbers on any
machine sets the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import scipy.linalg  # noqa: F401  brings its own BLAS, which must be there to be limited
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

_changed = threading.Condition()
_users: list[int] = []  # the number of each block in force: all the same
_limits: list[threadpool_limits] = []  # in force while there are users
_thread = threading.local()


def default_threads() -> int:
    """The number that BLAS uses now."""
    return max((info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"), default=1)


@contextmanager
def blas_threads(count: int | None) -> Iterator[None]:
    """In this block BLAS uses this many threads; None: no change.

    Of nested blocks in one thread, the outermost decides. The number holds for the whole process: a block that needs
    another number than the blocks of other threads waits until those end.

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
            _take_control()
            _limits.append(threadpool_limits(count, user_api="blas"))
        _users.append(count)


def _end(count: int) -> None:
    with _changed:
        _users.remove(count)
        if not _users:
            _take_control()
            _limits.pop().restore_original_limits()
        _changed.notify_all()


def _take_control() -> None:
    """Let this thread set OpenBLAS's limit: threadpoolctl 3.8 lets only the first thread do so and ignores the others.

    Here `_changed` keeps the threads apart, and the one that ends a block need not be the one that began it.
    """
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)
