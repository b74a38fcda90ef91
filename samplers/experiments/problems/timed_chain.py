"""Timed chains: running means of functions of the state against steps, seconds and likelihood evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from samplers.chains.driver import Stopwatch, in_blocks
from samplers.chains.protocol import MarkovChain
from samplers.experiments.framework.running import Work
from samplers.study.risk import BLOCKS


class Timed(NamedTuple):
    """A chain at some of its steps: the running mean of every function, seconds and likelihood evaluations so far.

    `usage` is the mean data use of a step, `kept` has some thinned draws, `blocks` the means of the functions over
    consecutive blocks of the chain, and `sd` their standard deviations. A datum that is read costs `per_datum`
    evaluations.
    """

    at: Ints
    means: Floats
    seconds: Floats
    evaluations: Floats
    usage: float
    acceptance: float
    kept: Floats
    blocks: Floats
    sd: Floats
    per_datum: float


def timed_chain(
    make: Callable[[np.random.Generator], MarkovChain],
    rng: np.random.Generator,
    steps: int,
    functions: Callable[[Floats], Floats],
    work: Work,
    *,
    points: int = 40,
    thin: int = 10,
    keep: int = 2000,
    block: int = 1000,
) -> Timed:
    """Advance a chain and time its steps; `functions` maps every thin-th draw (k x D) to values (k x Q).

    An exact chain caches the log-likelihoods of its state and evaluates each datum once per step; a test on a subsample
    evaluates both states at each datum it reads, and so does a reversible jump. Seconds are those of the processor,
    which other work on the machine does not change much. A first chain, which is discarded, compiles all code before
    time is measured.
    """
    make(np.random.default_rng(0)).advance(2)
    chain = make(rng)
    at = np.unique(np.geomspace(min(steps, max(thin, 20)), steps, points).astype(np.int64))
    ends = np.unique(np.linspace(0, steps, BLOCKS + 1).astype(np.int64))[1:]
    watch, per_datum = Stopwatch(chain, time.process_time), chain.evaluations_per_datum
    means, seconds, evaluations, blocks, thinned = [], [], [], [], []
    total, squares, count, before = 0.0, 0.0, 0, (0.0, 0)
    done, read, moved = 0, 0.0, 0

    def progress() -> None:
        work.step(chain.steps / steps)

    for end in np.union1d(at, ends).tolist():
        for part in in_blocks(chain, end, size=block, first=done, advance=watch, stop=progress):
            chosen = part.theta[(-done) % thin :: thin]
            if chosen.shape[0]:
                values = functions(chosen)
                total, squares = total + values.sum(axis=0), squares + (values * values).sum(axis=0)
                count += chosen.shape[0]
                thinned.append(chosen)
            done += part.accepted.size
            read += float(part.n_used.sum())
            moved += int(part.accepted.sum())
        if end in at:
            means.append(total / max(count, 1))
            seconds.append(watch.seconds)
            evaluations.append(per_datum * read)
        if end in ends and count > before[1]:
            blocks.append((total - before[0]) / (count - before[1]))
            before = total, count
    draws = np.concatenate(thinned)
    chosen = draws[np.linspace(0, draws.shape[0] - 1, min(keep, draws.shape[0])).astype(np.int64)]
    sd = np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0.0))
    usage = read / done / chain.model.n_data
    curves = np.array(means), np.array(seconds), np.array(evaluations)
    return Timed(at, *curves, usage, moved / done, chosen, np.array(blocks), sd, per_datum)
