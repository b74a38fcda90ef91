"""The question that every acceptance test answers, and its answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, real
from designer.engine.step_error import Rule, check_rule
from designer.rule.t_test import threshold
from samplers.decide.alias import TermBounds

BLOCK = 2**16  # most data requested from a model at once, so that the rows of a huge batch need not fit into memory

Bound: TypeAlias = float | Callable[[], float | None] | None
Bounds: TypeAlias = TermBounds | Callable[[], TermBounds | None] | None


class NonFiniteTerm(BadInput, ArithmeticError):
    """A log-likelihood difference lᵢ that is infinite or not a number.

    Parameters
    ----------
    index
        Index of the datum.
    value
        Its value.

    Examples
    --------
    >>> NonFiniteTerm(3, float("nan")).index
    3
    """

    def __init__(self, index: int, value: float) -> None:
        super().__init__(index, value)  # as arguments, so that it can be pickled
        self.index, self.value = index, value

    def __str__(self) -> str:
        return f"datum {self.index}: lᵢ = {self.value}: log-likelihood differences must be finite"


class BrokenBound(BadInput, ArithmeticError):
    """A log-likelihood difference lᵢ that is larger than the model's bound on it.

    Parameters
    ----------
    index
        Index of the datum.
    value, bound
        Its value, and the bound on its size.

    Examples
    --------
    >>> print(BrokenBound(3, -0.5, 0.25))
    datum 3: lᵢ = -0.5 exceeds its bound 0.25: the model's bounds are wrong
    """

    def __init__(self, index: int, value: float, bound: float) -> None:
        super().__init__(index, value, bound)
        self.index, self.value, self.bound = index, value, bound

    def __str__(self) -> str:
        excess = f"lᵢ = {self.value:.6g} exceeds its bound {self.bound:.6g}"
        return f"datum {self.index}: {excess}: the model's bounds are wrong"


class Decision(NamedTuple):
    """The answer of a test.

    Attributes
    ----------
    accept
        Whether to accept.
    n_used, n_looks
        Number of data read, and of looks taken.

    Examples
    --------
    >>> Decision(True, 500, 1)
    Decision(accept=True, n_used=500, n_looks=1)
    """

    accept: bool
    n_used: int
    n_looks: int


@dataclass(frozen=True)
class Comparison:
    """Whether to accept θ': exactly if N mean(l) - log_ratio > log u (Metropolis) or logit u (Barker).

    Metropolis-Hastings, reversible-jump and Gibbs steps all ask this question. log_ratio is minus the usual log ratio
    of priors and proposals.

    Parameters
    ----------
    n
        Number of data N.
    terms
        terms(indices) -> lᵢ = log p(xᵢ; θ') - log p(xᵢ; θ).
    log_ratio
        c = log[prior(θ) q(θ'|θ) / (prior(θ') q(θ|θ'))].
    rule
        "metropolis" or "barker".
    range_bound
        A bound on max |lᵢ|, for the concentration test, or a function that computes one; None if the model has none.
    full
        full() -> sum of all lᵢ, if the model can do that faster than through `terms`.
    bounds
        Bounds on each |lᵢ|, for the exact mini-batch test, or a function that finds them; None if there are none.

    Examples
    --------
    >>> l = np.array([0.5, -0.25, 1.0])
    >>> total(Comparison(3, l.take))
    1.25
    >>> total(Comparison(3, l.take).at_temperature(10.0))
    0.125
    """

    n: int
    terms: Callable[[Ints], Floats]
    log_ratio: float = 0.0
    rule: Rule = "metropolis"
    range_bound: Bound = None
    full: Callable[[], float] | None = None
    bounds: Bounds = None

    def at_temperature(self, temperature: float) -> Comparison:
        """The same question with the likelihood to the power 1 / temperature; the prior stays (S17 section 6.1)."""
        scale = 1.0 / real("temperature", temperature, 0.0, 1e300, open_low=True)
        terms, full, bound, bounds = self.terms, self.full, self.range_bound, self.bounds
        return replace(
            self,
            terms=lambda indices: scale * np.asarray(terms(indices), dtype=np.float64),
            full=None if full is None else lambda: scale * full(),
            range_bound=_times(scale, bound),
            bounds=None if bounds is None else lambda: _scaled(scale, bounds),
        )

    def known_bound(self) -> float | None:
        """The bound on max |lᵢ|, computed now if necessary."""
        return self.range_bound() if callable(self.range_bound) else self.range_bound

    def known_bounds(self) -> TermBounds | None:
        """The bounds on each |lᵢ|, found now if necessary."""
        return self.bounds() if callable(self.bounds) else self.bounds


def _times(scale: float, bound: Bound) -> Bound:
    if not callable(bound):
        return None if bound is None else scale * bound

    def scaled() -> float | None:
        found = bound()
        return None if found is None else scale * found

    return scaled


def _scaled(scale: float, bounds: Bounds) -> TermBounds | None:
    found = bounds() if callable(bounds) else bounds
    return None if found is None else found.times(scale)


class AcceptTest(Protocol):
    """Decides comparisons. Draws u first, so that tests given the same generator face the same u.

    Your own test needs only this method.

    Examples
    --------
    >>> from samplers.decide import ExactTest
    >>> test: AcceptTest = ExactTest()
    >>> test.decide(np.random.default_rng(1), Comparison(2, np.zeros(2).take)).accept
    True
    """

    def decide(self, rng: np.random.Generator, comparison: Comparison) -> Decision:
        """Accept or not, with random numbers from `rng`."""


class LevelTest(Protocol):
    """Decides comparisons at a given threshold v, for slice updates and Gibbs updates of many values."""

    def decide_at(self, rng: np.random.Generator, comparison: Comparison, v: float) -> Decision: ...


def draw_threshold(rng: np.random.Generator, rule: Rule) -> float:
    """v = log u, or logit u for Barker's rule, with u uniform on (0, 1]; every test draws it first.

    Parameters
    ----------
    rng
        Random numbers; one is taken.
    rule
        "metropolis" or "barker".

    Returns
    -------
    float
        N mean(l) - log_ratio must exceed it for acceptance.

    Examples
    --------
    >>> draw_threshold(np.random.default_rng(1), "metropolis") <= 0.0
    True
    """
    return float(threshold(1.0 - rng.random(), rule == "barker"))


def begin(rng: np.random.Generator, comparison: Comparison) -> tuple[float, Decision | None]:
    """Check the question and draw v; also the decision, if prior or proposal alone decide (log_ratio = ±∞)."""
    _check(comparison)
    v = draw_threshold(rng, check_rule(comparison.rule))
    return v, _forced(comparison)


def begin_at(comparison: Comparison, v: float) -> Decision | None:
    """Check the question and a threshold that the caller has drawn; the decision, if prior or proposal alone decide."""
    _check(comparison)
    if math.isnan(v):
        raise BadInput("v = nan: a threshold must be a number")
    return _forced(comparison)


def _check(comparison: Comparison) -> None:
    if comparison.n < 1:
        raise BadInput(f"n = {comparison.n}: there are no data")
    if math.isnan(comparison.log_ratio):
        raise BadInput("log_ratio = nan: must be a number, or ±inf where a prior or proposal density vanishes")


def _forced(comparison: Comparison) -> Decision | None:
    return Decision(bool(comparison.log_ratio < 0), 0, 0) if math.isinf(comparison.log_ratio) else None


def evaluate(comparison: Comparison, indices: Ints) -> Floats:
    """The lᵢ of these data, checked."""
    if indices.size > BLOCK:
        parts = [indices[k : k + BLOCK] for k in range(0, indices.size, BLOCK)]
        return np.concatenate([evaluate(comparison, part) for part in parts])
    values = np.ascontiguousarray(comparison.terms(indices), dtype=np.float64)
    if values.shape != indices.shape:
        raise BadInput(f"terms: returned shape {values.shape} for {indices.size:,} data; must be ({indices.size},)")
    finite = np.isfinite(values)
    if not finite.all():
        k = int(np.argmin(finite))
        raise NonFiniteTerm(int(indices[k]), float(values[k]))
    return values


def total(comparison: Comparison) -> float:
    """The sum of all lᵢ: by the model's own method or, if that is not finite, a block of data at a time."""
    if comparison.full is not None:
        value = float(comparison.full())
        if math.isfinite(value):
            return value
    n = comparison.n
    blocks = (np.arange(k, min(k + BLOCK, n)) for k in range(0, n, BLOCK))
    return math.fsum(float(evaluate(comparison, block).sum()) for block in blocks)  # or names the bad datum
