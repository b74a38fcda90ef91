"""Indices without replacement, a batch at a time."""

from __future__ import annotations

import numpy as np

from designer.schedule import Ints
from samplers import _kernels


class Subsampler:
    """Draws growing samples without replacement from n data, at a cost of the data drawn, not of n.

    One permutation persists; `reset` puts back the places that were touched, so that every sample depends on the random
    numbers alone. A chain that resumes, a chain on another machine and the fused kernels draw the same data.

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
        self._order, self._picks = _kernels.fresh_order(n)

    def extend(self, rng: np.random.Generator, size: int) -> Ints:
        """Grow the sample to `size` data; returns the indices that are new."""
        start, self.size = self.size, max(self.size, min(size, self.n))
        _kernels.draw(rng, self._order, self._picks, start, self.size)
        return self._order[start : self.size].copy()

    def reset(self) -> None:
        """Begin a new sample."""
        _kernels.put_back(self._order, self._picks, self.size)
        self.size = 0
