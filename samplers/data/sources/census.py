"""UCI Census-Income (KDD) from census-income.data and census-income.test, or from a prepared .npz file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.data.sources.files import Files, finite, reading, split_arrays, unpacked
from samplers.data.sources.source import Source, source, standardised

FIELDS = 42
ADULT = 18
AGE, WAGE, SEX, GAIN, LOSS, DIVIDENDS, WORKED_FOR, WEEKS, YEAR, INCOME = 0, 5, 12, 16, 17, 18, 30, 39, 40, 41
NUMBERS = (AGE, WAGE, GAIN, LOSS, DIVIDENDS, WORKED_FOR, WEEKS, YEAR)
# Field, prefix, levels with a column of their own, and levels merged into a column "other"; the rest is the base.
CATEGORIES: tuple[tuple[int, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (10, "race", ("Amer Indian Aleut or Eskimo", "Asian or Pacific Islander", "Black", "Other"), ()),
    (
        7,
        "marital",
        (
            "Divorced",
            "Married-A F spouse present",
            "Married-spouse absent",
            "Never married",
            "Separated",
            "Widowed",
        ),
        (),
    ),
    (
        4,
        "education",
        (
            "10th grade",
            "11th grade",
            "12th grade no diploma",
            "5th or 6th grade",
            "7th and 8th grade",
            "9th grade",
            "Associates degree-academic program",
            "Associates degree-occup /vocational",
            "Bachelors degree(BA AB BS)",
            "Doctorate degree(PhD EdD)",
            "Masters degree(MA MS MEng MEd MSW MBA)",
            "Prof school degree (MD DDS DVM LLB JD)",
            "Some college but no degree",
        ),
        ("Children", "Less than 1st grade", "1st 2nd 3rd or 4th grade"),
    ),
    (
        1,
        "class_worker",
        (
            "Federal government",
            "Local government",
            "Not in universe",
            "Self-employed-incorporated",
            "Self-employed-not incorporated",
            "State government",
        ),
        ("Never worked", "Without pay"),
    ),
    (
        19,
        "tax_filer",
        ("Head of household", "Joint both 65+", "Joint one under 65 & one 65+", "Nonfiler", "Single"),
        (),
    ),
    (
        35,
        "citizenship",
        (
            "Foreign born- Not a citizen of U S",
            "Foreign born- U S citizen by naturalization",
            "Native- Born abroad of American Parent(s)",
            "Native- Born in Puerto Rico or U S Outlying",
        ),
        (),
    ),
)


def census(files: Files) -> Source:
    """50 covariates of people aged 18 or more; y = 1 for an income above 50,000. Split as in the data set.

    Age, its squared distance from 45, logarithms of four amounts of money, number of persons worked for, weeks
    worked, male, year 95, and dummies for six categories; standardised. No instance weights, no constant column.
    """
    (x, y), (x_test, y_test) = (_table(file) for file in files)
    return standardised(x, y, x_test, y_test, column_names())


def prepared(files: Files) -> Source:
    """From an .npz file with X_train, y_train, X_test, y_test, and optionally names, mean, sd."""
    names = column_names()
    stored = split_arrays(files[0], len(names))
    extra = {name: value for name, value in stored.items() if name in ("mean", "sd")}
    return source(stored["X_train"], stored["y_train"], stored["X_test"], stored["y_test"], names, "", extra=extra)


def column_names() -> tuple[str, ...]:
    """Names of the 50 covariates."""
    plain = ("age", "age_sq", "log1p_wage_per_hour", "log1p_cap_gain", "log1p_cap_loss", "log1p_dividends")
    dummies = [
        f"{prefix}={level}"
        for _, prefix, levels, merged in CATEGORIES
        for level in (*levels, *(["other"] if merged else []))
    ]
    return (*plain, "n_worked_for", "weeks", "male", "year95", *dummies)


def _table(file: Path) -> tuple[Floats, Floats]:
    """Covariates (not yet standardised) and labels of one of the two files."""
    import pyarrow as pa
    from pyarrow import compute, csv

    names = [str(number) for number in range(FIELDS)]
    with reading(file), unpacked(file) as stream:
        types = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        table = csv.read_csv(stream, read_options=csv.ReadOptions(column_names=names), convert_options=types)
        texts = {number: compute.utf8_trim_whitespace(table.column(str(number))) for number in range(FIELDS)}
        numbers = {number: texts[number].cast(pa.float64()).to_numpy() for number in NUMBERS}
        adult = numbers[AGE] >= ADULT
        if not np.any(adult):
            raise BadInput("has no person aged 18 or more")
        words = {number: np.asarray(text.to_numpy(zero_copy_only=False))[adult] for number, text in texts.items()}
        x = _covariates({number: values[adult] for number, values in numbers.items()}, words)
        finite(file, x)
        return x, np.char.startswith(words[INCOME].astype(str), "50000+").astype(np.float64)


def _covariates(numbers: dict[int, Floats], words: dict[int, Any]) -> Floats:
    columns: list[Any] = [numbers[AGE], (numbers[AGE] - 45.0) ** 2]
    columns += [np.log1p(numbers[field]) for field in (WAGE, GAIN, LOSS, DIVIDENDS)]
    columns += [numbers[WORKED_FOR], numbers[WEEKS], words[SEX] == "Male", numbers[YEAR] == 95]
    for field, _, levels, merged in CATEGORIES:
        columns += [words[field] == level for level in levels]
        if merged:
            columns.append(np.isin(words[field].astype(str), merged))
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
