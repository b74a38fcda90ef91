"""What a case is: data from a seed, a sentence what is special, and its stored exact posterior."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

STORED = Path(__file__).with_name("references.json")


class Data(NamedTuple):
    """Covariates (N, D), of which column 0 is the intercept; labels 0 and 1; prior precision of every coefficient."""

    x: np.ndarray
    y: np.ndarray
    prior_precision: float

    def digest(self) -> str:
        """Changes when the data do, beyond rounding."""
        numbers = np.concatenate([self.x.sum(axis=0), self.x.T @ self.y, np.abs(self.x).max(axis=0)])
        text = " ".join(f"{value:.6e}" for value in [*numbers, self.prior_precision])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Reference(NamedTuple):
    """The exact posterior of each coefficient, with standard errors (their names end in _se)."""

    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray  # 0.5% quantile
    high: np.ndarray  # 99.5% quantile
    mean_se: np.ndarray
    sd_se: np.ndarray
    low_se: np.ndarray
    high_se: np.ndarray
    ess: float  # effective number of the weighted draws


@dataclass(frozen=True)
class Case:
    """A kind of data.

    `make(rng, n)` returns x and y. `small` rows show what is special and are fast. An improper posterior has no
    reference: it must be refused.
    """

    name: str
    special: str
    small: int
    prior_precision: float
    make: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
    proper: bool = True

    def data(self, n: int | None = None, seed: int = 1) -> Data:
        """n rows (by default `small`), shuffled, so that special rows are anywhere."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        x, y = self.make(rng, self.small if n is None else n)
        order = rng.permutation(y.size)
        return Data(np.ascontiguousarray(x[order]), y[order].astype(np.int8), self.prior_precision)

    def reference(self) -> Reference:
        """The stored posterior at `small` rows and seed 1."""
        stored = json.loads(STORED.read_text())[self.name]
        return Reference(**{name: np.array(stored[name]) for name in Reference._fields[:-1]}, ess=stored["ess"])
