"""The one loop that advances chains: in blocks, so that a caller can report, learn, save and stop between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.protocol import MarkovChain

BLOCK = 256  # steps of a block
GROWTH = 8  # of a piece of a block, at most: the first steps may be faster than others
PIECE_SECONDS = 0.25  # about what a piece of a block may take, so that saving and stopping need not wait for long

Advance = Callable[[int], Draws]


def in_blocks(
    chain: MarkovChain,
    goal: int,
    *,
    size: int | None = BLOCK,
    first: int = 0,
    breaks: Sequence[int] = (),
    advance: Advance | None = None,
    stop: Callable[[], object] | None = None,
) -> Iterator[Draws]:
    """Advance a chain until it has made `goal` steps in all, and yield the draws of each block.

    Blocks end at fixed steps of the chain, whatever steps it starts from: so a chain that learns between blocks learns
    at the same steps however often its run was interrupted.

    Parameters
    ----------
    chain
        To advance.
    goal
        Steps of the chain at the end, counting those it has made.
    size, first
        Blocks end at `first` plus multiples of `size`; None: at `breaks` and `goal` only.
    breaks
        Further steps at which a block ends.
    advance
        Makes at most this many steps of the chain and returns their draws; `chain.advance` by default.
    stop
        Called before each block, and before each piece of one if `advance` makes fewer steps; nothing more is made
        once the answer is true.

    Raises
    ------
    ChainStopped
        With the draws of the block in which the chain stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from samplers import Chain, ExactTest, Logistic, RandomWalk
    >>> model = Logistic.from_data([[1.0], [2.0], [-1.0]], [1, 0, 1])
    >>> chain = Chain(model, RandomWalk.isotropic(1.0, 1), ExactTest(), [0.0], np.random.default_rng(1))
    >>> [part.accepted.size for part in in_blocks(chain, 600, breaks=[100])]
    [100, 156, 256, 88]
    """
    make = chain.advance if advance is None else advance
    while chain.steps < goal and not (stop is not None and stop()):
        here = chain.steps
        ends = [goal, *(end for end in breaks if end > here)]
        if size is not None:
            ends.append(first + ((here - first) // size + 1) * size)
        yield make(min(ends) - here)


def advance_to(
    chain: MarkovChain,
    goal: int,
    *,
    size: int | None = BLOCK,
    breaks: Sequence[int] = (),
    advance: Advance | None = None,
    stop: Callable[[], object] | None = None,
) -> Draws:
    """All draws of `in_blocks` together; a `ChainStopped` carries those so far."""
    parts = [Draws.empty(0, chain.theta.size, chain.theta.dtype)]
    try:
        for part in in_blocks(chain, goal, size=size, breaks=breaks, advance=advance, stop=stop):
            parts.append(part)
    except ChainStopped as stopped:
        raise stopped.after(parts) from None
    return Draws.joined(parts)


class Paced:
    """An `advance` that makes few steps at a time if they are slow, as in `in_blocks(chain, 10, advance=Paced(make))`.

    It begins with one step, then makes up to 8 times as many as before. The draws are the same, however many steps are
    made at once. So a block of a slow chain comes in pieces; what learns from blocks needs whole ones.
    """

    def __init__(self, advance: Advance, clock: Callable[[], float] = time.monotonic) -> None:
        self.advance, self.clock, self.most = advance, clock, 1

    def __call__(self, steps: int) -> Draws:
        begin = self.clock()
        draws = self.advance(min(steps, self.most))
        seconds = max(self.clock() - begin, 1e-9)
        self.most = max(1, min(GROWTH * self.most, BLOCK, int(PIECE_SECONDS / seconds * draws.accepted.size)))
        return draws


class Stopwatch:
    """Times the steps of a chain, and nothing else: `in_blocks(chain, goal, advance=Stopwatch(chain))`."""

    def __init__(self, chain: MarkovChain, clock: Callable[[], float] = time.perf_counter) -> None:
        self.chain, self.seconds, self.clock = chain, 0.0, clock
        self.laps: list[float] = []  # seconds of each call

    def __call__(self, steps: int) -> Draws:
        begin = self.clock()
        draws = self.chain.advance(steps)
        self.laps.append(self.clock() - begin)
        self.seconds += self.laps[-1]
        return draws
