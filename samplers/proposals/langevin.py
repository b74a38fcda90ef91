"""Langevin proposals along the gradient of a mini-batch."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import integer, real
from samplers.decide.subsample import Subsampler
from samplers.proposals.basic import Proposed


class GradientModel(Protocol):
    """What `Langevin` needs from a model: gradients of the log-likelihood, summed over some data, and of the log prior.

    Examples
    --------
    >>> from samplers.models.lasso import Lasso
    >>> model: GradientModel = Lasso.from_data([1.0, 2.0], [0.5, 1.5], precision=3.0, penalty=1.0)
    >>> model.gradient(np.array([0.5]), np.array([0, 1]))
    array([3.])
    """

    @property
    def n_data(self) -> int:
        """Number of data N."""

    def gradient(self, theta: Floats, indices: Ints) -> Floats:
        """Gradient of the log-likelihood, summed over these data."""

    def prior_gradient(self, theta: Floats) -> Floats:
        """Gradient of the log prior."""


@dataclass(frozen=True, eq=False)
class Langevin:
    """θ' ~ N(θ + step / 2 g(θ), step), g the posterior's gradient estimated from a mini-batch (K16 Eqn 21).

    The mini-batch is drawn first, whatever θ is, and both directions of the ratio use it: each mini-batch's kernel
    is in detailed balance by itself, and so is their mixture (K14 section 6.4). The `batch` data are read for θ and
    θ', and are not counted in a test's n_used; the results of a run report them as `gradient_batch`.

    Parameters
    ----------
    model
        A model with `gradient` and `prior_gradient`.
    step
        Variance of the noise.
    batch
        Data in a mini-batch.

    Examples
    --------
    >>> from samplers.models.lasso import Lasso, draw_line
    >>> model = Lasso.from_data(*draw_line(np.random.default_rng(1)))
    >>> proposed = Langevin(model, step=5e-6, batch=500).propose(np.random.default_rng(2), np.array([0.01]))
    >>> proposed.theta.shape
    (1,)
    """

    model: GradientModel
    step: float
    batch: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", real("step", self.step, 0.0, 1e300, open_low=True))
        object.__setattr__(self, "batch", integer("batch", self.batch, 1, self.model.n_data))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step along the estimated gradient, and its log ratio."""
        indices = _mini_batch(rng, self.model.n_data, self.batch)
        xi = rng.standard_normal(theta.size)
        new = theta + self._drift(theta, indices) + math.sqrt(self.step) * xi
        back = (theta - new - self._drift(new, indices)) / math.sqrt(self.step)
        return Proposed(new, 0.5 * float(back @ back - xi @ xi))

    def _drift(self, theta: Floats, indices: Ints) -> Floats:
        scale = self.model.n_data / self.batch
        return 0.5 * self.step * (scale * self.model.gradient(theta, indices) + self.model.prior_gradient(theta))


_kept = threading.local()  # the permutation of each thread: proposals stay immutable and may be shared


def _mini_batch(rng: np.random.Generator, n_data: int, size: int) -> Ints:
    """A mini-batch without replacement, from the same random numbers as the compiled `draw`."""
    sample: Subsampler | None = getattr(_kept, "sample", None)
    _kept.sample = None  # discarded if interrupted in the middle of a draw
    if sample is None or sample.n != n_data:
        sample = Subsampler(n_data)
    indices = sample.extend(rng, size)
    sample.reset()
    _kept.sample = sample
    return indices
