"""Need one sample? The verdict, its cost, and that of trial runs: `python -m benchmarks.samplers.need_i_sample`."""

from __future__ import annotations

import time

import numpy as np

from samplers import Chain, Controlled, ExactTest, Logistic, ProxyStep, find_mode, laplace_verdict
from samplers.chains.blas import blas_threads
from samplers.study.observe import observe

CASES = {  # rows, columns, intercept
    "N = 12,214, D = 50": (12_214, 50, 0.0),
    "N = 10⁵, D = 50": (10**5, 50, 0.0),
    "N = 10⁶, D = 50": (10**6, 50, 0.0),
    "N = 10⁵, D = 10, 0.1% positives": (10**5, 10, -7.0),
    "N = 10⁶, D = 10, 0.1% positives": (10**6, 10, -7.0),
}
PAIRS = 20


def report() -> list[str]:
    """The section of RESULTS.md."""
    lines = [
        "## Need I sample?",
        "",
        "Logistic regression, synthetic, one core. *Pass*: one exact step of a chain that stores log-likelihoods. The "
        "verdict evaluates 300 draws. *A pair*: of a trial run with independent proxy proposals, as it was (a tenth "
        "step, and a pass of its own) over as it is.",
        "",
        "| data | verdict | seconds | passes that the time would allow | a pair, before / now |",
        "|---|---|---|---|---|",
    ]
    with blas_threads(1):
        _row("small", 1000, 2, 0.0)  # imports and compilation
        return [*lines, *(_row(name, *case) for name, case in CASES.items()), ""]


def _row(name: str, rows: int, columns: int, intercept: float) -> str:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, columns))
    x[:, 0] = 1.0
    slopes = rng.standard_normal(columns) / np.sqrt(columns)
    slopes[0] = intercept
    model = Logistic.from_data(x, rng.random(rows) < 1.0 / (1.0 + np.exp(-x @ slopes)), 1.0)
    proxied = Controlled.around(model, find_mode(model))
    begin = time.perf_counter()
    verdict = laplace_verdict(proxied, np.random.default_rng(2))
    seconds = time.perf_counter() - begin
    chain = Chain(proxied, ProxyStep.of(proxied), ExactTest(), proxied.centre, np.random.default_rng(3))
    chain.advance(2)
    begin = time.perf_counter()
    chain.advance(PAIRS)
    step = (time.perf_counter() - begin) / PAIRS
    now = _pair(chain, 1)
    known, Chain.known_terms = Chain.known_terms, lambda *_: None  # type: ignore[method-assign]
    try:
        before = _pair(chain, 10)
    finally:
        Chain.known_terms = known  # type: ignore[method-assign]
    said = verdict.sentence.split(" (")[0]
    return f"| {name} | {said} | {seconds:.2f} | {seconds / step:.0f} | {before / now:.1f} |"


def _pair(chain: Chain, every: int) -> float:
    begin = time.perf_counter()
    observe(chain, PAIRS * every // (1 if every == 1 else 4), every)
    return (time.perf_counter() - begin) / (PAIRS if every == 1 else PAIRS / 4)


if __name__ == "__main__":
    print("\n".join(report()))
