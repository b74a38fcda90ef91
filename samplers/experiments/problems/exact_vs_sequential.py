"""Sequential tests with several ε beside exact chains: names, tests, rates, and risk against a long exact run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.rule.design import Design
from samplers.decide.comparison import AcceptTest
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.experiments.framework.report import Cell, Panel, Series
from samplers.experiments.framework.running import Values
from samplers.study.risk import Risk, risk_of_means

EXACT, TRUTH = "exact", "truth"
EPSILON = "ε = "
RESOLVED = 2.0  # times the truth's own squared error: a smaller risk says nothing about the chain
SURE = 3.0  # standard errors
ALLOWED = 4.0  # standard errors, for the largest of many differences

Chains = Mapping[str, Sequence[Values]]  # the parts of each test's chains


def name_of(epsilon: float) -> str:
    """The name of the sequential test with this ε."""
    return f"{EPSILON}{epsilon:g}"


def names_of(epsilons: Sequence[float]) -> list[str]:
    """The names of the exact test and of the sequential tests."""
    return [EXACT, *map(name_of, epsilons)]


def design_of(name: str, n_data: int, m: int) -> Design:
    """The design of the sequential test of this name."""
    return Design(n_data, min(m, n_data), float(name.removeprefix(EPSILON)))


def accept_test(name: str, n_data: int, m: int) -> AcceptTest:
    """The exact or a sequential test, by its name."""
    return ExactTest() if name in (EXACT, TRUTH) else SequentialTest.from_design(design_of(name, n_data, m))


def numbered(names: Sequence[str], chains: int) -> list[str]:
    """Names of parts: this many chains of each test; the first of each come first."""
    return [f"{name} #{k}" for k in range(chains) for name in names]


def kind_of(part: str) -> str:
    """The name of the test of such a part."""
    return part.partition(" #")[0]


def chains_of(names: Sequence[str], chains: int, values: Mapping[str, Values]) -> dict[str, list[Values]]:
    """The parts of every test's chains."""
    return {name: [values[part] for part in numbered([name], chains)] for name in names}


def averaged(chains: Chains, key: str) -> dict[str, float]:
    """A value of each part, averaged over the chains of each test."""
    return {name: float(np.mean([part[key] for part in parts])) for name, parts in chains.items()}


def rates(chains: Chains) -> dict[str, float]:
    """Steps per second of each test."""
    return {
        name: float(np.mean([part["at"][-1] / part["seconds"][-1] for part in parts])) for name, parts in chains.items()
    }


class Estimate(NamedTuple):
    """Means of some functions over several chains, their standard errors, and the least number of effective draws."""

    mean: Floats
    se: Floats
    effective: float


def estimate(parts: Sequence[Values]) -> Estimate:
    """Estimate from the blocks of all chains; a function that never changed has standard error NaN."""
    blocks = np.concatenate([part["blocks"] for part in parts])
    mean: Floats = np.mean([part["means"][-1] for part in parts], axis=0)
    spread = np.sqrt(np.mean([part["sd"] ** 2 for part in parts], axis=0))
    se = np.where(spread > 0.0, blocks.std(axis=0, ddof=1) / math.sqrt(len(blocks)), np.nan)
    moved = spread > 0.0
    effective = float(np.min((spread[moved] / se[moved]) ** 2)) if moved.any() else math.nan
    return Estimate(mean, se, effective)


def drift(parts: Sequence[Values], some: slice = slice(None)) -> float:
    """How far chains are from convergence: the largest difference between their halves, or from chain to chain, in s.e.

    The standard errors are those of means of blocks: the difference is large if a chain drifts or is stuck. Functions
    that never change count as 0.
    """
    blocks = [part["blocks"][:, some] for part in parts]
    halves = [np.concatenate([block[: len(block) // 2] for block in blocks])]
    halves.append(np.concatenate([block[len(block) // 2 :] for block in blocks]))
    pairs = [(halves[0], halves[1])]
    for k, block in enumerate(blocks if len(blocks) > 1 else []):
        pairs.append((block, np.concatenate(blocks[:k] + blocks[k + 1 :])))
    return max(_apart(one, other) for one, other in pairs)


def _apart(one: Floats, other: Floats) -> float:
    """The largest difference of two means of blocks, in standard errors (of all blocks: a stuck chain has none)."""
    difference = np.abs(one.mean(axis=0) - other.mean(axis=0))
    variance = np.concatenate([one, other]).var(axis=0, ddof=1)
    se = np.sqrt(variance * (1.0 / len(one) + 1.0 / len(other)))
    moved = difference > 1e-12
    with np.errstate(divide="ignore"):
        return float(np.max(difference[moved] / se[moved], initial=0.0))


class Verdict(NamedTuple):
    """How far the chains of a test are from the truth: risk over time, bias, and whether the risk is resolved."""

    risk: Risk
    bias: float  # of the first function
    bias_se: float
    resolved: bool

    @property
    def final(self) -> float:
        """Risk at the end."""
        return float(self.risk.risk[-1])

    @property
    def shown(self) -> str:
        """Whether the final risk is resolved, for a table."""
        return "yes" if self.resolved else "no: within the truth's own error"


def judged(parts: Sequence[Values], truth: Estimate, some: slice = slice(None)) -> Verdict:
    """Compare the chains of one test with the truth, in some of the functions."""
    chains = estimate(parts)
    risk = risk_of_means([part["means"][:, some] for part in parts], truth.mean[some])
    se = np.hypot(chains.se[some], truth.se[some])
    bias = (chains.mean - truth.mean)[some]
    return Verdict(risk, float(bias[0]), float(se[0]), bool(risk.risk[-1] > RESOLVED * own_error(truth, some)))


def own_error(truth: Estimate, some: slice = slice(None)) -> float:
    """The mean squared error of the truth, from its standard errors."""
    return float(np.mean(np.nan_to_num(truth.se[some]) ** 2))


def risk_panels(chains: Chains, verdicts: Mapping[str, Verdict], label: str, floor: float) -> list[Panel]:
    """Risk against time and against likelihood evaluations, with the truth's own error as a line."""
    panels = []
    for key, title, x in (
        ("seconds", "time", "seconds of sampling"),
        ("evaluations", "work", "likelihood evaluations"),
    ):
        series = [
            Series(name, np.mean([part[key] for part in parts], axis=0), *verdicts[name].risk)
            for name, parts in chains.items()
        ]
        ends = [min(float(s.x[0]) for s in series), max(float(s.x[-1]) for s in series)]
        series.append(Series("the truth's own error", ends, [floor, floor]))
        note = (
            "Lower left is better. Bands are two standard errors over the chains. Below the line of the truth's own "
            "error, risks cannot be distinguished."
        )
        panels.append(Panel(f"Risk against {title}", x, label, series, True, True, note))
    return panels


def listed(values: Sequence[Cell], form: str) -> str:
    """Numbers as a list in a sentence."""
    return ", ".join(f"{value:{form}}" for value in values)
