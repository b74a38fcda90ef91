"""What is known about the error of an estimate: that of the data, and what the fit left undone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from designer.core.arrays import Floats
from designer.core.errors import integer, real
from samplers.decide.subsample import Subsampler
from samplers.fit.equations import NormalEquations
from samplers.fit.inputs import check_data, check_offset, check_start
from samplers.fit.losses import Loss, Working
from samplers.fit.update import Solve, solver, variance_of_scores

BLOCK = 8192  # rows accumulated together
LEAST = 1e-300  # curvature of a row
ALONE = 1.0 - 1e-6  # leverage of a row that alone decides a coefficient
NOTHING = 1e-6  # of the largest move: a coefficient that a row does not touch


class Precision(NamedTuple):
    """Errors of each coefficient.

    Attributes
    ----------
    se
        Standard error of the estimate that all rows would give: H⁻¹ B H⁻¹ with the second derivatives H and the
        squares of the scores B (the sandwich, which holds whether or not the model is right), each score divided by
        one minus the leverage of its row (HC3). Infinite where one row alone decides a coefficient.
    off
        An upper limit of how far the coefficient at hand is from that of all rows.
    n
        Rows that were read for them.

    Examples
    --------
    >>> Precision(np.array([0.1]), np.array([0.01]), 500).n
    500
    """

    se: Floats
    off: Floats
    n: int


def precision(
    rng: np.random.Generator,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    loss: Loss,
    theta: npt.ArrayLike,
    *,
    n: int | None = None,
    offset: npt.ArrayLike | None = None,
    confidence: float = 0.99,
) -> Precision | None:
    """Standard errors, and how far an estimate is from the one that all rows would give; None if neither is known.

    Both need second derivatives, so there are none for LAD, for quantiles and for L_p below p = 2.
    There the standard error depends on the density of the residuals at zero, which is not estimated here.

    Parameters
    ----------
    rng
        Random numbers, for the choice of rows.
    x, y, loss, offset
        As for `irls`.
    theta
        The estimate.
    n
        Rows to read, without replacement; all by default.
    confidence
        Of the limits `Precision.off`, for each coefficient. To first order: the distance is one Newton step. With all
        rows it is exact in that sense.

    Returns
    -------
    Precision or None
        None also if the rows do not determine the coefficients.

    Examples
    --------
    >>> from samplers.fit import Logistic, irls
    >>> rng = np.random.default_rng(1)
    >>> x, y = np.ones((4000, 1)), (np.arange(4000) % 4 == 0).astype(float)
    >>> found = precision(rng, x, y, Logistic(), irls(rng, x, y, Logistic()).theta)
    >>> f"{found.se[0]:.4f}", f"{(4000 * 0.25 * 0.75) ** -0.5:.4f}", bool(found.off[0] < 1e-3)
    ('0.0365', '0.0365', True)
    """
    rows, response = check_data(x, y, loss)
    total, d = rows.shape
    size = total if n is None else integer("n", n, 1, total)
    at, known = check_start(theta, d), check_offset(offset, total)
    bound = -float(ndtri(0.5 * (1.0 - real("confidence", confidence, 0.0, 1.0, open_low=True, open_high=True))))
    if not _curves(loss):
        return None
    newton = _Newton(loss)
    equations = NormalEquations(newton, at, unit=1.0, span=(float(response.min()), float(response.max())))
    chosen = np.arange(total) if size == total else np.sort(Subsampler(total).extend(rng, size))
    for low in range(0, size, BLOCK):
        some = chosen[low : low + BLOCK]
        with np.errstate(over="ignore"):
            part = None if known is None else known[some]
            equations.add(np.asarray(rows[some], dtype=np.float64), response[some], part)
    solve = None if size <= d else solver(equations.gram)
    if solve is None:
        return None
    variance = np.zeros(d)
    for low in range(0, size, BLOCK):
        some = chosen[low : low + BLOCK]
        part = None if known is None else known[some]
        variance += _influence(
            newton, np.asarray(rows[some], dtype=np.float64), response[some], part, at, solve, size / total
        )
    noise = solve(solve(variance_of_scores(equations, total)).T)
    left = np.sqrt(np.maximum(np.diag(noise), 0.0)) if size < total else np.zeros(d)
    return Precision(np.sqrt(variance * size / total), np.abs(solve(equations.score)) + bound * left, size)


def _influence(
    newton: _Newton, x: Floats, y: Floats, offset: Floats | None, theta: Floats, solve: Solve, share: float
) -> Floats:
    """The sum of squares of what each of these rows adds to the coefficients; `share` of all rows are read."""
    eta = x @ theta if offset is None else x @ theta + offset
    weight, score, _ = newton.working(eta, y, 1.0)
    moves = solve(x.T).T  # H⁻¹ x_i
    leverage = weight * np.sum(x * moves, axis=1) * share
    alone = leverage > ALONE
    added: Floats = np.sum((moves * (score / np.where(alone, 1.0, 1.0 - leverage))[:, None])[~alone] ** 2, axis=0)
    for move in np.abs(moves[alone]):
        added[move > NOTHING * move.max()] = np.inf
    return added


def _curves(loss: Loss) -> bool:
    curvature = getattr(loss, "curvature", None)
    return curvature is not None and curvature(np.zeros(1), np.ones(1)) is not None


@dataclass(frozen=True)
class _Newton:
    """A loss whose weights are its second derivatives."""

    loss: Loss

    @property
    def steepest(self) -> float:
        return self.loss.steepest

    def unit(self, eta: Floats, y: Floats) -> float:
        return 1.0

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        plain = self.loss.working(eta, y, unit)
        curvature: Floats = self.loss.curvature(eta, y)  # type: ignore[attr-defined]
        return plain._replace(weight=np.maximum(curvature, LEAST))
