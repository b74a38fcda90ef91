"""Gibbs sampling of binary variables, each conditional decided by an acceptance test (K14 supplement F).

X_i becomes 1 when logit u < log-odds, a sum of many terms: the question of a Barker step, so every test applies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Ints
from designer.core.errors import BadInput, integer
from samplers.compiled import gibbs_sweeps
from samplers.decide import _permutation
from samplers.decide.comparison import AcceptTest, Comparison, NonFiniteTerm
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.mrf import Bits, DenseMRF

__all__ = [
    "BinaryField",
    "Conditional",
    "GibbsDraws",
    "GibbsStopped",
    "Sweep",
    "Updates",
    "conditional",
    "run",
    "sweep",
    "updates",
]

MAX_DRAWS, MAX_THIN = 10**9, 10**4
BLOCK = 4096  # updates between looks at the cancel switch, or those of one draw if they are more


class _Failed(Exception):
    """Update number `update` met a term that is not finite."""

    def __init__(self, update: int, index: int) -> None:
        super().__init__(update, index)
        self.update, self.index = update, index


class BinaryField(Protocol):
    """A distribution of binary variables whose conditional log-odds are sums of n_data terms.

    Examples
    --------
    >>> field: BinaryField = DenseMRF.random(np.random.default_rng(1), dimension=20)
    >>> field.comparison(np.zeros(20, dtype=np.int8), 3).rule
    'barker'
    """

    @property
    def dimension(self) -> int:
        """Number of variables."""

    @property
    def n_data(self) -> int:
        """Terms of one conditional."""

    def comparison(self, x: Bits, site: int) -> Comparison:
        """X_site = 1?  With rule="barker"; the answer may not depend on x[site]."""


class Updates(NamedTuple):
    """What consecutive updates did.

    Attributes
    ----------
    x
        The state after the last.
    value
        What each assigned.
    n_used, n_looks
        Terms it read and looks it took.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> updates(rng, DenseMRF.random(rng, dimension=20), ExactTest(), np.zeros(20), [3, 5]).value.shape
    (2,)
    """

    x: Bits
    value: Bits
    n_used: Ints
    n_looks: Ints


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
        The state after every kept sweep.
    n_used, n_looks
        Terms read and looks taken since the one before.

    Examples
    --------
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
        Mean fraction of the terms read.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> mrf = DenseMRF.random(rng, dimension=20)
    >>> conditional(rng, mrf, ExactTest(), np.ones(20), 3, repeats=100).usage
    1.0
    """

    probability: float
    se: float
    usage: float


class GibbsStopped(ArithmeticError):
    """A term was not finite, so that no test can decide.

    Parameters
    ----------
    sweep
        How many were made before.
    site, index
        Of which variable, and which of its terms.
    draws
        Those before.

    Examples
    --------
    >>> GibbsStopped(7, 3, 12).site
    3
    """

    def __init__(self, sweep: int, site: int, index: int, draws: GibbsDraws | None = None) -> None:
        super().__init__(f"sweep {sweep:,}, site {site:,}: term {index:,} of the log-odds is not finite")
        self.sweep, self.site, self.index, self.draws = sweep, site, index, draws


def updates(
    rng: np.random.Generator,
    field: BinaryField,
    test: AcceptTest,
    x: npt.ArrayLike,
    sites: npt.ArrayLike,
    *,
    fuse: bool = True,
) -> Updates:
    """Update the given sites, one after the other.

    A `DenseMRF` with the exact or the sequential test runs as one compiled call, from the same random numbers and with
    the same decisions as on the protocols (fuse = False).

    Parameters
    ----------
    rng
        Random numbers.
    field
        The distribution.
    test
        Decides each conditional: a Barker step (K14 Eqn 40).
    x
        The state to begin with.
    sites
        Variables to update; repeats allowed.
    fuse
        Whether to use the compiled call where it exists.

    Returns
    -------
    Updates
        The state after the last, and what each did.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> mrf = DenseMRF.random(rng, dimension=20, sd=0.1)
    >>> updates(rng, mrf, ExactTest(), np.zeros(20), [3, 3, 3, 3]).n_used
    array([171, 171, 171, 171])
    """
    state, order = _check(field, test, x), np.asarray(sites)
    if order.ndim != 1 or (order.size and order.dtype.kind not in "iu"):
        raise BadInput(f"sites: must be a list of whole numbers, not {order.dtype} of shape {order.shape}")
    order = order.astype(np.int64)
    if order.size and not (order.min() >= 0 and order.max() < field.dimension):
        raise BadInput(f"sites: must lie in 0 to {field.dimension - 1}")
    done = _room(state, order.size)
    try:
        _fill(rng, field, test, order, done, fuse)
    except _Failed as bad:
        raise GibbsStopped(0, int(order[bad.update]), bad.index) from None
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
    >>> rng = np.random.default_rng(1)
    >>> mrf, x = DenseMRF.random(rng, dimension=20, sd=0.1), np.ones(20, dtype=np.int8)
    >>> seen = conditional(rng, mrf, ExactTest(), x, 3, repeats=4000)
    >>> abs(seen.probability - mrf.probability(x, 3)) < 4 * seen.se
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
    """draws x thin sweeps; every thin-th state is kept.

    Parameters
    ----------
    rng, field, test, fuse
        As for `updates`.
    start
        The state to begin with.
    draws, thin
        States that are kept, and sweeps for each.
    progress, cancelled
        Now and then called with the number of draws so far, and asked; what there is is returned when it says True.

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
    >>> rng = np.random.default_rng(1)
    >>> mrf = DenseMRF.random(rng, dimension=20, sd=0.1)
    >>> run(rng, mrf, ExactTest(), start=np.zeros(20), draws=50, thin=2).x.shape
    (50, 20)
    """
    draws, thin = integer("draws", draws, 1, MAX_DRAWS), integer("thin", thin, 1, MAX_THIN)
    x, d = _check(field, test, start), field.dimension
    counts = np.empty(draws, dtype=np.int64), np.empty(draws, dtype=np.int64)
    kept, block = GibbsDraws(np.empty((draws, d), dtype=np.int8), *counts), max(1, BLOCK // (d * thin))
    for begin in range(0, draws, block):
        size = min(block, draws - begin)
        sites, done = np.tile(np.arange(d), size * thin), _room(x, size * thin * d)
        try:
            _fill(rng, field, test, sites, done, fuse)
        except _Failed as bad:
            whole = bad.update // (d * thin)
            _keep(kept, begin, whole, thin, done)
            stop = begin * thin + bad.update // d, int(sites[bad.update]), bad.index
            raise GibbsStopped(*stop, kept.first(begin + whole)) from None
        _keep(kept, begin, size, thin, done)
        x = done.x
        if progress is not None:
            progress(begin + size)
        if cancelled is not None and cancelled():
            return kept.first(begin + size)
    return kept


def _check(field: BinaryField, test: AcceptTest, x: npt.ArrayLike) -> Bits:
    """A state of the field as a fresh array, or BadInput."""
    state = np.asarray(x)
    if state.shape != (field.dimension,) or state.dtype.kind not in "biuf" or not np.all((state == 0) | (state == 1)):
        raise BadInput(f"state: must be {field.dimension} zeros and ones")
    if isinstance(test, SequentialTest) and test.plan.schedule.n_data != field.n_data:
        made_for = test.plan.schedule.n_data
        raise BadInput(f"the test was designed for n_data = {made_for:,}, an update has {field.n_data:,} terms")
    return state.astype(np.int8)


def _room(x: Bits, size: int) -> Updates:
    counts = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    return Updates(x.copy(), np.empty(size, dtype=np.int8), *counts)


def _keep(kept: GibbsDraws, begin: int, size: int, thin: int, done: Updates) -> None:
    """Note the first `size` draws of these updates: what the last sweep of a draw assigned is the state after it."""
    draws, shape = slice(begin, begin + size), (size, thin, kept.x.shape[1])
    value, n_used, n_looks = (part[: math.prod(shape)].reshape(shape) for part in done[1:])
    kept.x[draws], kept.n_used[draws], kept.n_looks[draws] = value[:, -1], n_used.sum((1, 2)), n_looks.sum((1, 2))


def _fill(
    rng: np.random.Generator, field: BinaryField, test: AcceptTest, sites: Ints, done: Updates, fuse: bool
) -> None:
    """Make the updates."""
    if fuse and isinstance(field, DenseMRF) and isinstance(test, ExactTest):
        gibbs_sweeps.update_exactly(rng, field.steps, field.pairs, sites, done.x, done.value)
        done.n_used[:], done.n_looks[:] = field.n_data, 1
        return
    if fuse and isinstance(field, DenseMRF) and isinstance(test, SequentialTest):
        work = *test.bounds(), _permutation.dense(field.n_data)
        gibbs_sweeps.update_sequentially(rng, field.steps, field.pairs, sites, done.x, *work, *done[1:])
        return
    for s, site in enumerate(sites.tolist()):
        try:
            decision = test.decide(rng, field.comparison(done.x, site))
        except NonFiniteTerm as bad:
            raise _Failed(s, bad.index) from None
        done.x[site] = done.value[s] = decision.accept
        done.n_used[s], done.n_looks[s] = decision.n_used, decision.n_looks
