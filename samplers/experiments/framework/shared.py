"""Work that the parts of an experiment share: the first part does it, the others reuse it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Keeps the last object that was made, with its key; a cancelled one is not kept.

    Examples
    --------
    >>> squares = Shared[int]()
    >>> squares.get(3, lambda: 9), squares.get(3, lambda: 0)
    (9, 9)
    """

    def __init__(self) -> None:
        self._last: tuple[Hashable, T] | None = None

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The object for this key; it is made unless it is the last one."""
        if self._last is None or self._last[0] != key:
            self._last = None  # frees memory for the new one
            self._last = key, make()
        return self._last[1]
