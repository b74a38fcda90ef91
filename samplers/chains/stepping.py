"""What all chains share: the loop over steps, errors on the way, checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.protocol import MarkovChain, State
from samplers.decide.comparison import BrokenBound, Comparison, Decision, NonFiniteTerm
from samplers.decide.sequential import check_designed_for


class SteppedChain:
    """A chain that makes one `step` after another: it follows the chain protocol, `MarkovChain`.

    A chain of one's own sets these attributes and defines `step`. It also defines `propose`, if a step is one decision
    about one proposed state (trial runs need that), and `probes`, if it is to be saved and resumed by `run_chains`.

    Examples
    --------
    >>> class Coin(SteppedChain):
    ...     def __init__(self, rng):
    ...         self.rng, self.theta = rng, np.zeros(1)
    ...     def step(self, rng, theta):
    ...         accept = rng.random() < 0.5
    ...         return (theta + 1.0 if accept else theta), Decision(accept, 0, 0)
    >>> chain = Coin(np.random.default_rng(1))
    >>> chain.advance(100).accepted.sum() == chain.theta[0]
    np.True_
    """

    model: Any = None
    proposal: Any = None
    test: Any = None
    rule: Rule = "metropolis"
    rng: np.random.Generator
    theta: State
    steps: int = 0

    @property
    def n_data(self) -> int:
        """Number of data N."""
        if self.model is None:
            raise BadInput(f"{type(self).__name__}: must have a model or define n_data")
        return int(self.model.n_data)

    @property
    def n_always(self) -> int:
        """Heavy rows of the model, if it has any."""
        return int(getattr(self.model, "n_heavy", 0))

    @property
    def data_per_step(self) -> int:
        """One decision on all data."""
        return self.n_data + self.n_always

    @property
    def evaluations_per_datum(self) -> float:
        """Both states are evaluated at each datum that a test reads."""
        return 2.0

    def step(self, rng: np.random.Generator, theta: State) -> tuple[State, Decision]:
        """One step from θ: the new state and the test's decision."""
        raise NotImplementedError

    def propose(self, rng: np.random.Generator, theta: State) -> tuple[State, Comparison]:
        """Refused, unless a chain defines it."""
        raise BadInput(f"a step of {type(self).__name__} is not one decision about one pair; use another chain")

    def probes(self, rng: np.random.Generator) -> Iterator[Comparison]:
        """Refused, unless a chain defines it."""
        raise BadInput(f"{type(self).__name__} has no probes, so a saved run could not tell its model from another")

    def use_test(self, test: Any) -> None:
        """Go on with another test for the same number of data."""
        check_designed_for(test, self.n_data, n_heavy=self.n_always)
        self.test = test
        self.forget()

    def use(self, proposal: Any, model: Any = None) -> None:
        """Refused, unless a chain defines it."""
        raise BadInput(f"{type(self).__name__}: its proposal cannot change during a run")

    def forget(self) -> None:
        """Nothing is stored between steps."""

    def state(self) -> dict[str, Any]:
        """Steps made, random numbers and θ."""
        return {"steps": self.steps, "rng": self.rng.bit_generator.state, "theta": self.theta.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a `state`."""
        self.steps, self.theta = int(state["steps"]), np.array(state["theta"])
        self.rng.bit_generator.state = dict(state["rng"])
        self.forget()

    def advance(self, steps: int) -> Draws:
        """Make this many steps.

        `ChainStopped` leaves the chain after the last good step; any other error takes it back to the first.
        """
        with all_steps_or_none(self):
            return self.advance_by_steps(steps)

    def advance_by_steps(self, steps: int) -> Draws:
        """Make this many steps, one at a time; if stopped, the chain is left after the last good one."""
        draws = Draws.empty(steps, self.theta.size, self.theta.dtype)
        for s in range(steps):
            before = self.rng.bit_generator.state
            try:
                self.theta, decision = self.step(self.rng, self.theta)
            except ChainStopped as stop:
                self.rng.bit_generator.state = before
                raise stop.after_steps(self.steps, draws.first(s)) from None
            draws.theta[s] = self.theta
            draws.accepted[s], draws.n_used[s], draws.n_looks[s] = decision
            self.steps += 1
        return draws


@contextmanager
def all_steps_or_none(chain: MarkovChain) -> Iterator[None]:
    """An error in the block takes the chain back to the beginning of the block, as if it had made no step.

    Except `ChainStopped`, which carries the draws so far: the chain stays after the last of them.
    """
    before = chain.theta.copy(), chain.steps, chain.rng.bit_generator.state
    try:
        yield
    except ChainStopped:
        chain.forget()
        raise
    except BaseException:
        chain.theta, chain.steps, chain.rng.bit_generator.state = before
        chain.forget()
        raise


def decide(
    rng: np.random.Generator,
    test: Any,
    comparison: Comparison,
    theta: State,
    level: float | None = None,
    row_number: Callable[[int], int] | None = None,
) -> Decision:
    """The test's decision about a move to θ, at a given threshold if there is one.

    A number that is not finite, or a term beyond its bound, raises `ChainStopped`; `row_number` says which row of the
    data a datum of the comparison is, if their numbers differ.
    """
    row = (lambda index: index) if row_number is None else row_number
    if math.isnan(comparison.log_ratio):
        raise ChainStopped.at(theta, None)
    try:
        decision: Decision = test.decide(rng, comparison) if level is None else test.decide_at(rng, comparison, level)
    except NonFiniteTerm as bad:
        raise ChainStopped.at(theta, row(bad.index)) from None
    except BrokenBound as broken:
        index = row(broken.index)
        what = f"the term of datum {index:,}, {broken.value:.6g}, exceeds the model's bound {broken.bound:.6g}"
        raise ChainStopped.at(theta, index, what) from None
    return decision


def check_takes_threshold(test: object, update: str) -> None:
    """Refuse a test that draws its own threshold; `update` names what needs one."""
    if not hasattr(test, "decide_at"):
        raise BadInput(f"test: {update} needs the exact or the sequential test: others draw their own threshold")
