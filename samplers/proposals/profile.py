"""Profile corrections: where the posterior is skewed in a direction, proposals are bent to its shape there.

The coefficient of a rare level (few data, all alike) has a posterior far from normal, while the others, given it, stay
nearly normal. Take some linear functionals g_j'θ, the rows of G; here they are single coefficients. Then θ = y +
follow' δ, where y is normal (or Student's t) with covariance C, δ_j = sd_j (T_j(v_j) - v_j) moves each functional by a
monotone map T_j of v_j = g_j'(y - centre) / sd_j, and all else follows in proportion, as means given g_j'θ do in the
normal approximation: follow = (G C G')⁻¹ G C, so that G follow' = I. Hence log |dθ/dy| = log |I + follow' diag(T' - 1)
G| = sum of log T_j'. Any T_j is right, because the density of θ is known exactly; a good one is accepted more often.

T_j takes a standard normal variable to the marginal posterior of g_j'θ by Laplace's method (Tierney and Kadane 1986),
that is the profile of the log posterior plus the change of half the log determinant of the covariance of all else,
which is taken as linear (as in the simplified Laplace approximation of Rue, Martino and Chopin 2009). The profile runs
along the straight line direction_j = C g_j / sd_j; there each η_i is linear, and data whose η_i hardly moves are
represented by their proxies and third derivatives: the few others are all that is evaluated.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from designer.core.arrays import Floats, Ints
from samplers.models import LinearModel, Rows
from samplers.models.arrays import blocks
from samplers.models.control import Controlled
from samplers.models.control.expansion import expansion, rows_of
from samplers.proposals._kernels import bend_all, unbend_all

SKEWED, PEAKED = 0.02, 0.04  # third and fourth derivative, in standard deviations, of a direction worth bending
MOST_BENT = 32  # directions
SMALL = 0.05  # a datum whose η moves less than this per standard deviation is represented by its derivatives
DIFFERENCE = 0.01  # in η, for derivatives of the curvature
PROBES = np.array([1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 13.0, 18.0, 26.0, 36.0])  # distances, in standard deviations
DEEP = 30.0  # below the highest log density: what is beyond is left to the straight ends of the map
POINTS, FINE = 81, 4001  # where the log density is evaluated, and where it is interpolated
KNOTS = np.linspace(-5.0, 5.0, 25)


class Shape(NamedTuple):
    """How the posterior differs from normal along some directions, to the first orders.

    Attributes
    ----------
    functionals
        (k, D): the functionals g_j, one for each direction C g_j / sd_j.
    skewness, peakedness
        Third and fourth derivative of the log posterior along each direction, in its standard deviations.
    tilt
        Slope of minus half the log determinant of the precision of all else, along the same direction.
    """

    functionals: Floats
    skewness: Floats
    peakedness: Floats
    tilt: Floats

    @property
    def need(self) -> Floats:
        """Above 1: worth bending."""
        return np.maximum(np.abs(self.skewness) / SKEWED, np.abs(self.peakedness) / PEAKED)

    def bent(self) -> Shape:
        """The directions worth bending, at most MOST_BENT."""
        worst = np.argsort(-self.need, kind="stable")[:MOST_BENT]
        chosen = np.sort(worst[self.need[worst] > 1.0])
        return Shape(*(part[chosen] for part in self))


class Profile(NamedTuple):
    """The bent directions: their functionals, the knots, values and slopes of their maps, and how all else follows.

    A tuple of arrays, so that kernels take it as it is. `ProxyStep.of` makes one.

    Attributes
    ----------
    functionals
        (k, D).
    sds
        Their standard deviations in the normal approximation: the units of their maps.
    follow
        (k, D): how θ changes when a functional is moved by 1.
    at, values, slopes
        Of each map, (k, number of knots).

    Examples
    --------
    >>> from samplers import Controlled, Logistic, ProxyStep, find_mode
    >>> model = Logistic.from_data([[1.0]] * 3, [1, 1, 1], prior_precision=0.1)  # a level with three ones
    >>> profile = ProxyStep.of(Controlled.around(model, find_mode(model)), profile=True).profile
    >>> profile.values[0, [6, 12, 18]].round(2)  # quantiles of the posterior, in standard deviations: skewed
    array([-1.76,  0.29,  3.77])
    """

    functionals: Floats
    sds: Floats
    follow: Floats
    at: Floats
    values: Floats
    slopes: Floats

    @classmethod
    def of(cls, model: Controlled, mode: Floats, covariance: Floats, shape: Shape | None = None) -> Profile:
        """Two passes over the data, one if the shape is known; it may have no directions."""
        shape = (shape_of(model, mode, covariance) if shape is None else shape).bent()
        maps = [line.quantiles() for line in _lines(model, mode, covariance, shape)]
        functionals = shape.functionals[[found is not None for found in maps]]
        values, slopes = (
            np.array([found[part] for found in maps if found is not None]).reshape(-1, KNOTS.size) for part in (0, 1)
        )
        spread = functionals @ covariance
        within = spread @ functionals.T
        follow: Floats = np.linalg.solve(within, spread).astype(np.float64) if len(spread) else spread
        return cls(functionals, np.sqrt(np.diag(within)), follow, np.tile(KNOTS, (len(spread), 1)), values, slopes)

    @classmethod
    def none(cls, dimension: int) -> Profile:
        """Nothing is bent."""
        of_theta, of_maps = np.empty((0, dimension)), np.empty((0, KNOTS.size))
        return cls(of_theta, np.empty(0), of_theta, of_maps, of_maps, of_maps)

    @property
    def size(self) -> int:
        """Number of bent directions."""
        return self.sds.size

    def bend(self, centre: Floats, y: Floats) -> tuple[Floats, float]:
        """θ, and log |dθ/dy|."""
        theta = np.empty_like(y)
        return theta, bend_all(self, centre, y, theta)

    def unbend(self, centre: Floats, theta: Floats) -> tuple[Floats, float]:
        """y, and log |dθ/dy|."""
        y = np.empty_like(theta)
        return y, unbend_all(self, centre, theta, y)


def shape_of(model: Controlled, mode: Floats, covariance: Floats, functionals: Floats | None = None) -> Shape:
    """Along the functionals, by default all coordinates: one pass over the data, about as dear as a Newton step.

    The prior's higher derivatives are left out.
    """
    linear = model.linear
    functionals = np.eye(mode.size) if functionals is None else functionals
    directions = directions_of(functionals, covariance)
    skewness, peakedness, tilt = np.zeros((3, len(functionals)))
    for block in blocks(linear.n_data):
        rows = rows_of(linear, block)
        along = rows @ directions
        third, fourth = _derivatives(linear, rows @ mode, block)
        leverage = np.einsum("ij,ij->i", rows @ covariance, rows)  # x' C x
        square = along * along
        cubes = third @ (square * along)
        skewness += cubes
        peakedness += fourth @ (square * square)
        tilt += 0.5 * ((third * leverage) @ along - cubes)  # of the covariance given the functional
    return Shape(functionals, skewness, peakedness, tilt)


def directions_of(functionals: Floats, covariance: Floats) -> Floats:
    """Columns C g_j / sd_j: one standard deviation along each."""
    spread = covariance @ functionals.T
    directions: Floats = spread / np.sqrt(np.einsum("ji,ij->j", functionals, spread))
    return directions


def _derivatives(model: LinearModel, eta: Floats, indices: Rows) -> tuple[Floats, Floats]:
    """Third and fourth derivative of log p in η, from differences of its curvature."""
    low, here, high = (model.curvature(eta + move, indices) for move in (-DIFFERENCE, 0.0, DIFFERENCE))
    return (high - low) / (2.0 * DIFFERENCE), (high - 2.0 * here + low) / DIFFERENCE**2


class _Line(NamedTuple):
    """The log posterior along a direction from the mode, in standard deviations t; arrays: of the data that matter."""

    model: Controlled
    mode: Floats
    direction: Floats
    skewness: float  # of all other data together
    tilt: float
    indices: Ints
    eta: Floats  # at the mode
    along: Floats  # η's change per standard deviation
    offset: Floats  # of η at the mode from η at the centre of the proxies
    slope: Floats  # of the proxies
    curvature: Floats

    def log_marginal(self, t: float) -> float:
        """Log density of the marginal posterior, up to a constant."""
        move = t * self.along
        value = self.model.linear.value
        exact = value(self.eta + move, self.indices) - value(self.eta, self.indices)
        proxies = move * (self.slope + self.curvature * (self.offset + 0.5 * move))
        rest = t * (self.tilt + t * (-0.5 + t * self.skewness / 6.0))  # the quadratic proxies are -t²/2 in all
        return float(np.sum(exact - proxies)) + rest + self._prior(t)

    def _prior(self, t: float) -> float:
        """What the quadratic expansion of the log prior at the proxies' centre misses."""
        prior, centre = self.model.model, self.model.centre
        begin, end = self.mode - centre, self.mode + t * self.direction - centre
        curvature = prior.prior_curvature(centre)
        quadratic = 0.5 * (end @ curvature @ end - begin @ curvature @ begin)
        linear = prior.prior_gradient(centre) @ (end - begin)
        return float(prior.log_prior(centre + end) - prior.log_prior(centre + begin) - linear - quadratic)

    @np.errstate(over="ignore", invalid="ignore")  # far out, the log density may be -inf
    def quantiles(self) -> tuple[Floats, Floats] | None:
        """Quantiles of the marginal at the normal knots, and their slopes; None if they cannot be computed."""
        from scipy.interpolate import CubicSpline

        low, high = self._ends()
        points = np.linspace(low, high, POINTS)
        heights = np.array([self.log_marginal(float(t)) for t in points])
        if not np.all(np.isfinite(heights)):
            return None
        t = np.linspace(low, high, FINE)
        density = np.exp(CubicSpline(points, heights)(t) - heights.max())
        panels = 0.5 * (density[1:] + density[:-1])
        below, above = np.append(0.0, panels.cumsum()), np.append(panels[::-1].cumsum()[::-1], 0.0)
        total = below[-1]
        inner = (below > 0.0) & (above > 0.0)
        low_side, p, q = below < above, below / total, above / total
        v = np.where(low_side, ndtri(np.minimum(p, 0.5)), -ndtri(np.minimum(q, 0.5)))[inner]
        values = np.interp(KNOTS, v, t[inner])
        height = np.interp(values, t, density) / (total * (t[1] - t[0]))
        slopes = np.exp(-0.5 * KNOTS**2) / (math.sqrt(2.0 * math.pi) * height)
        if not (np.all(np.diff(values) > 0.0) and np.all(np.isfinite(slopes)) and np.all(slopes > 0.0)):
            return None
        return values, slopes

    def _ends(self) -> tuple[float, float]:
        """Where the log density has fallen by DEEP, or the last probe."""
        sides = [np.array([self.log_marginal(sign * float(t)) for t in PROBES]) for sign in (-1.0, 1.0)]
        highest = max(0.0, *(float(side.max()) for side in sides))
        low, high = (float(np.append(PROBES[side < highest - DEEP], PROBES[-1])[0]) for side in sides)
        return -low, high


def _lines(model: Controlled, mode: Floats, covariance: Floats, shape: Shape) -> list[_Line]:
    """The line of each functional, with the data that matter for it: one pass."""
    linear, size = model.linear, len(shape.functionals)
    directions = directions_of(shape.functionals, covariance)
    found: list[list[tuple[Floats, ...]]] = [[] for _ in range(size)]
    for block in blocks(linear.n_data if size else 0):
        rows = rows_of(linear, block)
        along = rows @ directions
        for i in range(size):
            picked = np.flatnonzero(np.abs(along[:, i]) > SMALL)
            indices, h = picked + block.start, along[picked, i]
            eta = rows[picked] @ mode
            centre, slope, curvature = expansion(linear, rows[picked] @ model.centre, indices, 2).T
            cubes = _derivatives(linear, eta, indices)[0] * h**3
            found[i].append((indices, eta, h, eta - centre, slope, curvature, cubes))
    lines = []
    for i in range(size):
        indices, *parts, cubes = (np.concatenate(part) for part in zip(*found[i], strict=True))
        known = float(shape.skewness[i] - cubes.sum()), float(shape.tilt[i])
        lines.append(_Line(model, mode, directions[:, i], *known, indices, *parts))
    return lines
