"""Which acceptance test is cheapest: exact mini-batch if there are bounds, a sequential design, or exact with a cache.

Costs are likelihood evaluations per accepted move: a test on a subsample evaluates θ and θ' at each row it reads, an
exact chain that keeps log p(xᵢ; θ) each row once, and heavy rows are evaluated once.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

from designer.rule.design import Design
from samplers.models.control.heavy import RowSplit
from samplers.study.predict_minibatch import MinibatchPrediction

Kind: TypeAlias = Literal["sequential", "exact", "exact-minibatch", "given"]
WORDS: dict[str, str] = {
    "sequential": "sequential design",
    "exact": "exact, with cached likelihoods",
    "exact-minibatch": "exact mini-batch",
    "given": "as given",
}


class ChosenTest(NamedTuple):
    """The test of the chains, and what it rests on.

    Attributes
    ----------
    kind
        Which test.
    split
        The rows that every step reads; None without control variates.
    design
        Of a sequential test, as TOML.
    tolerance
        Of mean |Δ|, by which an audit judges; nan if there is none.
    basis, upper
        As of `samplers.flow.tolerances.Designed`; "none" and nan for other tests.
    rows
        Predicted rows per step, with those always read; nan if unknown.
    """

    kind: Kind
    split: RowSplit | None = None
    design: str | None = None
    tolerance: float = math.nan
    basis: str = "none"
    upper: float = math.nan
    rows: float = math.nan

    @property
    def loaded(self) -> Design | None:
        """The design."""
        return None if self.design is None else Design.from_toml(self.design)


class Cost(NamedTuple):
    """What a test costs.

    Attributes
    ----------
    kind
        Which test.
    rows
        Read per step, with those always read.
    evaluations
        Per step.
    acceptance
        Rate.
    """

    kind: Kind
    rows: float
    evaluations: float
    acceptance: float

    @property
    def per_move(self) -> float:
        """Evaluations per accepted move."""
        return self.evaluations / max(self.acceptance, 1e-12)

    @property
    def words(self) -> str:
        """In numbers."""
        each = f"{self.rows:,.3g} rows per step, acceptance {self.acceptance:.2f}"
        return f"{WORDS[self.kind]} {self.per_move:,.3g} ({each})"


def minibatch_cost(predicted: MinibatchPrediction, n_heavy: int) -> Cost:
    """Of the exact mini-batch test."""
    rows = predicted.rows + n_heavy
    return Cost("exact-minibatch", rows, 2.0 * predicted.rows + n_heavy, predicted.acceptance)


def sequential_cost(design: Design, n_heavy: int) -> Cost:
    """Of a design that was made for a trial run."""
    assert design.predicted is not None
    rows = (design.predicted.mean_usage or 1.0) * design.n_data
    return Cost("sequential", rows + n_heavy, 2.0 * rows + n_heavy, design.predicted.acceptance or 0.0)


def exact_cost(n_rows: int, acceptance: float) -> Cost:
    """Of exact decisions with a cache."""
    return Cost("exact", float(n_rows), float(n_rows), acceptance)


def needs_no_trial(cost: Cost, steps: int, n_rows: int, pairs: int) -> bool:
    """Whether all steps of the exact mini-batch test cost less than the trial run that a design would need.

    And less than exact decisions.
    """
    return cost.evaluations < n_rows and cost.evaluations * steps <= float(pairs) * n_rows
