"""Tables to try a fit on, drawn at random: wages with outliers, insurance claims, clicks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from designer.core.errors import BadInput, shown
from designer.core.files import csv_text
from samplers.fit.table_fit import LossName

Columns = Mapping[str, npt.NDArray[Any]]


class ExampleTable(NamedTuple):
    """A table: title, description, what to fit first, and how it is drawn."""

    title: str
    about: str
    formula: str
    loss: LossName
    draw: Callable[[np.random.Generator], Columns]


def _wages(rng: np.random.Generator) -> Columns:
    n = 20_000
    age, school = rng.integers(18, 66, n), rng.integers(8, 21, n)
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    middle = 400.0 + 12.0 * age + 85.0 * school - 120.0 * (region == "south")
    return {
        "wage": np.round(middle + (150.0 + 2.0 * age) * rng.standard_t(2, n), 2),
        "age": age,
        "school": school,
        "region": region,
    }


def _claims(rng: np.random.Generator) -> Columns:
    n = 30_000
    age, power = rng.integers(18, 80, n), rng.integers(40, 200, n)
    exposure = np.round(rng.uniform(0.1, 1.0, n), 2)
    rate = np.exp(-1.5 - 0.015 * (age - 45) + 0.004 * (power - 100))
    return {"claims": rng.poisson(rate * exposure), "age": age, "power": power, "exposure": exposure}


def _clicks(rng: np.random.Generator) -> Columns:
    n = 50_000
    position, seen = rng.integers(1, 11, n), rng.poisson(3.0, n)
    device = rng.choice(["phone", "tablet", "computer"], n, p=[0.6, 0.1, 0.3])
    chance = expit(-1.2 - 0.25 * position + 0.1 * seen + 0.4 * (device == "computer"))
    return {
        "clicked": np.where(rng.random(n) < chance, "yes", "no"),
        "position": position,
        "seen": seen,
        "device": device,
    }


EXAMPLES: Mapping[str, ExampleTable] = {
    "wages": ExampleTable(
        "Wages with outliers",
        "20,000 made-up wages with heavy tails: the median is safe where the mean is not.",
        "wage ~ age + school + region",
        "lad",
        _wages,
    ),
    "claims": ExampleTable(
        "Insurance claims",
        "30,000 made-up policies, insured for part of a year each.",
        "claims ~ age + power + offset(log(exposure))",
        "poisson",
        _claims,
    ),
    "clicks": ExampleTable(
        "Clicks",
        "50,000 made-up views of a link: was it clicked?",
        "clicked ~ position + seen + device",
        "logistic",
        _clicks,
    ),
}
POSITIVE = {"clicks": "yes"}  # the value of a response that counts as 1


def example_table(name: str) -> Columns:
    """The columns of an example, always the same.

    Examples
    --------
    >>> table = example_table("wages")
    >>> list(table), table["wage"].size
    (['wage', 'age', 'school', 'region'], 20000)
    """
    if name not in EXAMPLES:
        raise BadInput(f"example = {shown(name)}: must be one of {', '.join(EXAMPLES)}")
    return EXAMPLES[name].draw(np.random.default_rng(20160101))


def example_csv(name: str) -> str:
    """An example as the text of a CSV file."""
    table = example_table(name)
    return csv_text(table, zip(*(column.tolist() for column in table.values()), strict=True))
