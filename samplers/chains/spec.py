"""`ChainSpec`: everything needed to make the chains of a run, whoever put it together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from designer.rule.design import Design
from samplers.chains.chain import Chain
from samplers.chains.gibbs import BinaryField, GibbsChain
from samplers.chains.gibbs_values import ValuedField, ValueGibbsChain
from samplers.chains.jump_chain import JumpChain
from samplers.chains.protocol import MarkovChain, State
from samplers.chains.slice_chain import Slice, SliceChain
from samplers.models.rj_logistic import RJLogistic
from samplers.proposals import Proposal


class ChainSpec(NamedTuple):
    """The parts of a chain, its start, what it learns in warm-up, and what identifies it.

    A config is one way to make one (`samplers.config.assemble.build`), the arguments of `samplers.run` another.

    Attributes
    ----------
    model
        A `Model`; an `RJLogistic`, whose chains jump between dimensions; or a field for Gibbs sampling.
    proposal
        A `Proposal`, or a `Slice`; None if the model proposes states itself.
    test
        Decides.
    start
        The first state of every chain.
    rule, temperature, fuse
        As for `Chain` and `JumpChain`.
    adaptive, recentre
        Whether a random walk learns its covariance in warm-up, and whether control variates follow the chain.
    design
        That of the test, if it was made from one.
    names
        Of the parameters, if they have any.
    kind, notes
        Name of the model, and further facts for the results.
    digest, entries
        SHA-256 of everything that the draws depend on, and the same by name: a run that differs is not resumed.
    factory
        Makes the chain, if it is one of your own.

    Examples
    --------
    >>> from samplers import ExactTest, Logistic, RandomWalk
    >>> model = Logistic.from_data([[1.0], [2.0], [-1.0]], [1, 0, 1])
    >>> spec = ChainSpec(model, RandomWalk.isotropic(1.0, 1), ExactTest(), np.zeros(1))
    >>> spec.chain(np.random.default_rng(1)).advance(5).theta.shape
    (5, 1)
    """

    model: Any
    proposal: Proposal | Slice | None
    test: Any
    start: State
    rule: Rule = "metropolis"
    temperature: float = 1.0
    fuse: bool = True
    adaptive: bool = False
    recentre: bool = False
    design: Design | None = None
    names: tuple[str, ...] | None = None
    kind: str = ""
    notes: Mapping[str, Any] = {}
    digest: str = ""
    entries: Mapping[str, Any] = {}
    factory: Callable[[np.random.Generator], MarkovChain] | None = None

    def chain(self, rng: np.random.Generator) -> MarkovChain:
        """A chain at its start."""
        if self.factory is not None:
            return self.factory(rng)
        if isinstance(self.model, RJLogistic):
            return JumpChain(self.model, self.test, self.start, rng, self.rule, self.temperature)
        if isinstance(self.proposal, Slice):
            return SliceChain(self.model, self.proposal, self.test, self.start, rng)
        if self.proposal is not None:
            return Chain(self.model, self.proposal, self.test, self.start, rng, self.rule, fuse=self.fuse)
        if isinstance(self.model, ValuedField):
            return ValueGibbsChain(self.model, self.test, self.start, rng)
        if isinstance(self.model, BinaryField):
            return GibbsChain(self.model, self.test, self.start, rng, fuse=self.fuse)
        raise BadInput(f"proposal: missing; a {type(self.model).__name__} does not propose states itself")

    @property
    def data_per_step(self) -> int:
        """Data that a step reads when its decisions are exact."""
        return self.chain(np.random.default_rng(0)).data_per_step
