"""Savings and costs of redesigning during a run: `python -m benchmarks.samplers.redesign`."""

from __future__ import annotations

import time

import numpy as np

from designer import Design, search
from designer.pairs.trial_run import TrialRun
from samplers.adapt.redesign import Followed, follow_from
from samplers.chains.spec import ChainSpec
from samplers.config.assemble import build
from samplers.config.built_in import built_in
from samplers.config.schema import RedesignTable
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.study.observe import observe

TOLERANCE, STEPS, EVERY = 0.02, 2000, 500
STARTS = {"nearly exact": (6000, 1e-6), "too careless": (100, 0.3), "K14's usual": (500, 0.05)}
CHAIN = "e3"


def report() -> list[str]:
    """The section of RESULTS.md."""
    config = built_in(CHAIN)
    parts = build(config)
    best = _best(parts)
    n_data = parts.model.n_data
    lines = [
        "## Design while it runs",
        "",
        f"The random walk of K14 §6.1 (N = {n_data:,}, synthetic twin), {STEPS:,} steps, designs may change up to the "
        f"last, tolerance {TOLERANCE:g}, searched every {EVERY:,} steps on the latest 100 pairs. A design from a trial "
        f"run of 100 exact pairs has m = {best.m:,}, ε = {best.epsilon:g}, α = {best.alpha:g}.",
        "",
        "| start | m, ε | data, started with | data, last design | mean abs. Δ, start | last | changes "
        "| share of pairs | total data, relative to keeping the start | s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (m, epsilon) in STARTS.items():
        begin = time.perf_counter()
        table = RedesignTable(tolerance=TOLERANCE, every=EVERY, until=STEPS)
        run = follow_from(config, m, epsilon, table, STEPS)
        lines.append(_row(name, m, epsilon, run, parts, time.perf_counter() - begin))
    return [*lines, ""]


def _best(parts: ChainSpec) -> Design:
    """The design from a trial run."""
    chain = parts._replace(test=ExactTest()).chain(_rng())
    trial: TrialRun = observe(chain, 1000, 10).trial(parts.model.n_data)  # type: ignore[arg-type]
    best = search(trial, TOLERANCE).best
    assert best is not None
    return best


def _row(name: str, m: int, epsilon: float, run: Followed, parts: ChainSpec, seconds: float) -> str:
    first, last, n_data = run.log[0], run.log[-1], run.n_data
    fixed = parts._replace(test=SequentialTest.from_design(Design(n_data, m, epsilon))).chain(_rng())
    unchanged = int(fixed.advance(STEPS).n_used.sum())
    ratio = (run.read + run.passes * n_data) / unchanged
    cells = [name, f"{m:,}, {epsilon:g}", f"{first.old_usage:.1%}", f"{last.usage:.1%}", f"{first.old_error:.3g}"]
    cells += [f"{last.error:.3g}", str(sum(change.changed for change in run.log)), f"{run.share:.1%}"]
    return f"| {' | '.join([*cells, f'{ratio:.2f}', f'{seconds:.1f}'])} |"


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


if __name__ == "__main__":
    print("\n".join(report()))
