"""Log-likelihoods of the current state, one per datum, so that an exact test evaluates each datum once per step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from samplers.decide.comparison import BLOCK
from samplers.models import Model

MOST_CACHED = 2**24  # data: 256 MB for the two states
CHECKED = 16  # data whose terms are compared with the difference of their log-likelihoods
TOLERANCE = 1e-6


class Likelihoods:
    """For a model with `log_likelihood(theta, indices)`: N evaluations per decision instead of 2 N.

    `full` gives a `Comparison` its sum of all lᵢ; call `moved` after an accepted step.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.n = model, int(model.n_data)
        self.at: Floats | None = None  # θ of `current`
        self.alike: Floats | None = None  # another θ with the same log-likelihoods
        self.asked: Floats | None = None  # θ' of `proposed`
        self.left: Floats | None = None  # after an accepted step, the state whose log-likelihoods `proposed` holds
        self.checked = False
        self.current, self.proposed = np.empty(self.n), np.empty(self.n)

    @classmethod
    def of(cls, model: Model) -> Likelihoods | None:
        """None if the model has no `log_likelihood`, or too many data."""
        return cls(model) if hasattr(model, "log_likelihood") and model.n_data <= MOST_CACHED else None

    def full(self, theta: Floats, theta_new: Floats) -> Callable[[], float]:
        """The sum of all lᵢ, from the stored log-likelihoods of θ."""

        def total() -> float:
            with np.errstate(all="ignore"):  # the test notices and names what is not finite
                if not (_same(self.at, theta) or _same(self.alike, theta)):
                    self._fill(self.current, theta)
                self.at, self.alike = theta.copy(), None
                self._fill(self.proposed, theta_new)
                self.asked, self.left = theta_new, None
                if not self.checked:
                    self._check(theta, theta_new)
                blocks = (slice(k, k + BLOCK) for k in range(0, self.n, BLOCK))
                parts = [float((self.proposed[block] - self.current[block]).sum()) for block in blocks]
            return math.fsum(parts) if np.all(np.isfinite(parts)) else math.nan

        return total

    def moved(self, theta: Floats) -> None:
        """The chain is at θ now."""
        if theta is self.asked:
            self.left = self.at
            self.current, self.proposed, self.at = self.proposed, self.current, theta.copy()
        self.asked = None

    def refreshed(self, theta: Floats, moved: Floats) -> None:
        """The model has moved the state from θ, without a change of any log-likelihood."""
        self.alike = moved.copy() if _same(self.at, theta) or _same(self.alike, theta) else None

    def differences(self, theta: Floats, theta_new: Floats) -> Callable[[Ints], Floats] | None:
        """The lᵢ of the latest decision, which are known by now; None if it was about other states."""
        if _same(self.at, theta) and _same(self.asked, theta_new):
            old, new = self.current, self.proposed
        elif _same(self.left, theta) and _same(self.at, theta_new):
            old, new = self.proposed, self.current
        else:
            return None
        return lambda indices: new[indices] - old[indices]

    def _fill(self, out: Floats, theta: Floats) -> None:
        for start in range(0, self.n, BLOCK):
            indices = np.arange(start, min(start + BLOCK, self.n))
            values = np.asarray(self.model.log_likelihood(theta, indices), dtype=np.float64)
            if values.shape != indices.shape:
                shapes = f"{values.shape} for {indices.size:,} data; must be ({indices.size},)"
                raise BadInput(f"log_likelihood: returned shape {shapes}")
            out[indices] = values

    def _check(self, theta: Floats, theta_new: Floats) -> None:
        some = np.arange(0, self.n, max(1, self.n // CHECKED))
        self.checked = check_differences(self.model, theta, theta_new, some, self.current[some], self.proposed[some])


def check_differences(model: Any, theta: Floats, theta_new: Floats, some: Ints, old: Floats, new: Floats) -> bool:
    """Check that `terms` and `log_likelihood` agree on some data: a subclass may have changed only one of them.

    False if they cannot be compared, because one is not finite.
    """
    terms = np.asarray(model.terms(theta, theta_new, some), dtype=np.float64)
    if not np.all(np.isfinite([terms, old, new])):
        return False
    scale = np.abs(old) + np.abs(new) + 1.0
    if np.any(np.abs(new - old - terms) > TOLERANCE * scale):
        raise BadInput("log_likelihood: its differences are not what terms returns")
    return True


def _same(known: Floats | None, theta: Floats) -> bool:
    return known is not None and np.array_equal(known, theta)
