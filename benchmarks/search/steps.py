"""Step size and test together, predicted and with real chains: `python -m benchmarks.search.steps [--draws D]`."""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

import numpy as np

from benchmarks.samplers.chains import ess
from designer import Space, best_step
from designer.core.arrays import Floats
from designer.further.step_size import BestStep, StepRow, effective_share
from samplers.chains.chain import Chain
from samplers.chains.draws import Draws
from samplers.decide import AcceptTest, ExactTest, SequentialTest
from samplers.models import Model
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk
from samplers.study.step_trials import trials_at

N_DATA, DIMENSION, PAIRS, DRAWS = 10_000, 10, 200, 20_000
SCALES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
TOLERANCE = 0.03
CLOSE = 1.4  # at larger steps, few pairs are accepted


class StepProblem(NamedTuple):
    """Logistic regression, its mode, and covariance and precision of the Laplace approximation."""

    model: Logistic
    controlled: Controlled
    mode: Floats
    covariance: Floats
    precision: Floats

    def chain(self, model: Model, scale: float, test: AcceptTest, seed: int) -> Chain:
        walk = RandomWalk.with_covariance(self.covariance, scale * 2.38 / math.sqrt(DIMENSION))
        return Chain(model, walk, test, self.mode, np.random.default_rng(seed))


class ChainFigures(NamedTuple):
    """Acceptance, data use, squared jump, ESS per step, and sd relative to the Laplace approximation of a chain."""

    acceptance: float
    usage: float
    jump: float
    share: float
    sd: float


def make_problem() -> StepProblem:
    """Standard normal covariates with an intercept."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(N_DATA), rng.standard_normal((N_DATA, DIMENSION - 1))])
    y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ rng.normal(0.0, 0.5, DIMENSION)))
    model = Logistic.from_data(x, y, prior_precision=1.0)
    mode = find_mode(model)
    controlled = Controlled.around(model, mode)
    precision = controlled.posterior_precision()
    return StepProblem(model, controlled, mode, np.linalg.inv(precision), precision)


def measure(problem: StepProblem, draws: Draws) -> ChainFigures:
    """The figures of a chain after its warm-up."""
    moves = np.diff(draws.theta, axis=0)
    jump = float(np.mean(np.einsum("ij,jk,ik->i", moves, problem.precision, moves)))
    sd = float(np.mean(draws.theta.std(axis=0) / np.sqrt(np.diag(problem.covariance))))
    share = float(ess(draws.theta).mean()) / len(draws.theta)
    return ChainFigures(float(draws.accepted.mean()), float(draws.n_used.mean()) / N_DATA, jump, share, sd)


def run(problem: StepProblem, model: Model, scale: float, test: AcceptTest, draws: int) -> ChainFigures:
    chain = problem.chain(model, scale, test, seed=int(1000 * scale))
    chain.advance(draws // 10)
    return measure(problem, chain.advance(draws))


def predicted(problem: StepProblem, model: Model, scales: tuple[float, ...]) -> BestStep:
    """Predictions for all of SCALES, from pairs at these steps."""
    chain = problem.chain(model, 1.0, ExactTest(), seed=1)
    chain.advance(2000)
    return best_step(trials_at(chain, scales, PAIRS), TOLERANCE, SCALES, refine=False, space=Space(m_low=200))


def section(problem: StepProblem, name: str, model: Model, draws: int) -> list[str]:
    """One table: the test of each step, predicted and measured."""
    one, three = predicted(problem, model, (1.0,)), predicted(problem, model, (0.5, 1.0, 2.0))
    lines = [
        f"**{name}.** {one.sentence[0].upper()}{one.sentence[1:]}.",
        "",
        "| step | m, ε | acceptance | data | squared jump | ESS per 10⁶ evaluations | sd / Laplace sd |",
        "|---|---|---|---|---|---|---|",
    ]
    off_one, off_three = [], []
    for row, other in zip(one.rows, three.rows, strict=True):
        if row.design is None:
            lines.append(f"| {row.scale:g} | none | | | | | |")
            continue
        seen = run(problem, model, row.scale, SequentialTest.from_design(row.design), draws)
        lines.append(_line(row, seen))
        if row.scale <= CLOSE:
            real = seen_exact(problem, row.scale, draws).jump
            off_one.append(abs(row.exact_jump / real - 1.0))
            off_three.append(abs(other.exact_jump / real - 1.0))
    return [
        *lines,
        "",
        f"Squared jump of the exact chain at steps up to {CLOSE:g}: predicted from one trial run within "
        f"{max(off_one):.0%}, from three (steps 0.5, 1, 2) within {max(off_three):.0%} of what chains do.",
        "",
    ]


_exact: dict[tuple[float, int], ChainFigures] = {}


def seen_exact(problem: StepProblem, scale: float, draws: int) -> ChainFigures:
    """The figures of an exact chain at this step, run only once."""
    if (scale, draws) not in _exact:
        _exact[scale, draws] = run(problem, problem.model, scale, ExactTest(), draws)
    return _exact[scale, draws]


def _line(row: StepRow, seen: ChainFigures) -> str:
    assert row.design is not None
    per_step = 2.0 * N_DATA * seen.usage
    ahead = 1e6 * effective_share(row.jump, DIMENSION) / row.cost
    return (
        f"| {row.scale:g} | {row.design.m:,}, {row.design.epsilon:.3g} | {row.acceptance:.3f} → {seen.acceptance:.3f} "
        f"| {row.usage:.1%} → {seen.usage:.1%} | {row.jump:.2f} → {seen.jump:.2f} "
        f"| {ahead:.2f} → {1e6 * seen.share / per_step:.2f} | {seen.sd:.2f} |"
    )


def exact_lines(problem: StepProblem, draws: int) -> list[str]:
    """The exact chain at every step, one evaluation per datum."""
    lines = ["| step, exact | acceptance | squared jump | ESS per 10⁶ evaluations |", "|---|---|---|---|"]
    for scale in SCALES:
        seen = seen_exact(problem, scale, draws)
        lines.append(f"| {scale:g} | {seen.acceptance:.3f} | {seen.jump:.2f} | {1e6 * seen.share / N_DATA:.2f} |")
    return [*lines, ""]


def report(draws: int = DRAWS) -> list[str]:
    """The section of RESULTS.md."""
    problem = make_problem()
    return [
        f"## Step size and test together: logistic regression, N = {N_DATA:,}, D = {DIMENSION}",
        "",
        f"Tolerance {TOLERANCE:g} at step 1 (2.38/√D), the same bias at other steps; predicted from {PAIRS} pairs → "
        f"measured by chains of {draws:,} draws. Predicted jumps leave out wrong moves, measured ones cannot. ESS is "
        "the mean over the coordinates.",
        "",
        *section(problem, "Without control variates", problem.model, draws),
        *section(problem, "With control variates", problem.controlled, draws),
        *exact_lines(problem, draws),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each chain (default: %(default)s)")
    print("\n".join(report(parser.parse_args().draws)))


if __name__ == "__main__":
    main()
