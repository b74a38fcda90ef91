"""Gibbs updates of binary variables, one after the other, each decided by an acceptance test (K14 supplement F)."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Ints
from designer.core.errors import BadInput
from samplers.chains.draws import ChainStopped, Draws
from samplers.compiled import gibbs_sweeps
from samplers.decide import _permutation
from samplers.decide.comparison import AcceptTest, Comparison, NonFiniteTerm
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest, check_designed_for
from samplers.models.mrf import Bits, DenseMRF


class Failed(Exception):
    """Update number `update` met a term that is not finite."""

    def __init__(self, update: int, index: int) -> None:
        super().__init__(update, index)
        self.update, self.index = update, index


@runtime_checkable
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
        """The question whether X_site = 1, with rule="barker"; it must not depend on x[site]."""


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


class GibbsStopped(ChainStopped):
    """A term was not finite, so no test can decide.

    Parameters
    ----------
    sweep
        How many sweeps were made before.
    site, index
        The variable, and which of its terms.
    draws
        The draws before that sweep.
    thin
        Sweeps per draw.

    Examples
    --------
    >>> GibbsStopped(7, 3, 12).site
    3
    """

    def __init__(self, sweep: int, site: int, index: int | None, draws: Any = None, thin: int = 1) -> None:
        ArithmeticError.__init__(self, f"sweep {sweep:,}, site {site:,}: term {index} of the log-odds is not finite")
        self.sweep, self.site, self.index, self.thin = sweep, site, index, thin
        self.draws: Any = draws  # `GibbsDraws` from `run`
        self.step = sweep // thin

    def after_steps(self, step: int, draws: Draws) -> GibbsStopped:
        """The same error, with the number of the step and the draws before it."""
        return GibbsStopped(step * self.thin + self.sweep % self.thin, self.site, self.index, draws, self.thin)


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

    With a `DenseMRF` and the exact or the sequential test this is one compiled call. It uses the same random numbers
    and makes the same decisions as without (fuse = False).

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
    state, order = checked_bits(field, test, x), np.asarray(sites)
    if order.ndim != 1 or (order.size and order.dtype.kind not in "iu"):
        raise BadInput(f"sites: must be a list of whole numbers, not {order.dtype} of shape {order.shape}")
    order = order.astype(np.int64)
    if order.size and not (order.min() >= 0 and order.max() < field.dimension):
        raise BadInput(f"sites: must lie in 0 to {field.dimension - 1}")
    done = room(state, order.size)
    try:
        fill(rng, field, test, order, done, fuse)
    except Failed as bad:
        raise GibbsStopped(0, int(order[bad.update]), bad.index) from None
    return done


def checked_bits(field: BinaryField, test: AcceptTest, x: npt.ArrayLike) -> Bits:
    """A state of the field as a fresh array, or BadInput."""
    state = np.asarray(x)
    if state.shape != (field.dimension,) or state.dtype.kind not in "biuf" or not np.all((state == 0) | (state == 1)):
        raise BadInput(f"state: must be {field.dimension} zeros and ones")
    check_designed_for(test, field.n_data, "an update has", " terms")
    return state.astype(np.int8)


def room(x: Bits, size: int) -> Updates:
    counts = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    return Updates(x.copy(), np.empty(size, dtype=np.int8), *counts)


def is_compiled(field: BinaryField, test: AcceptTest) -> bool:
    """Whether many updates are one compiled call."""
    return isinstance(field, DenseMRF) and isinstance(test, (ExactTest, SequentialTest))


def fill(
    rng: np.random.Generator, field: BinaryField, test: AcceptTest, sites: Ints, done: Updates, fuse: bool
) -> None:
    """Make the updates."""
    fast = fuse and is_compiled(field, test)
    if fast and isinstance(field, DenseMRF) and isinstance(test, ExactTest):
        gibbs_sweeps.update_exactly(rng, field.steps, field.pairs, sites, done.x, done.value)
        done.n_used[:], done.n_looks[:] = field.n_data, 1
        return
    if fast and isinstance(field, DenseMRF) and isinstance(test, SequentialTest):
        work = *test.bounds(), _permutation.dense(field.n_data)
        gibbs_sweeps.update_sequentially(rng, field.steps, field.pairs, sites, done.x, *work, *done[1:])
        return
    for s, site in enumerate(sites.tolist()):
        try:
            decision = test.decide(rng, field.comparison(done.x, site))
        except NonFiniteTerm as bad:
            raise Failed(s, bad.index) from None
        done.x[site] = done.value[s] = decision.accept
        done.n_used[s], done.n_looks[s] = decision.n_used, decision.n_looks
