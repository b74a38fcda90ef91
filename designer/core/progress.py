"""How long computations report progress, and how a caller cancels them."""

from __future__ import annotations

from collections.abc import Callable

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
