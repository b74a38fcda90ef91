"""E4: unmixing sounds by random walks on the Stiefel manifold, exact and by sequential tests.

The full size has the paper's data size, tests and acceptance rate; its chains have a tenth of the paper's samples
(which took 6400 seconds for each test), 60,000 at most, and there are three of each for the risk.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from designer.records import Design
from designer.schedule import Floats
from samplers.accept.comparison import AcceptTest
from samplers.accept.exact import ExactTest
from samplers.accept.sequential import SequentialTest
from samplers.chain import Chain, compare
from samplers.experiments.origins import notice, origin_of
from samplers.experiments.report import Cell, Panel, Report, Series, Table
from samplers.experiments.running import Experiment, Values, Work
from samplers.experiments.seeds import generator
from samplers.experiments.sounds import Unmixing, tuned_chain, unmixing
from samplers.experiments.walks import timed_chain
from samplers.models.ica import amari
from samplers.proposals import StiefelWalk
from samplers.sources import load

EXACT, TRUTH, UNCACHED = "exact", "truth", "exact without cache"
PAPER = {EXACT: 5_992, "ε = 0.01": 11_320, "ε = 0.05": 40_973, "ε = 0.1": 171_917, "ε = 0.2": 1_894_000}


class Settings(NamedTuple):
    """The data, the tests and how long: `share` of the paper's samples for each test, at most `most`."""

    share: float
    chains: int
    truth_steps: int
    rows: int | None = None
    most: int = 60_000
    m: int = 600
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2)
    acceptance: float = 0.5
    warmup: int = 300
    uncached_steps: int = 10
    seed: int = 1

    @property
    def names(self) -> list[str]:
        """The tests that are compared."""
        return [EXACT, *(f"ε = {epsilon:g}" for epsilon in self.epsilons)]

    def steps(self, name: str) -> int:
        """Of a chain."""
        return min(self.most, max(100, round(self.share * PAPER[name])))


def parts(settings: Settings) -> list[str]:
    """The truth, the cost of exact steps without a cache, and all chains."""
    return [TRUTH, UNCACHED, *(f"{name} #{k}" for name in settings.names for k in range(settings.chains))]


class Prepared(NamedTuple):
    """The problem, and the scale of the walk that gives the wanted acceptance."""

    problem: Unmixing
    scale: float
    start: Floats
    origin: Mapping[str, object]


@lru_cache(maxsize=1)
def _prepared(settings: Settings, data: Path | None) -> Prepared:
    """Whiten the data and tune the walk; the same for every part, so that it is kept from one to the next."""
    source = load("audio", data, settings.rows)
    problem = unmixing(source)
    rng = generator(settings.seed, "e4", "tuning")
    chain = tuned_chain(rng, problem, settings.warmup, settings.acceptance, lambda share: None)
    assert isinstance(chain.proposal, StiefelWalk)
    return Prepared(problem, chain.proposal.scale, chain.theta, origin_of(source))


def work(settings: Settings, name: str, work: Work) -> Values:
    """One of the parts."""
    made = _prepared(settings, work.data)
    rng, size = generator(settings.seed, "e4", name), made.problem.truth.shape[0]
    walk, n_data = StiefelWalk(made.scale, size), made.problem.model.n_data

    def distances(draws: Floats) -> Floats:
        return amari(draws, made.problem.truth)[:, None]

    if name == UNCACHED:
        return {"rate": _uncached_rate(made, walk, settings.uncached_steps, rng)}
    kind = name.partition(" #")[0]
    test: AcceptTest = ExactTest()
    if kind not in (TRUTH, EXACT):
        test = SequentialTest.from_design(Design(n_data, min(settings.m, n_data), float(kind.removeprefix("ε = "))))
    chain = Chain(made.problem.model, walk, test, made.start, rng)
    steps = settings.truth_steps if kind == TRUTH else settings.steps(kind)
    timed = timed_chain(chain, steps, distances, work, thin=1 if kind in (TRUTH, EXACT) else 5, block=50)
    return {
        **timed._replace(kept=distances(timed.kept))._asdict(),
        "scale": made.scale,
        "n_data": n_data,
        **made.origin,
    }


def _uncached_rate(made: Prepared, walk: StiefelWalk, steps: int, rng: np.random.Generator) -> float:
    """Exact steps per second when both states are evaluated at all data."""
    model, theta = made.problem.model, made.start
    everything = np.arange(model.n_data)
    model.terms(theta, theta, everything[:10])  # compiled before the clock runs
    begin = time.perf_counter()
    for _ in range(steps):
        proposed = walk.propose(rng, theta).theta
        comparison = compare(model, theta, proposed)
        comparison.terms(everything).sum()
    return steps / (time.perf_counter() - begin)


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Samples per second against both exact chains, and the risk of the mean Amari distance."""
    truth = float(values[TRUTH]["means"][-1, 0])
    chains = {name: [values[f"{name} #{k}"] for k in range(settings.chains)] for name in settings.names}
    rate = {name: float(np.mean([p["at"][-1] / p["seconds"][-1] for p in parts])) for name, parts in chains.items()}
    usage = {name: float(np.mean([p["usage"] for p in parts])) for name, parts in chains.items()}
    risk = {name: np.mean([(p["means"][:, 0] - truth) ** 2 for p in parts], axis=0) for name, parts in chains.items()}
    bias = {name: float(np.mean([p["means"][-1, 0] for p in parts])) - truth for name, parts in chains.items()}
    acceptance = {name: float(np.mean([p["acceptance"] for p in parts])) for name, parts in chains.items()}
    uncached = float(values[UNCACHED]["rate"])
    rows: list[list[Cell]] = [
        [
            name,
            settings.steps(name),
            rate[name],
            rate[name] / uncached,
            rate[name] / rate[EXACT],
            PAPER[name] / PAPER[EXACT],
            usage[name],
            (1.0 if name == EXACT else 0.5) / usage[name],
            acceptance[name],
            bias[name],
            float(risk[name][-1]),
        ]
        for name in settings.names
    ]
    columns = [
        "test", "samples", "samples/s", "× exact without cache", "× cached exact", "× exact (paper)", "data use",
        "× cached, by evaluations", "acceptance", "bias of mean Amari distance", "final risk",
    ]  # fmt: skip
    falling = [usage[name] for name in settings.names]
    checks = {
        "the walk accepts about half of its proposals": abs(acceptance[EXACT] - settings.acceptance) < 0.12,
        "data use falls with ε": falling == sorted(falling, reverse=True),
        "every test with ε >= 0.05 outruns exact sampling without a cache": all(
            rate[name] > uncached for name in settings.names[2:]
        ),
    }
    ratios = ", ".join(f"{row[3]:.2g}" for row in rows[1:])
    against_cached = ", ".join(f"{row[4]:.2g}" for row in rows[1:])
    finding = (
        f"On {int(values[TRUTH]['n_data']):,} samples of four sounds, at acceptance {acceptance[EXACT]:.2f}, tests "
        f"with ε = {', '.join(f'{e:g}' for e in settings.epsilons)} read {', '.join(f'{u:.1%}' for u in falling[1:])} "
        f"of the data and draw {ratios} times as many samples per second as exact sampling without a cache (paper: "
        f"1.9, 6.8, 28.7, 316), {against_cached} times as many as cached exact sampling. The mean Amari distance is "
        f"{truth:.5f}; the chains miss it by {', '.join(f'{bias[name]:+.1e}' for name in settings.names)}."
    )
    tables = [Table("Samples per second and data use", columns, rows)]
    return Report(finding, checks, tables, _panels(chains, risk, values[TRUTH]), [notice(values[TRUTH])])


def _panels(chains: Mapping[str, list[Values]], risk: Mapping[str, Floats], truth: Values) -> list[Panel]:
    def against(key: str) -> list[Series]:
        return [Series(name, np.mean([p[key] for p in parts], axis=0), risk[name]) for name, parts in chains.items()]

    label = "risk of the mean Amari distance"
    edges = np.histogram_bin_edges(truth["kept"][:, 0], 30)
    middle = 0.5 * (edges[1:] + edges[:-1])
    histograms = [Series("truth", middle, np.histogram(truth["kept"][:, 0], edges, density=True)[0], style="steps")]
    for name, parts in chains.items():
        kept = np.concatenate([part["kept"][:, 0] for part in parts])
        histograms.append(Series(name, middle, np.histogram(kept, edges, density=True)[0], style="steps"))
    return [
        Panel(
            "Risk against time", "seconds of sampling", label, against("seconds"), True, True, "Lower left is better."
        ),
        Panel("Risk against work", "likelihood evaluations", label, against("evaluations"), True, True),
        Panel(
            "Amari distance", "Amari distance", "density", histograms, note="Posterior of the distance to the truth."
        ),
    ]


EXPERIMENT = Experiment(
    name="e4",
    title="Independent components on the Stiefel manifold",
    source="K14 §6.2, Fig. 4",
    question="How much faster do sequential tests sample an unmixing matrix from two million samples of sound?",
    sizes={
        "tiny": Settings(0.05, 2, 600, rows=20_000, most=1500),
        "quick": Settings(0.02, 1, 400, rows=200_000, most=4000, warmup=150),
        "full": Settings(0.1, 3, 3000),
    },
    parts=parts,
    work=work,
    report=report,
    data=("audio",),
)
