"""The papers' headlines as checks with bands: does some ε > 0 have the lowest risk, and does the variance dominate?

A check holds, does not hold, or is unresolved (None) where bands overlap: two standard errors over the chains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.experiments.framework.report import Cell, Check, ResultTable
from samplers.experiments.framework.running import Values
from samplers.experiments.problems.exact_vs_sequential import (
    EPSILON,
    EXACT,
    RESOLVED,
    Chains,
    Estimate,
    own_error,
)

TIME, WORK, READ = "seconds", "evaluations", "read"
EQUAL = {
    TIME: "seconds of processor time",
    WORK: "likelihood evaluations, where chains remember what they can",
    READ: "data read, where no chain remembers, as in the papers",
}
BAND = 2.0  # standard errors
FEWEST = 3  # chains, to tell bias from variance


def paper_steps(paper: Mapping[str, int], name: str) -> float:
    """Samples of a test in the paper; for other ε between those of its neighbours, on a logarithmic scale.

    Examples
    --------
    >>> paper = {"exact": 100, "ε = 0.1": 200, "ε = 0.2": 800}
    >>> [round(paper_steps(paper, name)) for name in ("exact", "ε = 0.1", "ε = 0.15", "ε = 0.3")]
    [100, 200, 400, 800]
    """
    if name in paper:
        return float(paper[name])
    known = sorted((0.0 if test == EXACT else _epsilon(test), math.log(count)) for test, count in paper.items())
    return math.exp(float(np.interp(_epsilon(name), *zip(*known, strict=True))))  # type: ignore[call-overload]


def _epsilon(name: str) -> float:
    return float(name.removeprefix(EPSILON))


def in_paper(paper: Mapping[str, int], tests: Sequence[str]) -> str:
    """How many times the exact test's samples the paper's tests drew, in brackets; empty for other ε.

    Examples
    --------
    >>> in_paper({"exact": 100, "ε = 0.1": 200, "ε = 0.2": 820}, ["ε = 0.1", "ε = 0.2"])
    ' (paper: 2, 8.2)'
    """
    known = [f"{paper[name] / paper[EXACT]:.3g}" for name in tests if name in paper]
    return f" (paper: {', '.join(known)})" if len(known) == len(tests) else ""


def with_memory(chains: Chains, memory: Mapping[str, float]) -> Chains:
    """The same chains with the evaluations per datum that they need if they remember what they have read."""
    found: dict[str, list[Values]] = {}
    for name, parts in chains.items():
        found[name] = []
        for part in parts:
            read = np.asarray(part[WORK]) / float(part["per_datum"])
            found[name].append({**part, READ: read, WORK: read * memory.get(name, float(part["per_datum"]))})
    return found


class Band(NamedTuple):
    """A risk with its band."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2g} [{self.low:.2g}, {self.high:.2g}]"


class Pair(NamedTuple):
    """Risks of exact sampling and of a test at the largest budget that both have spent: is the test's lower?"""

    budget: float
    exact: Band
    test: Band
    lower: Check


class Headline(NamedTuple):
    """Whether some ε > 0 has a lower risk than exact sampling at equal cost, and each test beside exact sampling."""

    check: Check
    pairs: Mapping[str, Pair]

    @property
    def best(self) -> str:
        """The test whose risk is the smallest part of that of exact sampling, whether that is resolved or not."""
        return min(self.pairs, key=lambda name: self.pairs[name].test.value / self.pairs[name].exact.value)


def risk_at(parts: Sequence[Values], truth: Floats, key: str, budget: float, some: slice = slice(None)) -> Band:
    """Risk over the chains at a budget, between the points where they were measured."""
    each = [
        float(np.interp(budget, part[key], np.mean((part["means"][:, some] - truth[some]) ** 2, axis=1)))
        for part in parts
    ]
    value = float(np.mean(each))
    spread = BAND * float(np.std(each, ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else math.inf
    return Band(value, max(0.0, value - spread), value + spread)


def lowest_risk(chains: Chains, truth: Estimate, key: str, some: slice = slice(None)) -> Headline:
    """Compare the risk of each test with that of exact sampling at the largest budget that both have spent.

    The headline holds if some test is lower, and does not if exact sampling is lower than every test. Risks within the
    truth's own error resolve nothing.
    """
    spent = {name: min(float(part[key][-1]) for part in parts) for name, parts in chains.items()}
    pairs = dict[str, Pair]()
    for name, parts in chains.items():
        if name != EXACT:
            budget = min(spent[name], spent[EXACT])
            exact, test = (risk_at(each, truth.mean, key, budget, some) for each in (chains[EXACT], parts))
            lower: Check = None
            if max(exact.value, test.value) > RESOLVED * own_error(truth, some):
                lower = True if test.high < exact.low else False if exact.high < test.low else None
            pairs[name] = Pair(budget, exact, test, lower)
    found = [pair.lower for pair in pairs.values()]
    return Headline(True if True in found else False if all(x is False for x in found) else None, pairs)


class Parts(NamedTuple):
    """Variance between the chains of a test and the square of their bias, averaged over functions; which is larger?"""

    variance: float
    bias_squared: float
    dominated: Check  # by the variance


def variance_and_bias(parts: Sequence[Values], truth: Estimate, some: slice = slice(None)) -> Parts:
    """From the final means of the chains; the error of their difference by the jackknife."""
    means, own = np.array([part["means"][-1, some] for part in parts]), own_error(truth, some)

    def split(chosen: Floats) -> tuple[float, float]:
        variance = float(chosen.var(axis=0, ddof=1).mean())
        squares = float(np.mean((chosen.mean(axis=0) - truth.mean[some]) ** 2))
        return variance, squares - variance / len(chosen) - own

    if len(means) < FEWEST:
        return Parts(math.nan, math.nan, None)
    variance, bias = split(means)
    left_out = [split(np.delete(means, k, axis=0)) for k in range(len(means))]
    differences = np.array([v - b for v, b in left_out])
    se = math.sqrt((len(means) - 1) * float(differences.var()))
    sure = abs(variance - bias) > BAND * se
    return Parts(variance, max(bias, 0.0), variance > bias if sure else None)


def together(checks: Sequence[Check]) -> Check:
    """Holds if all do; does not if one does not; otherwise unresolved.

    Examples
    --------
    >>> together([True, True]), together([True, None, False]), together([True, None])
    (True, False, None)
    """
    return False if False in checks else None if None in checks else True


def headline_checks(paper: str, found: Mapping[str, Headline]) -> dict[str, Check]:
    """One statement for each way to count what a chain costs."""
    return {
        f"{paper}: some ε > 0 has a lower risk than ε = 0, at equal {EQUAL[key]}": h.check for key, h in found.items()
    }


def headline_table(found: Mapping[str, Headline]) -> ResultTable:
    """The risks at equal cost, with their bands."""
    columns = [
        "at equal",
        "test",
        "budget",
        "risk, exact",
        "from",
        "to",
        "risk, test",
        "from",
        "to",
        "the test is lower",
    ]
    rows: list[list[Cell]] = [
        [EQUAL[key], name, pair.budget, *_cells(pair.exact), *_cells(pair.test), _answer(pair.lower)]
        for key, head in found.items()
        for name, pair in head.pairs.items()
    ]
    return ResultTable("Risks at equal cost (bands of two standard errors over the chains)", columns, rows)


def _cells(band: Band) -> list[Cell]:
    return [x if math.isfinite(x) else None for x in band]


def headline_sentence(found: Mapping[str, Headline]) -> str:
    """In words: the test that does best beside exact sampling, and whether that is resolved."""
    said = []
    for key, head in found.items():
        pair = head.pairs[head.best]
        said.append(
            f"{pair.budget:.3g} {EQUAL[key]}: exact {pair.exact}, {head.best} {pair.test} ({_told(pair.lower)})"
        )
    return f"Risks with their bands, of exact sampling and of the test that does best, at {'; at '.join(said)}."


def _answer(check: Check) -> str:
    return "unresolved" if check is None else "yes" if check else "no"


def _told(check: Check) -> str:
    return "unresolved" if check is None else "ε > 0 is lower" if check else "exact is lower"
