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
from samplers.models.control.smooth_mode import smooth_mode

SUBSAMPLE = 20_000  # rows of the first Newton iterations, about


def find_mode(
    model: LinearModel | SmoothModel,
    start: Floats | None = None,
    tolerance: float = 1e-8,
    names: Sequence[str] | None = None,
) -> Floats:
    """The posterior mode: Newton on some rows, evenly spread, then on all of them.

    Steps are halved while they do not raise the log posterior. A posterior without a mode is refused, with the columns
    that are the reason (`samplers.models.control.propriety`). Models that are not linear climb by L-BFGS first, and
    where their log posterior is not concave the steps are damped (`samplers.models.control.smooth_mode`).

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
        return smooth_mode(check_smooth(model), start, tolerance, names)
    theta = np.zeros(model.rows.shape[1]) if start is None else np.array(start, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # non-finite values are refused
        flat = flat_columns(model, theta)
        check_columns(model, flat, names)
        if model.n_data > 2 * SUBSAMPLE:
            some = slice(None, None, model.n_data // SUBSAMPLE)
            with suppress(NumericalFailure):
                theta = _newton(model, theta, [some], 1e-3, ridge=_ridge(model, flat, some))
        return _newton(model, theta, blocks(model.n_data), tolerance, names)


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
        if ridge is None:
            check_precision(model, theta, -hessian, names)
        try:
            step: Floats = np.linalg.solve(-hessian, gradient).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            raise NumericalFailure("no mode: the log posterior is flat somewhere; add a prior") from None
        if ridge is None:
            check_step(model, theta, step, float(np.sqrt(abs(step @ gradient))), names)
        length = 1.0
        while length > 1e-6:
            candidate = theta + length * step
            new_value = _log_posterior(model, candidate, parts, scale, added)
            if new_value >= value - 1e-9 * abs(value):
                break
            length *= 0.5
        theta, value = candidate, new_value
        if length * float(np.sqrt(abs(step @ gradient))) < tolerance:  # in posterior standard deviations
            return theta
    raise NumericalFailure("no mode found in 100 Newton steps")


def _log_posterior(model: LinearModel, theta: Floats, parts: list[slice], scale: float, ridge: Floats) -> float:
    likelihood = sum(float(model.value(rows_of(model, block) @ theta, block).sum()) for block in parts)
    return model.log_prior(theta) - 0.5 * float(np.sum(ridge * theta * theta)) + scale * likelihood
