"""Audits repeated: how often they cry wolf in right runs, and how often they notice wrong ones.

A right run has a design that a search made for its tolerance from a trial run of the same chain. An alarm there is
false. An alarm is likeliest where mean |Δ| is right at the tolerance, so that is tried, too. Wrong runs have twice the
tolerance, a design of another proposal, or pairs of the burn-in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from designer import Design, search
from samplers.chains.chain import Chain
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.study.audit import Audit, audit, audit_chain
from samplers.study.observe import observe, spacing
from tests.cases import CASES
from tests.cases.reference import exact_posterior

RIGHT, AT, WRONG = 120, 30, 20  # audits of each kind: as designed, right at the tolerance, and wrong
PAIRS = 100  # of a trial run
LONG = 800  # audited steps that tell mean |Δ| of a chain
STEPS, EVALUATIONS = 200_000, 1e8  # of chains that tell the bias of means, and of the exact posterior
BURNT = 200  # steps of an exact chain before its trial run


class Kind(NamedTuple):
    """A chain to audit: its data, what its proposals are, and the tolerance of its design."""

    name: str
    case: str
    n: int
    tolerance: float
    walk: bool = False
    heavy: Any = 0
    m: int | None = None  # of a design that is not searched for, with its ε; the tolerance is then what is true
    epsilon: float = 0.5


KINDS = (
    Kind("proxy proposals, control variates", "plain", 1000, 0.01),
    Kind("the same, heavy rows", "rare-levels", 2000, 0.01, heavy="auto"),
    Kind("random walk, no control variates", "plain", 500, 0.05, walk=True),
    Kind("proxy proposals, covariates of t with 2 degrees of freedom", "student", 1000, 0.02),
    Kind("proxy proposals, 20-row dummies, no heavy rows", "rare-dummies", 1000, 0.02, m=250, epsilon=0.25),
)


class Chains:
    """Chains of one kind with one test, from any seed."""

    def __init__(self, kind: Kind) -> None:
        x, y, precision = CASES[kind.case].data(kind.n)
        model = Logistic.from_data(x, y, prior_precision=precision)
        proxied = Controlled.around(model, find_mode(model), heavy=kind.heavy)
        covariance = np.linalg.inv(proxied.posterior_precision())
        self.kind, self.start = kind, proxied.centre
        self.model: Any = model if kind.walk else proxied
        self.proposal: Any = RandomWalk.with_covariance(covariance, 1.0) if kind.walk else ProxyStep.of(proxied)
        self.proxied = proxied

    def chain(self, test: Any, seed: int) -> Chain:
        """With an acceptance test."""
        return Chain(self.model, self.proposal, test, self.start, np.random.default_rng([seed, 7]))

    def designed(self, design: Design, seed: int) -> Chain:
        """With the test of a design, after some steps."""
        chain = self.chain(SequentialTest.from_design(design), seed)
        chain.advance(BURNT)
        return chain

    def design(self, seed: int = 0) -> Design:
        """A design that is meant for this chain, and holds its tolerance."""
        kind, n_data = self.kind, self.model.n_data
        if kind.m is not None:
            return Design(n_data, kind.m, kind.epsilon)
        exact, every = self.chain(ExactTest(), 10_000 + seed), spacing(self.proposal)
        exact.advance(BURNT)
        found = search(observe(exact, every * PAIRS, every).trial(n_data), kind.tolerance)
        if found.best is None:
            raise RuntimeError(f"{kind.name}: {found.reason}")
        return found.best

    def truth(self, design: Design, steps: int = LONG) -> tuple[float, float]:
        """Mean |Δ| of the steps of a long chain, and its standard error."""
        seen = observe(self.designed(design, 99_999), 2 * steps, every=2)
        error = audit(design, seen, self.model.n_data, tolerance=self.kind.tolerance).error
        return error.value, error.se

    def bias(self, design: Design, steps: int = STEPS) -> tuple[float, float]:
        """The largest true error of a mean in posterior sds, and its standard error."""
        exact = exact_posterior(CASES[self.kind.case].data(self.kind.n), int(EVALUATIONS / self.kind.n))
        draws = [self.designed(design, 50_000 + seed).advance(steps // 4).theta.mean(axis=0) for seed in range(4)]
        off = (np.mean(draws, axis=0) - exact.mean) / exact.sd
        se = np.hypot(np.std(draws, axis=0, ddof=1) / 2.0, exact.mean_se) / exact.sd
        worst = int(np.abs(off).argmax())
        return float(np.abs(off[worst])), float(se[worst])


def alarms(audits: list[Audit]) -> int:
    """How many say TOO LARGE."""
    return sum(one.verdict == "beyond" for one in audits)


def at_most(count: int, of: int) -> float:
    """Upper limit (95%) of a rate that showed `count` times (Clopper and Pearson)."""
    return 1.0 if count == of else float(betaincinv(count + 1.0, float(of - count), 0.95))


def means_wrong(audits: list[Audit]) -> int:
    """How many say MEANS WRONG."""
    return sum(one.means is not None and one.means.verdict == "beyond" for one in audits)


def repeated(chains: Chains, design: Design, tolerance: float, times: int, first: int = 0) -> list[Audit]:
    """Audits of chains from different seeds."""
    seeds = range(first, first + times)
    return [audit_chain(chains.designed(design, seed), design, tolerance=tolerance) for seed in seeds]


# --- wrong runs -------------------------------------------------------------------------------------------------------


def design_of_another_proposal(chains: Chains) -> Design:
    """Made from pairs of independent proxy proposals, with control variates."""
    kind = chains.kind._replace(walk=False, heavy=0, tolerance=0.01)
    return Chains(kind).design()


def design_of_the_burn_in(chains: Chains) -> Design:
    """Made from pairs on the way to the mode, which a search refuses unless told that all is well."""
    far = chains.chain(ExactTest(), 5)
    far.theta = far.theta + 3.0
    trial = observe(far, 60, every=1).trial(chains.model.n_data)
    best = search(trial, chains.kind.tolerance, confidence=0.5, stationary=False, skew=False).best
    if best is None:
        raise RuntimeError("no design for pairs of the burn-in")
    return best


WRONG_DESIGNS: dict[str, Callable[[Chains], Design]] = {
    "a design of another proposal": design_of_another_proposal,
    "a trial run taken in burn-in": design_of_the_burn_in,
}


# --- the report -------------------------------------------------------------------------------------------------------


class Tried(NamedTuple):
    """Audits of one kind of chain: as designed, at the tolerance, and with half of it.

    `truth` is mean |Δ| with its standard error, `bias` the same for the mean that is off most, in posterior sds.
    """

    kind: Kind
    design: Design
    truth: tuple[float, float]
    bias: tuple[float, float]
    right: list[Audit]
    at: list[Audit]
    twice: list[Audit]


def try_kind(kind: Kind, right: int = RIGHT, at: int = AT, twice: int = WRONG, long: int = LONG) -> Tried:
    """Everything about one kind; what is not searched for has a tolerance of a quarter more than its error."""
    chains = Chains(kind)
    design = chains.design()
    truth = chains.truth(design, long)
    tolerance = kind.tolerance if kind.m is None else 1.25 * truth[0]
    return Tried(
        kind,
        design,
        truth,
        chains.bias(design),
        repeated(chains, design, tolerance, right),
        repeated(chains, design, truth[0], at, 1000),
        repeated(chains, design, truth[0] / 2.0, twice, 2000),
    )


def report() -> list[str]:
    """The section of RESULTS.md."""
    tried = []
    for kind in KINDS:
        tried.append(try_kind(kind))
        print(_row(tried[-1]), _means_row(tried[-1]), sep="\n", file=sys.stderr, flush=True)
    rows = [_row(one) for one in tried]
    right = [audit for one in tried for audit in one.right]
    at = [audit for one in tried for audit in one.at]
    wrong = []
    chains = Chains(KINDS[2])
    for name, made in WRONG_DESIGNS.items():
        design = made(chains)
        truth, _ = chains.truth(design, LONG // 5)
        audits = repeated(chains, design, chains.kind.tolerance, WRONG)
        steps = np.mean([one.pairs for one in audits])
        wrong.append(
            f"| {name} | {truth:.3f} | {chains.kind.tolerance:g} | {steps:.0f} | {alarms(audits)} of {WRONG} |"
        )
    return [
        "## Audits: false alarms, and wrong runs noticed",
        "",
        f"False alarms in right runs: {_rate(right)}. With mean |Δ| right at the tolerance: {_rate(at)}.",
        "",
        "| chain | m, ε | mean \\|Δ\\| | tolerance | false alarms | steps | at tolerance | twice: noticed | promised |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        "| wrong run (random walk) | mean \\|Δ\\| | tolerance | steps | noticed |",
        "|---|---|---|---|---|",
        *wrong,
        "",
        "The same right runs: what their audits say of the means, beside the mean that is really off most (sd):",
        "",
        "| chain | really off | limit (95%): median | limit too low | MEANS WRONG | 0.05 seen: promised | not judged |",
        "|---|---|---|---|---|---|---|",
        *(_means_row(one) for one in tried),
        "",
    ]


def _rate(audits: list[Audit]) -> str:
    count, of = alarms(audits), len(audits)
    return f"{count} of {of} audits (at most {at_most(count, of):.2%} with 95% confidence)"


def _row(one: Tried) -> str:
    tolerance, steps = one.right[0].tolerance, np.mean([audit.pairs for audit in one.right])
    promised = np.mean([audit.power for audit in one.twice])
    return (
        f"| {one.kind.name} | {one.design.m}, {one.design.epsilon:.3g} | {one.truth[0]:.4f} ± {one.truth[1]:.4f} | "
        f"{tolerance:.3g} | {alarms(one.right)} of {len(one.right)} | {steps:.0f} | "
        f"{alarms(one.at)} of {len(one.at)} | {alarms(one.twice)} of {len(one.twice)} | {promised:.0%} |"
    )


def _means_row(one: Tried) -> str:
    judged = [audit.means for audit in one.right if audit.means is not None]
    start = f"| {one.kind.name} | {one.bias[0]:.3f} ± {one.bias[1]:.3f} |"
    if not judged:
        return f"{start} | | | | {len(one.right)} of {len(one.right)} |"
    low = sum(means.upper < one.bias[0] - 2.0 * one.bias[1] for means in judged)
    return (
        f"{start} {np.median([means.upper for means in judged]):.3f} | {low} of {len(judged)} | "
        f"{means_wrong(one.right)} of {len(judged)} | {np.median([means.power for means in judged]):.0%} | "
        f"{len(one.right) - len(judged)} of {len(one.right)} |"
    )
