"""How a test reads data: growing samples without replacement, and running sums of the lᵢ."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.decide import _moments
from samplers.decide.comparison import BLOCK, Comparison, evaluate
from samplers.decide.subsample import Subsampler

MOST_KEPT = 4  # permutations per thread; a chain needs one for each number of data it compares


class RunningSums(NamedTuple):
    """Sums of lᵢ - shift and of its square over what has been read; the shift is the first lᵢ."""

    shift: float = math.nan
    total: float = 0.0
    squares: float = 0.0

    def add(self, blocks: Iterable[Floats]) -> RunningSums:
        """The sums with these lᵢ added."""
        shift, sums = self.shift, (self.total, self.squares)
        for values in blocks:
            shift = float(values[0]) if math.isnan(shift) else shift
            sums = _moments.add_shifted(values, shift, *sums)
        return RunningSums(shift, *sums)


class _Kept(threading.local):
    """Subsamplers that are not in use, by number of data."""

    def __init__(self) -> None:
        self.free: dict[int, Subsampler] = {}


_kept = _Kept()


@contextmanager
def reading(rng: np.random.Generator, comparison: Comparison) -> Iterator[Callable[[int], Iterator[Floats]]]:
    """read(n) -> the new lᵢ as the sample grows to n data, a block at a time.

    The sample is put back at the end, so what is read depends on the generator alone; after an error, possibly in the
    middle of a draw, it is discarded. The permutation belongs to the thread and not to a test: tests stay immutable and
    may be shared, and a thousand of them use one permutation.

    Examples
    --------
    >>> with reading(np.random.default_rng(1), Comparison(5, np.arange(5.0).take)) as read:
    ...     values = np.concatenate([*read(2), *read(5)])
    >>> sorted(values.tolist())
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    # removed while in use: `terms` may itself use a test of the same size
    sample = _kept.free.pop(comparison.n, None) or Subsampler(comparison.n)
    yield lambda size: (evaluate(comparison, block) for block in sample.chunks(rng, size, BLOCK))
    sample.reset()
    _kept.free[comparison.n] = sample
    if len(_kept.free) > MOST_KEPT:
        del _kept.free[next(iter(_kept.free))]
