"""What a chain learns in warm-up: the steps of an adaptive walk, and the centre of its control variates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samplers.adapt.random_walk import Adaptation
from samplers.adapt.recentre import Recentring
from samplers.chains.draws import Draws
from samplers.chains.protocol import MarkovChain
from samplers.chains.spec import ChainSpec
from samplers.models.control import Controlled
from samplers.proposals import RandomWalk


class Warmup:
    """Changes a chain after each block of its warm-up and never again; `state` and `restore` are for checkpoints."""

    def __init__(self, spec: ChainSpec) -> None:
        walk, model = spec.proposal, spec.model
        self.adaptation = Adaptation(walk) if spec.adaptive and isinstance(walk, RandomWalk) else None
        self.recentring = Recentring(model) if spec.recentre and isinstance(model, Controlled) else None

    @property
    def learns(self) -> bool:
        """Whether it ever changes a chain; if so, it must be given whole blocks."""
        return self.adaptation is not None or self.recentring is not None

    def learn(self, chain: MarkovChain, part: Draws) -> None:
        """Learn from a block of steps."""
        proposal = None if self.adaptation is None else self.adaptation.learn(part)
        moved = self.recentring is not None and self.recentring.learn(part)
        if proposal is not None or moved:
            self._use(chain, proposal)

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        learners = {"adaptation": self.adaptation, "recentring": self.recentring}
        return {name: learner.state() for name, learner in learners.items() if learner is not None}

    def restore(self, chain: MarkovChain, state: Mapping[str, Any]) -> None:
        """From a checkpoint: the chain continues as it was."""
        if self.adaptation is not None:
            self.adaptation.restore(state["adaptation"])
        if self.recentring is not None:
            self.recentring.restore(state["recentring"])
        if self.learns:
            self._use(chain, None if self.adaptation is None else self.adaptation.proposal())

    def _use(self, chain: MarkovChain, proposal: RandomWalk | None) -> None:
        if self.recentring is None:
            chain.use(proposal or chain.proposal)
        else:
            chain.use(proposal or self.recentring.follow(chain.proposal), self.recentring.model)
