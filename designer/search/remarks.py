"""What to know before using a design: what an exact chain would cost, and what few pairs cost."""

from __future__ import annotations

import math
from typing import NamedTuple

from designer.pairs.trial_run import TrialRun
from designer.search.criteria import Cost
from designer.search.result import SearchResult

WIDE = 1.5  # a limit this many times the expected error is due to few or uneven pairs
NARROW = 1.2  # what more pairs should make of it


class BesideExact(NamedTuple):
    """Cost of a step with a test, of an exact step that keeps log p(xᵢ; θ), and the comparison in words.

    With the default cost both are likelihood evaluations: two for each datum read, and one for each datum of an exact
    step. Heavy rows, which every step of either chain evaluates once, are counted in both.
    """

    test: float
    exact: float
    cheaper: bool
    sentence: str


def beside_exact(cost: Cost, n_data: int, usage: float, looks: float, n_heavy: int = 0) -> BesideExact:
    """Compare a test with an exact chain; `n_heavy` rows are read in every step of both.

    Examples
    --------
    >>> beside_exact(Cost(), 1000, 0.6, 3.0).sentence
    'An exact chain that keeps log p(xᵢ; θ) is cheaper: 1,000 evaluations per step against 1,200. Run exact.'
    """
    evaluations = cost == Cost()
    scale, unit = (2.0, "evaluations per step") if evaluations else (1.0, "per step")
    always = n_heavy if evaluations else 0.5 * cost.per_datum * n_heavy
    test, exact = scale * cost.of(n_data, usage, looks) + always, scale * cost.exact(n_data) + always
    if exact < test:
        words = (
            f"An exact chain that keeps log p(xᵢ; θ) is cheaper: {exact:,.0f} {unit} against {test:,.0f}. Run exact."
        )
    else:
        words = f"{test:,.0f} {unit}; an exact chain that keeps log p(xᵢ; θ) needs {exact:,.0f}."
    return BesideExact(test, exact, exact < test, words)


def remarks_on(result: SearchResult, trial: TrialRun | None) -> tuple[str, ...]:
    """Remarks on a design that was found, each one line; often none."""
    remarks = (_exact(result), _few_pairs(result, trial))
    return tuple(remark for remark in remarks if remark is not None)


def _exact(result: SearchResult) -> str | None:
    """Advice to run an exact chain, if that costs less per step."""
    if result.cost is None or result.exact_cost is None or result.cost <= result.exact_cost:
        return None
    return (
        "run exact: a chain that keeps log p(xᵢ; θ) costs less per step and makes no error; control variates may "
        "change that"
    )


def _few_pairs(result: SearchResult, trial: TrialRun | None) -> str | None:
    """What the uncertainty about other pairs costs, if it is much."""
    if trial is None or result.confidence is None or not result.error or result.limit is None:
        return None
    ratio = result.limit / result.error
    if ratio <= WIDE or result.criterion == "quantile":
        return None
    enough = math.ceil(len(trial) * ((ratio - 1.0) / (NARROW - 1.0)) ** 2)
    return (
        f"{len(trial):,} pairs leave the error uncertain: its limit is {ratio:.2g} times what is expected; about "
        f"{enough:,} pairs would make that {NARROW:g} times, and the design cheaper"
    )
