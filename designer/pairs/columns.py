"""The columns of a trial run's files: their names, the values that they may hold, and errors that list problems."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer
from designer.core.files import shorten
from designer.core.text_table import QUOTES
from designer.pairs.limits import LARGEST
from designer.pairs.notes import Note
from designer.pairs.residuals import Residuals
from designer.rule.looks import MAX_N_DATA

Columns: TypeAlias = dict[str, Floats]

NAMES = {
    "mu": ("mu", "μ", "mean"),
    "sigma": ("sigma", "σ", "sd", "std", "stdev", "std_dev"),
    "log_ratio": ("log_ratio", "logratio", "c"),
    "skew": ("skew", "skewness"),
    "n_data": ("n_data", "ndata"),  # and N, but not n, which may number the rows
}
_ALIASES = {alias: name for name, aliases in NAMES.items() for alias in aliases}
NEEDED = "a header row must name the columns mu and sigma, and may name log_ratio, skew and n_data"

TEMPLATE = """\
# A trial run: one row per move from θ to θ' that a chain proposed.
# The number of data N:
# n_data: 12214
# mu, sigma: mean and population standard deviation, over all data, of lᵢ = log p(xᵢ; θ') - log p(xᵢ; θ).
# log_ratio: c = log[prior(θ) q(θ'|θ) / (prior(θ') q(θ|θ'))]. Mind the sign: this is MINUS the usual log ratio of
#   priors and proposals. It is 0 for a flat prior and a symmetric proposal; the column is optional.
# skew: skewness of the lᵢ; optional.
mu,sigma,log_ratio,skew
-6.1e-05,0.0118,0.0,0.41
2.3e-05,0.0097,-0.02,-0.13
-1.7e-04,0.0152,0.11,0.27
"""


class TrialColumns(NamedTuple):
    """The content of a file, in the order of the arguments of `TrialRun`."""

    n_data: int
    mu: Floats
    sigma: Floats
    log_ratio: Floats | float
    skew: Floats | None
    residuals: Residuals | None
    notes: dict[str, Note]

    @property
    def columns(self) -> dict[str, Floats]:
        """The columns by name, in the order of the files; without skew if it is unknown."""
        columns = {"mu": self.mu, "sigma": self.sigma, "log_ratio": np.asarray(self.log_ratio), "skew": self.skew}
        return {name: column for name, column in columns.items() if column is not None}


class FileProblem(NamedTuple):
    """One problem in a file; `column` is empty if it concerns the whole line."""

    line: int
    column: str
    value: str
    reason: str
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.unit} {self.line}{self.column and f', column {self.column}'}: '{self.value}': {self.reason}"


class BadFile(BadInput):
    """A file cannot be used: a summary, the first problems in full, and the number of all problems."""

    def __init__(self, summary: str, problems: Sequence[FileProblem] = (), count: int = 0) -> None:
        super().__init__(summary, problems, count)
        self.summary, self.problems, self.count = summary, list(problems), count

    def __str__(self) -> str:
        more = self.count - len(self.problems)
        return "\n".join([self.summary, *map(str, self.problems), *([f"and {more:,} more"] if more > 0 else [])])


class Defect(NamedTuple):
    """A value that no trial run may have."""

    row: int
    column: str
    reason: str


def defects(columns: Mapping[str, Floats], most: int) -> tuple[list[Defect], int]:
    """The first `most` defects of the columns, by row, and the number of all defects."""
    listed, count = [], 0
    for name, x in columns.items():
        rules = [(~np.isfinite(x), "must be finite"), (np.abs(x) > LARGEST, f"must not exceed {LARGEST:g} in size")]
        if name == "sigma":
            rules += [(x <= 0.0, "must be greater than 0"), (x < 1.0 / LARGEST, f"must be at least {1.0 / LARGEST:g}")]
        if name == "n_data":
            first = next(iter(x[np.isfinite(x)]), np.nan)
            rules += [(x != first, f"differs from the {first:.16g} of the first row")]
        sound = np.ones(x.size, dtype=bool)
        for broken, reason in rules:
            rows = np.flatnonzero(broken & sound)  # one reason per value is enough
            sound[rows] = False
            count += rows.size
            listed += [Defect(int(row), name, reason) for row in rows[:most]]
    return sorted(listed)[:most], count


def swap_line(mu: Floats, sigma: Floats) -> str | None:
    """That the columns are swapped, where sigma has values below 0, which no standard deviation has; None if not."""
    below = int(np.count_nonzero(sigma < 0.0))
    if below < 2 or 10 * below < sigma.size or not np.all(mu > 0.0):
        return None
    if not np.median(np.abs(mu)) > np.median(np.abs(sigma)):
        return None
    return (
        f"mu and sigma are swapped: the column sigma has {below:,} of {sigma.size:,} values below 0, and mu none, but "
        "sigma is a standard deviation"
    )


def refusal(problems: list[FileProblem], count: int) -> BadFile:
    """The error for a file with `count` problems, of which these are the first."""
    return BadFile(f"{count:,} problem{'s' * (count > 1)}, nothing loaded", problems, count)


# --- the number of data -----------------------------------------------------------------------------------------------


class NStatement(NamedTuple):
    """A place that states the number of data."""

    place: str
    n_data: object


class Parsed(NamedTuple):
    """The columns of a file, where it states the number of data, and what else it says."""

    columns: Columns
    statements: list[NStatement]
    residuals: Residuals | None = None
    notes: dict[str, Note] = {}  # noqa: RUF012 - never changed


def agreed(statements: list[NStatement]) -> int:
    """The number of data, on which all statements must agree."""
    if not statements:
        raise BadFile("the number of data N is missing: give it as n_data, in a line '# n_data: 12214' or in a column")
    numbers = [integer(f"n_data in {place}", number, 2, MAX_N_DATA) for place, number in statements]
    for (place, _), number in zip(statements, numbers, strict=True):
        if number != numbers[0]:
            raise BadFile(f"n_data is {numbers[0]:,} in {statements[0].place} but {number:,} in {place}")
    return numbers[0]


# --- the names of columns ---------------------------------------------------------------------------------------------


def canonical(name: str) -> str | None:
    """The column that a name means, regardless of case, quotes and blanks; None for other columns."""
    name = name.strip(QUOTES)
    return "n_data" if name == "N" else _ALIASES.get(re.sub(r"[\s.-]+", "_", name.casefold()))


def known(names: Sequence[str]) -> dict[str, int]:
    """The positions of the columns that a trial run has."""
    where: dict[str, int] = {}
    for position, given in enumerate(names):
        if (name := canonical(given)) in where:
            raise BadFile(f"columns '{shorten(names[where[name]])}' and '{shorten(given)}' both mean {name}")
        if name:
            where[name] = position
    return where


def required(names: Sequence[str]) -> dict[str, int]:
    """As `known`; mu and sigma are required."""
    where = known(names)
    if missing := [name for name in ("mu", "sigma") if name not in where]:
        listed = ", ".join(f"'{shorten(name)}'" for name in names[:10]) or "none"
        raise BadFile(f"no column {' and no column '.join(missing)} (found: {listed}); {NEEDED}")
    return where
