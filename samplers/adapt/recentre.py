"""Control variates that follow the chain during warm-up and stay fixed after it.

Far from their centre the proxies miss much, and a sequential test needs many data. When a chain has wandered off, or
has begun to read more, they are expanded again at the mean of its latest states. The posterior stays the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.draws import Draws
from samplers.models.control import Controlled
from samplers.proposals import ArrowStep, Proposal, ProxyStep

FAR = 1.0  # root mean square over coordinates of (mean - centre) / sd of the latest states
SLIGHTLY = 0.25  # of FAR: nearer than that there is nothing to gain, however much is read
COSTLY = 1.5  # times the least data read since the last expansion


@dataclass
class Recentring:
    """What a chain has done since the last decision; `state` and `restore` are for checkpoints.

    Every `every` blocks of steps one pass over the data at most. The new expansions are not stored, 24 bytes per datum
    and chain, but computed for the data read.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> from samplers.decide import ExactTest
    >>> from samplers.chains.chain import Chain
    >>> x = np.random.default_rng(1).standard_normal((500, 2))
    >>> model = Controlled.around(Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0), np.zeros(2))
    >>> recentring, proposal = Recentring(model), ProxyStep.of(model, 0.5)
    >>> chain = Chain(model, proposal, ExactTest(), np.zeros(2), np.random.default_rng(2))
    >>> for _ in range(8):
    ...     moved = recentring.learn(chain.advance(256))
    ...     chain.use(recentring.follow(chain.proposal), recentring.model)
    >>> recentring.moves > 0, bool(recentring.model.centre[0] > 1.0)
    (True, True)
    """

    model: Controlled
    every: int = 4
    moves: int = 0
    blocks: int = 0
    count: int = 0
    used: int = 0
    least: float = 0.0  # mean data read in the cheapest window since the last expansion; 0: there was none
    total: Floats = field(init=False)
    squares: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._begin()

    def learn(self, draws: Draws) -> bool:
        """Learn from a block of steps; True if `model` has changed."""
        away = draws.theta - self.model.centre
        self.total += away.sum(axis=0)
        self.squares += (away * away).sum(axis=0)
        self.count, self.used, self.blocks = (
            self.count + away.shape[0],
            self.used + int(draws.n_used.sum()),
            self.blocks + 1,
        )
        if self.blocks < self.every:
            return False
        mean, read = self.total / self.count, self.used / self.count
        moving = self._off_centre(read)
        self.least = 0.0 if moving else min(self.least, read) if self.least else read
        if moving:
            self.model, self.moves = self.model.recentred(self.model.centre + mean, stored=False), self.moves + 1
        self._begin()
        return moving

    def follow(self, proposal: Proposal) -> Proposal:
        """The proposal for the current model: a proxy proposal is made again from its proxies, others stay the same."""
        if isinstance(proposal, (ProxyStep, ArrowStep)) and self.model.order == 2 and self.moves:
            return proposal.made_again(self.model)
        return proposal

    def _off_centre(self, read: float) -> bool:
        mean = self.total / self.count
        variance = self.squares / self.count - mean * mean
        if not np.all(variance > 0.0):  # never moved
            return False
        distance = float(np.sqrt(np.mean(mean * mean / variance)))
        costly = self.least > 0.0 and read > COSTLY * self.least
        return distance > FAR or (costly and distance > SLIGHTLY * FAR)

    def _begin(self) -> None:
        self.blocks = self.count = self.used = 0
        self.total, self.squares = np.zeros(self.model.dimension), np.zeros(self.model.dimension)

    def state(self) -> dict[str, Any]:
        """All of it, for a checkpoint."""
        counts = {"moves": self.moves, "blocks": self.blocks, "count": self.count, "used": self.used}
        return counts | {
            "least": self.least, "total": self.total, "squares": self.squares, "centre": self.model.centre,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """From a checkpoint; expands again at the same centre."""
        self.moves, self.blocks = int(state["moves"]), int(state["blocks"])
        self.count, self.used, self.least = int(state["count"]), int(state["used"]), float(state["least"])
        self.total, self.squares = np.array(state["total"]), np.array(state["squares"])
        if self.moves:
            self.model = self.model.recentred(np.array(state["centre"]), stored=False)
