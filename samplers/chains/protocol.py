"""The chain protocol: what runs, checkpoints, trial runs and adaptation ask of a chain, and nothing else.

`Chain`, `JumpChain`, `SliceChain` and `GibbsChain` follow it, and so can anybody's own chain: derive it from
`SteppedChain`, which needs one method, `step`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from designer.engine.step_error import Rule
from samplers.chains.draws import Draws
from samplers.decide.comparison import Comparison, Decision

State = npt.NDArray[Any]  # numbers of one type: floats, or the small integers of a Gibbs chain


class MarkovChain(Protocol):
    """A chain: its parts, its state, its random numbers, and how it advances.

    Examples
    --------
    >>> from samplers import Chain, ExactTest, Logistic, RandomWalk
    >>> model = Logistic.from_data([[1.0], [2.0], [-1.0]], [1, 0, 1])
    >>> chain: MarkovChain = Chain(model, RandomWalk.isotropic(1.0, 1), ExactTest(), [0.0], np.random.default_rng(1))
    >>> chain.advance(5).theta.shape, chain.steps
    ((5, 1), 5)
    """

    rng: np.random.Generator
    theta: State
    steps: int

    @property
    def model(self) -> Any:
        """What the data say."""

    @property
    def proposal(self) -> Any:
        """Draws proposed states; None if the model does it itself."""

    @property
    def test(self) -> Any:
        """Decides."""

    @property
    def rule(self) -> Rule:
        """Metropolis or Barker."""

    @property
    def n_data(self) -> int:
        """Number of data N that a decision can read."""

    @property
    def n_always(self) -> int:
        """Rows that every step reads besides what its test samples; they are no part of n_data, but of n_used."""

    @property
    def data_per_step(self) -> int:
        """Data that a step reads when its decisions are exact, as a rule: data use is relative to that."""

    @property
    def evaluations_per_datum(self) -> float:
        """Likelihood evaluations for each datum that a test reads: 2, or 1 if those of the state are stored."""

    def advance(self, steps: int) -> Draws:
        """Make this many steps, as fast as the chain can.

        `ChainStopped` leaves the chain after the last good step; any other error takes it back to the first.
        """

    def advance_by_steps(self, steps: int) -> Draws:
        """The same steps through `step`, one at a time."""

    def step(self, rng: np.random.Generator, theta: State) -> tuple[State, Decision]:
        """One step from θ: the new state and the test's decision; the model's `refresh`, if it has one, comes last."""

    def propose(self, rng: np.random.Generator, theta: State) -> tuple[State, Comparison]:
        """What a step from θ proposes, and the question that it asks the test.

        BadInput if a step of this chain is not one decision about one proposed state.
        """

    def probes(self, rng: np.random.Generator) -> Iterator[Comparison]:
        """A few comparisons typical of the model, always the same for the same random numbers."""

    def use_test(self, test: Any) -> None:
        """Go on with another test for the same number of data."""

    def use(self, proposal: Any, model: Any = None) -> None:
        """Go on with another proposal, and with another model that has the same posterior."""

    def forget(self) -> None:
        """Drop everything that earlier steps left in memory, except the state."""

    def state(self) -> dict[str, Any]:
        """All that the next step depends on, besides the parts: for a checkpoint."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a `state`."""
