"""The posterior of the tempered mixture by quadrature, and how well counts of samples in bins fit it (S17 Eqn 23).

The likelihood uses a fine histogram of the data: within a cell, log p is nearly linear in x, so the mean of the cell
is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from samplers.models.mixture import Mixture

CELLS = 1500  # of the data's histogram
FIRST, SECOND = (-1.5, 2.5), (-3.0, 3.0)  # box of (θ₁, θ₂) that is divided into bins
LEAST = 1.0  # expected count below which bins are pooled for chi-squared


class Binned(NamedTuple):
    """Data as a histogram: a model of the means of the cells, and the number of data in each."""

    model: Mixture
    counts: Floats

    @classmethod
    def of(cls, x: Floats, temperature: float) -> Binned:
        """Histogram with cells of equal width over all the data."""
        counts, edges = np.histogram(x, CELLS)
        sums = np.histogram(x, edges, weights=x)[0]
        full = counts > 0
        return cls(Mixture.from_data(sums[full] / counts[full], temperature), counts[full].astype(np.float64))

    def log_posterior(self, theta: Floats) -> float:
        """Log posterior up to a constant."""
        values = self.model.log_likelihood(theta, slice(None))
        return self.model.log_prior(theta) + float(values @ self.counts)

    def moments(self, theta: Floats, proposed: Floats) -> tuple[float, float]:
        """Mean and standard deviation of the lᵢ."""
        terms = self.model.terms(theta, proposed, np.arange(self.counts.size))
        mean = float(np.average(terms, weights=self.counts))
        return mean, float(np.sqrt(np.average((terms - mean) ** 2, weights=self.counts)))


class Posterior(NamedTuple):
    """Probabilities of bins in (θ₁, θ₂) and the edges of the bins."""

    probability: Floats
    first: Floats
    second: Floats

    @property
    def cells(self) -> Floats:
        """Probabilities of the bins as a vector; the last entry is the rest, outside the box."""
        flat = self.probability.ravel()
        return np.append(flat, max(0.0, 1.0 - flat.sum()))

    def counts(self, theta: Floats) -> Ints:
        """Number of states in each bin, and outside the box."""
        inside = np.histogram2d(theta[:, 0], theta[:, 1], (self.first, self.second))[0].astype(np.int64).ravel()
        return np.append(inside, len(theta) - inside.sum())

    def scores(self, counts: Ints) -> tuple[float, float]:
        """S17 Eqn 23 over the bins of the box, and chi-squared with rare bins pooled."""
        from scipy.special import gammaln

        expected = counts.sum() * self.cells
        box, seen = np.maximum(expected[:-1], 1e-300), counts[:-1]
        score = float(np.sum(seen * np.log(box) - box - gammaln(seen + 1.0)))
        rare = expected < LEAST
        pooled = np.append(expected[~rare], expected[rare].sum())
        observed = np.append(counts[~rare], counts[rare].sum())
        return score, float(np.sum((observed - pooled) ** 2 / np.maximum(pooled, 1e-12)))

    def chi_squared(self, counts: Ints, about: float) -> tuple[float, int]:
        """Chi-squared of groups of neighbouring bins with about this expected count, and its degrees of freedom."""
        expected = counts.sum() * self.cells
        group = ((np.cumsum(expected) - 0.5 * expected) / about).astype(np.int64)
        _, group = np.unique(group, return_inverse=True)
        wanted, seen = np.bincount(group, expected), np.bincount(group, counts)
        return float(np.sum((seen - wanted) ** 2 / np.maximum(wanted, 1e-12))), wanted.size - 1


class Quadrature(NamedTuple):
    """The posterior on a fine grid of (θ₁, θ₂): weights that add up to 1, and the grid's points."""

    weight: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, binned: Binned, points: int, step: Callable[[float], None]) -> Quadrature:
        """Evaluate at the midpoints of points x points cells of the box; `step` is called with the share done."""
        first, second = (_midpoints(*ends, points) for ends in (FIRST, SECOND))
        values = np.empty((points, points))
        for i, a in enumerate(first):
            step(i / points)
            values[i] = [binned.log_posterior(np.array([a, b])) for b in second]
        weight = np.exp(values - values.max())
        return cls(weight / weight.sum(), first, second)

    def pooled(self, bins: int) -> Posterior:
        """The posterior in bins x bins bins; `bins` must divide the number of points."""
        fine = self.first.size // bins
        probability = self.weight.reshape(bins, fine, bins, fine).sum(axis=(1, 3))
        return Posterior(probability, np.linspace(*FIRST, bins + 1), np.linspace(*SECOND, bins + 1))

    def mean(self) -> Floats:
        """The posterior means of θ₁ and θ₂."""
        return np.array([float(self.weight.sum(axis=1) @ self.first), float(self.weight.sum(axis=0) @ self.second)])

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw states: a cell by its weight, then uniformly within the cell."""
        chosen = rng.choice(self.weight.size, size=count, p=self.weight.ravel())
        row, column = np.unravel_index(chosen, self.weight.shape)
        middle = np.column_stack([self.first[row], self.second[column]])
        size = np.array([self.first[1] - self.first[0], self.second[1] - self.second[0]])
        return middle + size * (rng.random((count, 2)) - 0.5)


def _midpoints(low: float, high: float, count: int) -> Floats:
    edges: Floats = np.linspace(low, high, count + 1)
    return 0.5 * (edges[1:] + edges[:-1])
