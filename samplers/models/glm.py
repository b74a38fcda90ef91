"""Generalised linear models with one predictor and known shape: log p_i is a function of η_i = rows_i . θ + offset_i.

Such a model is a `LinearModel`: offsets and weights are the model's own affair, so η in its functions has no offset.
`samplers.models.multi_glm` has the others: several classes, or shape parameters that are sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.models import Rows
from samplers.models.arrays import finite_array, frozen, mapped_array
from samplers.models.common import OnePredictor, WithPrior
from samplers.models.families.catalogue import (
    SHAPE_PRIORS,
    FamilyRow,
    classes,
    family_of,
    fixed_family,
    responses,
    row_numbers,
)
from samplers.models.families.joint import SAMPLED, JointFamily
from samplers.models.families.kernels import bounds, each
from samplers.models.families.own import OwnFamily
from samplers.models.families.pulls import pulls
from samplers.models.groups import Grouped, Groups
from samplers.models.multi_glm import MultiGLM
from samplers.models.priors import Flat, Joint, Normal, Prior, as_prior
from samplers.models.row_table import Names, RowTable


@dataclass(frozen=True, eq=False, repr=False)
class GLM(WithPrior, OnePredictor):
    """A generalised linear model; make one with `GLM.from_data` or `glm_model`.

    Parameters
    ----------
    rows
        Covariates (N, D), float32 or float64, in memory or in a file.
    numbers
        y, offset, weight and trials of each row.
    family
        A NamedTuple of shape numbers, whose type chooses the functions (`samplers.models.families`).
    prior
        Of the coefficients.
    names
        Of the coefficients.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.standard_normal((500, 2))
    >>> model = GLM.from_data(x, rng.poisson(np.exp(0.5 * x[:, 0])), "poisson", prior=1.0)
    >>> from samplers import find_mode
    >>> find_mode(model).round(1)
    array([0.6, 0.1])
    """

    rows: Floats
    numbers: RowTable
    family: Any
    prior: Any
    names: Names = None
    n_data: int = field(init=False)
    dimension: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_data", self.rows.shape[0])
        object.__setattr__(self, "dimension", self.rows.shape[1])

    @classmethod
    def from_data(cls, x: npt.ArrayLike, y: npt.ArrayLike, family: Any = "bernoulli", **options: Any) -> Any:
        """The same as `glm_model`."""
        return glm_model(x, y, family, **options)

    @cached_property
    def y(self) -> Floats:
        """The response of each row."""
        return self.numbers.column(0, slice(None), 0.0)

    def __repr__(self) -> str:
        return f"GLM({type(self.family).__name__}, {self.n_data:,} rows, {self.dimension:,} coefficients)"

    def value(self, eta: Floats, indices: Rows) -> Floats:
        """log p of each of these data, given its η without offset."""
        return each(self.family, 0, self.numbers.add_offset(eta, indices), *self.numbers.of_family(indices))

    def slope(self, eta: Floats, indices: Rows) -> Floats:
        """Derivative of log p in η."""
        return each(self.family, 1, self.numbers.add_offset(eta, indices), *self.numbers.of_family(indices))

    def curvature(self, eta: Floats, indices: Rows) -> Floats:
        """Second derivative of log p in η."""
        return each(self.family, 2, self.numbers.add_offset(eta, indices), *self.numbers.of_family(indices))

    def pulls(self, indices: Rows) -> Floats | None:
        """Which way each row pulls its predictor for ever, if it does (`samplers.models.families.pulls`)."""
        return pulls(self.family, *self.numbers.of_family(indices))

    def value_and_slope(self, eta: Floats, indices: Rows) -> tuple[Floats, Floats]:
        """Both."""
        return self.value(eta, indices), self.slope(eta, indices)


@dataclass(frozen=True, eq=False, repr=False)
class BoundedGLM(GLM):
    """A `GLM` whose family bounds its derivatives, as heavy rows and the exact mini-batch test need."""

    def second_bound(self, low: Floats, high: Floats, indices: Rows) -> Floats:
        """Largest |second derivative| for η in [low, high]."""
        return self._bound(2, low, high, indices)

    def third_bound(self, low: Floats, high: Floats, indices: Rows) -> Floats:
        """Largest |third derivative| for η in [low, high]."""
        return self._bound(3, low, high, indices)

    def _bound(self, order: int, low: Floats, high: Floats, indices: Rows) -> Floats:
        low, high = self.numbers.add_offset(low, indices), self.numbers.add_offset(high, indices)
        return bounds(self.family, order, low, high, *self.numbers.of_family(indices))


def glm_model(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    family: Any = "bernoulli",
    *,
    prior: Prior | npt.ArrayLike | None = None,
    offset: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    trials: npt.ArrayLike | None = None,
    names: Any = None,
    groups: Sequence[Groups] | None = None,
    **shapes: float | None,
) -> Any:
    """A generalised linear model of rows (N, D) and responses y.

    Parameters
    ----------
    x
        Covariates, with a column of ones if there is an intercept. Arrays of float32 or float64 are not copied: a
        memory-mapped file stays on disk.
    y
        Responses.
    family
        "bernoulli" (logit link), "probit", "cloglog", "binomial" (with `trials`), "poisson", "negative-binomial",
        "gaussian", "student-t", "gamma" (log link), "softmax" (y = 0 .. K-1), or an `OwnFamily`.
    prior
        `Normal`, `StudentT`, `Laplace`, `Flat` (the default), or numbers, the precisions of normal ones.
    offset
        Added to η; for counts the logarithm of the exposure.
    weights
        Multiply log p.
    trials
        Of "binomial".
    names
        Of the columns.
    groups
        Group terms, each a `Groups`: effects with sampled scales. They need one predictor and fixed shapes.
    **shapes
        `sigma` ("gaussian", "student-t"), `degrees` ("student-t"; 4 if not given), `dispersion` ("negative-binomial":
        variance = mean + dispersion mean²), `shape` ("gamma"). A number is fixed. None, the default, is sampled: its
        logarithm is one more parameter, with prior N(0, 5²), for degrees N(2, 1).

    Returns
    -------
    GLM or MultiGLM
        A `GLM`, which is a `LinearModel`; a `MultiGLM`, which is a `SmoothModel`, for "softmax" and sampled shapes;
        with group terms a `Grouped`, which is a `SmoothModel`, too.

    Examples
    --------
    >>> model = glm_model(np.ones((3, 1)), [2, 0, 1], "poisson", names=["intercept"])
    >>> model.names, model.log_likelihood(np.zeros(1), np.arange(3))
    (('intercept',), array([-1., -1., -1.]))
    >>> glm_model(np.ones((3, 1)), [2, 0, 1.5], "poisson")
    Traceback (most recent call last):
    designer.core.errors.BadInput: y[2] = 1.5: family poisson: must be a whole number, 0 or more
    """
    rows = _rows(x)
    n, d = rows.shape
    if family == "student-t":
        shapes.setdefault("degrees", 4.0)
    described = FamilyRow("own", {}) if isinstance(family, OwnFamily) else family_of(family, shapes)
    if groups is not None:
        check_groups(described)
    if (described.name == "binomial") != (trials is not None):
        raise BadInput("trials: family binomial needs them, one number for each row, and no other family takes them")
    extra = None if trials is None else row_numbers("trials", trials, n, 0.0, whole=True)
    response = responses(described.name, y, n, extra)
    if described.name == "gamma" and described.sampled:
        extra = np.log(response)
    table = RowTable.of(
        response,
        None if offset is None else row_numbers("offset", offset, n, -1e300),
        None if weights is None else row_numbers("weights", weights, n, 0.0),
        extra,
    )
    chosen = Flat() if prior is None else as_prior(prior)
    called = _names(names, d)
    if described.name == "softmax" or described.sampled:
        return _multi(rows, table, described, chosen, called)
    if isinstance(family, OwnFamily):
        family.check(response)
        model = (BoundedGLM if family.bounded else GLM)(rows, table, family, chosen.over(d), called)
    else:
        model = BoundedGLM(rows, table, fixed_family(described), chosen.over(d), called)
    return model if groups is None else Grouped.of(model, groups)


def check_groups(family: Any) -> None:
    """Refuse group terms where they are not possible."""
    if family.name == "softmax":
        raise BadInput("groups: family softmax has a predictor for each class; group effects need a single one")
    if family.sampled:
        raise BadInput(f"groups: give {' and '.join(family.sampled)} as a number: group effects need a fixed shape")


def _multi(rows: Floats, table: RowTable, family: FamilyRow, prior: Prior, names: Names) -> MultiGLM:
    """A model with several predictors."""
    d, linear, sampled = rows.shape[1], 1, family.sampled
    called = tuple(str(k) for k in range(d)) if names is None else names
    if family.name == "softmax":
        linear = classes(table.column(0, slice(None), 0.0)) - 1
        called = tuple(f"{j + 1}: {name}" for j in range(linear) for name in called)
    joint: Any = prior.over(linear * d)
    if sampled:
        means = np.array([SHAPE_PRIORS[name][0] for name in sampled])
        precisions = np.array([SHAPE_PRIORS[name][1] ** -2 for name in sampled])
        joint = Joint(joint, Normal(precisions, means).over(len(sampled)), linear * d)
    shape = tuple(SAMPLED if value is None else value for value in family.shapes.values())
    called = (*called, *(f"log {name}" for name in sampled))
    return MultiGLM(rows, table, JointFamily(family.name, shape), linear, sampled, joint, called)


def _rows(x: npt.ArrayLike) -> Floats:
    """Covariates as they are, or converted to floats."""
    if isinstance(x, np.ndarray) and x.dtype in (np.float32, np.float64) and x.flags.c_contiguous and x.ndim == 2:
        rows = mapped_array("x", x, 2)
    else:
        rows = frozen(finite_array("x", x, 2))
    if rows.shape[0] < 2:
        raise BadInput(f"x has shape {rows.shape}: must be (N, D) with N >= 2 and D >= 1")
    return rows


def _names(given: Any, count: int) -> Names:
    """Names of the columns, or BadInput."""
    if given is None:
        return None
    names = tuple(str(name) for name in given)
    if len(names) != count:
        raise BadInput(f"names: {len(names)} of them, but x has {count} columns")
    return names
