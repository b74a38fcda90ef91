"""A dense Markov random field of K-valued variables, with a potential for every three (K14 supplement F, extended)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real

Values = npt.NDArray[np.int64]

MAX_ENTRIES = 5 * 10**7  # of the table: 0.4 GB


@dataclass(frozen=True, eq=False)
class ValuedMRF:
    """P(x) proportional to the product of psi_ijk(x_i, x_j, x_k) over all i < j < k, each x_i one of 0 ... K - 1.

    Given the others, log P(X_i = a) is, up to a constant, a sum of one term per pair of others. K = 2 is `DenseMRF`.

    Parameters
    ----------
    log_psi
        One K x K x K table per triple i < j < k; triples sorted by k, then j, then i.

    Examples
    --------
    >>> mrf = ValuedMRF.random(np.random.default_rng(1), dimension=30, n_values=4)
    >>> mrf.n_data, mrf.log_psi.shape
    (406, (4060, 4, 4, 4))
    >>> x = np.zeros(30, dtype=np.int64)
    >>> terms = mrf.terms(x, 7, 2, 0, np.arange(mrf.n_data))
    >>> bool(np.isclose(terms.sum(), mrf.scores(x, 7)[2] - mrf.scores(x, 7)[0]))
    True
    """

    log_psi: Floats
    dimension: int = field(init=False)
    n_values: int = field(init=False)
    n_data: int = field(init=False)  # terms of one update
    pairs: Ints = field(init=False, repr=False)  # of others, numbered as if the variable itself did not exist

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.log_psi, dtype=np.float64)
        d = round((6.0 * table.shape[0]) ** (1.0 / 3.0)) + 1 if table.ndim == 4 else 0
        if d < 3 or math.comb(d, 3) != table.shape[0] or len(set(table.shape[1:])) != 1 or table.shape[1] < 2:
            raise BadInput(f"log_psi has shape {table.shape}: must be (D (D - 1) (D - 2) / 6, K, K, K), D >= 3, K >= 2")
        if not np.all(np.isfinite(table)):
            raise BadInput("log_psi: must be finite")
        above = np.repeat(np.arange(d - 1), np.arange(d - 1))
        below = np.arange(above.size) - above * (above - 1) // 2
        values = {
            "log_psi": table,
            "dimension": d,
            "n_values": table.shape[1],
            "n_data": above.size,
            "pairs": np.column_stack([below, above]),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def random(
        cls, rng: np.random.Generator, dimension: int = 60, n_values: int = 3, sd: float = 0.02, field_sd: float = 0.0
    ) -> ValuedMRF:
        """Potentials of log-normal entries.

        `field_sd` adds the same preference for each value to every table; without it, the sums of a large field are
        nearly those of a fair die.
        """
        d, k = integer("dimension", dimension, 3, 1000), integer("n_values", n_values, 2, 1000)
        if math.comb(d, 3) * k**3 > MAX_ENTRIES:
            raise BadInput(f"{math.comb(d, 3):,} triples of {k}^3 values: more than {MAX_ENTRIES:,} entries")
        sd, field_sd = real("sd", sd, 0.0, 1e3), real("field_sd", field_sd, 0.0, 1e3)
        table = sd * rng.standard_normal((math.comb(d, 3), k, k, k))
        if field_sd > 0.0:
            liked = field_sd * rng.standard_normal(k)
            table += liked[:, None, None] + liked[:, None] + liked
        return cls(table)

    def terms(self, x: Values, site: int, value: int, than: int, indices: Ints) -> Floats:
        """log psi with X_site = value minus log psi with X_site = than, for the given pairs of others."""
        return self._logs(x, site, value, indices) - self._logs(x, site, than, indices)

    def scores(self, x: Values, site: int) -> Floats:
        """log P(X_site = a | the others) of every value a, up to a constant."""
        every = np.arange(self.n_data)
        return np.array([self._logs(x, site, value, every).sum() for value in range(self.n_values)])

    def probabilities(self, x: Values, site: int) -> Floats:
        """P(X_site = a | the others) of every value a."""
        scores = self.scores(x, site)
        weights = np.exp(scores - scores.max())
        found: Floats = weights / weights.sum()
        return found

    def _logs(self, x: Values, site: int, value: int, indices: Ints) -> Floats:
        """log psi of the triples of the site and the given pairs, with X_site = value."""
        j, k = self.pairs[indices].T
        low, high = j + (j >= site), k + (k >= site)
        first, last = np.minimum(low, site), np.maximum(high, site)
        middle = low + high + site - first - last
        row = last * (last - 1) * (last - 2) // 6 + middle * (middle - 1) // 2 + first
        state = x.copy()
        state[site] = value
        found: Floats = self.log_psi[row, state[first], state[middle], state[last]]
        return found
