"""The stationary distribution of a random walk with errors on one parameter, computed on a grid of states."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure
from designer.engine.step_error import exact_probability
from designer.further.posterior.acceptance_table import (
    KAPPAS,
    AcceptanceTable,
    mean_acceptance,
    table_curves,
    tabulate,
)
from designer.further.posterior.target_density import Target
from designer.pairs.trial_run import TrialRun
from designer.rule.plan import Plan

GRID, MOST_STATES = 301, 1201
POINTS = 401  # values of A in the table, which is interpolated
RESOLVED = 4.0  # states within a step's standard deviation
WIDTH, WIDEST = 8.0, 160.0  # of the grid on either side, in sds of the target
MIDDLE = 3.29  # sds: 99.9% of the target, where the contraction of Theorem 1 is measured
OUTSIDE = 1e-7  # of the probability, at most, near the ends of the grid
UNSURE = 0.01  # largest relative numerical error of the sd
SMALLEST, LARGEST = 1e-5, 30.0  # steps considered by Barker's rule


class StationaryLaw(NamedTuple):
    """What the chain samples in the long run: mean, sd, total variation distance from the target, acceptance rate."""

    mean: float
    sd: float
    away: float
    rate: float
    edge: float  # probability near the ends of the grid


class WalkWithErrors(NamedTuple):
    """A walk on one parameter: its target, its step, and the pairs and the table that give its errors."""

    target: Target
    step: float
    trial: TrialRun
    barker: bool
    kappas: Floats
    table: AcceptanceTable

    @classmethod
    def like(cls, plan: Plan, trial: TrialRun, barker: bool, target: Target) -> WalkWithErrors:
        """The walk that accepts as often as the trial run did, with a test making the decisions."""
        step = _step(mean_acceptance(trial, "barker" if barker else "metropolis"), barker)
        low, high = float(trial.kappa.min()), float(trial.kappa.max())
        even = high <= low * (1.0 + 1e-6)
        kappas = np.array([low * 0.999, low * 1.001]) if even else np.geomspace(low, high, KAPPAS)
        return cls(target, step, trial, barker, kappas, tabulate(table_curves(plan, kappas), kappas, barker, POINTS))

    def states(self, width: float, *, coarse: bool = False) -> Floats:
        """Evenly spaced from -width to width, fine enough for the steps."""
        fine_enough = 2 * math.ceil(RESOLVED * width / self.step) + 1
        size = min(max(GRID, fine_enough), MOST_STATES)
        return np.linspace(-width, width, size // 2 + 1 if coarse else size)

    def accepted(self, x: Floats) -> Floats:
        """P_a + Δ from each state to each other; κ and the length of a step are taken at the same quantile."""
        table, dx = self.table, x[1] - x[0]
        level = scipy.special.erf(np.arange(x.size) * dx / self.step / math.sqrt(2.0))  # P(|step| is shorter)
        log_kappa = np.log(np.quantile(self.trial.kappa, np.minimum(level, 1.0)))
        degree = min(3, self.kappas.size - 1)
        spline = scipy.interpolate.RectBivariateSpline(np.log(self.kappas), table.y, table.probability, kx=degree, ky=3)
        away = np.abs(np.arange(x.size)[:, None] - np.arange(x.size))
        y = np.arcsinh(np.clip(self.log_ratios(x), table.a[0], table.a[-1]) / table.width)
        return np.asarray(np.clip(spline.ev(log_kappa[away], y), 0.0, 1.0))

    def log_ratios(self, x: Floats) -> Floats:
        """A from each state (rows) to each other; 0 where the density vanishes at both."""
        log_p = self.target.log_density(x)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nan_to_num(log_p - log_p[:, None], nan=0.0))

    def transitions(self, x: Floats, accepted: Floats) -> Floats:
        """The transition matrix with these acceptance probabilities; proposals beyond the grid are rejected."""
        z = (x[:, None] - x) / self.step
        move = accepted * np.exp(-0.5 * z * z) * ((x[1] - x[0]) / self.step / math.sqrt(2.0 * math.pi))
        np.fill_diagonal(move, 0.0)
        np.fill_diagonal(move, 1.0 - move.sum(axis=1))
        return np.asarray(move)

    def contraction(self) -> float:
        """Dobrushin's coefficient of the exact chain: the largest distance between one step from two states.

        Over states in the middle of the target; on the whole line it is not below 1.
        """
        x = self.states(WIDTH, coarse=True)
        move = self.transitions(x, exact_probability(self.log_ratios(x), self.barker))
        rows = move[np.abs(x) <= MIDDLE]
        return max(float(0.5 * np.abs(rows - row).sum(axis=1).max()) for row in rows)


def settle(walk: WalkWithErrors) -> tuple[StationaryLaw, float]:
    """The stationary distribution on a wide enough grid, and the difference of its sd from that on a coarser grid."""
    width, law = WIDTH, _settled(walk, walk.states(WIDTH))
    while law.edge > OUTSIDE:
        width *= 1.5
        if width > WIDEST:
            raise NumericalFailure(f"this test spreads the posterior beyond {WIDEST:g} standard deviations")
        law = _settled(walk, walk.states(width))
    apart = abs(law.sd - _settled(walk, walk.states(width, coarse=True)).sd)
    if not apart <= UNSURE * law.sd:
        raise NumericalFailure(f"{MOST_STATES:,} states are too few for steps of {walk.step:.2g} standard deviations")
    return law, apart


def _settled(walk: WalkWithErrors, x: Floats) -> StationaryLaw:
    """The stationary law on one grid. Without errors it is the target: detailed balance holds on the grid."""
    accepted = walk.accepted(x)
    move = walk.transitions(x, accepted)
    p = _stationary(move)
    mean, exact = float(p @ x), np.exp(walk.target.log_density(x))
    away = 0.5 * float(np.abs(p - exact / exact.sum()).sum())
    same = (x[1] - x[0]) / walk.step / math.sqrt(2.0 * math.pi)  # moves within a state count as moves
    rate = float(p @ (1.0 - np.diag(move) + same * np.diag(accepted)))
    sd = math.sqrt(float(p @ (x - mean) ** 2))
    return StationaryLaw(mean, sd, away, rate, float(p[:3].sum() + p[-3:].sum()))


def _stationary(move: Floats) -> Floats:
    """p with p = p T and sum 1."""
    system = move.T - np.eye(move.shape[0])
    system[-1] = 1.0
    right_side = np.zeros(move.shape[0])
    right_side[-1] = 1.0
    try:
        return np.asarray(np.maximum(np.linalg.solve(system, right_side), 0.0))
    except np.linalg.LinAlgError:
        raise NumericalFailure("the chain hardly moves: no stationary distribution can be computed") from None


def _step(rate: float, barker: bool) -> float:
    """The step of a walk on a standard normal that accepts at this rate; (2/π) atan(2/s) by Metropolis' rule."""
    if not barker:
        if not 0.0 < rate < 1.0:
            raise never_met(rate)
        return 2.0 / math.tan(0.5 * math.pi * rate)
    z, w = np.polynomial.hermite_e.hermegauss(60)
    w = np.outer(w, w) / w.sum() ** 2

    def excess(log_s: float) -> float:
        s = math.exp(log_s)
        return float((w * exact_probability(-s * np.outer(z, z) - 0.5 * (s * z) ** 2, True)).sum()) - rate

    low, high = math.log(SMALLEST), math.log(LARGEST)
    if excess(low) <= 0.0 or excess(high) >= 0.0:
        raise never_met(rate)
    return math.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-10))


def never_met(rate: float) -> BadInput:
    """The error for pairs that no random walk on a Gaussian has, or none that can be computed."""
    return BadInput(f"the trial run accepts {rate:.3g} of its proposals: too many or too few for a random walk")
