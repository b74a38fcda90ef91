"""The response of a model: which values of a column a family takes, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, shown

BINARY = ("bernoulli", "probit", "cloglog")
COUNTS = ("poisson", "negative-binomial")
MOST_CLASSES = 1_000
Place = Callable[[int], str]


class Response(NamedTuple):
    """y as numbers; for classes also their names, in the order of the numbers."""

    y: Floats
    classes: tuple[str, ...] | None = None


def response(
    name: str,
    values: Floats,
    levels: Sequence[Any] | None,
    boolean: bool,
    family: str,
    positive: object,
    trials: Floats | None,
    place: Place,
) -> Response:
    """The response for a family: `values` are numbers, or codes of `levels`; BadInput if they do not suit it.

    Examples
    --------
    >>> response("bought", np.array([0.0, 1.0]), ["no", "yes"], False, "bernoulli", "yes", None, str).y
    array([0., 1.])
    """
    if positive is not None and family not in BINARY:
        raise BadInput(f"positive = {shown(positive)}: is for the families {', '.join(BINARY)}, not {family}")
    if family == "softmax":
        return _classes(name, values, levels, place)
    if family in BINARY:
        return Response(_binary(name, values, levels, boolean, positive, family))
    if levels is not None:
        example = ", ".join(shown(level) for level in levels[:3])
        raise BadInput(f"response {shown(name)} is text ({example}, …); family {family} needs numbers")
    if family == "binomial" and trials is None:
        raise BadInput("family binomial: the formula must say the number of trials: 'successes | trials(n) ~ …'")
    known, what = _support(family, values, trials)
    if not known.all():
        row = int(np.argmin(known))
        of = f" of {trials[row]:g} trials" if trials is not None else ""
        raise BadInput(f"response {shown(name)} is {values[row]:g}{of} in {place(row)}; family {family} needs {what}")
    return Response(values)


def _support(family: str, y: Floats, trials: Floats | None) -> tuple[npt.NDArray[np.bool_], str]:
    whole = y == np.floor(y)
    if family in COUNTS:
        return (y >= 0.0) & whole, "whole numbers, 0 or more"
    if family == "binomial":
        assert trials is not None
        return (y >= 0.0) & (y <= trials) & whole, "whole numbers from 0 to the number of trials"
    if family == "gamma":
        return y > 0.0, "numbers above 0"
    return np.isfinite(y), "numbers"


def _binary(
    name: str, values: Floats, levels: Sequence[Any] | None, boolean: bool, positive: object, family: str
) -> Floats:
    """0 and 1: what is positive is 1."""
    if levels is not None:
        different: list[Any] = [level for k, level in enumerate(levels) if np.any(values == k)]
    else:
        different = np.unique(values).tolist()
    if positive is not None:
        codes = [k for k, level in enumerate(different) if _same(level, positive, boolean)]
        if not codes:
            listed = _listed([bool(level) for level in different] if boolean else different)
            raise BadInput(f"positive = {shown(positive)}: response {shown(name)} has the values {listed}")
        wanted = float(codes[0] if levels is None else list(levels).index(different[codes[0]]))
        y: Floats = (values == (different[codes[0]] if levels is None else wanted)).astype(np.float64)
        return y
    if levels is None and set(different) <= {0.0, 1.0}:
        return values
    if levels is None and set(different) <= {-1.0, 1.0}:
        return (values > 0).astype(np.float64)
    if len(different) > 2 and levels is None:
        what = f"response {shown(name)} has the values {_listed(different)}"
        raise BadInput(f"{what}; family {family} needs 0 and 1, or positive = …")
    example = shown(different[-1] if levels is not None else f"{different[-1]:g}")
    what = f"response {shown(name)} has the values {_listed(different)}"
    raise BadInput(f"{what}; positive = {example} would say which one counts as 1")


def _same(level: Any, positive: object, boolean: bool) -> bool:
    """Whether a value of the response is the positive one, which may be given as a text."""
    if boolean:
        return str(positive).lower() in (("true", "1", "1.0") if level else ("false", "0", "0.0"))
    if isinstance(level, str) or isinstance(positive, bool):
        return str(level) == str(positive)
    try:
        return float(level) == float(positive)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _classes(name: str, values: Floats, levels: Sequence[Any] | None, place: Place) -> Response:
    """Classes 0 .. K-1 in the order of the levels, or of the numbers."""
    if levels is None:
        whole = values == np.floor(values)
        if not whole.all():
            row = int(np.argmin(whole))
            where = f"response {shown(name)} is {values[row]:g} in {place(row)}"
            raise BadInput(f"{where}; family softmax needs classes: texts or whole numbers")
        found, y = np.unique(values, return_inverse=True)
        names = tuple(f"{value:g}" for value in found)
    else:
        found, y = np.unique(values, return_inverse=True)
        names = tuple(str(levels[int(code)]) for code in found)
    if not 2 <= len(names) <= MOST_CLASSES:
        raise BadInput(f"response {shown(name)} has {len(names):,} classes; family softmax needs 2 to {MOST_CLASSES:,}")
    return Response(y.astype(np.float64), names)


def _listed(values: Sequence[Any]) -> str:
    texts = [f"{value:g}" if isinstance(value, float) else shown(value) for value in values[:5]]
    return ", ".join(texts) + (", …" if len(values) > 5 else "")
