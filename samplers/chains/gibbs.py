"""Gibbs sampling of binary variables, each conditional decided by an acceptance test (K14 supplement F).

X_i becomes 1 when logit u < log-odds, a sum of many terms: the question of a Barker step, so every test applies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Ints
from designer.core.errors import integer
from designer.engine.step_error import Rule
from samplers.chains.draws import MAX_DRAWS, Draws
from samplers.chains.driver import in_blocks
from samplers.chains.gibbs_updates import (
    BinaryField,
    Failed,
    GibbsStopped,
    Updates,
    checked_bits,
    fill,
    is_compiled,
    room,
    updates,
)
from samplers.chains.stepping import SteppedChain, all_steps_or_none
from samplers.decide.comparison import AcceptTest, Comparison, Decision
from samplers.models.mrf import Bits

__all__ = [
    "BinaryField",
    "Conditional",
    "GibbsChain",
    "GibbsDraws",
    "GibbsStopped",
    "Sweep",
    "Updates",
    "conditional",
    "run",
    "sweep",
    "updates",
]

MAX_THIN = 10**4
PROBES = 4  # variables whose conditionals tell a field from another
BLOCK = 4096  # updates of one compiled call, or those of one draw if they are more


class Sweep(NamedTuple):
    """What one sweep did.

    Attributes
    ----------
    x
        The state after it.
    n_used, n_looks
        Terms read and looks taken in it.

    Examples
    --------
    >>> from samplers import DenseMRF, ExactTest
    >>> rng = np.random.default_rng(1)
    >>> sweep(rng, DenseMRF.random(rng, dimension=20), ExactTest(), np.zeros(20)).n_looks
    20
    """

    x: Bits
    n_used: int
    n_looks: int


class GibbsDraws(NamedTuple):
    """A chain of sweeps.

    Attributes
    ----------
    x
        The state after every thin-th sweep.
    n_used, n_looks
        Terms read and looks taken since the one before.

    Examples
    --------
    >>> from samplers import DenseMRF, ExactTest
    >>> rng = np.random.default_rng(1)
    >>> mrf = DenseMRF.random(rng, dimension=20)
    >>> run(rng, mrf, ExactTest(), start=np.zeros(20), draws=10).n_used.tolist() == [20 * mrf.n_data] * 10
    True
    """

    x: Bits
    n_used: Ints
    n_looks: Ints

    def first(self, draws: int) -> GibbsDraws:
        """The first few."""
        return GibbsDraws(self.x[:draws], self.n_used[:draws], self.n_looks[:draws])


class Conditional(NamedTuple):
    """How often a variable was assigned 1.

    Attributes
    ----------
    probability, se
        The share, and its standard error.
    usage
        Mean share of the terms read.

    Examples
    --------
    >>> from samplers import DenseMRF, ExactTest
    >>> rng = np.random.default_rng(1)
    >>> mrf = DenseMRF.random(rng, dimension=20)
    >>> conditional(rng, mrf, ExactTest(), np.ones(20), 3, repeats=100).usage
    1.0
    """

    probability: float
    se: float
    usage: float


class GibbsChain(SteppedChain):
    """One chain of Gibbs sweeps over binary variables; it follows the chain protocol (`samplers.chains.protocol`).

    A step updates every variable `thin` times, in order. It counts as accepted if the state changed.

    Parameters
    ----------
    field
        The distribution, a `BinaryField`.
    test
        Decides each conditional: a Barker step (K14 Eqn 40).
    theta
        The start, zeros and ones.
    rng
        Random numbers.
    thin
        Sweeps per step.
    fuse
        Whether to use the compiled call where it exists.

    Examples
    --------
    >>> from samplers import DenseMRF, ExactTest
    >>> field = DenseMRF.random(np.random.default_rng(1), dimension=20)
    >>> chain = GibbsChain(field, ExactTest(), np.zeros(20), np.random.default_rng(2))
    >>> chain.advance(10).theta.shape
    (10, 20)
    """

    rule: Rule = "barker"

    def __init__(
        self,
        field: BinaryField,
        test: AcceptTest,
        theta: npt.ArrayLike,
        rng: np.random.Generator,
        *,
        thin: int = 1,
        fuse: bool = True,
    ) -> None:
        self.model, self.test, self.rng, self.fuse = field, test, rng, fuse
        self.thin, self.theta = integer("thin", thin, 1, MAX_THIN), checked_bits(field, test, theta)

    @property
    def data_per_step(self) -> int:
        """Terms of all conditionals of a step."""
        return self.thin * int(self.model.dimension) * self.n_data

    def probes(self, rng: np.random.Generator) -> Iterator[Comparison]:
        """The conditionals of a few variables, at the state and at random ones."""
        d = self.model.dimension
        for x in (self.theta, rng.integers(0, 2, d).astype(np.int8)):
            for site in np.linspace(0, d - 1, min(d, PROBES)).astype(np.int64).tolist():
                yield self.model.comparison(x, site)

    def step(self, rng: np.random.Generator, theta: Bits) -> tuple[Bits, Decision]:
        """`thin` sweeps."""
        done = self._sweep(rng, theta, 1)
        return done.x, Decision(bool(np.any(done.x != theta)), int(done.n_used.sum()), int(done.n_looks.sum()))

    def advance(self, steps: int) -> Draws:
        """Make this many steps; compiled, many at a time."""
        if not (self.fuse and is_compiled(self.model, self.test)):
            return super().advance(steps)
        draws, d = Draws.empty(steps, self.theta.size, self.theta.dtype), self.theta.size
        block = max(1, BLOCK // (d * self.thin))
        with all_steps_or_none(self):
            for begin in range(0, steps, block):
                size = min(block, steps - begin)
                done = self._sweep(self.rng, self.theta, size)
                filled, shape = slice(begin, begin + size), (size, self.thin, d)
                value, n_used, n_looks = (part.reshape(shape) for part in done[1:])
                states = np.vstack([self.theta, value[:, -1]])  # what the last sweep assigned is the state after it
                draws.theta[filled], draws.accepted[filled] = states[1:], np.any(states[1:] != states[:-1], axis=1)
                draws.n_used[filled], draws.n_looks[filled] = n_used.sum((1, 2)), n_looks.sum((1, 2))
                self.theta, self.steps = done.x, self.steps + size
        return draws

    def _sweep(self, rng: np.random.Generator, x: Bits, steps: int) -> Updates:
        sweeps, d = steps * self.thin, self.model.dimension
        sites, done = np.tile(np.arange(d), sweeps), room(x, sweeps * d)
        try:
            fill(rng, self.model, self.test, sites, done, self.fuse)
        except Failed as bad:
            raise GibbsStopped(bad.update // d, int(sites[bad.update]), bad.index, thin=self.thin) from None
        return done


def sweep(
    rng: np.random.Generator, field: BinaryField, test: AcceptTest, x: npt.ArrayLike, *, fuse: bool = True
) -> Sweep:
    """Update every variable once, in order.

    Parameters
    ----------
    rng, field, test, x, fuse
        As for `updates`.

    Returns
    -------
    Sweep
        The state after it, and what was read.

    Examples
    --------
    >>> from samplers import DenseMRF, ExactTest
    >>> rng = np.random.default_rng(1)
    >>> mrf = DenseMRF.random(rng, dimension=20, sd=0.1)
    >>> sweep(rng, mrf, ExactTest(), np.zeros(20)).n_used == 20 * mrf.n_data
    True
    """
    done = updates(rng, field, test, x, np.arange(field.dimension), fuse=fuse)
    return Sweep(done.x, int(done.n_used.sum()), int(done.n_looks.sum()))


def conditional(
    rng: np.random.Generator,
    field: BinaryField,
    test: AcceptTest,
    x: npt.ArrayLike,
    site: int,
    repeats: int = 1000,
    *,
    fuse: bool = True,
) -> Conditional:
    """P(X_site is assigned 1 | the others) under the test, by repetition (K14 Fig. 14).

    Parameters
    ----------
    rng, field, test, x, fuse
        As for `updates`.
    site
        The variable.
    repeats
        Updates to make.

    Returns
    -------
    Conditional
        With standard error.

    Examples
    --------
    >>> from samplers import DenseMRF, ExactTest
    >>> rng = np.random.default_rng(1)
    >>> mrf, x = DenseMRF.random(rng, dimension=20, sd=0.1), np.ones(20, dtype=np.int8)
    >>> share = conditional(rng, mrf, ExactTest(), x, 3, repeats=4000)
    >>> abs(share.probability - mrf.probability(x, 3)) < 4 * share.se
    True
    """
    repeats = integer("repeats", repeats, 1, 10**9)
    done = updates(rng, field, test, x, np.full(repeats, integer("site", site, 0, field.dimension - 1)), fuse=fuse)
    p = float(done.value.mean())
    ones = p * repeats
    se = math.sqrt((ones + 1.0) * (repeats - ones + 1.0) / (repeats + 2.0)) / repeats  # not 0 when all are the same
    return Conditional(p, se, float(done.n_used.mean()) / field.n_data)


def run(
    rng: np.random.Generator,
    field: BinaryField,
    test: AcceptTest,
    *,
    start: npt.ArrayLike,
    draws: int,
    thin: int = 1,
    progress: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    fuse: bool = True,
) -> GibbsDraws:
    """Make draws x thin sweeps, and return every thin-th state.

    Parameters
    ----------
    rng, field, test, fuse
        As for `updates`.
    start
        The state to begin with.
    draws, thin
        States to return, and sweeps for each.
    progress
        Called now and then with the number of draws so far.
    cancelled
        Asked as often; once it says True, the draws so far are returned.

    Returns
    -------
    GibbsDraws
        The states, and what was read.

    Raises
    ------
    GibbsStopped
        If a term is not finite.

    Examples
    --------
    >>> from samplers import DenseMRF, ExactTest
    >>> rng = np.random.default_rng(1)
    >>> mrf = DenseMRF.random(rng, dimension=20, sd=0.1)
    >>> run(rng, mrf, ExactTest(), start=np.zeros(20), draws=50, thin=2).x.shape
    (50, 20)
    """
    draws = integer("draws", draws, 1, MAX_DRAWS)
    chain, parts = GibbsChain(field, test, start, rng, thin=thin, fuse=fuse), []
    try:
        for part in in_blocks(chain, draws, size=max(1, BLOCK // (field.dimension * thin))):
            parts.append(part)
            if progress is not None:
                progress(chain.steps)
            if cancelled is not None and cancelled():
                break
    except GibbsStopped as stopped:
        stopped.draws = _gibbs_draws(chain, [*parts, stopped.draws])
        raise
    return _gibbs_draws(chain, parts)


def _gibbs_draws(chain: GibbsChain, parts: Sequence[Draws]) -> GibbsDraws:
    draws = Draws.joined([Draws.empty(0, chain.theta.size, chain.theta.dtype), *parts])
    return GibbsDraws(draws.theta.astype(np.int8, copy=False), draws.n_used, draws.n_looks)
