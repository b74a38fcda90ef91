"""One cell of ours: `python -m benchmarks.league.ours FOLDER NAME METHOD SECONDS RESULT.json`.

Everything is set up by `au.sample`, as a user would: mode, proposal, trial run and design where the test needs them.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import austerity as au
from benchmarks.league.judge import effective, errors, judged
from benchmarks.league.posteriors import BY_NAME
from benchmarks.league.reference import Reference, load_data
from samplers.chains.parallel import streams
from samplers.study.laplace import verdict_by
from samplers.study.weighted_draws import Laplace

WISH = 0.02  # posterior error for which tests are designed
ENOUGH = 20_000  # effective draws: then a cell is finished before its time
LEAST, MOST_KEPT = 5.0, 3e7  # seconds before a count, unless so many numbers are kept already
BARKER_BATCH = 100
TESTS: dict[str, dict[str, Any]] = {
    "sequential, plain": {"test": "sequential", "order": 0, "proposal": "random-walk"},
    "sequential": {"test": "sequential"},
    "Barker": {"test": au.BarkerTest(BARKER_BATCH)},
    "exact mini-batch": {"test": "exact-minibatch"},
    "exact": {"test": "exact"},
}


class Run(NamedTuple):
    """Draws, of which every `thin`-th is kept, and what all steps did."""

    theta: np.ndarray
    steps: int
    rows: float
    acceptance: float
    seconds: float


def cell(folder: Path, name: str, method: str, seconds: float) -> dict[str, Any]:
    """All figures of a cell."""
    data, reference = load_data(folder), Reference.load(folder)
    begin = time.perf_counter()
    model = BY_NAME[name].model(data)
    if method.startswith("Laplace"):
        return _without_chain(model, method == "Laplace", reference, begin, seconds)
    options = dict(TESTS[method])
    if "group" in data:
        options.pop("proposal", None)  # its own proposals follow the scales
    wishes = {"draws": 20, "warmup": 20, "chains": 1, "audit": False, "progress": False, "seed": 1}
    result = au.sample(model, posterior_error=WISH, laplace="never", **options, **wishes)
    setup = time.perf_counter() - begin
    assert result.spec is not None
    chain = result.spec.chain(streams(2, 1)[0])
    thin = max(1, reference.mean.size // 4) if options.get("proposal") == "random-walk" else 1
    done = _advanced(chain, seconds, thin)
    heavy = int(getattr(result.spec.model, "n_heavy", 0))
    design = result.spec.design
    return {
        "setup": setup,
        "seconds": done.seconds,
        "steps": done.steps,
        "rows": done.rows + heavy,
        "acceptance": done.acceptance,
        "details": "" if design is None else f"m = {design.m:,}, ε = {design.epsilon:.3g}",
        **judged(done.theta, reference),
    }


def _advanced(chain: Any, seconds: float, thin: int) -> Run:
    """Until the time is over or there are enough effective draws; these are counted whenever the draws double."""
    chain.advance(64)
    kept: list[np.ndarray] = []
    steps, used, accepted, elapsed, offset, next_count = 0, 0.0, 0, 0.0, 0, ENOUGH
    while elapsed < seconds:
        begin = time.perf_counter()
        part = chain.advance(64)
        elapsed += time.perf_counter() - begin
        kept.append(part.theta[offset::thin])
        offset = (offset - len(part.theta)) % thin
        steps += len(part.theta)
        used, accepted = used + float(part.n_used.sum()), accepted + int(part.accepted.sum())
        size = steps // thin * part.theta.shape[1]
        if steps >= next_count * thin and (elapsed >= min(LEAST, seconds) or size > MOST_KEPT):
            next_count = 2 * steps // thin
            if effective(np.concatenate(kept))[0].min() >= ENOUGH:
                break
    return Run(np.concatenate(kept), steps, used / steps, accepted / steps, elapsed)


def _without_chain(model: Any, plain: bool, reference: Reference, begin: float, seconds: float) -> dict[str, Any]:
    """The Laplace approximation as it is, or its draws weighted by all data."""
    controlled = au.Controlled.around(model, au.find_mode(model))
    laplace = Laplace.of(controlled)
    setup, n = time.perf_counter() - begin, model.n_data
    if plain:
        zero = np.zeros(laplace.sd.size)
        known = errors(laplace.centre, laplace.sd, zero, zero, reference)
        return {"setup": setup, "seconds": 0.0, "rows": 0.0, "effective": None, **known}
    draws, rng = 100, np.random.default_rng(3)
    while True:  # all draws share the passes over the data: twice as many, until the time is over
        begin = time.perf_counter()
        drawn = au.weighted_draws(controlled, rng, draws)
        elapsed = time.perf_counter() - begin
        if 4.0 * elapsed > seconds or drawn.ess > ENOUGH or 4 * draws > 10**6:
            break
        draws *= 4
    verdict, trusted = verdict_by(drawn, 1e-9)
    sd = verdict.laplace.sd / (1.0 + verdict.sd_error)
    mean = verdict.laplace.centre - verdict.mean_error * sd
    return {
        "setup": setup,
        "seconds": elapsed,
        "draws": len(drawn.theta),
        "steps": len(drawn.theta),
        "rows": float(n),
        "effective": drawn.ess,
        "details": f"k̂ = {drawn.pareto_k:.2f}",
        "trusted": trusted,
        **errors(mean, sd, verdict.mean_se, verdict.sd_se, reference),
    }


def main() -> None:
    folder, name, method, seconds, result = sys.argv[1:]
    figures = cell(Path(folder), name, method, float(seconds))
    Path(result).write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
