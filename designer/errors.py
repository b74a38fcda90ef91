"""One exception type for everything a user can get wrong, and the checks that raise it.

``BadInput`` carries a single clear line: what, which value, what is allowed. The command line prints it and exits
with 2; the dashboard shows it beside the knob.
"""

from __future__ import annotations

import math


class BadInput(ValueError):
    """What the caller gave cannot be used; the message is one line for people."""


class NumericalFailure(ArithmeticError):
    """A computation failed its own checks; no number is returned."""


def integer(name: str, value: object, low: int, high: int) -> int:
    """`value` as an int within [low, high], or BadInput naming it."""
    try:
        number = int(value)  # type: ignore[call-overload]
        whole = not isinstance(value, bool) and number == value
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole or not low <= number <= high:
        raise BadInput(f"{name} = {value!r}: must be a whole number from {low:,} to {high:,}")
    return int(number)


def real(
    name: str, value: object, low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> float:
    """`value` as a finite float within the interval, or BadInput naming it and the interval."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    inside = (low < number if open_low else low <= number) and (number < high if open_high else number <= high)
    if not (inside and math.isfinite(number)):
        interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        raise BadInput(f"{name} = {value!r}: must lie in {interval}")
    return number
