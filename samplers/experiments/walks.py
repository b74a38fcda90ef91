"""Chains that are timed: running means of some functions of the state, against steps, seconds and evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer.schedule import Floats, Ints
from samplers.accept.exact import ExactTest
from samplers.chain import Chain
from samplers.experiments.running import Work
from samplers.jump_chain import JumpChain


class Timed(NamedTuple):
    """A chain at some of its steps: the running mean of every function, seconds and likelihood evaluations so far.

    `usage` is the mean fraction of the data read per step, `kept` some thinned draws.
    """

    at: Ints
    means: Floats
    seconds: Floats
    evaluations: Floats
    usage: float
    acceptance: float
    kept: Floats


def timed_chain(
    chain: Chain | JumpChain,
    steps: int,
    functions: Callable[[Floats], Floats],
    work: Work,
    *,
    points: int = 40,
    thin: int = 10,
    keep: int = 2000,
    block: int = 1000,
) -> Timed:
    """Advance a chain, timing its steps alone; `functions` maps draws (k x D) to values (k x Q), every thin-th draw.

    An exact chain keeps the log-likelihoods of its state and evaluates each datum once per step; a test on a subsample
    evaluates both states at each datum it reads, and so does a reversible jump.
    """
    at = np.unique(np.geomspace(min(steps, max(thin, 20)), steps, points).astype(np.int64))
    cached = isinstance(chain, Chain) and isinstance(chain.test, ExactTest)
    per_datum = 1.0 if cached else 2.0
    means, seconds, evaluations, kept = [], [], [], []
    total, count, spent, read, moved, used_all = 0.0, 0, 0.0, 0.0, 0, 0.0
    done = 0
    for end in at.tolist():
        while done < end:
            work.step(done / steps)
            begin = time.perf_counter()
            part = chain.advance(min(block, end - done))
            spent += time.perf_counter() - begin
            chosen = part.theta[(-done) % thin :: thin]
            if chosen.shape[0]:
                total = total + functions(chosen).sum(axis=0)
                count += chosen.shape[0]
                kept.append(chosen)
            done += part.accepted.size
            read += per_datum * float(part.n_used.sum())
            used_all += float(part.n_used.sum())
            moved += int(part.accepted.sum())
        means.append(total / max(count, 1))
        seconds.append(spent)
        evaluations.append(read)
    draws = np.concatenate(kept)
    chosen = draws[np.linspace(0, draws.shape[0] - 1, min(keep, draws.shape[0])).astype(np.int64)]
    usage = used_all / done / chain.model.n_data
    return Timed(at, np.array(means), np.array(seconds), np.array(evaluations), usage, moved / done, chosen)
