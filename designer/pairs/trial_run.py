"""The `TrialRun`: the proposals that a test is chosen for. Checked once, when it is made; files in `trial_files`."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer
from designer.core.files import Target, shorten
from designer.pairs import files
from designer.pairs.columns import defects
from designer.pairs.files import Source
from designer.pairs.limits import MAX_PAIRS
from designer.pairs.stationary import log_acceptance_at, spread_kappa
from designer.rule.looks import MAX_N_DATA


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TrialRun:
    """What a chain met: for pairs (theta, theta'), the moments of l_i = log p(x_i; theta') - log p(x_i; theta).

    With control variates mu, sigma and skew are those of the residuals, and c absorbs the proxies' sum.

    Parameters
    ----------
    n_data
        Number of data N, 2 to 10^15.
    mu, sigma
        Mean and population standard deviation of the l_i of each pair; sigma > 0.
    log_ratio
        c = log[prior(theta) q(theta'|theta) / (prior(theta') q(theta|theta'))], one number or one per pair. Mind the
        sign: it is *minus* the usual log ratio of priors and proposals; 0 for a flat prior and a symmetric proposal.
    skew
        Skewness of the l_i of each pair, if known.

    Examples
    --------
    >>> trial = TrialRun(10_000, mu=[-1e-4, 2e-5], sigma=[0.013, 0.011])
    >>> trial.log_acceptance
    array([-1. ,  0.2])
    """

    n_data: int
    mu: Floats
    sigma: Floats
    log_ratio: Floats
    skew: Floats | None

    def __init__(
        self, n_data: int, mu: ArrayLike, sigma: ArrayLike, log_ratio: ArrayLike = 0.0, skew: ArrayLike | None = None
    ) -> None:
        columns = {"mu": _column("mu", mu)}
        pairs = integer("number of pairs", columns["mu"].size, 1, MAX_PAIRS)
        columns["sigma"] = _column("sigma", sigma, pairs)
        columns["log_ratio"] = _column("log_ratio", log_ratio, pairs, repeat=True)
        if skew is not None:
            columns["skew"] = _column("skew", skew, pairs)
        found, count = defects(columns, most=5)
        if found:
            lines = [f"{d.column}[{d.row}] = {float(columns[d.column][d.row])!r}: {d.reason}" for d in found]
            raise BadInput("; ".join(lines + [f"and {count - len(found):,} more"] * (count > len(found))))
        fields = {"n_data": integer("n_data", n_data, 2, MAX_N_DATA), "skew": None, **columns}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def at_stationarity(
        cls, n_data: int, acceptance: float, pairs: int, rng: np.random.Generator, spread: float = 0.0
    ) -> TrialRun:
        """Pairs as a random walk at stationarity meets them, for when there is no trial run yet.

        A ~ N(-kappa²/2, kappa²), with the kappa that gives the wanted acceptance rate 2 Phi(-kappa/2): one for all
        pairs, or log kappa normal with standard deviation `spread` (`designer.pairs.stationary`).

        Examples
        --------
        >>> trial = TrialRun.at_stationarity(100_000, acceptance=0.234, pairs=100, rng=np.random.default_rng(0))
        >>> round(float(trial.kappa[0]), 3)
        2.38
        """
        n_data = integer("n_data", n_data, 2, MAX_N_DATA)
        pairs = integer("pairs", pairs, 1, MAX_PAIRS)
        kappa = spread_kappa(rng, acceptance, pairs, spread)
        return cls(n_data, log_acceptance_at(rng, kappa) / n_data, kappa * math.sqrt(n_data - 1) / n_data)

    @property
    def columns(self) -> dict[str, Floats]:
        """The columns by name, in the order of the files; without skew if it is not known."""
        columns = {"mu": self.mu, "sigma": self.sigma, "log_ratio": self.log_ratio}
        return columns if self.skew is None else columns | {"skew": self.skew}

    @property
    def log_acceptance(self) -> Floats:
        """A = N mu - c, the log of the Metropolis ratio of each pair."""
        return self.n_data * self.mu - self.log_ratio

    @property
    def kappa(self) -> Floats:
        """N sigma / sqrt(N - 1), the scale of the log ratio's sampling noise."""
        return self.sigma * (self.n_data / math.sqrt(self.n_data - 1))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of N and the columns, the same on every machine and after a trip through any file format."""
        sha = hashlib.sha256(f"trial run 1, n_data {self.n_data}, pairs {len(self)}".encode())
        for name, column in self.columns.items():
            sha.update(f", {name} ".encode() + column.astype("<f8").tobytes())
        return sha.hexdigest()

    def subset(self, indices: ArrayLike) -> TrialRun:
        """The pairs with these indices (repeats allowed, as in a bootstrap) or where a mask is true."""
        try:
            columns = {name: column[np.atleast_1d(indices)] for name, column in self.columns.items()}
        except IndexError as error:
            raise BadInput(f"indices: {error}") from None
        return TrialRun(self.n_data, **columns)

    def __len__(self) -> int:
        return self.mu.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TrialRun):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"TrialRun(n_data={self.n_data}, pairs={len(self)}, digest={self.digest[:12]}…)"

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: arrays would otherwise come out of a pickle writable.
        return TrialRun, (self.n_data, *self.columns.values())

    @classmethod
    def load(cls, path: str | os.PathLike[str], n_data: int | None = None) -> TrialRun:
        """The trial run in a file, by its suffix: .csv, .tsv, .txt, .parquet or .npz."""
        return cls(*files.load(path, n_data))

    @classmethod
    def from_upload(cls, name: str, source: Source, n_data: int | None = None) -> TrialRun:
        """The trial run in a file object or bytes, in the format of the suffix of `name`."""
        return cls(*files.read_named(name, source, n_data))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in the format of its suffix: .csv, .tsv, .txt, .parquet or .npz."""
        files.save(path, self.n_data, self.columns)

    @classmethod
    def from_csv(cls, source: Source, n_data: int | None = None) -> TrialRun:
        """The trial run in a text table; see `designer.pairs.files.read_csv` for what is understood."""
        return cls(*files.read_csv(source, n_data))

    @classmethod
    def from_parquet(cls, source: Source, n_data: int | None = None) -> TrialRun:
        """The trial run in a Parquet file; N from its metadata, a column n_data or the argument."""
        return cls(*files.read_parquet(source, n_data))

    @classmethod
    def from_npz(cls, source: Source, n_data: int | None = None) -> TrialRun:
        """The trial run in a NumPy archive with arrays mu, sigma and so on; N from n_data in it or the argument."""
        return cls(*files.read_npz(source, n_data))

    def to_csv(self, target: Target) -> None:
        """Write a CSV file, exact to the last bit; a path is replaced as a whole or not at all."""
        files.write_csv(target, self.n_data, self.columns)

    def to_parquet(self, target: Target) -> None:
        """Write a Parquet file with N in its metadata; a path is replaced as a whole or not at all."""
        files.write_parquet(target, self.n_data, self.columns)

    def to_npz(self, target: Target) -> None:
        """Write a NumPy archive; a path is replaced as a whole or not at all."""
        files.write_npz(target, self.n_data, self.columns)


def _column(name: str, values: ArrayLike, pairs: int | None = None, *, repeat: bool = False) -> Floats:
    """A read-only float64 copy of `values`, one per pair (a lone number is repeated if `repeat`)."""
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise BadInput(f"{name}: {shorten(str(error), 120)}") from None
    if given.dtype.kind not in "iuf" or given.ndim > 1:
        raise BadInput(f"{name}: must be a list of numbers, not {given.dtype} of shape {given.shape}")
    if repeat and given.ndim == 0:
        given = np.full(pairs or 1, given)
    if pairs is not None and given.size != pairs:
        raise BadInput(f"{name} has {given.size:,} values, mu has {pairs:,}")
    with np.errstate(over="ignore"):  # wider floats may become inf, which is then refused with its row
        column = np.atleast_1d(given).astype(np.float64)
    column += 0.0  # turns -0.0 into 0.0, so that equal runs have one digest
    column.setflags(write=False)
    return column
