"""What a chain learns in warmup: the steps of an adaptive walk, and where its control variates are centred."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samplers.adapt.random_walk import Adaptation
from samplers.adapt.recentre import Recentring
from samplers.chains.chain import Chain, Draws
from samplers.config.assemble import AnyChain, Parts
from samplers.config.config import SamplerConfig
from samplers.config.schema import LogisticTable
from samplers.models.control import Controlled
from samplers.proposals import RandomWalk


class Warmup:
    """Changes a chain after each block of its warmup, and never again; `state` and `restore` carry it over a stop."""

    def __init__(self, config: SamplerConfig, parts: Parts) -> None:
        walk, model = parts.proposal, parts.model
        adaptive = config.proposal.kind == "adaptive" and isinstance(walk, RandomWalk)
        wanted = isinstance(config.model, LogisticTable) and config.model.recentre
        self.adaptation = Adaptation(walk) if adaptive and isinstance(walk, RandomWalk) else None
        self.recentring = Recentring(model) if wanted and isinstance(model, Controlled) else None

    def learn(self, chain: AnyChain, part: Draws) -> None:
        """Take a block of steps into account."""
        proposal = None if self.adaptation is None else self.adaptation.learn(part)
        moved = self.recentring is not None and self.recentring.learn(part)
        if proposal is not None or moved:
            self._use(chain, proposal)

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        learners = {"adaptation": self.adaptation, "recentring": self.recentring}
        return {name: learner.state() for name, learner in learners.items() if learner is not None}

    def restore(self, chain: AnyChain, state: Mapping[str, Any]) -> None:
        """From a checkpoint: the chain goes on as it was."""
        if self.adaptation is not None:
            self.adaptation.restore(state["adaptation"])
        if self.recentring is not None:
            self.recentring.restore(state["recentring"])
        if self.adaptation is not None or self.recentring is not None:
            self._use(chain, None if self.adaptation is None else self.adaptation.proposal())

    def _use(self, chain: AnyChain, proposal: RandomWalk | None) -> None:
        assert isinstance(chain, Chain)  # reversible jumps learn nothing
        if self.recentring is None:
            chain.use(proposal or chain.proposal)
        else:
            chain.use(proposal or self.recentring.follow(chain.proposal), self.recentring.model)
