"""How often the upper limit of mean |Δ| covers the mean over all pairs: `python -m benchmarks.search.coverage`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import stdtrit

from designer import Design, TrialRun, acceptance
from designer.core.arrays import Floats
from designer.search.upper_limit import mean_limit

CONFIDENCE, REPEATS, EVERYONE = 0.95, 4000, 100_000
PAIRS = (20, 50, 100, 400)
RESAMPLES = 400


def report() -> list[str]:
    """The section of RESULTS.md."""
    rng = np.random.default_rng(0)
    return [
        "## Search: coverage of the upper limit of mean |Δ|",
        "",
        f"Trial runs drawn from {EVERYONE:,} pairs of known mean |Δ|; {REPEATS:,} each, confidence {CONFIDENCE:g}",
        "(standard error of a share .003). `limit` is what a search holds within the tolerance, `Student` the plain t",
        "limit, `bootstrap` the percentile bootstrap; `width` is the median of limit / mean.",
        "",
        "| |Δ| of | skewness | pairs | limit | Student | bootstrap | width |".replace("|Δ|", "\\|Δ\\|"),
        "|---|---|---|---|---|---|---|",
        *(_row(rng, name, sizes, pairs) for name, sizes in _populations(rng) for pairs in PAIRS),
        "",
    ]


def _populations(rng: np.random.Generator) -> list[tuple[str, Floats]]:
    walk = TrialRun.at_stationarity(100_000, 0.5, EVERYONE, rng, 0.3)
    found = [
        ("a random walk, m = 500, ε = .05", _sizes(walk, Design(100_000, 500, 0.05))),
        ("the same, m = 5,000, ε = .001", _sizes(walk, Design(100_000, 5000, 0.001))),
    ]
    for spread in (0.5, 1.0, 1.5):
        found.append(
            (f"control variates, sd of log κ {spread:g}", _sizes(_proxy(rng, spread), Design(10**6, 100, 0.5)))
        )
    return [
        *found,
        ("log-normal numbers, σ = 1", np.exp(rng.standard_normal(EVERYONE))),
        ("log-normal numbers, σ = 1.5", np.exp(1.5 * rng.standard_normal(EVERYONE))),
        ("Pareto numbers, index 2.5", rng.pareto(2.5, EVERYONE)),
    ]


def _proxy(rng: np.random.Generator, spread: float) -> TrialRun:
    """Pairs as with control variates and proxy proposals: κ small and very uneven."""
    kappa, a, n = 1e-3 * np.exp(spread * rng.standard_normal(EVERYONE)), rng.normal(-0.045, 0.3, EVERYONE), 10**6
    return TrialRun(n, a / n, kappa * np.sqrt(n - 1) / n)


def _sizes(pairs: TrialRun, design: Design) -> Floats:
    return np.abs(acceptance(design, pairs, tolerance=1e-6).delta)


def _row(rng: np.random.Generator, name: str, sizes: Floats, pairs: int) -> str:
    samples, mean = sizes[rng.integers(sizes.size, size=(REPEATS, pairs))], float(sizes.mean())
    skew = float(((sizes - mean) ** 3).mean() / sizes.std() ** 3)
    limits = np.array([mean_limit(sample, pairs, CONFIDENCE) for sample in samples])
    rivals = [_covers(limit, samples, mean) for limit in (_student, _bootstrap(rng, pairs))]
    shares = " | ".join(f"{share:.3f}" for share in (float((limits >= mean).mean()), *rivals))
    return f"| {name} | {skew:.1f} | {pairs} | {shares} | {np.median(limits) / mean:.2f} |"


def _covers(limit: Callable[[Floats], Floats], samples: Floats, mean: float) -> float:
    return float((limit(samples) >= mean).mean())


def _student(samples: Floats) -> Floats:
    pairs = samples.shape[1]
    width: Floats = stdtrit(pairs - 1.0, CONFIDENCE) * samples.std(axis=1, ddof=1) / np.sqrt(pairs)
    return np.asarray(samples.mean(axis=1) + width)


def _bootstrap(rng: np.random.Generator, pairs: int) -> Callable[[Floats], Floats]:
    """The percentile bootstrap; all samples share the draws, which does not matter to the coverage."""
    counts = rng.multinomial(pairs, np.full(pairs, 1.0 / pairs), RESAMPLES).T / pairs
    return lambda samples: np.asarray(np.quantile(samples @ counts, CONFIDENCE, axis=1))


if __name__ == "__main__":
    print("\n".join(report()))
