"""What the steps of a chain leave behind: `Draws`; and how a chain is stopped by a number that is not finite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints


class Draws(NamedTuple):
    """What happened in consecutive steps, a row or entry per step.

    Attributes
    ----------
    theta
        The state after each step, (steps, D).
    accepted
        Whether it moved.
    n_used, n_looks
        Data read and looks taken by the test.

    Examples
    --------
    >>> Draws.empty(steps=3, dimension=2).theta.shape
    (3, 2)
    """

    theta: Floats
    accepted: npt.NDArray[np.bool_]
    n_used: Ints
    n_looks: Ints

    @classmethod
    def empty(cls, steps: int, dimension: int) -> Draws:
        """Room for so many steps."""
        whole = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
        return cls(np.empty((steps, dimension)), np.zeros(steps, dtype=np.bool_), *whole)

    @classmethod
    def joined(cls, parts: list[Draws]) -> Draws:
        """One after the other."""
        theta, accepted, n_used, n_looks = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return cls(theta, accepted, n_used, n_looks)

    def first(self, steps: int) -> Draws:
        """The first few."""
        return Draws(self.theta[:steps], self.accepted[:steps], self.n_used[:steps], self.n_looks[:steps])


class ChainStopped(ArithmeticError):
    """A log-likelihood, prior or proposal was not finite, so that no test can decide.

    Parameters
    ----------
    step
        How many steps were made before.
    theta
        The proposal.
    index
        The datum; None for prior or proposal.
    draws
        Those before.

    Examples
    --------
    >>> ChainStopped(7, np.array([1.0, 2.0]), 3, Draws.empty(7, 2))
    ChainStopped('step 7: the log-likelihood of datum 3 is not finite at theta = [1, 2]')
    """

    def __init__(self, step: int, theta: Floats, index: int | None, draws: Draws) -> None:
        what = "prior or proposal" if index is None else f"log-likelihood of datum {index:,}"
        super().__init__(f"step {step:,}: the {what} is not finite at theta = {_short(theta)}")
        self.step, self.theta, self.index, self.draws = step, theta, index, draws

    def after(self, parts: Sequence[Draws]) -> ChainStopped:
        """The same, with the draws of the blocks before it."""
        return ChainStopped(self.step, self.theta, self.index, Draws.joined([*parts, self.draws]))


class Stateful(Protocol):
    """What the steps of a chain change."""

    theta: Floats
    steps: int
    rng: np.random.Generator


@contextmanager
def all_steps_or_none(chain: Stateful) -> Iterator[None]:
    """An error in the block takes the chain back to its begin, as if no step had been made.

    Not so `ChainStopped`, which hands over the draws so far: the chain stands behind the last of them.
    """
    before = chain.theta.copy(), chain.steps, chain.rng.bit_generator.state
    try:
        yield
    except ChainStopped:
        raise
    except BaseException:
        chain.theta, chain.steps, chain.rng.bit_generator.state = before
        raise


def _short(theta: Floats) -> str:
    shown = ", ".join(f"{value:.6g}" for value in theta[:5])
    return f"[{shown}{', …' if theta.size > 5 else ''}]"
