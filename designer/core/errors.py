"""One exception type for everything a user can get wrong, and the checks that raise it.

`BadInput` carries one clear line: what is wrong, which value, what is allowed. The command line prints it and exits
with status 2; the dashboard shows it beside the input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from designer.core.files import shorten

_T = TypeVar("_T")


class BadInput(ValueError):
    """The input cannot be used; the message is one line for people.

    Examples
    --------
    >>> integer("m", 1, 2, 100)
    Traceback (most recent call last):
    designer.core.errors.BadInput: m = 1: must be a whole number from 2 to 100
    """


class Busy(BadInput):
    """Another process is changing the same files; try again later."""


class NumericalFailure(ArithmeticError):
    """A computation failed its own checks (lost probability, an iteration that did not converge); it returns nothing.

    Examples
    --------
    >>> issubclass(NumericalFailure, ArithmeticError)
    True
    """


@contextmanager
def prefix_errors(prefix: str) -> Iterator[None]:
    """Put `prefix`, which says where, before the message of any `BadInput` that is raised inside.

    Examples
    --------
    >>> with prefix_errors("design.toml: "):
    ...     integer("m", 1, 2, 100)
    Traceback (most recent call last):
    designer.core.errors.BadInput: design.toml: m = 1: must be a whole number from 2 to 100
    """
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{prefix}{error}") from None


def integer(name: str, value: object, low: int, high: int) -> int:
    """`value` as an int within [low, high], or BadInput naming it."""
    number = _plain(value)
    if not (_is_number(number) and low <= number <= high and number == int(number)):
        raise BadInput(f"{name} = {shown(value)}: must be a whole number from {low:,} to {high:,}")
    return int(number)


def real(
    name: str, value: object, low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> float:
    """`value` as a finite float within the interval, or BadInput naming it and the interval."""
    number = _plain(value)
    try:
        number = float(number) if _is_number(number) else math.nan
    except OverflowError:
        number = math.nan
    inside = (low < number if open_low else low <= number) and (number < high if open_high else number <= high)
    if not (inside and math.isfinite(number)):
        interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        raise BadInput(f"{name} = {shown(value)}: must lie in {interval}")
    return number


def several(name: str, value: object) -> tuple[Any, ...]:
    """`value`, a list of at least one entry, as a tuple; or BadInput naming it."""
    found = entries(value)
    if not found:
        raise BadInput(f"{name} = {shown(value)}: must be a list of at least one entry")
    return found


def entries(value: object) -> tuple[Any, ...]:
    """The entries of a list; none if `value` is a single thing."""
    try:
        return () if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
    except TypeError:
        return ()


def instance(name: str, value: object, kind: type[_T]) -> _T:
    """`value` if it is an object of this class, or BadInput naming both."""
    if not isinstance(value, kind):
        raise BadInput(f"{name} = {shown(value)}: must be a {kind.__name__}")
    return value


def shown(value: object) -> str:
    """`value` for a message: strings in quotes, NumPy scalars like Python numbers, short and on one line."""
    value = _plain(value)
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:39] + "…")
    return shorten(value)


def _plain(value: object) -> Any:
    """The Python value of a NumPy scalar or zero-dimensional array; anything else unchanged."""
    scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return value.item() if scalar else value  # type: ignore[attr-defined]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
