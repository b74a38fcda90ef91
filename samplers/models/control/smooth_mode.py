"""The posterior mode of a model with derivatives of its own, whose log posterior need not be concave.

From the start L-BFGS climbs on some rows, evenly spread; then Newton's method, on these rows and on all of them. Where
the Hessian is not negative definite its eigenvalues are taken with their signs turned (saddle-free Newton), and steps
are damped until the log posterior rises (Levenberg and Marquardt). A log posterior that rises for ever is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure
from samplers.models import Rows, SmoothModel
from samplers.models.arrays import blocks
from samplers.models.control.many_states import ManyStates

SUBSAMPLE = 20_000  # rows of the first iterations, about
CLIMBS = 200  # iterations of L-BFGS
STEPS = 100  # of Newton's method
ROUGH = 1e-2  # posterior standard deviations, on some rows
FLAT = 1e-10  # least eigenvalue of the precision, relative to unit diagonal
FALLS = 0.01  # of the log posterior at a distance of one standard deviation, at least; a normal one falls by 0.5
STUCK = 1e12  # damping at which no step raises the log posterior
ROUNDING = 1e-3  # standard deviations from the mode where rounding may hide that a step goes up
FIX = "give all parameters proper priors, and scales of hierarchical models one that vanishes at 0"
NAMED = 3  # parameters that a message names


class _Target(NamedTuple):
    """The log posterior, its likelihood of some rows scaled up to all."""

    model: SmoothModel
    parts: list[Rows]
    scale: float

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        value, gradient = self.model.log_prior(theta), self.model.prior_gradient(theta)
        for part in self.parts:
            if isinstance(self.model, ManyStates):
                sums, slopes = self.model.sums_many(theta[None], part)
                total, slope = float(sums[0]), slopes[0]
            else:
                total = float(self.model.log_likelihood(theta, part).sum())
                slope = self.model.derivatives(theta, part, 1)[0]
            value, gradient = value + self.scale * total, gradient + self.scale * slope
        return value, gradient

    def value(self, theta: Floats) -> float:
        value = self.model.log_prior(theta)
        for part in self.parts if math.isfinite(value) else []:
            value += self.scale * float(self.model.log_likelihood(theta, part).sum())
        return value if math.isfinite(value) else -math.inf

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = self.model.prior_gradient(theta), self.model.prior_curvature(theta)
        for part in self.parts:
            slope, curvature = self.model.derivatives(theta, part, 2)
            gradient, hessian = gradient + self.scale * slope, hessian + self.scale * curvature
        return gradient, hessian


def smooth_mode(
    model: SmoothModel, start: Floats | None, tolerance: float, names: Sequence[str] | None = None
) -> Floats:
    """The posterior mode; `samplers.models.control.find_mode` explains the arguments."""
    theta = first_state(model, start)
    called = names if names is not None else getattr(model, "names", None)
    with np.errstate(all="ignore"):  # what is not finite is refused
        if model.n_data > 2 * SUBSAMPLE:
            some = np.arange(0, model.n_data, model.n_data // SUBSAMPLE)
            target = _Target(model, [some], model.n_data / some.size)
            theta = _climb(target, theta)
            with suppress(NumericalFailure):  # all rows may have a mode although these have none
                theta = _newton(target, theta, ROUGH, called)
            return _newton(_everything(model), theta, tolerance, called)
        return _newton(_everything(model), _climb(_everything(model), theta), tolerance, called)


def first_state(model: SmoothModel, start: Floats | None) -> Floats:
    """Where to begin: the given start, the model's own, or zeros."""
    found = getattr(model, "start", None) if start is None else start
    theta = np.zeros(model.dimension) if found is None or callable(found) else np.array(found, dtype=np.float64)
    if theta.shape != (model.dimension,) or not np.all(np.isfinite(theta)):
        raise BadInput(f"start: must be {model.dimension:,} finite numbers, has shape {theta.shape}")
    return theta


def _everything(model: SmoothModel) -> _Target:
    return _Target(model, list(blocks(model.n_data)), 1.0)


def _climb(target: _Target, theta: Floats) -> Floats:
    """Some iterations of L-BFGS: far from the mode they need no Hessian."""
    begin, gradient = target.value_and_gradient(theta)
    if not (math.isfinite(begin) and np.all(np.isfinite(gradient))):
        raise BadInput("start: log posterior or gradient is not finite there; give another start")
    unit = max(1.0, abs(begin))

    def down(x: Floats) -> tuple[float, Floats]:
        value, slope = target.value_and_gradient(x)
        if not (math.isfinite(value) and np.all(np.isfinite(slope))):
            return 1e10, np.zeros(x.size)
        return -value / unit, -slope / unit

    found = minimize(down, theta, jac=True, method="L-BFGS-B", options={"maxiter": CLIMBS, "gtol": 1e-9, "ftol": 1e-13})
    x: Floats = np.asarray(found.x, dtype=np.float64)
    return x if np.all(np.isfinite(x)) and target.value(x) >= begin else theta


def _newton(target: _Target, theta: Floats, tolerance: float, names: Sequence[str] | None) -> Floats:
    value, damping = target.value(theta), 0.0
    for _ in range(STEPS):
        gradient, hessian = target.derivatives(theta)
        if not (np.all(np.isfinite(gradient)) and np.all(np.isfinite(hessian))):
            raise NumericalFailure(f"no mode: derivatives are not finite near {_where(theta, names)}")
        newton = _Curvature.of(gradient, hessian)
        if newton.length < tolerance:
            newton.check(target, theta, value, names)
            found: Floats = theta + newton.step(0.0) if newton.flattest is None else theta
            return found
        while True:
            step = newton.step(damping)
            candidate = theta + step
            new_value = target.value(candidate)
            if new_value >= value - 1e-12 * abs(value):
                break
            damping = max(4.0 * damping, 1e-3)
            if damping > STUCK:
                if newton.length < ROUNDING:  # rounding is all that is left
                    newton.check(target, theta, value, names)
                    return theta
                raise NumericalFailure(f"no mode: no step raises the log posterior near {_where(theta, names)}; {FIX}")
        theta, value, damping = candidate, new_value, 0.25 * damping if damping > 1e-3 else 0.0
    raise NumericalFailure(
        f"no mode found in {STEPS} Newton steps: the log posterior still rises along {_called(step, names)}; {FIX}"
    )


class _Curvature(NamedTuple):
    """Gradient and curvatures in directions that are scaled alike."""

    scale: Floats
    vectors: Floats
    along: Floats  # the gradient
    size: Floats  # of the curvatures, whatever their signs
    flattest: Floats | None  # a direction in which the log posterior does not fall

    @classmethod
    def of(cls, gradient: Floats, hessian: Floats) -> _Curvature:
        scale = np.sqrt(np.maximum(np.abs(np.diag(hessian)), 1e-300))
        values, vectors = np.linalg.eigh(-hessian / scale / scale[:, None])
        floor = FLAT * max(float(np.abs(values).max()), 1e-300)
        flattest = vectors[:, 0] / scale if values[0] <= floor else None
        return cls(scale, vectors, vectors.T @ (gradient / scale), np.maximum(np.abs(values), floor), flattest)

    @property
    def length(self) -> float:
        """Of the step, in the standard deviations that the curvatures promise."""
        return float(np.sqrt(np.sum(self.along**2 / self.size)))

    def step(self, damping: float) -> Floats:
        damped: Floats = (self.vectors @ (self.along / (self.size + damping))) / self.scale
        return damped

    def check(self, target: _Target, theta: Floats, value: float, names: Sequence[str] | None) -> None:
        """Refuse a log posterior that does not fall from θ; where it rises for ever, its curvature falls with it."""
        flattest, length = self.flattest, self.length
        if flattest is None and length > 0.0:
            step = self.step(0.0)
            flattest = None if target.value(theta + step / length) <= value - FALLS else step
        if flattest is not None:
            raise NumericalFailure(
                f"no mode: the log posterior does not fall in the direction of {_called(flattest, names)}; {FIX}"
            )


def _called(direction: Floats, names: Sequence[str] | None) -> str:
    """The parameters that a direction is made of."""
    largest = np.argsort(-np.abs(direction), kind="stable")[:NAMED]
    return ", ".join(_name(int(k), names) for k in largest if abs(direction[k]) >= 0.5 * abs(direction[largest[0]]))


def _name(k: int, names: Sequence[str] | None) -> str:
    return f"theta[{k}]" if names is None else names[k]


def _where(theta: Floats, names: Sequence[str] | None) -> str:
    largest = int(np.argmax(np.abs(theta)))
    return f"{_name(largest, names)} = {theta[largest]:.4g}"
