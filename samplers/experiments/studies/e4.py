"""E4: unmixing sounds by random walks on the Stiefel manifold, exact and by sequential tests.

The paper ran ten chains of each test for 6400 seconds, and took the truth from 100,000 exact samples. Full has its data
size, tests and acceptance rate, but runs for a quarter of an hour on one core: three chains of each test with 6% of the
paper's samples, at most 8000, and the truth from four exact chains with 8000 samples in total. So biases are given with
their standard errors, and risks below the truth's own error are marked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.chain import Chain, compare
from samplers.experiments.framework.data_sets import notice
from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import histograms
from samplers.experiments.framework.shared import Shared
from samplers.experiments.problems.exact_vs_sequential import (
    EXACT,
    SURE,
    TRUTH,
    Chains,
    Estimate,
    Verdict,
    accept_test,
    averaged,
    chains_of,
    estimate,
    judged,
    kind_of,
    listed,
    names_of,
    numbered,
    own_error,
    rates,
    risk_panels,
)
from samplers.experiments.problems.ica_problem import TunedUnmixing, tuned_unmixing
from samplers.experiments.problems.timed_chain import timed_chain
from samplers.models.ica import amari
from samplers.proposals import StiefelWalk

UNCACHED = "exact without cache"
PAPER = {EXACT: 5_992, "ε = 0.01": 11_320, "ε = 0.05": 40_973, "ε = 0.1": 171_917, "ε = 0.2": 1_894_000}
TIMED = 8  # groups of steps without a cache, for the spread of their rate


class Settings(NamedTuple):
    """The data, the tests and the lengths: `share` of the paper's samples for each test, but at most `most`."""

    share: float
    chains: int
    truth_chains: int
    truth_steps: int
    rows: int | None = None
    most: int = 8000
    m: int = 600
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2)
    acceptance: float = 0.5
    warmup: int = 300
    uncached_steps: int = 5
    seed: int = 1

    @property
    def names(self) -> list[str]:
        """The tests that are compared."""
        return names_of(self.epsilons)

    def steps(self, name: str) -> int:
        """Steps of a chain."""
        return self.truth_steps if name == TRUTH else min(self.most, max(100, round(self.share * PAPER[name])))


def parts(settings: Settings) -> list[str]:
    """The truth, the cost of exact steps without a cache, and all chains."""
    return [*numbered([TRUTH], settings.truth_chains), UNCACHED, *numbered(settings.names, settings.chains)]


_PREPARED = Shared[TunedUnmixing]()


def _prepared(settings: Settings, work: Work) -> TunedUnmixing:
    """The problem with its tuned walk, the same for every part."""
    rng = generator(settings.seed, "e4", "tuning")
    return tuned_unmixing(rng, settings.rows, settings.warmup, settings.acceptance, work)


def work(settings: Settings, name: str, work: Work) -> Values:
    """The numbers of one part."""
    tuned = _PREPARED.get((settings, work.data), lambda: _prepared(settings, work))
    rng, model = generator(settings.seed, "e4", name), tuned.problem.model
    walk, kind = tuned.walk, kind_of(name)

    def distances(draws: Floats) -> Floats:
        return amari(draws, tuned.problem.truth)[:, None]

    def chain(own: np.random.Generator) -> Chain:
        return Chain(model, walk, accept_test(kind, model.n_data, settings.m), tuned.start, own)

    if name == UNCACHED:
        return {"rates": _uncached_rates(tuned, walk, settings.uncached_steps, rng, work)}
    thin = 1 if kind in (TRUTH, EXACT) else 5
    timed = timed_chain(chain, rng, settings.steps(kind), distances, work, thin=thin, block=50)
    known = {"scale": tuned.scale, "n_data": model.n_data, **tuned.origin}
    return {**timed._replace(kept=distances(timed.kept))._asdict(), **known}


def _uncached_rates(
    tuned: TunedUnmixing, walk: StiefelWalk, steps: int, rng: np.random.Generator, work: Work
) -> Floats:
    """Exact steps per second when both states are evaluated at all data, for several groups of steps."""
    model, theta = tuned.problem.model, tuned.start
    everything, rates = np.arange(model.n_data), []
    for group in range(TIMED + 1):
        work.step(group / (TIMED + 1))
        begin = time.perf_counter()
        for _ in range(steps):
            comparison = compare(model, theta, walk.propose(rng, theta).theta)
            comparison.terms(everything).sum()
        rates.append(steps / (time.perf_counter() - begin))
    return np.array(rates[1:])  # the first group compiles, and fills the caches of the machine


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Samples per second against both exact chains, and the risk of the mean Amari distance."""
    truth_parts = chains_of([TRUTH], settings.truth_chains, values)[TRUTH]
    chains, truth = chains_of(settings.names, settings.chains, values), estimate(truth_parts)
    verdicts = {name: judged(parts, truth) for name, parts in chains.items()}
    rate, usage, acceptance = rates(chains), averaged(chains, "usage"), averaged(chains, "acceptance")
    slow = values[UNCACHED]["rates"]
    uncached = float(slow.mean())
    falling = [usage[name] for name in settings.names]
    checks = {
        "the walk accepts about half of its proposals": abs(acceptance[EXACT] - settings.acceptance) < 0.12,
        "data use falls with ε": falling == sorted(falling, reverse=True),
        "every test with ε ≥ 0.05 draws at least twice as many samples per likelihood evaluation as exact sampling "
        "without a cache": all(usage[name] <= 0.5 for name in settings.names[2:]),
    }
    rows: list[list[Cell]] = [
        [
            name, settings.steps(name), rate[name], rate[name] / uncached, rate[name] / rate[EXACT],
            PAPER[name] / PAPER[EXACT], usage[name], 1.0 / usage[name], (1.0 if name == EXACT else 0.5) / usage[name],
            acceptance[name], verdicts[name].bias, verdicts[name].bias_se, verdicts[name].final, verdicts[name].shown,
        ]
        for name in settings.names
    ]  # fmt: skip
    columns = [
        "test", "samples", "samples/s", "× exact without cache", "× cached exact", "× exact (paper)", "data use",
        "× without cache, by evaluations", "× cached, by evaluations", "acceptance", "bias of mean Amari distance",
        "± s.e.", "final risk", "resolved",
    ]  # fmt: skip
    tables = [
        ResultTable("Samples per second and data use", columns, rows),
        ResultTable(
            "Basis of the comparison",
            [
                "exact steps/s without cache",
                "sd between groups of steps",
                "truth: mean Amari distance",
                "± s.e.",
                "effective",
            ],
            [[uncached, float(slow.std(ddof=1)), float(truth.mean[0]), float(truth.se[0]), truth.effective]],
        ),
    ]
    finding = _finding(settings, rows, verdicts, truth, int(truth_parts[0]["n_data"]))
    panels = risk_panels(chains, verdicts, "risk of the mean Amari distance", own_error(truth))
    return Report(finding, checks, tables, [*panels, _posterior(truth_parts, chains)], [notice(truth_parts[0])])


def _finding(
    settings: Settings, rows: list[list[Cell]], verdicts: Mapping[str, Verdict], truth: Estimate, n_data: int
) -> str:
    tests = rows[1:]
    biased = [name for name, verdict in verdicts.items() if abs(verdict.bias) > SURE * verdict.bias_se]
    biases = ", ".join(f"{verdict.bias:+.1e} ± {verdict.bias_se:.0e} ({name})" for name, verdict in verdicts.items())
    unresolved = [name for name, verdict in verdicts.items() if not verdict.resolved]
    beyond = f"more than {SURE:g} standard errors for {', '.join(biased)}" if biased else "no bias is visible"
    weak = f" The final risk of {', '.join(unresolved)} is within the truth's own error." if unresolved else ""
    return (
        f"On {n_data:,} samples of four sounds, at acceptance {rows[0][9]:.2f}, tests with ε = "
        f"{listed(settings.epsilons, 'g')} read {listed([row[6] for row in tests], '.1%')} of the data and draw "
        f"{listed([row[3] for row in tests], '.2g')} times as many samples per second as exact sampling without a "
        f"cache (paper: 1.9, 6.8, 28.7, 316), and {listed([row[4] for row in tests], '.2g')} times as many as exact "
        f"sampling that caches log p(xᵢ; θ). By likelihood evaluations, the factors are "
        f"{listed([row[7] for row in tests], '.2g')} and {listed([row[8] for row in tests], '.2g')}. The mean Amari "
        f"distance is {truth.mean[0]:.5f} ± {truth.se[0]:.0e} ({truth.effective:,.0f} effective draws); the chains "
        f"differ from it by {biases}: {beyond}.{weak}"
    )


def _posterior(truth: list[Values], chains: Chains) -> Panel:
    drawn = {TRUTH: np.concatenate([part["kept"][:, 0] for part in truth])}
    drawn |= {name: np.concatenate([part["kept"][:, 0] for part in parts]) for name, parts in chains.items()}
    series = histograms(drawn, np.histogram_bin_edges(drawn[TRUTH], 30))
    return Panel(
        "Amari distance",
        "Amari distance",
        "density",
        series,
        note="Posterior of the Amari distance to the true matrix.",
    )


EXPERIMENT = Experiment(
    name="e4",
    title="Independent components on the Stiefel manifold",
    source="K14 §6.2, Fig. 3",
    question="How much faster do sequential tests sample an unmixing matrix for two million samples of sound?",
    sizes={
        "tiny": Settings(0.05, 2, 2, 750, rows=20_000, most=1500),
        "quick": Settings(0.02, 1, 2, 300, rows=200_000, most=4000, warmup=150),
        "full": Settings(0.06, 3, 4, 2000),
    },
    parts=parts,
    work=work,
    report=report,
    data=("audio",),
)
