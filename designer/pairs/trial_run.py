"""The `TrialRun`: the pairs for which a design is chosen. It is checked when it is made; `files` saves it."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer
from designer.core.files import Target, shorten
from designer.pairs import files
from designer.pairs.columns import TrialColumns, defects, swap_line
from designer.pairs.files import Source
from designer.pairs.limits import MAX_PAIRS
from designer.pairs.notes import Note, checked_notes
from designer.pairs.residuals import Residuals
from designer.pairs.stationary import log_acceptance_at, spread_kappa
from designer.rule.looks import MAX_N_DATA


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TrialRun:
    """Pairs (θ, θ') that a chain proposed, with the moments of lᵢ = log p(xᵢ; θ') - log p(xᵢ; θ) over the data.

    With control variates, mu, sigma and skew describe the residuals, and c contains the sum of the proxies.

    Parameters
    ----------
    n_data
        Number of data N, 2 to 10^15.
    mu, sigma
        Mean μ and population standard deviation σ > 0 of the lᵢ of each pair.
    log_ratio
        c = log[prior(θ) q(θ'|θ) / (prior(θ') q(θ|θ'))], one number or one per pair. Mind the sign: c is *minus* the
        usual log ratio of priors and proposals. It is 0 for a flat prior and a symmetric proposal.
    skew
        Skewness of the lᵢ of each pair, if known.
    residuals
        Weighted values that stand for the lᵢ of each pair, a `Residuals`, if they were kept: for predictions at small m
        (docs/small_batches.md).
    notes
        Where the pairs come from, by the names in `designer.pairs.notes.NAMES`; not part of the digest.

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
    residuals: Residuals | None
    notes: Mapping[str, Note]

    def __init__(
        self,
        n_data: int,
        mu: ArrayLike,
        sigma: ArrayLike,
        log_ratio: ArrayLike = 0.0,
        skew: ArrayLike | None = None,
        residuals: Residuals | None = None,
        notes: Mapping[str, Note] | None = None,
    ) -> None:
        columns = {"mu": _column("mu", mu)}
        pairs = integer("number of pairs", columns["mu"].size, 1, MAX_PAIRS)
        columns["sigma"] = _column("sigma", sigma, pairs)
        columns["log_ratio"] = _column("log_ratio", log_ratio, pairs, repeat=True)
        if skew is not None:
            columns["skew"] = _column("skew", skew, pairs)
        flaws, count = defects(columns, most=5)
        if flaws and (swapped := swap_line(columns["mu"], columns["sigma"])) is not None:
            raise BadInput(swapped)
        if flaws:
            lines = [f"{d.column}[{d.row}] = {float(columns[d.column][d.row])!r}: {d.reason}" for d in flaws]
            raise BadInput("; ".join(lines + [f"and {count - len(flaws):,} more"] * (count > len(flaws))))
        n_data = integer("n_data", n_data, 2, MAX_N_DATA)
        if residuals is not None:
            residuals.check(n_data, columns["mu"], columns["sigma"], columns.get("skew"))
        more = {"residuals": residuals, "notes": checked_notes(notes or {})}
        fields: dict[str, object] = {"n_data": n_data, "skew": None, **columns, **more}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def at_stationarity(
        cls, n_data: int, acceptance: float, pairs: int, rng: np.random.Generator, spread: float = 0.0
    ) -> TrialRun:
        """Pairs of a random walk at stationarity, for use before there is a trial run.

        A ~ N(-κ²/2, κ²), where κ gives the acceptance rate 2 Φ(-κ/2): one κ for all pairs, or log κ normal with
        standard deviation `spread` (`designer.pairs.stationary`).

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
        """The columns by name, in the order of the files; without skew if it is unknown."""
        columns = {"mu": self.mu, "sigma": self.sigma, "log_ratio": self.log_ratio}
        return columns if self.skew is None else columns | {"skew": self.skew}

    @property
    def proposal(self) -> str | None:
        """The kind of proposal that made the pairs, if noted."""
        return str(self.notes["proposal"]) if "proposal" in self.notes else None

    @property
    def n_heavy(self) -> int:
        """Rows that every step of the chain reads besides its sample, if noted: the pairs are of the others."""
        return int(self.notes.get("n_heavy", 0))

    @property
    def log_acceptance(self) -> Floats:
        """A = N μ - c, the log acceptance ratio of each pair."""
        return self.n_data * self.mu - self.log_ratio

    @property
    def kappa(self) -> Floats:
        """κ = N σ / √(N - 1), the scale of the sampling noise in the log ratio."""
        return self.sigma * (self.n_data / math.sqrt(self.n_data - 1))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of N, the columns and the residuals, if kept; the same on every machine and in every file format.

        A CSV file keeps no residuals, so what is read from it has another digest: predictions may differ.
        """
        sha = hashlib.sha256(f"trial run 1, n_data {self.n_data}, pairs {len(self)}".encode())
        for name, column in self.columns.items():
            sha.update(f", {name} ".encode() + column.astype("<f8").tobytes())
        if self.residuals is not None:
            kept = self.residuals
            sha.update(b", residuals " + kept.values.astype("<f8").tobytes())
            sha.update(kept.weights.astype("<i8").tobytes() + kept.starts.astype("<i8").tobytes())
        return sha.hexdigest()

    def subset(self, indices: ArrayLike) -> TrialRun:
        """The pairs with these indices (repeats allowed, as in a bootstrap), or those where a mask is true."""
        try:
            columns = {name: column[np.atleast_1d(indices)] for name, column in self.columns.items()}
        except IndexError as error:
            raise BadInput(f"indices: {error}") from None
        residuals = None if self.residuals is None else self.residuals.take(indices)
        return TrialRun(self.n_data, **columns, residuals=residuals, notes=self.notes)

    @property
    def _content(self) -> TrialColumns:
        return TrialColumns(
            self.n_data, self.mu, self.sigma, self.log_ratio, self.skew, self.residuals, dict(self.notes)
        )

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
        # Through the constructor: unpickled arrays would otherwise be writable.
        return TrialRun, tuple(self._content)

    @classmethod
    def load(cls, path: str | os.PathLike[str], n_data: int | None = None) -> TrialRun:
        """The trial run in a file: .csv, .tsv, .txt, .parquet or .npz."""
        return cls(*files.load(path, n_data))

    @classmethod
    def from_upload(cls, name: str, source: Source, n_data: int | None = None) -> TrialRun:
        """The trial run in a file object or bytes, in the format of the suffix of `name`."""
        return cls(*files.read_named(name, source, n_data))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in the format of its suffix: .csv, .tsv, .txt, .parquet or .npz."""
        files.save(path, self._content)

    @classmethod
    def from_csv(cls, source: Source, n_data: int | None = None) -> TrialRun:
        """The trial run in a text table; `designer.pairs.files.read_csv` says which formats are understood."""
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
        """Write a CSV file with exact numbers, without residuals; an old file is replaced as a whole or not at all."""
        files.write_csv(target, self._content)

    def to_parquet(self, target: Target) -> None:
        """Write a Parquet file with N in its metadata; an old file is replaced as a whole or not at all."""
        files.write_parquet(target, self._content)

    def to_npz(self, target: Target) -> None:
        """Write a NumPy archive; an old file is replaced as a whole or not at all."""
        files.write_npz(target, self._content)


def _column(name: str, values: ArrayLike, pairs: int | None = None, *, repeat: bool = False) -> Floats:
    """A read-only float64 copy of `values`, one per pair; with `repeat`, a single number is repeated."""
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
    with np.errstate(over="ignore"):  # wider floats may become inf, which is refused later with its row
        column = np.atleast_1d(given).astype(np.float64)
    column += 0.0  # turns -0.0 into 0.0, so that equal trial runs have the same digest
    column.setflags(write=False)
    return column
