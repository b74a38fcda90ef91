"""Families by name: their shape parameters, and which y they take."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real
from samplers.models.families.binary import Cloglog, Probit
from samplers.models.families.counts import Gamma, Poisson
from samplers.models.families.errors import Gaussian, Student
from samplers.models.families.logit import Bernoulli, Binomial, NegativeBinomial

SHAPES = {  # of each family; a number is fixed, None is sampled on the log scale
    "gaussian": ("sigma",),
    "student-t": ("sigma", "degrees"),
    "negative-binomial": ("dispersion",),
    "gamma": ("shape",),
}
NAMES = ("bernoulli", "probit", "cloglog", "binomial", "poisson", "negative-binomial", *("gaussian", "student-t"))
FAMILIES = (*NAMES, "gamma", "softmax")
SHAPE_PRIORS = {  # mean and standard deviation of the normal prior of a sampled parameter's logarithm
    **dict.fromkeys(("sigma", "dispersion", "shape"), (0.0, 5.0)),
    "degrees": (2.0, 1.0),
}
MOST_CLASSES = 1000
SUPPORT = {
    **dict.fromkeys(("bernoulli", "probit", "cloglog"), "must be 0 or 1"),
    "binomial": "must be a whole number from 0 to its trials",
    **dict.fromkeys(("poisson", "negative-binomial"), "must be a whole number, 0 or more"),
    **dict.fromkeys(("gaussian", "student-t"), "must be finite"),
    "gamma": "must be above 0",
    "softmax": "must be a class: a whole number from 0 on",
}
MOST_COUNT = 2.0**53  # beyond, counts are not whole numbers in double precision


class FamilyRow(NamedTuple):
    """A family's name and its shape parameters, None if they are sampled."""

    name: str
    shapes: dict[str, float | None]

    @property
    def sampled(self) -> tuple[str, ...]:
        """The shape parameters that are sampled, on the log scale."""
        return tuple(name for name, value in self.shapes.items() if value is None)


def family_of(name: object, given: dict[str, float | None]) -> FamilyRow:
    """A family by its name, with its shape parameters, or BadInput.

    Examples
    --------
    >>> family_of("student-t", {"degrees": 4.0}).sampled
    ('sigma',)
    """
    if not isinstance(name, str) or name not in FAMILIES:
        raise BadInput(f"family = {name!r}: must be one of {', '.join(FAMILIES)}, or an OwnFamily")
    wanted = SHAPES.get(name, ())
    for extra in given:
        if extra not in wanted:
            has = f"has {' and '.join(wanted)}" if wanted else "has no shape parameter"
            raise BadInput(f"{extra} = {given[extra]!r}: family {name} {has}")
    return FamilyRow(name, {shape: _positive(shape, given.get(shape)) for shape in wanted})


def _positive(name: str, value: float | None) -> float | None:
    return None if value is None else real(name, value, 0.0, 1e100, open_low=True)


def fixed_family(row: FamilyRow) -> Any:
    """The compiled form of a family whose shape parameters are all numbers."""
    plain = {"bernoulli": Bernoulli, "probit": Probit, "cloglog": Cloglog, "binomial": Binomial, "poisson": Poisson}
    if row.name in plain:
        return plain[row.name]()
    shape = {name: float(value) for name, value in row.shapes.items() if value is not None}
    if row.name == "negative-binomial":
        return NegativeBinomial(1.0 / shape["dispersion"], -math.log(shape["dispersion"]))
    if row.name == "gamma":
        return Gamma(shape["shape"])
    if row.name == "gaussian":
        return Gaussian(shape["sigma"] ** -2)
    return Student(0.5 * (shape["degrees"] + 1.0), 1.0 / (shape["sigma"] * math.sqrt(shape["degrees"])))


def responses(name: str, y: npt.ArrayLike, n: int, trials: Floats | None) -> Floats:
    """y as floats if the family can have produced them, or BadInput that names the row and the value."""
    given = np.asarray(y)
    if given.shape != (n,):
        raise BadInput(f"y has shape {given.shape}: must be ({n:,},) as x has that many rows")
    if given.dtype.kind not in "biuf":
        raise BadInput(f"y: must be numbers; for family {name} each {SUPPORT.get(name, 'must be finite')}")
    values: Floats = given.astype(np.float64)
    if name in ("bernoulli", "probit", "cloglog"):
        known = (values == 0.0) | (values == 1.0)
    elif name == "binomial" and trials is not None:
        known = (values >= 0.0) & (values <= trials) & (values == np.floor(values))
    elif name in ("poisson", "negative-binomial", "softmax"):
        known = (values >= 0.0) & (values <= MOST_COUNT) & (values == np.floor(values))
    elif name == "gamma":
        known = (values > 0.0) & np.isfinite(values)
    else:
        known = np.isfinite(values)
    if not known.all():
        place = int(np.argmin(known))
        of = f" of {trials[place]:g} trials" if trials is not None else ""
        raise BadInput(f"y[{place}] = {values[place]:g}{of}: family {name}: {SUPPORT.get(name, 'must be finite')}")
    return values


def row_numbers(name: str, given: npt.ArrayLike, n: int, low: float, *, whole: bool = False) -> Floats:
    """Offsets, weights or trials: one finite number for each row, `low` or more."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{name}: must be numbers") from None
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.shape != (n,):
        raise BadInput(f"{name} has shape {values.shape}: must be ({n:,},) as x has that many rows")
    known = np.isfinite(values) & (values >= low)
    if whole:
        known &= values == np.floor(values)
    if not known.all():
        place = int(np.argmin(known))
        kind = "a whole number" if whole else "finite"
        least = f", {low:g} or more" if low > -1e300 else ""
        raise BadInput(f"{name}[{place}] = {values[place]:g}: must be {kind}{least}")
    return values


def classes(y: Floats) -> int:
    """Number of classes K of softmax: y = 0 .. K-1, none missing, or BadInput.

    Examples
    --------
    >>> classes(np.array([0.0, 2.0, 1.0]))
    3
    """
    found = np.unique(y)
    if found.size < 2 or found.size > MOST_CLASSES:
        raise BadInput(f"y: {found.size:,} classes; family softmax: must have 2 to {MOST_CLASSES:,}")
    missing = np.flatnonzero(found != np.arange(found.size))
    if missing.size:
        raise BadInput(f"y: no row has class {missing[0]}; family softmax: classes must be 0 to K - 1, none missing")
    return int(found.size)
