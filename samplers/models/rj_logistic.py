"""Variable selection in logistic regression by reversible jump: birth, death and update moves (K14 6.3, supp. E).

Chen, Wang and McKeown (2011) for a linear model. Of D coefficients, k >= 1 are active (γ), with Laplace priors of a
common scale ν, p(ν) = 1/ν; the prior of γ is proportional to rate^k / (binom(D, k) k!). With ν integrated out

    p(β, γ) ~ |β|₁^-k (rate / 2)^k B(k, D - k + 1).

Since the prior of ν is improper, so is the posterior: its mass near β = 0, ∫ dr/r, is infinite in every model. A
chain on much data never gets there; a `floor` under |β|₁ makes the posterior proper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, real
from designer.engine.step_error import Rule
from samplers.decide.comparison import Comparison
from samplers.models import _jump_kernels
from samplers.models.logistic import Logistic

Bools = npt.NDArray[np.bool_]
Move = Literal["update", "birth", "death"]

LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


class RJState(NamedTuple):
    """Which coefficients are active, and their values (0 where not)."""

    gamma: Bools
    beta: Floats


class Jump(NamedTuple):
    """A proposed move: its kind, the coefficient it changes and by how much, the state it leads to, and c."""

    move: Move
    component: int
    change: float
    state: RJState
    log_ratio: float


@dataclass(frozen=True, eq=False)
class RJLogistic:
    """Logistic regression with variable selection.

    Parameters
    ----------
    rows
        Covariates (N, D) times the label ±1; `from_data` folds them.
    rate
        λ of the prior on the number of active coefficients: smaller values favour fewer.
    sd_update, sd_birth
        Standard deviations of the change of an update, and of a new coefficient.
    p_birth, p_death
        Probabilities of these moves; where one is impossible (k = D or k = 1) an update takes its place.
    floor
        The prior vanishes where |β|₁ <= floor.

    Examples
    --------
    >>> from samplers import ExactTest, JumpChain
    >>> rng = np.random.default_rng(1)
    >>> x = rng.standard_normal((1000, 5))
    >>> model = RJLogistic.from_data(x, rng.logistic(size=1000) < x @ [2.0, 0.0, 0.0, 0.0, -2.0], rate=0.1)
    >>> draws = JumpChain(model, ExactTest(), model.start([0]).beta, rng).advance(4000)
    >>> (np.mean(draws.theta != 0.0, axis=0) > 0.5).tolist()
    [True, False, False, False, True]
    """

    rows: Floats
    rate: float = 1e-10
    sd_update: float = 0.01
    sd_birth: float = 0.1
    p_birth: float = 1.0 / 3.0
    p_death: float = 1.0 / 3.0
    floor: float = 0.0
    n_data: int = field(init=False)
    dimension: int = field(init=False)
    largest: Floats = field(init=False, repr=False)  # of |x_ij| in each column

    def __post_init__(self) -> None:
        checked = {
            "rate": real("rate", self.rate, 0.0, 1e300, open_low=True),
            "sd_update": real("sd_update", self.sd_update, 0.0, 1e300, open_low=True),
            "sd_birth": real("sd_birth", self.sd_birth, 0.0, 1e300, open_low=True),
            "p_birth": real("p_birth", self.p_birth, 0.0, 1.0, open_low=True, open_high=True),
            "p_death": real("p_death", self.p_death, 0.0, 1.0, open_low=True, open_high=True),
            "floor": real("floor", self.floor, 0.0, 1e300),
            "n_data": self.rows.shape[0],
            "dimension": self.rows.shape[1],
            "largest": np.maximum(self.rows.max(axis=0), -self.rows.min(axis=0)),
        }
        if self.p_birth + self.p_death >= 1.0:
            raise BadInput(f"p_birth + p_death = {self.p_birth + self.p_death:g}: must be below 1, for updates")
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_data(cls, x: npt.ArrayLike, y: npt.ArrayLike, **options: float) -> RJLogistic:
        """From covariates (N, D) and labels (0 and 1, -1 and 1, or booleans); other options are those of the class."""
        return cls(Logistic.from_data(x, y).rows, **options)

    def start(self, active: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> RJState:
        """A state with these coefficients active; their values, by default 0.1."""
        chosen = np.unique(np.asarray(active, dtype=np.int64))
        if chosen.size == 0 or chosen[0] < 0 or chosen[-1] >= self.dimension or chosen.size != np.size(active):
            raise BadInput(f"active: must be one or more different numbers from 0 to {self.dimension - 1}")
        state = RJState(np.zeros(self.dimension, dtype=np.bool_), np.zeros(self.dimension))
        state.gamma[chosen] = True
        given = np.full(chosen.size, 0.1) if beta is None else np.asarray(beta, dtype=np.float64)
        if given.shape != (chosen.size,):
            raise BadInput(f"beta has shape {given.shape}: must be ({chosen.size},), one per active coefficient")
        state.beta[np.asarray(active, dtype=np.int64)] = given
        return self.checked(state)

    def checked(self, state: RJState) -> RJState:
        """The state, or BadInput if the posterior vanishes there."""
        gamma, beta = np.asarray(state.gamma), np.asarray(state.beta, dtype=np.float64)
        if gamma.shape != (self.dimension,) or beta.shape != (self.dimension,) or gamma.dtype != np.bool_:
            raise BadInput(f"start: gamma and beta must have {self.dimension} entries, gamma True or False")
        if not gamma.any() or np.any(beta[~gamma] != 0.0) or not np.all(np.isfinite(beta)):
            raise BadInput("start: at least one active coefficient, all finite, and beta = 0 where gamma is False")
        if not _norm(beta) > self.floor:
            raise BadInput(f"start: |beta|_1 = {_norm(beta):g}: must exceed floor = {self.floor:g}")
        return RJState(gamma, beta)

    def log_prior(self, state: RJState) -> float:
        """log of |β|₁^-k (rate / 2)^k B(k, D - k + 1), up to a constant (K14 section 6.3; its rate is rate / 2)."""
        k, d, norm = int(state.gamma.sum()), self.dimension, _norm(state.beta)
        if not norm > self.floor:
            return -math.inf
        log_beta = math.lgamma(k) + math.lgamma(d - k + 1) - math.lgamma(d + 1)
        return k * (math.log(0.5 * self.rate) - math.log(norm)) + log_beta

    def propose(self, rng: np.random.Generator, state: RJState) -> Jump:
        """Draw a move."""
        u, active = rng.random(), np.flatnonzero(state.gamma)
        k = active.size
        if u < self.p_birth and k < self.dimension:
            j = int(np.flatnonzero(~state.gamma)[rng.integers(self.dimension - k)])
            return self.jump(state, "birth", j, self.sd_birth * rng.standard_normal())
        j = int(active[rng.integers(k)])
        if u >= 1.0 - self.p_death and k > 1:
            return self.jump(state, "death", j, -float(state.beta[j]))
        return self.jump(state, "update", j, self.sd_update * rng.standard_normal())

    def jump(self, state: RJState, move: Move, component: int, change: float) -> Jump:
        """The move that adds `change` to a coefficient, with its log ratio."""
        gamma, beta = state.gamma.copy(), state.beta.copy()
        gamma[component] = move != "death"
        beta[component] = 0.0 if move == "death" else beta[component] + change
        k, norm, new_norm = int(state.gamma.sum()), _norm(state.beta), _norm(beta)
        if not new_norm > self.floor:
            c = math.inf
        elif move == "update":  # K14 Eqn 36
            c = k * (math.log(new_norm) - math.log(norm))
        elif move == "birth":
            c = self._birth_ratio(k, norm, new_norm, change)
        else:
            c = -self._birth_ratio(k - 1, new_norm, norm, -change)
        return Jump(move, component, change, RJState(gamma, beta), c)

    def _birth_ratio(self, k: int, norm: float, new_norm: float, born: float) -> float:
        """c of a birth from k to k + 1 active coefficients (K14 Eqn 37); Eqn 38 is minus that of the reverse.

        With rate / 2 for λ, and with the choice of the component in p(γ -> γ').
        """
        d = self.dimension
        forth, back = self.p_birth / (d - k), self.p_death / (k + 1)
        log_normal = -0.5 * (born / self.sd_birth) ** 2 - math.log(self.sd_birth) - LOG_ROOT_2PI
        prior = (k + 1) * math.log(new_norm) - k * math.log(norm) + math.log((d - k) / k) - math.log(0.5 * self.rate)
        return prior + log_normal + math.log(forth / back)

    def comparison(self, state: RJState, jump: Jump, rule: Rule = "metropolis") -> Comparison:
        """Whether to accept the move; reads the active columns of the drawn rows and the one that changes."""
        active = np.flatnonzero(state.gamma)
        parts = self.rows, active, state.beta[active], jump.component, jump.change

        def terms(indices: Ints) -> Floats:
            out = np.empty(indices.size)
            _jump_kernels.move_terms(*parts, indices, out)
            return out

        def full() -> float:
            return float(_jump_kernels.move_total(*parts))

        bound = abs(jump.change) * float(self.largest[jump.component])  # the slope of log sigm is below 1
        return Comparison(self.n_data, terms, jump.log_ratio, rule, bound, full)


def _norm(beta: Floats) -> float:
    return float(np.abs(beta).sum())
