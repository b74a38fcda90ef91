"""Random rotations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from samplers.models import _kernels
from samplers.models.arrays import check_size
from samplers.proposals.basic import Proposed


@dataclass(frozen=True)
class StiefelWalk:
    """W' = W exp(scale A) on the orthonormal D x D matrices, A skew-symmetric with standard normal entries (K14 6.2).

    θ is W, flattened. The determinant never changes its sign; for ICA, where signs and order of the rows do not
    matter, the matrices of either sign hold the whole posterior.

    Parameters
    ----------
    scale
        Typical angle of the rotation in each coordinate plane, in radians.
    size
        D.

    Examples
    --------
    >>> walk = StiefelWalk(0.1, 3)
    >>> w = walk.propose(np.random.default_rng(1), np.eye(3).ravel()).theta.reshape(3, 3)
    >>> np.allclose(w @ w.T, np.eye(3), atol=1e-15)
    True
    """

    # Symmetric, so log_q = 0. R = exp(sA) has R^-1 = exp(-sA), and -A has the law of A: R and R^-1 have the same law.
    # For any f, and W from the uniform (Haar) measure, which does not change under W -> V = W R, independently of R,
    #     E f(W, W R) = E f(V R^-1, V) = E f(V R, V) = E f(W R, W):
    # moves from W to W' and back are equally likely, with densities taken in the uniform measure, the prior of ICA.
    # It does not matter that R stands on the right: W A W' has the law of A, so W R = (W R W') W has that of R W.

    scale: float
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", real("scale", self.scale, 0.0, 10.0, open_low=True))
        object.__setattr__(self, "size", integer("size", self.size, 2, 1000))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A rotation of θ by random angles."""
        check_size(theta, self.size**2)
        new = np.empty((self.size, self.size))
        xi = rng.standard_normal(self.size * (self.size - 1) // 2)
        off = _kernels.rotate(xi, self.scale, theta.reshape(new.shape), new)
        if not off <= _kernels.ORTHONORMAL:
            raise BadInput(f"theta: must be an orthonormal matrix; its products of columns are off by {off:.3g}")
        return Proposed(new.ravel(), 0.0)
