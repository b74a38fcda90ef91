"""Proxy proposals with Student tails and profile corrections on rare levels: `python -m benchmarks proposals`."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from benchmarks.samplers.chains import ess
from designer import Design
from designer.core.arrays import Floats
from samplers.chains.chain import Chain
from samplers.chains.parallel import streams
from samplers.decide import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.models.totals import log_posteriors
from samplers.proposals import ProxyStep, choose_proposal
from tests.cases import CASES

N_DATA, MORE_COLUMNS, HEAVY = 100_000, 20, 2_000
STEPS, DRAWS = 40_000, 20_000
TAILS = (0.005, 0.995)
KINDS = {
    "normal (today's)": {},
    "Student's t, 5 degrees of freedom": {"degrees": 5.0},
    "Student's t, 20": {"degrees": 20.0},
    "profile": {"profile": True},
    "profile, Student's t, 20": {"degrees": 20.0, "profile": True},
}


class Truth(NamedTuple):
    """Means, standard deviations and outer quantiles, by importance sampling with the profile proposal."""

    mean: Floats
    sd: Floats
    quantiles: Floats  # (2, D)
    share: float  # effective draws per draw

    @classmethod
    def of(cls, model: Logistic, proposal: ProxyStep) -> Truth:
        states = proposal.draw(np.random.default_rng(1), DRAWS)
        log_weight = log_posteriors(model, states) - [proposal.log_density(state) for state in states]
        weight = np.exp(log_weight - np.logaddexp.reduce(log_weight))
        mean = weight @ states
        sd = np.sqrt(weight @ (states - mean) ** 2)
        order = np.argsort(states, axis=0)
        below = np.cumsum(weight[order], axis=0)
        columns = range(states.shape[1])
        quantiles = [[np.interp(p, below[:, j], states[order[:, j], j]) for j in columns] for p in TAILS]
        return cls(mean, sd, np.array(quantiles), float(1.0 / (weight @ weight) / DRAWS))


def wide(name: str) -> Logistic:
    """The case with more columns, all normal."""
    data = CASES[name].data(N_DATA)
    more = np.random.default_rng(2).standard_normal((N_DATA, MORE_COLUMNS))
    return Logistic.from_data(np.hstack([data.x, more]), data.y, data.prior_precision)


def longest_stay(accepted: Floats) -> int:
    """Most steps in a row without a move."""
    moves = np.flatnonzero(np.concatenate([[True], accepted.astype(bool), [True]]))
    return int(np.diff(moves).max()) - 1


def case_lines(name: str) -> list[str]:
    """One table."""
    model = wide(name)
    mode = find_mode(model)
    controlled = Controlled.around(model, mode, heavy=HEAVY)
    test = SequentialTest.from_design(Design(controlled.n_data, 100, 0.01))
    truth = Truth.of(model, ProxyStep.of(controlled, profile=True))
    start = time.perf_counter()
    choice = choose_proposal(controlled)
    seconds = time.perf_counter() - start
    lines = [
        f"### {CASES[name].special} Prior precision {model.prior_precision:g}",
        "",
        f"N = {N_DATA:,}, D = {mode.size}, {HEAVY:,} heavy rows, m = 100, ε = .01, {STEPS:,} steps from the mode. "
        f"Errors in posterior standard deviations, the largest of all coefficients, against {DRAWS:,} weighted draws "
        f"({truth.share:.1%} effective). Chosen in {seconds:.1f} s: *{choice.sentence}*.",
        "",
        "| proposal | acceptance | fewest effective draws per step | per second | × today's | means off | sds off "
        "| 0.5% quantiles off | longest stay |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    today = math.nan
    for kind, options in KINDS.items():
        proposal = ProxyStep.of(controlled, **options)
        chain = Chain(controlled, proposal, test, mode, streams(1, 1)[0])
        chain.advance(10)  # compile
        start = time.perf_counter()
        draws = chain.advance(STEPS)
        seconds = time.perf_counter() - start
        effective = float(min(ess(draws.theta).min(), ess((draws.theta - truth.mean) ** 2).min()))
        today = effective / seconds if math.isnan(today) else today
        means = np.abs(draws.theta.mean(axis=0) - truth.mean) / truth.sd
        sds = np.abs(draws.theta.std(axis=0) / truth.sd - 1.0)
        outer = np.abs(np.quantile(draws.theta, TAILS, axis=0) - truth.quantiles) / truth.sd
        lines.append(
            f"| {kind} | {draws.accepted.mean():.2f} | {effective / STEPS:.3f} | {effective / seconds:,.0f} "
            f"| {effective / seconds / today:.1f} | {means.max():.3f} | {sds.max():.3f} | {outer.max():.2f} "
            f"| {longest_stay(draws.accepted):,} |"
        )
    return [*lines, ""]


def report() -> list[str]:
    """The section of RESULTS.md."""
    return ["## Proxy proposals where the posterior is far from normal", "", *(
        line for name in ("rare-levels-wide", "rare-levels", "census") for line in case_lines(name)
    )]  # fmt: skip


if __name__ == "__main__":
    print("\n".join(report()))
