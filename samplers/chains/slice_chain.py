"""Slice sampling whose membership tests are sequential tests (K16 section 3; DuBois et al. 2014).

An update draws a level, log y = log posterior(θ) + log u, and a point of the slice {log posterior > log y} on a
line through θ: an interval of random position is stepped out until both ends are outside, then shrunk towards
θ until a point drawn from it is inside (Neal 2003). Whether θ' is inside,

    sum_i lᵢ - c > log u,    lᵢ = log p(x_i; θ') - log p(x_i; θ),    c = log prior(θ) - log prior(θ')

is the question of a Metropolis step with the update's u for every point: any test that takes a threshold answers it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from samplers.chains.chain import compare, probe
from samplers.chains.likelihood_cache import Likelihoods
from samplers.chains.stepping import SteppedChain, check_takes_threshold, decide
from samplers.decide.comparison import Comparison, Decision, LevelTest, draw_threshold
from samplers.decide.exact import ExactTest
from samplers.models import Model
from samplers.proposals import RandomWalk

WIDTH = 3.0  # of the first interval, in standard deviations along the line
MOST_OUT = 8  # widths that the interval may grow to
MOST_SHRINKS = 200  # then rounding has brought the interval to θ itself


class Line(NamedTuple):
    """An interval on a line through the state, in units of its direction; the state is at 0."""

    direction: Floats
    left: float
    right: float


@dataclass(frozen=True, eq=False)
class Slice:
    """Lines and first intervals of slice updates: direction L ξ / |ξ|, an interval of `width` around the state.

    Make one with `isotropic` or `with_covariance`.

    Parameters
    ----------
    factor
        L, such that L L' is about the posterior's covariance: then `width` is in standard deviations.
    width
        Of the first interval; too small costs stepping out, too large costs shrinking, neither changes the target.
    most_out
        The interval grows to this many widths at most; 1 means no stepping out.

    Examples
    --------
    >>> line = Slice.isotropic(2.0, 3).line(np.random.default_rng(1))
    >>> float(round(line.right - line.left, 9)), bool(line.left < 0.0 < line.right)
    (3.0, True)
    """

    factor: Floats
    width: float = WIDTH
    most_out: int = MOST_OUT

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", real("width", self.width, 0.0, 1e300, open_low=True))
        object.__setattr__(self, "most_out", integer("most_out", self.most_out, 1, 10_000))

    @classmethod
    def isotropic(cls, scale: float, dimension: int, width: float = WIDTH, most_out: int = MOST_OUT) -> Slice:
        """Lines in all directions alike, with `scale` for a standard deviation."""
        return cls(RandomWalk.isotropic(scale, dimension).factor, width, most_out)

    @classmethod
    def with_covariance(cls, covariance: npt.ArrayLike, width: float = WIDTH, most_out: int = MOST_OUT) -> Slice:
        """Lines as long as this covariance is in their direction."""
        return cls(RandomWalk.with_covariance(covariance, 1.0).factor, width, most_out)

    def line(self, rng: np.random.Generator) -> Line:
        """A random line with an interval of random position around the state."""
        xi = rng.standard_normal(self.factor.shape[0])
        left = -self.width * rng.random()
        return Line(self.factor @ (xi / np.linalg.norm(xi)), left, left + self.width)


class Update(NamedTuple):
    """The state after an update; whether it moved, data read and looks taken, and membership tests made."""

    theta: Floats
    moved: bool
    n_used: int
    n_looks: int
    n_tests: int


def update(
    rng: np.random.Generator,
    model: Model,
    lines: Slice,
    test: LevelTest,
    theta: Floats,
    likelihoods: Likelihoods | None = None,
) -> Update:
    """One slice update on any model, with the exact or the sequential test.

    `likelihoods` are the log-likelihoods at θ, for tests that want the sum of all lᵢ.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> done = update(np.random.default_rng(1), model, Slice.isotropic(0.3, 2), ExactTest(), np.zeros(2))
    >>> done.moved, done.n_used == 500 * done.n_tests
    (True, True)
    """
    level = draw_threshold(rng, "metropolis")
    line = lines.line(rng)
    membership = _Membership(rng, model, test, theta, line.direction, level, likelihoods)
    left, right = _stepped_out(rng, membership, line, lines)
    for _ in range(MOST_SHRINKS):
        at = left + (right - left) * rng.random()
        if membership.inside(at):
            point = membership.last
            if likelihoods is not None:
                likelihoods.moved(point)
            return Update(point, True, membership.n_used, membership.n_looks, membership.n_tests)
        left, right = (at, right) if at < 0.0 else (left, at)
    return Update(theta, False, membership.n_used, membership.n_looks, membership.n_tests)


def _stepped_out(rng: np.random.Generator, membership: _Membership, line: Line, lines: Slice) -> tuple[float, float]:
    """Both ends moved out, a width at a time, until they are outside or the steps are used up (Neal 2003, Fig. 3).

    How many of the steps each side gets is drawn first: otherwise the update would not be reversible.
    """
    left, right = line.left, line.right
    leftwards = math.floor(lines.most_out * rng.random())
    rightwards = lines.most_out - 1 - leftwards
    while leftwards > 0 and membership.inside(left):
        left, leftwards = left - lines.width, leftwards - 1
    while rightwards > 0 and membership.inside(right):
        right, rightwards = right + lines.width, rightwards - 1
    return left, right


class _Membership:
    """Asks whether points of a line are in the slice, and counts what that costs."""

    def __init__(
        self,
        rng: np.random.Generator,
        model: Model,
        test: LevelTest,
        theta: Floats,
        direction: Floats,
        level: float,
        likelihoods: Likelihoods | None,
    ) -> None:
        self.rng, self.model, self.test, self.theta = rng, model, test, theta
        self.direction, self.level, self.likelihoods = direction, level, likelihoods
        self.last = theta
        self.n_used = self.n_looks = self.n_tests = 0

    def inside(self, at: float) -> bool:
        """Whether the point is in the slice, as far as the test can tell."""
        self.last = self.theta + at * self.direction
        question = compare(self.model, self.theta, self.last)
        if self.likelihoods is not None:
            question = replace(question, full=self.likelihoods.full(self.theta, self.last))
        decision = decide(self.rng, self.test, question, self.last, self.level)
        self.n_used += decision.n_used + getattr(self.model, "n_heavy", 0)
        self.n_looks += decision.n_looks
        self.n_tests += 1
        return decision.accept


class SliceChain(SteppedChain):
    """One chain of slice updates along random lines; it follows the chain protocol (`samplers.chains.protocol`).

    Parameters
    ----------
    model
        A `Model`.
    proposal
        The lines and their first intervals, a `Slice`.
    test
        Decides membership: the exact or the sequential test.
    theta
        The start, D numbers.
    rng
        Random numbers.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> chain = SliceChain(model, Slice.isotropic(0.3, 2), ExactTest(), np.zeros(2), np.random.default_rng(1))
    >>> chain.advance(100).theta.shape
    (100, 2)
    """

    def __init__(
        self, model: Model, proposal: Slice, test: LevelTest, theta: npt.ArrayLike, rng: np.random.Generator
    ) -> None:
        self.model, self.proposal, self.test, self.rng = model, proposal, test, rng
        self.theta = np.array(theta, dtype=np.float64)
        if self.theta.shape != proposal.factor.shape[:1] or not np.all(np.isfinite(self.theta)):
            raise BadInput(f"start: must be {proposal.factor.shape[0]:,} finite numbers, has shape {self.theta.shape}")
        self.use_test(test)

    @property
    def evaluations_per_datum(self) -> float:
        """One, if the log-likelihoods of the state are stored."""
        return 2.0 if self._likelihoods is None else 1.0

    def use_test(self, test: LevelTest) -> None:
        """Go on with another exact or sequential test for the same number of data."""
        check_takes_threshold(test, "a slice update")
        super().use_test(test)

    def forget(self) -> None:
        """Keep only the state."""
        self._likelihoods = Likelihoods.of(self.model) if isinstance(self.test, ExactTest) else None

    def propose(self, rng: np.random.Generator, theta: Floats) -> tuple[Floats, Comparison]:
        """Refused: trial runs need another proposal."""
        raise BadInput("a slice update is not one decision about one pair; trial runs and audits need 'random-walk'")

    def probes(self, rng: np.random.Generator) -> Iterator[Comparison]:
        """Comparisons of the state with a few near it."""
        return probe(rng, self.model, self.theta)

    def step(self, rng: np.random.Generator, theta: Floats) -> tuple[Floats, Decision]:
        """One update."""
        done = update(rng, self.model, self.proposal, self.test, theta, self._likelihoods)
        return done.theta, Decision(done.moved, done.n_used, done.n_looks)
