"""What to do when no design is feasible: which one setting to relax, and how far. Each suggestion has been tried."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, NamedTuple, Unpack

from designer.engine.predict import smallest_batch
from designer.pairs.trial_run import TrialRun
from designer.search.criteria import Criterion
from designer.search.search import Options, SearchResult, search
from designer.search.space import Space

Relaxed = Literal["tolerance", "m_high", "epsilon_low", "alpha", "fixed_m"]

DEFAULT_EPSILON, LEAST_EPSILON = 1e-6, 1e-12


class Relaxation(NamedTuple):
    """A setting, the value that makes the search feasible, action and effect in words, and the result of the search."""

    knob: Relaxed
    value: float | tuple[float, float]
    action: str
    effect: str
    found: SearchResult


def rounded_up(value: float) -> float:
    """Round up to two significant digits.

    Examples
    --------
    >>> rounded_up(0.031022)
    0.032
    """
    power = 1 - math.floor(math.log10(value))
    up = float(f"{math.ceil(value * 10.0**power * (1.0 - 1e-12))}e{-power}")
    return up if up >= value else float(f"{math.ceil(value * 10.0**power) + 1}e{-power}")


def relaxations(
    trial: TrialRun | None, found: SearchResult, criterion: Criterion = "average", **options: Unpack[Options]
) -> list[Relaxation]:
    """What would make an infeasible search feasible, relaxing one setting at a time; `options` are those of the search.

    Examples
    --------
    >>> import numpy as np
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 40, np.random.default_rng(1))
    >>> narrow = Space(500, 1000, epsilon=(0.1, 0.5))
    >>> found = search(trial, 0.001, space=narrow)
    >>> [advice.knob for advice in relaxations(trial, found, space=narrow)]
    ['tolerance', 'epsilon_low']
    """
    if found.best is not None or found.nearest_tolerance is None:
        return []
    n_data = trial.n_data if trial is not None else options.get("n_data") or 2
    smallest = smallest_batch(trial, options.get("skew"), by_theory=criterion == "worst-case")
    space = (options.get("space") or Space()).checked(n_data, smallest)
    report = options.pop("progress", None) or (lambda done, total: None)
    advice, tries = [], _candidates(found.nearest_tolerance, criterion, space, n_data, options)
    for number, (knob, value, words) in enumerate(tries):
        report(number, len(tries))
        relaxed, tolerance = options.copy(), found.tolerance
        if knob == "tolerance":
            tolerance = float(value)  # type: ignore[arg-type]
        elif knob == "fixed_m":
            relaxed["fixed_m"] = int(value)  # type: ignore[arg-type]
        else:
            relaxed["space"] = _relaxed(space, knob, value)
        again = search(trial, tolerance, criterion, **relaxed)
        if again.best is not None and again.usage is not None:
            effect = f"then m = {again.best.m:,}, ε = {again.best.epsilon:g} reads {again.usage:.1%} of the data"
            advice.append(Relaxation(knob, value, words, effect, again))
    return advice


_Candidate = tuple[Relaxed, float | tuple[float, float], str]


def _candidates(nearest: float, criterion: Criterion, space: Space, n_data: int, options: Options) -> list[_Candidate]:
    """What to try: the settings that can still be relaxed."""
    tolerance = rounded_up(nearest)
    tries: list[_Candidate] = [("tolerance", tolerance, f"Raise the tolerance to {tolerance:g}")] * (tolerance <= 1.0)
    if criterion == "fixed-m":
        larger = min(n_data, 4 * options.get("fixed_m", 500))
        tries += [("fixed_m", larger, f"Take batches of {larger:,}")]
    else:
        high = max(n_data // 2, 2)
        high = high if space.m_range[1] < high else n_data
        if space.m_range[1] < high:
            tries += [("m_high", high, f"Allow batches up to {high:,}")]
        if space.alpha != (0.5, 1.0):
            tries += [("alpha", (0.5, 1.0), "Allow every shape of the bounds")]
    low = DEFAULT_EPSILON if space.epsilon[0] > DEFAULT_EPSILON else LEAST_EPSILON
    if space.epsilon[0] > low:
        tries += [("epsilon_low", low, f"Allow ε down to {low:g}")]
    return tries


def _relaxed(space: Space, knob: Relaxed, value: float | tuple[float, float]) -> Space:
    if isinstance(value, tuple):
        return replace(space, alpha=value)
    return replace(space, m_high=int(value)) if knob == "m_high" else replace(space, epsilon=(value, space.epsilon[1]))
