"""What the steps of a chain leave behind, `Draws`, and the error of a chain that cannot go on, `ChainStopped`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints

MAX_DRAWS = 10**9  # of one chain


class Draws(NamedTuple):
    """What happened in consecutive steps, one row or entry per step.

    Attributes
    ----------
    theta
        The state after each step, (steps, D).
    accepted
        Whether the chain moved.
    n_used, n_looks
        Data read, with the rows that every step reads, and looks taken by the test.

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
    def empty(cls, steps: int, dimension: int, dtype: npt.DTypeLike = np.float64) -> Draws:
        """Room for this many steps."""
        counts = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
        return cls(np.empty((steps, dimension), dtype=dtype), np.zeros(steps, dtype=np.bool_), *counts)

    @classmethod
    def joined(cls, parts: Sequence[Draws]) -> Draws:
        """One block of draws after the other."""
        theta, accepted, n_used, n_looks = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return cls(theta, accepted, n_used, n_looks)

    def first(self, steps: int) -> Draws:
        """The first few."""
        return Draws(self.theta[:steps], self.accepted[:steps], self.n_used[:steps], self.n_looks[:steps])


class ChainStopped(ArithmeticError):
    """A log-likelihood, prior or proposal was not finite, or a term exceeded its bound, so no test can decide.

    Parameters
    ----------
    step
        How many steps the chain had made.
    theta
        The proposed state.
    index
        The datum; None if the prior or the proposal is not finite.
    draws
        The draws before that step.
    what
        Says what is wrong, where "the log-likelihood of datum ... is not finite" does not fit.

    Examples
    --------
    >>> ChainStopped(7, np.array([1.0, 2.0]), 3, Draws.empty(7, 2))
    ChainStopped('step 7: the log-likelihood of datum 3 is not finite at θ = [1, 2]')
    """

    def __init__(
        self, step: int, theta: npt.NDArray[Any], index: int | None, draws: Draws, what: str | None = None
    ) -> None:
        name = "prior or proposal" if index is None else f"log-likelihood of datum {index:,}"
        super().__init__(f"step {step:,}: {what or f'the {name} is not finite'} at θ = {_short(theta)}")
        self.step, self.theta, self.index, self.draws, self.what = step, theta, index, draws, what

    @classmethod
    def at(cls, theta: npt.NDArray[Any], index: int | None, what: str | None = None) -> ChainStopped:
        """Raised by one step; the chain adds its number and the draws before it."""
        return cls(0, theta, index, Draws.empty(0, theta.size, theta.dtype), what)

    def after_steps(self, step: int, draws: Draws) -> ChainStopped:
        """The same error, with the number of the step and the draws before it."""
        return ChainStopped(step, self.theta, self.index, draws, self.what)

    def after(self, parts: Sequence[Draws]) -> ChainStopped:
        """The same error, with the draws of the blocks before it."""
        return self.after_steps(self.step, Draws.joined([*parts, self.draws]))


def _short(theta: npt.NDArray[Any]) -> str:
    shown = ", ".join(f"{value:.6g}" for value in theta[:5])
    return f"[{shown}{', …' if theta.size > 5 else ''}]"
