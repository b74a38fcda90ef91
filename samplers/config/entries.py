"""What the entries of a config may hold, whatever table they are in: numbers, texts, priors."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict

from designer.rule.looks import MAX_N_DATA
from samplers.proposals.proxy import MOST_DEGREES

LARGEST = 1e300  # largest number that models and proposals compute with


def number_value(value: Any) -> Any:
    if isinstance(value, (bool, str)):
        raise ValueError("must be a number")
    return value


def tails_value(value: Any) -> Any:
    if value in ("auto", "normal") if isinstance(value, str) else _is_number(value) and 1.0 <= value <= MOST_DEGREES:
        return value
    raise ValueError(f'must be "auto", "normal" or degrees of freedom from 1 to {MOST_DEGREES:g}')


def profile_value(value: Any) -> Any:
    if value == "auto" or isinstance(value, bool):
        return value
    raise ValueError('must be "auto", true or false')


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _precision(value: Any) -> Any:
    """Check a precision for all coefficients, a list of them, or a table by column."""
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
    for entry in entries:
        if isinstance(entry, (bool, str)) or not isinstance(entry, (int, float)) or not 0.0 <= entry <= LARGEST:
            raise ValueError("must be a number from 0 on, a list of them, or a table of them by the columns' names")
    if not isinstance(value, (int, float)) and not value:
        raise ValueError("must not be empty")
    return value


def heavy_value(value: Any) -> Any:
    if value != "auto" and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_N_DATA):
        raise ValueError('must be a number of rows or "auto"')
    return value


def prior_value(value: Any) -> Any:
    """Check a prior for all coefficients, or a table by column: "flat" or standard deviations."""
    entries = value.values() if isinstance(value, dict) else [value]
    for entry in entries:
        if entry != "flat" and not (_is_number(entry) and 0.0 < entry <= LARGEST):
            raise ValueError('must be "flat", a standard deviation above 0, or a table of them by the columns\' names')
    if isinstance(value, dict) and not value:
        raise ValueError("must not be empty")
    return value


def prior_tails_value(value: Any) -> Any:
    if value in ("normal", "laplace") if isinstance(value, str) else _is_number(value) and 1.0 <= value <= MOST_DEGREES:
        return value
    raise ValueError(f'must be "normal", "laplace" or degrees of freedom from 1 to {MOST_DEGREES:g}')


def label_value(value: Any) -> Any:
    if value is None or (isinstance(value, (str, bool, int, float)) and value != ""):
        return value
    raise ValueError("must be a text, a number, true or false")


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


Whole = Annotated[int, BeforeValidator(number_value)]
Real = Annotated[float, BeforeValidator(number_value)]
Positive = Annotated[Real, Field(gt=0.0, le=LARGEST)]
NotNegative = Annotated[Real, Field(ge=0.0, le=LARGEST)]
YesNo = Annotated[bool, Strict()]
Precision = Annotated[float | tuple[float, ...] | dict[str, float], BeforeValidator(_precision)]
Text = Annotated[str, AfterValidator(_not_empty)]


class ConfigTable(BaseModel):
    """One table of a config. Unknown entries and infinite numbers are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
