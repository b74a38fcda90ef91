"""A chain that stays where it is keeps the log-likelihoods of the rows it has read there."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from samplers.chains.likelihood_cache import CHECKED, MOST_CACHED, check_differences


class _Memory(threading.local):
    """What one thread knows: log p at θ of some rows, and at the last proposed θ' of the rows read for it."""

    def __init__(self, n: int) -> None:
        self.values, self.known = np.empty(n), np.zeros(n, dtype=np.bool_)
        self.at: Floats | None = None
        self.proposed: Floats | None = None
        self.fresh: list[tuple[Ints, Floats]] = []
        self.checked = False


class Remembering:
    """A model whose `terms` evaluates a datum once, not twice, if it was read before at the same state.

    The tests without control variates compare each proposed θ' with the same θ until one is accepted. What the rows
    read so far say at θ is kept, 9 bytes per datum and thread, and rows read for an accepted θ' are known there. So
    the data cost between one and two evaluations each, the fewer the more a test reads and the more proposals it
    rejects; `evaluations_per_datum` says how many. Decisions are the same up to rounding: a term is then a
    difference of two log-likelihoods.

    Use it for models of your own whose likelihood is costly. Built-in models are faster without: their two
    evaluations share one access to the row, which costs more than the second of them (docs/which_test.md).

    Parameters
    ----------
    model
        With `n_data`, `log_prior`, `terms` and `log_likelihood(theta, indices)`. With more than 2^24 data, nothing is
        kept.

    Examples
    --------
    >>> from samplers import Chain, Logistic, RandomWalk, SequentialTest
    >>> from designer import Design
    >>> x = np.random.default_rng(0).standard_normal((1000, 2))
    >>> model = Remembering(Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0))
    >>> test = SequentialTest.from_design(Design(1000, 100, 0.01))
    >>> chain = Chain(model, RandomWalk.isotropic(0.3, 2), test, np.ones(2), np.random.default_rng(1))
    >>> draws = chain.advance(200)
    >>> 1.0 < chain.evaluations_per_datum < 1.8
    True
    """

    def __init__(self, model: Any) -> None:
        if missing := [name for name in ("n_data", "log_prior", "terms", "log_likelihood") if not hasattr(model, name)]:
            raise BadInput(f"model: {type(model).__name__} has no {missing[0]}; remembering needs it")
        self.model, self.n_data = model, int(model.n_data)
        self._memory = _Memory(self.n_data) if self.n_data <= MOST_CACHED else None
        self._lock, self._read, self._evaluated = threading.Lock(), 0, 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of pickle and copy, which ask before there is a model
            raise AttributeError(name)
        return getattr(self.model, name)

    def log_prior(self, theta: Floats) -> float:
        """That of the model."""
        return float(self.model.log_prior(theta))

    @property
    def evaluations_per_datum(self) -> float:
        """Evaluations of a datum's log-likelihood for each datum that a test read, so far."""
        return self._evaluated / self._read if self._read else 2.0

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """lᵢ of these data, from what is known at θ."""
        memory = self._memory
        if memory is None:
            self._count(indices.size, 2 * indices.size)
            return np.asarray(self.model.terms(theta, theta_new, indices))
        self._follow(memory, theta, theta_new)
        if not memory.checked:
            self._check(memory, theta, theta_new)
        unknown = indices[~memory.known[indices]]
        if unknown.size:
            memory.values[unknown] = self.model.log_likelihood(theta, unknown)
            memory.known[unknown] = True
        new = np.asarray(self.model.log_likelihood(theta_new, indices), dtype=np.float64)
        memory.fresh.append((indices.copy(), new))
        self._count(indices.size, unknown.size + indices.size)
        return new - memory.values[indices]

    def _follow(self, memory: _Memory, theta: Floats, theta_new: Floats) -> None:
        """Notice whether the chain has moved since the last call, and to where."""
        if memory.at is None or not np.array_equal(memory.at, theta):
            memory.known[:] = False
            if memory.proposed is not None and np.array_equal(memory.proposed, theta):
                for indices, values in memory.fresh:
                    memory.values[indices], memory.known[indices] = values, True
            memory.at, memory.proposed = theta.copy(), None
        if memory.proposed is None or not np.array_equal(memory.proposed, theta_new):
            memory.proposed, memory.fresh = theta_new.copy(), []

    def _check(self, memory: _Memory, theta: Floats, theta_new: Floats) -> None:
        some = np.arange(0, self.n_data, max(1, self.n_data // CHECKED))
        old, new = (np.asarray(self.model.log_likelihood(state, some)) for state in (theta, theta_new))
        memory.checked = check_differences(self.model, theta, theta_new, some, old, new)

    def _count(self, read: int, evaluated: int) -> None:
        with self._lock:
            self._read, self._evaluated = self._read + read, self._evaluated + evaluated
