"""Random indices without replacement, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from designer.core.arrays import Ints
from samplers.decide import _permutation


class Subsampler:
    """Draws growing samples without replacement from n data, at a cost that depends on the sample, not on n.

    `reset` forgets the sample, so that the next one depends on the random numbers alone: a resumed chain, a chain on
    another machine and a compiled chain draw the same data. Beyond 2²² data only the drawn items are held, so that
    memory does not depend on n either.

    Examples
    --------
    >>> sample, rng = Subsampler(10), np.random.default_rng(1)
    >>> first = sample.extend(rng, 4).tolist()
    >>> rest = sample.extend(rng, 10).tolist()
    >>> sorted(first + rest)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    def __init__(self, n: int) -> None:
        self.n, self.size = n, 0
        self._permutation = _permutation.fresh(n)

    def extend(self, rng: np.random.Generator, size: int) -> Ints:
        """Grow the sample to `size` data; return the new indices."""
        parts = [np.empty(0, dtype=np.int64), *self.chunks(rng, size)]
        return np.concatenate(parts)

    def chunks(self, rng: np.random.Generator, size: int, most: int = _permutation.CHUNK) -> Iterator[Ints]:
        """The same, a few indices at a time: a sample of all the data need not fit into memory."""
        goal = max(self.size, min(size, self.n))
        while self.size < goal:
            parts, stop = [], min(self.size + most, goal)
            while self.size < stop:
                end = min(self.size + _permutation.CHUNK, stop)
                self._permutation, new = _permutation.extend(rng, self._permutation, self.size, end, goal)
                parts.append(new.copy())
                self.size = end
            yield parts[0] if len(parts) == 1 else np.concatenate(parts)

    def reset(self) -> None:
        """Start a new sample."""
        self._permutation = _permutation.reset(self._permutation, self.size)
        self.size = 0
