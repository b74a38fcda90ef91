"""The `Design`: which sequential test to run. It is checked when it is made, and saved as TOML or JSON.

Errors are `BadInput`; they name the field, the value and what is allowed.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
from pydantic import BeforeValidator, ValidationInfo, model_validator

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, prefix_errors, real, shown
from designer.core.files import shorten, write_whole
from designer.core.toml_json import parse_json, parse_toml, read_text, toml_text
from designer.core.validation import MAX_LISTED, BadFields, Record
from designer.pairs.limits import MAX_PAIRS
from designer.rule.boundary import LEAST_EPSILON, Boundary, check_epsilon, epsilon_of
from designer.rule.looks import MAX_N_DATA, Schedule, check_growth

FORMAT = 1  # of design files; to be raised when an old reader would misunderstand a new file
BOUNDS_FORMAT = 2  # of design files with explicit bounds
MOST_BOUNDS = 10_000
KIND = "sequential"
REMOVED = "stratified"  # several designs by κ, a kind of 0.1


def _whole(low: int, high: int) -> BeforeValidator:
    return BeforeValidator(lambda value, info: integer(info.field_name, value, low, high))


def _within(low: float, high: float, **ends: bool) -> BeforeValidator:
    return BeforeValidator(lambda value, info: real(info.field_name, value, low, high, **ends))


def _check_m(value: object, info: ValidationInfo) -> int:
    return integer("m", value, 2, info.data.get("n_data", MAX_N_DATA))


def _check_bounds(value: object, info: ValidationInfo) -> tuple[float, ...] | None:
    """Bounds at the interim looks as a tuple; an infinite bound means no stopping on that side."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple, np.ndarray)) or not 1 <= len(value) <= MOST_BOUNDS:
        raise BadInput(f"{info.field_name} = {shown(value)}: must be a list of 1 to {MOST_BOUNDS:,} numbers")
    bad = [bound for bound in value if isinstance(bound, bool) or not isinstance(bound, Real) or bound != bound]
    if bad:
        raise BadInput(f"{info.field_name}: {shown(bad[0])} is not a bound; bounds must be numbers")
    try:
        return tuple(float(bound) for bound in value)
    except OverflowError:
        raise BadInput(f"{info.field_name}: an integer is too large for a bound") from None


def _text(pattern: str, meaning: str) -> BeforeValidator:
    def check(value: object, info: ValidationInfo) -> str:
        if not (isinstance(value, str) and value.isprintable() and re.fullmatch(pattern, value)):
            raise BadInput(f"{info.field_name} = {shown(value)}: must be {meaning}")
        return value

    return BeforeValidator(check)


def _check_band(value: object, info: ValidationInfo) -> tuple[float, float] | None:
    """Two numbers in [0, 1], the smaller first."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise BadInput(f"{info.field_name} = {shown(value)}: must be a list of two numbers")
    low, high = (real(str(info.field_name), end, 0.0, 1.0) for end in value)
    if low > high:
        raise BadInput(f"{info.field_name} = {shown(value)}: the first number must not be the larger one")
    return low, high


_Size: TypeAlias = Annotated[float, _within(0.0, math.inf, open_high=True)] | None
_Band: TypeAlias = Annotated[tuple[float, float] | None, BeforeValidator(_check_band)]
_Text: TypeAlias = Annotated[str, _text(".{1,200}", "a string of 1 to 200 printable characters")] | None
_Digest: TypeAlias = Annotated[str, _text("[0-9a-f]{64}", "a SHA-256 digest, 64 digits of 0-9a-f")] | None


class Predicted(Record):
    """What the theory predicts for a design; part of the design's file. Unknown values are None.

    Parameters
    ----------
    mean_abs_delta, mean_usage
        Mean |Δ| and mean data use over the pairs of the trial run.
    worst_error, worst_usage
        Error and data use at μ_std = 0, the hardest decision.
    error, error_limit
        The error by the criterion of the search, over the pairs of the trial run, and its upper limit over all pairs of
        the chain, at the confidence of the provenance; the tolerance holds for the limit.
    estimate
        A bound on the numerical error of the other values; three standard errors if they are resampled.
    source
        Where the values come from, in words: a theory, resampling, or a bound.
    acceptance
        Acceptance rate of the test: the mean over the pairs of P_a + Δ.
    acceptance_band, usage_band
        Where acceptance rate and mean data use are, as far as the pairs can tell (99.9%): what a run is compared with.

    Examples
    --------
    >>> Predicted(mean_abs_delta=0.01, mean_usage=0.3).mean_usage
    0.3
    """

    mean_abs_delta: _Size = None
    mean_usage: _Size = None
    worst_error: _Size = None
    worst_usage: _Size = None
    error: _Size = None
    error_limit: _Size = None
    estimate: _Size = None
    acceptance: _Size = None
    source: _Text = None
    acceptance_band: _Band = None
    usage_band: _Band = None


class Provenance(Record):
    """How a design was found; part of the design's file.

    Parameters
    ----------
    version
        Version of this package.
    tolerance, criterion
        What the search was asked for.
    confidence
        Confidence of the upper limit that meets the tolerance; None for a point estimate.
    trial, pairs
        Digest and number of pairs of the trial run.

    Examples
    --------
    >>> Provenance(tolerance=0.01, criterion="average").criterion
    'average'
    """

    version: _Text = None
    tolerance: _Size = None
    criterion: _Text = None
    confidence: Annotated[float, _within(0.5, 1.0)] | None = None
    trial: _Digest = None
    pairs: Annotated[int, _whole(1, MAX_PAIRS)] | None = None


_Bounds: TypeAlias = Annotated[tuple[float, ...] | None, BeforeValidator(_check_bounds)]


class Design(Record):
    """A sequential test: the search finds it, a file stores it, a sampler runs it.

    Parameters
    ----------
    n_data
        Number of data N, 2 to 10^15.
    m
        Size of the first mini-batch (of every mini-batch if growth is 1), 2 to N.
    epsilon
        Tail probability ε at each look, in [1e-16, 0.5]; the bound is G_0 = Φ⁻¹(1 - ε).
    alpha
        Shape α of the bounds, in [0.5, 1]: 0.5 is Pocock, 1 is O'Brien-Fleming.
    growth
        Factor from one look to the next: 1 for equal mini-batches, or a number in [1.05, 10^6].
    predicted, provenance
        What the theory predicts and how the design was found; optional. Designs that differ in them are not equal.
    lower, upper
        Explicit bounds of z at each interim look: the test rejects below `lower` and accepts above `upper`. They
        replace the bounds given by ε and α, which are then nominal. Give both or neither; see `with_bounds`.

    Examples
    --------
    >>> design = Design(12214, 500, 0.05)
    >>> Design.from_toml(design.to_toml()) == design
    True
    >>> Design(12214, 500, 0.7)
    Traceback (most recent call last):
    designer.core.validation.BadFields: epsilon = 0.7: must lie in [1e-16, 0.5]
    """

    n_data: Annotated[int, _whole(2, MAX_N_DATA)]
    m: Annotated[int, BeforeValidator(_check_m)]
    epsilon: Annotated[float, BeforeValidator(check_epsilon)]
    alpha: Annotated[float, _within(0.5, 1.0)] = 0.5
    growth: Annotated[float, BeforeValidator(check_growth)] = 1.0
    lower: _Bounds = None
    upper: _Bounds = None
    predicted: Predicted | None = None
    provenance: Provenance | None = None

    def __init__(
        self,
        n_data: int,
        m: int,
        epsilon: float,
        alpha: float = 0.5,
        growth: float = 1.0,
        predicted: Predicted | None = None,
        provenance: Provenance | None = None,
        lower: Sequence[float] | Floats | None = None,
        upper: Sequence[float] | Floats | None = None,
    ) -> None:
        values = {"n_data": n_data, "m": m, "epsilon": epsilon, "alpha": alpha, "growth": growth}
        super().__init__(**values, predicted=predicted, provenance=provenance, lower=lower, upper=upper)

    @classmethod
    def with_bounds(
        cls, n_data: int, m: int, lower: Sequence[float] | Floats, upper: Sequence[float] | Floats, growth: float = 1.0
    ) -> Design:
        """A design with explicit bounds at every interim look; its nominal ε is the tail beyond the narrowest bound.

        Examples
        --------
        >>> Design.with_bounds(1000, 400, [-3.0, -2.0], [2.5, 1.5]).epsilon
        0.0668
        """
        explicit = Boundary.explicit(lower, upper)
        assert explicit.lower is not None and explicit.upper is not None
        narrowest = np.minimum(np.abs(explicit.lower), np.abs(explicit.upper)).min(initial=40.0)
        nominal = max(float(f"{epsilon_of(min(float(narrowest), 30.0)):.3g}"), LEAST_EPSILON)
        return cls(n_data, m, nominal, growth=growth, lower=explicit.lower, upper=explicit.upper)

    @model_validator(mode="after")
    def _bounds_fit(self) -> Design:
        if (self.lower is None) != (self.upper is None):
            raise BadInput("bounds: give both lower and upper, or neither")
        if self.lower is not None and self.upper is not None:
            Boundary.explicit(self.lower, self.upper)
            interim = Schedule.geometric(self.n_data, self.m, self.growth).size - 1
            if len(self.lower) != interim:
                raise BadInput(f"bounds: {len(self.lower):,} given for {interim:,} interim looks")
        return self

    @property
    def explicit(self) -> bool:
        """Whether the bounds are given explicitly, look by look."""
        return self.lower is not None

    @property
    def without_notes(self) -> Design:
        """The same test without `predicted` and `provenance`: the key for caches of numerical results."""
        return self.model_copy(update=dict.fromkeys(_NOTES))

    def to_toml(self) -> str:
        """The design as TOML text; `from_toml` reads back every value exactly."""
        return toml_text(self.to_document())

    def to_json(self) -> str:
        """The design as JSON text with the structure of the TOML file."""
        return json.dumps(self.to_document(), indent=2) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Design:
        """The design in a TOML text; other tables, such as those of a config, are ignored."""
        return cls.from_document(parse_toml(text))

    @classmethod
    def from_json(cls, text: str) -> Design:
        """The design in a JSON text."""
        return cls.from_document(parse_json(text))

    @classmethod
    def from_text(cls, text: str) -> Design:
        """The design in a JSON text, which begins with a brace, or else in a TOML text."""
        return cls.from_json(text) if text.lstrip("\ufeff \t\r\n").startswith("{") else cls.from_toml(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Design:
        """The design in a file, or in the config of a run: JSON if the name ends in .json, else TOML."""
        with prefix_errors(f"{os.fspath(path)}: "):
            text = read_text(path)
            return cls.from_json(text) if _is_json(path) else cls.from_toml(text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file: JSON if the name ends in .json, else TOML. An old file is replaced as a whole or not at all.

        Examples
        --------
        >>> import tempfile
        >>> design = Design(12214, 500, 0.05)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     design.save(f"{folder}/design.toml")
        ...     Design.load(f"{folder}/design.toml") == design
        True
        """
        write_whole(path, self.to_json() if _is_json(path) else self.to_toml())

    def to_document(self) -> dict[str, Any]:
        """The tables of the design's file, as a dict."""
        given = _given(self)
        notes = {name: _given(given.pop(name)) for name in _NOTES if name in given}
        return {"format": BOUNDS_FORMAT if self.explicit else FORMAT, "test": {"kind": KIND, **given}, **notes}

    @classmethod
    def from_document(cls, document: Any) -> Design:
        """The design in the parsed content of a TOML or JSON file."""
        if not isinstance(document, dict) or "test" not in document:
            raise BadInput("test: missing; a design file needs a table [test]")
        refuse_strata(document["test"])
        version = integer("format", document.get("format", FORMAT), 1, 10**6)
        if version > BOUNDS_FORMAT:
            raise BadInput(
                f"format = {version}: written by a newer version; this version reads formats up to {BOUNDS_FORMAT}"
            )
        for name in ("test", *_NOTES):
            if not isinstance(document.get(name, {}), dict):
                raise BadInput(f"{name} = {shown(document[name])}: must be a table")
        notes = {name: _located(name, model, document[name]) for name, model in _NOTES.items() if name in document}
        return _located("test", cls, _test_values(document["test"]) | notes)


def refuse_strata(table: object) -> None:
    """Refuse a table [test] of version 0.1 with strata: several designs, one for each range of κ."""
    if isinstance(table, dict) and (table.get("kind") == REMOVED or "strata" in table):
        why = "strata (several designs, chosen by κ) were removed in 0.2.0"
        raise BadInput(f"test: {why}; choose a single design with `austerity design`")


_NOTES: Mapping[str, type[Record]] = {"predicted": Predicted, "provenance": Provenance}
_FIELDS = {name: field for name, field in Design.model_fields.items() if name not in _NOTES}
_Made = TypeVar("_Made")


def _test_values(table: dict[str, Any]) -> dict[str, Any]:
    """The fields of a design in the table [test], after a check of the keys."""
    keys = ["kind", *_FIELDS]
    required = ["kind", *(name for name, field in _FIELDS.items() if field.is_required())]
    problems = [f"test.{name}: missing" for name in required if name not in table]
    unknown = [f"test.{shorten(key)}: unknown; allowed: {', '.join(keys)}" for key in table if key not in keys]
    problems += unknown[:MAX_LISTED]
    if (kind := table.get("kind", KIND)) != KIND:
        problems.append(f"test.kind = {shown(kind)}: must be {KIND!r}")
    if problems:
        raise BadFields(problems)
    return {name: table[name] for name in _FIELDS if name in table}


def _located(table: str, make: Callable[..., _Made], values: dict[str, Any]) -> _Made:
    """A record from a table of a file; error messages name the table."""
    try:
        return make(**values)
    except BadFields as error:
        raise error.within(table) from None


def _given(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record if value is not None}


def _is_json(path: str | os.PathLike[str]) -> bool:
    return os.fspath(path).lower().endswith(".json")
