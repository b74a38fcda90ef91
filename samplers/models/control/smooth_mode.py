"""The posterior mode of a model that brings its own derivatives: Newton's method, safe where nothing is concave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, NumericalFailure
from samplers.models import SmoothModel
from samplers.models.arrays import blocks

SUBSAMPLE = 20_000  # data of the first iterations, about
MOST_STEPS = 200
CURVED = 1e-10  # least curvature of a direction, relative to the others once all are scaled alike
LONGEST = 10.0  # of a step, in the standard deviations that the curvature promises
FALLS = 0.01  # of the log posterior at a distance of one standard deviation, at least; a normal one falls by 0.5
SHORTEST = 1e-9  # share of a step below which no shorter one is tried
FIX = "give all parameters proper priors"


def smooth_mode(
    model: SmoothModel, start: Floats | None = None, tolerance: float = 1e-8, names: Sequence[str] | None = None
) -> Floats:
    """The posterior mode of a smooth model; `find_mode` explains the arguments.

    Where the log posterior is not concave, the Newton step takes curvatures by their size, so that it still goes up.
    """
    theta = first_state(model, start)
    with np.errstate(all="ignore"):  # what is not finite is refused
        if model.n_data > 2 * SUBSAMPLE:
            some = np.arange(0, model.n_data, model.n_data // SUBSAMPLE)
            theta = _climb(model, theta, [some], 1e-2, names, strict=False)
        return _climb(model, theta, list(blocks(model.n_data)), tolerance, names)


def first_state(model: SmoothModel, start: Floats | None) -> Floats:
    """Where to begin: the given start, the model's own, or zeros."""
    found = getattr(model, "start", None) if start is None else start
    theta = np.zeros(model.dimension) if found is None or callable(found) else np.array(found, dtype=np.float64)
    if theta.shape != (model.dimension,) or not np.all(np.isfinite(theta)):
        raise BadInput(f"start: must be {model.dimension:,} finite numbers, has shape {theta.shape}")
    return theta


def _climb(
    model: SmoothModel,
    theta: Floats,
    parts: Sequence[Ints | slice],
    tolerance: float,
    names: Sequence[str] | None,
    *,
    strict: bool = True,
) -> Floats:
    scale = model.n_data / sum(_size(model, part) for part in parts)
    value = _log_posterior(model, theta, parts, scale)
    if not math.isfinite(value):
        raise NumericalFailure("no mode: the log posterior is not finite at the start; give another one")
    for _ in range(MOST_STEPS):
        gradient, precision = model.prior_gradient(theta), -model.prior_curvature(theta)
        for part in parts:
            slope, curvature = model.derivatives(theta, part, 2)
            gradient, precision = gradient + scale * slope, precision - scale * curvature
        if not (np.all(np.isfinite(gradient)) and np.all(np.isfinite(precision))):
            raise NumericalFailure("no mode: derivatives of the log posterior are not finite on the way to it")
        step, flattest = _newton_step(gradient, precision)
        length = math.sqrt(max(float(step @ gradient), 0.0))  # in standard deviations
        if length < tolerance:
            if not strict:
                return theta
            if flattest is None and length > 0.0:  # where it rises for ever, its curvature falls with its slope
                away = _log_posterior(model, theta + step / length, parts, scale)
                flattest = step if not away <= value - FALLS else None
            if flattest is not None:
                raise NumericalFailure(f"no mode: the log posterior does not fall in {_named(flattest, names)}; {FIX}")
            return theta
        share = min(1.0, LONGEST / length)
        new_value = -math.inf
        while share > SHORTEST and not new_value >= value - 1e-12 * abs(value):
            candidate = theta + share * step
            new_value = _log_posterior(model, candidate, parts, scale)
            share *= 0.5
        if not new_value >= value - 1e-12 * abs(value):
            if length < 1e-3 or not strict:  # rounding is all that is left
                return theta
            raise NumericalFailure("no mode: no step along the gradient raises the log posterior; check the gradient")
        theta, value = candidate, new_value
    if not strict:
        return theta
    raise NumericalFailure(f"no mode found in {MOST_STEPS} Newton steps: the posterior may be improper; {FIX}")


def _newton_step(gradient: Floats, precision: Floats) -> tuple[Floats, Floats | None]:
    """The step that the curvatures, by their size, ask for; and a direction in which the log posterior does not fall.

    Parameters are scaled to curvature 1 first.
    """
    scale = np.sqrt(np.maximum(np.abs(np.diag(precision)), 1e-300))
    values, vectors = np.linalg.eigh(precision / scale / scale[:, None])
    floor = CURVED * max(float(np.abs(values).max()), 1e-300)
    size = np.maximum(np.abs(values), floor)
    step: Floats = (vectors @ ((vectors.T @ (gradient / scale)) / size)) / scale
    return step, (vectors[:, 0] / scale if values[0] <= floor else None)


def _named(direction: Floats, names: Sequence[str] | None) -> str:
    worst = int(np.abs(direction).argmax())
    return f"the direction of {names[worst]}" if names is not None else f"the direction of theta[{worst}]"


def _size(model: SmoothModel, part: Ints | slice) -> int:
    return len(range(*part.indices(model.n_data))) if isinstance(part, slice) else int(part.size)


def _log_posterior(model: SmoothModel, theta: Floats, parts: Sequence[Ints | slice], scale: float) -> float:
    likelihood = sum(float(np.sum(model.log_likelihood(theta, part))) for part in parts)
    value = float(model.log_prior(theta)) + scale * likelihood
    return value if not math.isnan(value) else -math.inf
