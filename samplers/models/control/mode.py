"""The posterior mode, by Newton's method: the centre of control variates and the start of chains."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, NumericalFailure
from samplers.models import LinearModel, SmoothModel
from samplers.models.arrays import blocks
from samplers.models.control.expansion import check_smooth, rows_of
from samplers.models.control.propriety import check_columns, check_precision, check_step, flat_columns
from samplers.models.control.scale_mode import prior_only, scale_mode
from samplers.models.control.smooth_mode import smooth_mode

SUBSAMPLE = 20_000  # rows of the first Newton iterations, about
SHORTEST = 1e-15  # part of a step: counts of 10^9 need steps as short as 10^-9 at first
RISE = 1e-4  # of the rise that a step promises, at least
ROUNDED = 1e-8  # eigenvalues above minus this are 0 up to rounding, at unit diagonal
LEAST = 1e-3  # eigenvalue of a turned step, relative to the largest


def find_mode(
    model: LinearModel | SmoothModel,
    start: Floats | None = None,
    tolerance: float = 1e-8,
    names: Sequence[str] | None = None,
) -> Floats:
    """The posterior mode: Newton on some rows, evenly spread, then on all of them.

    Steps are halved while they do not raise the log posterior, and turned upwards where it is not concave. A posterior
    without a mode is refused, with the columns that are the reason (`samplers.models.control.propriety`). Models that
    are not linear climb by L-BFGS first, and where their log posterior is not concave the steps are damped
    (`samplers.models.control.smooth_mode`).

    Parameters
    ----------
    model
        A linear model, or one with derivatives of its own, with its prior.
    start
        By default the model's own `start`, or zeros.
    tolerance
        Largest change of a coefficient in the last step, in posterior standard deviations.
    names
        Of the columns, for messages.

    Returns
    -------
    array
        D numbers: a centre for `Controlled.around`, and a start for a chain.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data([[1.0], [1.0], [1.0]], [1, 1, 0])
    >>> find_mode(model).round(6)  # log 2: two of three
    array([0.693147])
    """
    own = getattr(model, "find_centre", None)
    if own is not None:  # a model whose parameters need not have a joint mode knows where to expand
        centre: Floats = own(start)
        return centre
    if not isinstance(model, LinearModel):
        smooth = check_smooth(model)
        return (scale_mode if prior_only(smooth).size else smooth_mode)(smooth, start, tolerance, names)
    theta = np.zeros(model.rows.shape[1]) if start is None else np.array(start, dtype=np.float64)
    names = names if names is not None else getattr(getattr(model, "model", model), "names", None)
    with np.errstate(over="ignore", invalid="ignore"):  # non-finite values are refused
        flat = flat_columns(model, theta)
        check_columns(model, flat, names)
        theta = _better_start(model, theta)
        if model.n_data > 2 * SUBSAMPLE:
            some = slice(None, None, model.n_data // SUBSAMPLE)
            with suppress(NumericalFailure):
                theta = _newton(model, theta, [some], 1e-3, ridge=_ridge(model, flat, some))
        return _newton(model, theta, blocks(model.n_data), tolerance, names)


def _better_start(model: LinearModel, theta: Floats) -> Floats:
    """Zeros instead of a given start that is far worse: e^η far above all y comes down by only 1 in each step."""
    if not np.any(theta) or getattr(model, "pulls", None) is None:
        return theta
    parts, zeros = [slice(None, None, max(1, model.n_data // SUBSAMPLE))], np.zeros(theta.size)
    here, there = (_log_posterior(model, state, parts, 1.0, zeros) for state in (theta, zeros))
    return theta if here >= there else zeros


def _ridge(model: LinearModel, flat: Ints, some: slice) -> Floats:
    """A weak prior where there is none, for some rows, which may have no mode although all together do."""
    ridge, largest = np.zeros(model.rows.shape[1]), np.abs(rows_of(model, some)[:, flat]).max(axis=0, initial=0.0)
    ridge[flat] = np.where(largest > 0.0, 0.01 * largest**2, 1.0)
    return ridge


def _newton(
    model: LinearModel,
    theta: Floats,
    parts: list[slice],
    tolerance: float,
    names: Sequence[str] | None = None,
    ridge: Floats | None = None,
) -> Floats:
    """Newton on some of the rows, their likelihood scaled up to all; with a ridge, a mode exists for sure."""
    scale = model.n_data / sum(model.rows[part].shape[0] for part in parts)
    added = np.zeros(theta.size) if ridge is None else ridge
    value = _log_posterior(model, theta, parts, scale, added)
    for _ in range(100):
        gradient = model.prior_gradient(theta) - added * theta
        hessian = model.prior_curvature(theta) - np.diag(added)
        for block in parts:
            rows = rows_of(model, block)
            eta = rows @ theta
            gradient += scale * (rows.T @ model.slope(eta, block))
            hessian += scale * ((rows * model.curvature(eta, block)[:, None]).T @ rows)
        if not (np.all(np.isfinite(hessian)) and np.all(np.isfinite(gradient))):
            raise BadInput("no mode: sums of the columns' squares are not finite; the columns are too large")
        concave = _is_concave(-hessian)
        if concave:
            if ridge is None:
                check_precision(model, theta, -hessian, names)
            try:
                step: Floats = np.linalg.solve(-hessian, gradient).astype(np.float64, copy=False)
            except np.linalg.LinAlgError:
                raise NumericalFailure("no mode: the log posterior is flat somewhere; add a prior") from None
            if ridge is None:
                check_step(model, theta, step, float(np.sqrt(abs(step @ gradient))), names)
        else:
            step = _turned(-hessian, gradient)
        length = 1.0
        while length > SHORTEST:
            candidate = theta + length * step
            new_value = _log_posterior(model, candidate, parts, scale, added)
            if new_value >= value + RISE * length * abs(float(step @ gradient)) - 1e-9 * abs(value):
                break
            length *= 0.5
        theta, value = candidate, new_value
        if length * float(np.sqrt(abs(step @ gradient))) < tolerance:  # in posterior standard deviations
            if not concave:
                raise NumericalFailure("no mode: the log posterior has no curvature at its highest point; add a prior")
            return theta
    raise NumericalFailure("no mode found in 100 Newton steps")


def _is_concave(precision: Floats) -> bool:
    """Whether no eigenvalue is below 0, but for rounding: singular matrices are for `check_precision`."""
    diagonal = np.diag(precision)
    if np.all(diagonal >= 0.0):
        try:
            np.linalg.cholesky(precision)
        except np.linalg.LinAlgError:
            scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.maximum(diagonal, 1e-300)), 1.0)
            return bool(np.linalg.eigvalsh(precision * scale * scale[:, None])[0] > -ROUNDED)
        return True
    return False


def _turned(precision: Floats, gradient: Floats) -> Floats:
    """A step that goes up where the log posterior is not concave: eigenvalues with their signs turned, if need be."""
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(precision)), 1e-300))
    values, vectors = np.linalg.eigh(precision * scale * scale[:, None])
    size = np.maximum(np.abs(values), LEAST * np.abs(values).max())
    step: Floats = scale * (vectors @ ((vectors.T @ (scale * gradient)) / size))
    return step


def _log_posterior(model: LinearModel, theta: Floats, parts: list[slice], scale: float, ridge: Floats) -> float:
    likelihood = sum(float(model.value(rows_of(model, block) @ theta, block).sum()) for block in parts)
    log_prior = getattr(getattr(model, "model", model), "smooth_log_prior", model.log_prior)
    return float(log_prior(theta)) - 0.5 * float(np.sum(ridge * theta * theta)) + scale * likelihood
