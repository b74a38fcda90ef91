"""From an error of the posterior that is allowed to a tolerance of mean |Δ|, and to the design that keeps it.

Where a theory says what a design does to the posterior, the tolerance is lowered until the theory finds every mean and
sd within the wish. Where none is valid, a fifth of the wish is taken, and nothing is promised: an audit then judges the
decisions, and only a certificate the posterior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtri

from designer.core.errors import BadInput, NumericalFailure
from designer.core.progress import Progress
from designer.engine.step_error import Rule
from designer.further.posterior.independent import LEVEL, IndependentError, IndependentPairs, independent_error
from designer.further.posterior.tolerance import tolerance_for
from designer.pairs.trial_run import TrialRun
from designer.search.search import SearchResult, search

FIRST = 0.5  # of the posterior error: the tolerance to try first; independent proposals move means by about mean |Δ|
LEAST = 0.02  # of it: no lower tolerance is tried
CAUTIOUS = 0.2  # of it: the tolerance where no theory is valid
MOST = 0.1  # largest tolerance

Basis: TypeAlias = Literal["asked", "independent", "random-walk", "none"]
Pairs: TypeAlias = Callable[[], IndependentPairs]


class Designed(NamedTuple):
    """A design, the tolerance it was made for, and what follows for the posterior.

    Attributes
    ----------
    result
        Of the search.
    tolerance
        Of mean |Δ|.
    basis
        What the tolerance rests on: "asked", a theory ("independent", "random-walk"), or "none".
    upper
        Upper end of what the theory predicts for the largest error of a mean or sd; nan without one.
    words
        Why this tolerance.
    """

    result: SearchResult
    tolerance: float
    basis: Basis
    upper: float
    words: str


class TooDear(BadInput):
    """No design can cost less than exact decisions."""


def designed(
    trial: TrialRun,
    wish: float | None,
    tolerance: float | None,
    *,
    rule: Rule,
    dimension: int,
    pairs: Pairs | None,
    walk: bool,
    most_usage: float = 1.0,
    progress: Progress | None = None,
) -> Designed:
    """The cheapest design for a posterior error, or for a tolerance.

    Parameters
    ----------
    trial
        Pairs of the chain.
    wish
        Largest error of means and sds; not used if there is a `tolerance`.
    tolerance
        Of mean |Δ|, if that was asked for.
    rule, dimension
        Of the chain.
    pairs
        Moves between weighted states, if proposals do not depend on the state.
    walk
        Whether it is a random walk without control variates.
    most_usage
        Data use from which on exact decisions are cheaper: a design that would read more even by the normal theory,
        which is quick to ask, is not searched.
    progress
        As for `search`.

    Raises
    ------
    BadInput
        If the pairs cannot be used, or a design would read too much.
    """

    def found(at: float) -> SearchResult:
        rough = search(trial, at, rule=rule, skew=False) if most_usage < 1.0 else None
        if rough is not None and (rough.usage is None or rough.usage > most_usage):
            usage = "all" if rough.usage is None else f"{rough.usage:.0%}"
            raise TooDear(f"even by the normal theory it would read {usage} of the data at tolerance {at:.2g}")
        return search(trial, at, rule=rule, progress=progress)

    if tolerance is not None:
        return Designed(found(tolerance), tolerance, "asked", math.nan, "it was asked for")
    assert wish is not None
    why = "no theory says what these steps' errors do to the posterior"
    if pairs is not None:
        try:
            return _independent(found, wish, pairs(), rule)
        except TooDear:
            raise
        except (BadInput, NumericalFailure) as reason:
            why = f"the effect on the posterior cannot be predicted ({reason})"
    elif walk:
        try:
            allowed = tolerance_for(trial, wish, rule=rule, dimension=dimension)
        except (BadInput, NumericalFailure) as reason:
            why = f"the effect on the posterior cannot be predicted ({reason})"
        else:
            at = min(allowed.tolerance, MOST)
            words = (
                f"a random walk on a normal posterior in {dimension} dimensions then has sds at most {wish:.1%} too "
                "large, by theory, and right means"
            )
            return Designed(found(at), at, "random-walk", wish, words)
    at = min(CAUTIOUS * wish, MOST)
    return Designed(found(at), at, "none", math.nan, f"{why}, so a fifth of the posterior error is taken")


def _independent(found: Callable[[float], SearchResult], wish: float, pairs: IndependentPairs, rule: Rule) -> Designed:
    """Lower the tolerance until weighted states say that the posterior is within the wish."""
    at, tried = min(FIRST * wish, MOST), []
    while True:
        result = found(at)
        if result.best is None:
            return Designed(result, at, "independent", math.nan, "no design meets it")
        effect = independent_error(result.best, pairs, rule)
        upper = upper_end(effect)
        tried.append(f"{at:.2g} would allow {upper:.2g}")
        if upper <= wish or at <= LEAST * wish:
            break
        at = max(LEAST * wish, at * min(0.5, 0.8 * wish / upper))
    more = f" ({'; '.join(tried[:-1])})" if len(tried) > 1 else ""
    within = "at most" if upper <= wish else "perhaps, and so more than wished,"
    words = (
        f"{effect.ess:.0f} effective weighted draws predict that its design moves means and sds by {within} "
        f"{upper:.2g} sd (95%){more}"
    )
    return Designed(result, at, "independent", upper, words)


def upper_end(effect: IndependentError) -> float:
    """Upper end of the widest band of the error of a mean, or of an sd: all hold together with 95%."""
    z = float(-ndtri(0.5 * (1.0 - LEVEL) / (2 * effect.bias.size)))
    means = np.abs(effect.bias) + z * effect.bias_se
    sds = np.abs(effect.sd_ratio - 1.0) + z * effect.sd_ratio_se
    return float(max(means.max(), sds.max()))
