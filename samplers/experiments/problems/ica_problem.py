"""Unmixing four sources: posterior mode, a random walk with a given acceptance rate, and exact chains that mix well.

The walk is that of K14 section 6.2. Near its mode the posterior is normal in the angles of a rotation, with precision
H. So a walk of scale s accepts 2 Φ(-s √(z'Hz) / 2) of its proposals on average over z ~ N(0, I), and needs no tuning.
With two Gaussian sources H has one small eigenvalue: the data hardly say how these two are rotated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.data.sources import Source, load
from samplers.experiments.framework.data_sets import origin_of
from samplers.experiments.framework.knobs import Start
from samplers.experiments.framework.running import Work
from samplers.models import _kernels
from samplers.models.arrays import blocks
from samplers.models.ica import ICA, whiten
from samplers.proposals import StiefelWalk
from samplers.proposals.basic import Proposed

NEAR = 1e-3  # of the mode, in standard deviations
ITERATIONS = 40
DIFFERENCE = 1e-4  # radians, for second derivatives
FLATTEST = 1.0  # least precision: a direction without any curvature
TINY = 1e-9  # radians
LONGEST = 0.5  # radians of a step, of the search and of a proposal
DIRECTIONS = 20_000  # over which the acceptance rate is averaged
APART = 3.0  # scale of the starts of exact chains, in standard deviations
JUMP, STEP = 2.4, 2.38 / math.sqrt(6.0)  # scales of moves along one direction and along all, in standard deviations


class Unmixing(NamedTuple):
    """The model of the whitened data, the true unmixing matrix, and the nearest orthonormal matrix (flat)."""

    model: ICA
    truth: Floats
    nearest: Floats


def unmixing(source: Source) -> Unmixing:
    """The problem for a data set of mixed sources."""
    white = whiten(source.x)
    truth = white.unmixing(source.extra["mixing"])
    left, _, right = np.linalg.svd(truth)
    return Unmixing(ICA.from_data(white.rows), truth, (left @ right).ravel())


def turned_by(theta: Floats, angles: Floats) -> Floats:
    """W exp(A), flat, for the angles above the diagonal of the skew-symmetric A."""
    size = math.isqrt(theta.size)
    new = np.empty((size, size))
    off = _kernels.rotate(angles, 1.0, theta.reshape(size, size), new)
    if not off <= _kernels.ORTHONORMAL:
        raise BadInput(f"theta: must be an orthonormal matrix; its products of columns are off by {off:.3g}")
    return new.ravel()


def slope(model: ICA, theta: Floats) -> Floats:
    """The gradient of the log-likelihood in the angles of `turned_by`, at 0."""
    size = math.isqrt(theta.size)
    w, total = theta.reshape(size, size), np.zeros((size, size))
    for block in blocks(model.n_data):
        rows = np.asarray(model.rows[block])
        total -= np.tanh(0.5 * (rows @ w.T)).T @ rows  # d log p / d W
    g = w.T @ total
    above = np.triu_indices(size, 1)
    along: Floats = (g - g.T)[above]  # d/dA_jk of tr(G' W A), with A_kj = -A_jk
    return along


class Peak(NamedTuple):
    """The mode (flat), the precision H of the angles there, and its eigenvalues and eigenvectors (columns)."""

    mode: Floats
    precision: Floats
    values: Floats
    vectors: Floats

    @property
    def widest_sd(self) -> float:
        """Standard deviation along the widest direction, in radians; at most what one move can cross."""
        return min(1.0 / math.sqrt(self.values[0]), LONGEST / JUMP)

    def apart(self, rng: np.random.Generator) -> Floats:
        """A start away from the mode: turned along the widest direction by more than the posterior allows."""
        angle: float = APART * self.widest_sd * rng.standard_normal()
        return turned_by(self.mode, angle * self.vectors[:, 0])


def find_peak(model: ICA, theta: Floats, step: Callable[[float], None]) -> Peak:
    """Newton's method in the angles from θ, with the curvature's absolute value and shorter steps where it overshoots.

    `step` is called before each iteration.
    """
    peak, height = _curvature(model, theta), _height(model, theta)
    for iteration in range(ITERATIONS):
        step(iteration / ITERATIONS)
        move = peak.vectors @ ((peak.vectors.T @ slope(model, theta)) / peak.values)
        if math.sqrt(float(move @ peak.precision @ move)) < NEAR:
            break
        move *= min(1.0, LONGEST / float(np.linalg.norm(move)))
        while _height(model, turned_by(theta, move)) < height and np.abs(move).max() > TINY:
            move *= 0.5
        theta = turned_by(theta, move)
        peak, height = _curvature(model, theta), _height(model, theta)
    return peak


def _height(model: ICA, theta: Floats) -> float:
    return math.fsum(float(model.log_likelihood(theta, np.arange(b.start, b.stop)).sum()) for b in blocks(model.n_data))


def _curvature(model: ICA, theta: Floats) -> Peak:
    """H by differences of the slope, made positive."""
    size = math.isqrt(theta.size)
    units = DIFFERENCE * np.eye(size * (size - 1) // 2)
    columns = [slope(model, turned_by(theta, -unit)) - slope(model, turned_by(theta, unit)) for unit in units]
    h = np.array(columns) / (2.0 * DIFFERENCE)
    values, vectors = np.linalg.eigh(0.5 * (h + h.T))
    values = np.maximum(np.abs(values), FLATTEST)
    return Peak(theta, (vectors * values) @ vectors.T, values, vectors)


def scale_for(precision: Floats, acceptance: float) -> float:
    """The scale at which an isotropic walk on a normal posterior accepts this share of its proposals.

    Examples
    --------
    >>> s = scale_for(np.eye(1), 0.5)  # E of 2 Φ(-s |z| / 2) is 1 - 2 arctan(s / 2) / π
    >>> abs(1.0 - 2.0 * math.atan(s / 2.0) / math.pi - 0.5) < 0.01
    True
    """
    z = np.random.default_rng(1).standard_normal((DIRECTIONS, precision.shape[0]))
    length = np.sqrt(np.einsum("ij,jk,ik->i", z, precision, z))
    low, high = 0.0, 100.0 / float(np.median(length))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if 2.0 * float(ndtr(-0.5 * middle * length).mean()) > acceptance else (low, middle)
    return 0.5 * (low + high)


@dataclass(frozen=True)
class ShapedRotations:
    """Rotations with the posterior's shape, or by chance along its widest direction alone; a symmetric proposal.

    The angles z and -z are equally likely, which is all that `StiefelWalk` needs.
    """

    shape: Floats
    widest: Floats

    @classmethod
    def of(cls, peak: Peak) -> ShapedRotations:
        """For moves of the right size; none is longer than half a radian, typically."""
        sd = np.minimum(1.0 / np.sqrt(peak.values), LONGEST / JUMP)
        return cls(STEP * peak.vectors * sd, JUMP * peak.widest_sd * peak.vectors[:, 0])

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A rotation of θ."""
        z = rng.standard_normal(self.widest.size)
        angles = z[0] * self.widest if rng.random() < 0.5 else self.shape @ z
        return Proposed(turned_by(theta, angles), 0.0)


class TunedUnmixing(NamedTuple):
    """The problem, its peak, the scale of the walk, and where the data come from."""

    problem: Unmixing
    peak: Peak
    scale: float
    origin: Mapping[str, object]

    @property
    def walk(self) -> StiefelWalk:
        """The random walk of the paper, with the acceptance rate that was asked for."""
        return StiefelWalk(self.scale, self.problem.truth.shape[0])

    def start(self, rng: np.random.Generator, where: Start) -> Floats:
        """The mode, or an orthonormal matrix from the uniform distribution (with the determinant of the mode)."""
        if where == "mode":
            return self.peak.mode
        size = self.problem.truth.shape[0]
        q, r = np.linalg.qr(rng.standard_normal((size, size)))
        q *= np.sign(np.diag(r))
        if np.linalg.det(q) * np.linalg.det(self.peak.mode.reshape(size, size)) < 0.0:
            q[0] *= -1.0  # the posterior does not know the signs of the rows
        return turned_by(q.ravel(), np.zeros(size * (size - 1) // 2))


def tuned_unmixing(name: str, rows: int | None, acceptance: float, work: Work) -> TunedUnmixing:
    """Load and whiten the data, find the mode from the true matrix, and scale the walk."""
    source = load(name, work.data, rows)
    problem = unmixing(source)
    peak = find_peak(problem.model, problem.nearest, lambda share: work.step(0.0, f"looking for the mode, {share:.0%}"))
    return TunedUnmixing(problem, peak, scale_for(peak.precision, acceptance), origin_of(source))
