"""Work that the parts of an experiment share: done by the first that asks for it, kept for those after it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """The last thing that was made, with its key; nothing is kept of what was cancelled.

    Examples
    --------
    >>> squares = Shared[int]()
    >>> squares.get(3, lambda: 9), squares.get(3, lambda: 0)
    (9, 9)
    """

    def __init__(self) -> None:
        self._kept: tuple[Hashable, T] | None = None

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What belongs to the key; made if it is not what was asked for last."""
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # room for the new one
            self._kept = key, make()
        return self._kept[1]
