"""A dense Markov random field: binary variables, with a potential for every three of them (K14 supplement F)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real
from samplers.decide.comparison import Comparison
from samplers.models import _mrf_kernels
from samplers.models._mrf_kernels import Bits, Pairs

__all__ = ["MAX_DIMENSION", "Bits", "DenseMRF", "Pairs"]

MAX_DIMENSION = 300  # 4.5 million triples, 0.7 GB with the terms


@dataclass(frozen=True, eq=False)
class DenseMRF:
    """P(x) proportional to the product of psi_ijk(x_i, x_j, x_k) over all i < j < k.

    The log-odds of X_i given the others are a sum of one term per pair of others: the data of its Gibbs update.

    Parameters
    ----------
    log_psi
        One row of 8 values per triple i < j < k, at x_i x_j x_k = 000, 001, ..., 111; triples sorted by k, then j, i.

    Examples
    --------
    >>> mrf = DenseMRF.random(np.random.default_rng(1), dimension=100)
    >>> mrf.n_data, mrf.log_psi.shape
    (4851, (161700, 8))
    >>> x = np.zeros(100, dtype=np.int8)
    >>> terms = mrf.terms(x, 7, np.arange(mrf.n_data))
    >>> bool(np.isclose(terms.sum(), mrf.log_odds(x, 7)))
    True
    """

    log_psi: Floats
    dimension: int = field(init=False)
    n_data: int = field(init=False)  # terms of one update
    pairs: Pairs = field(init=False, repr=False)  # of other variables, sorted by the larger
    steps: Floats = field(init=False, repr=False)  # every term, site by site: updates read neighbouring memory
    range_bound: float = field(init=False)

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.log_psi, dtype=np.float64)
        d = _dimension(table)
        bad = np.argwhere(~np.isfinite(table))
        if bad.size:
            raise BadInput(f"log_psi[{bad[0][0]}, {bad[0][1]}] = {table[tuple(bad[0])]}: must be finite")
        n = (d - 1) * (d - 2) // 2
        steps = np.empty((d, n, 4))
        _mrf_kernels.fill_steps(table, steps)
        above = np.repeat(np.arange(d - 1), np.arange(d - 1))
        below = np.arange(n) - above * (above - 1) // 2
        values = {
            "log_psi": table,
            "dimension": d,
            "n_data": n,
            "pairs": np.column_stack([below, above]).astype(np.int16),
            "steps": steps,
            "range_bound": float(max(steps.max(), -steps.min())),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def random(cls, rng: np.random.Generator, dimension: int = 100, sd: float = 0.02) -> DenseMRF:
        """Potentials of log-normal entries. The paper's N(0, 0.02) is read as a standard deviation."""
        d = integer("dimension", dimension, 3, MAX_DIMENSION)
        return cls(real("sd", sd, 0.0, 1e3) * rng.standard_normal((math.comb(d, 3), 8)))

    def potential(self, i: int, j: int, k: int) -> Floats:
        """log psi of the triple i < j < k, as a 2 x 2 x 2 view of the table."""
        if not 0 <= i < j < k < self.dimension:
            raise BadInput(f"triple ({i}, {j}, {k}): must increase within 0 to {self.dimension - 1}")
        view: Floats = self.log_psi[math.comb(k, 3) + math.comb(j, 2) + i].reshape(2, 2, 2)
        return view

    def terms(self, x: Bits, site: int, indices: Ints) -> Floats:
        """log psi(X_i = 1, x_j, x_k) - log psi(X_i = 0, x_j, x_k) for the given pairs (j, k)."""
        out = np.empty(indices.size)
        _mrf_kernels.pair_terms(self.steps, self.pairs, x, site, indices, out)
        return out

    def log_odds(self, x: Bits, site: int) -> float:
        """log P(X_i = 1 | x_-i) - log P(X_i = 0 | x_-i) (K14 Eqn 47)."""
        return float(_mrf_kernels.log_odds(self.steps, self.pairs, x, site))

    def probability(self, x: Bits, site: int) -> float:
        """P(X_i = 1 | x_-i) (K14 Eqn 39)."""
        return 0.5 * (1.0 + math.tanh(0.5 * self.log_odds(x, site)))

    def comparison(self, x: Bits, site: int) -> Comparison:
        """Whether X_i = 1: exactly if logit u < log-odds (K14 Eqn 40, which misprints the logit)."""
        return Comparison(
            self.n_data,
            lambda indices: self.terms(x, site, indices),
            rule="barker",
            range_bound=self.range_bound,
            full=lambda: self.log_odds(x, site),
        )


def _dimension(table: Floats) -> int:
    """D of a table with a row for each of D (D - 1) (D - 2) / 6 triples."""
    if table.ndim == 2 and table.shape[1] == 8:
        d: int = round((6.0 * table.shape[0]) ** (1.0 / 3.0)) + 1  # D (D - 1) (D - 2) is just below (D - 1)³
        if 3 <= d <= MAX_DIMENSION and math.comb(d, 3) == table.shape[0]:
            return d
    raise BadInput(
        f"log_psi has shape {table.shape}: must be (D (D - 1) (D - 2) / 6, 8) with 3 <= D <= {MAX_DIMENSION}"
    )
