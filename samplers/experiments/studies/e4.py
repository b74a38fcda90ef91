"""E4: unmixing music, noise and two Gaussian sources by random walks on the Stiefel manifold, exact and by tests.

The paper ran ten chains of each test for 6400 seconds, and took the truth from 100,000 exact samples of the same walk.
Full has its sources, tests and acceptance rate, a tenth of its data (a random subset) and a share of its samples; paper
has all of them. The truth is exact, too, but moves with the posterior's shape and makes long rotations of the Gaussian
sources, where the posterior is wide: each of its steps is worth hundreds of the walk's. Its chains start at different
rotations of these sources. The data set `audio` has four sounds instead. Chains start far away, at uniformly random
orthonormal matrices, or at the posterior mode (which is not the true matrix).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.chain import Chain, compare
from samplers.experiments.framework.data_sets import notice
from samplers.experiments.framework.knobs import Start
from samplers.experiments.framework.report import Cell, Check, Panel, Report, ResultTable
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import histograms
from samplers.experiments.framework.shared import Shared
from samplers.experiments.problems.exact_vs_sequential import (
    ALLOWED,
    EXACT,
    SURE,
    TRUTH,
    Chains,
    Estimate,
    Verdict,
    accept_test,
    averaged,
    chains_of,
    drift,
    estimate,
    judged,
    kind_of,
    listed,
    name_of,
    names_of,
    numbered,
    own_error,
    rates,
    risk_panels,
)
from samplers.experiments.problems.headlines import (
    READ,
    TIME,
    WORK,
    headline_checks,
    headline_sentence,
    headline_table,
    in_paper,
    lowest_risk,
    paper_steps,
    together,
    variance_and_bias,
    with_memory,
)
from samplers.experiments.problems.ica_problem import ShapedRotations, TunedUnmixing, tuned_unmixing
from samplers.experiments.problems.memory import (
    MEMORY,
    memory_names,
    memory_of,
    memory_sentence,
    memory_table,
    memory_work,
)
from samplers.experiments.problems.timed_chain import timed_chain
from samplers.models.ica import amari
from samplers.proposals import StiefelWalk

UNCACHED = "exact without cache"
PAPER = {EXACT: 5_992, "ε = 0.01": 11_320, "ε = 0.05": 40_973, "ε = 0.1": 171_917, "ε = 0.2": 1_894_000}
SOURCES = {"audio-gaussian": "music, noise and two Gaussian sources", "audio": "four sounds"}
STARTS = {"mode": "the posterior mode", "far": "uniformly random matrices"}
MOST_BIASED = "ε = 0.2"  # for which the paper sees a bias
TIMED = 8  # groups of steps without a cache, for the spread of their rate


Data = Literal["audio-gaussian", "audio"]


class Settings(NamedTuple):
    """The data, the tests and the lengths: `share` of the paper's samples for each test, but at most `most`."""

    share: float
    chains: int
    truth_chains: int
    truth_steps: int
    data: Data = "audio-gaussian"
    rows: int | None = None
    most: int = 2_000_000
    m: int = 600
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2)
    acceptance: float = 0.5
    uncached_steps: int = 5
    memory_steps: int = 20
    start: Start = "far"
    seed: int = 1

    @property
    def names(self) -> list[str]:
        """The tests that are compared."""
        return names_of(self.epsilons)

    def steps(self, name: str) -> int:
        """Steps of a chain."""
        if name == TRUTH:
            return self.truth_steps
        return min(self.most, max(100, round(self.share * paper_steps(PAPER, name))))


def parts(settings: Settings) -> list[str]:
    """The truth, the cost of exact steps without a cache, what memory does, and all chains."""
    first = [*numbered([TRUTH], settings.truth_chains), UNCACHED, *memory_names(settings.names[1:])]
    return [*first, *numbered(settings.names, settings.chains)]


_PREPARED = Shared[TunedUnmixing]()


def _prepared(settings: Settings, work: Work) -> TunedUnmixing:
    """The problem with its mode and its walk, the same for every part."""
    return tuned_unmixing(settings.data, settings.rows, settings.acceptance, work)


def work(settings: Settings, name: str, work: Work) -> Values:
    """The numbers of one part."""
    tuned = _PREPARED.get((settings, work.data), lambda: _prepared(settings, work))
    rng, model = generator(settings.seed, "e4", name), tuned.problem.model
    walk, kind = tuned.walk, kind_of(name)

    def distances(draws: Floats) -> Floats:
        return amari(draws, tuned.problem.truth)[:, None]

    def chain(own: np.random.Generator) -> Chain:
        test = accept_test(kind, model.n_data, settings.m)
        if kind == TRUTH:
            return Chain(model, ShapedRotations.of(tuned.peak), test, tuned.peak.apart(own), own)
        return Chain(model, walk, test, tuned.start(own, settings.start), own)

    def at_mode(given: Any, own: np.random.Generator) -> Chain:
        test = accept_test(kind.removeprefix(f"{MEMORY} "), model.n_data, settings.m)
        return Chain(given, walk, test, tuned.peak.mode, own)

    if name.startswith(MEMORY):
        return memory_work(model, at_mode, rng, settings.memory_steps, work)
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
    model, theta = tuned.problem.model, tuned.peak.mode
    everything, rates = np.arange(model.n_data), []
    for group in range(TIMED + 1):
        work.step(group / (TIMED + 1))
        begin = time.process_time()
        for _ in range(steps):
            comparison = compare(model, theta, walk.propose(rng, theta).theta)
            comparison.terms(everything).sum()
        rates.append(steps / (time.process_time() - begin))
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
    tests = settings.names[1:]
    equal = with_memory(chains, memory_of(values, tests))
    heads = {key: lowest_risk(equal, truth, key) for key in (TIME, WORK, READ)}
    shares = {name: variance_and_bias(parts, truth) for name, parts in chains.items()}
    drifting = drift(truth_parts)
    checks: dict[str, Check] = {
        **headline_checks("K14 Fig. 3", heads),
        f"K14 §6.2: the variance dominates the bias, except at {MOST_BIASED}": together(
            [one.dominated for name, one in shares.items() if name != MOST_BIASED]
        ),
        "the truth has converged: no drift from half to half, and no difference between its chains, above 4 standard "
        "errors": drifting <= ALLOWED,
        "the walk accepts about half of its proposals": abs(acceptance[EXACT] - settings.acceptance) < 0.12,
        "data use falls with ε": falling == sorted(falling, reverse=True),
        "every test with ε ≥ 0.05 draws at least twice as many samples per likelihood evaluation as exact sampling "
        "without a cache": all(usage[name_of(e)] <= 0.5 for e in settings.epsilons if e >= 0.05),
    }
    rows: list[list[Cell]] = [
        [
            name, settings.steps(name), rate[name], rate[name] / uncached, rate[name] / rate[EXACT],
            PAPER[name] / PAPER[EXACT] if name in PAPER else None, usage[name], 1.0 / usage[name],
            (1.0 if name == EXACT else 0.5) / usage[name],
            acceptance[name], verdicts[name].bias, verdicts[name].bias_se, *shares[name][:2], verdicts[name].final,
            verdicts[name].shown,
        ]
        for name in settings.names
    ]  # fmt: skip
    columns = [
        "test", "samples", "samples/s", "× exact without cache", "× cached exact", "× exact (paper)", "data use",
        "× without cache, by evaluations", "× cached, by evaluations", "acceptance", "bias of mean Amari distance",
        "± s.e.", "variance between chains", "squared bias", "final risk", "resolved",
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
                "sd of the posterior",
                "effective",
                "largest drift or difference between chains, in s.e.",
                "scale of the walk",
            ],
            [
                [
                    uncached, float(slow.std(ddof=1)), float(truth.mean[0]), float(truth.se[0]),
                    float(np.mean([part["sd"][0] for part in truth_parts])), truth.effective, drifting,
                    float(truth_parts[0]["scale"]),
                ]
            ],
        ),
        headline_table(heads),
        memory_table(values, tests),
    ]  # fmt: skip
    finding = " ".join(
        [
            _finding(settings, rows, verdicts, truth, int(truth_parts[0]["n_data"])),
            headline_sentence(heads),
            memory_sentence(values, tests),
        ]
    )
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
        f"On {n_data:,} samples of {SOURCES[settings.data]}, with {settings.share:.2g} of the paper's samples from "
        f"{STARTS[settings.start]}, tests with ε = {listed(settings.epsilons, 'g')} read "
        f"{listed([row[6] for row in tests], '.1%')} of the data and draw {listed([row[3] for row in tests], '.2g')} "
        f"times as many samples per second as exact sampling without a cache{in_paper(PAPER, settings.names[1:])}, and "
        f"{listed([row[4] for row in tests], '.2g')} times as many as exact sampling that caches "
        f"log p(xᵢ; θ). By likelihood evaluations, the factors are "
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
    source="K14 §6.2, Fig. 3; K16 §4.2.2, Fig. 6",
    question="How much faster do sequential tests sample the matrix that unmixes four sources?",
    sizes={
        "tiny": Settings(0.05, 2, 2, 1000, rows=20_000, most=1500, start="mode"),
        "quick": Settings(0.02, 3, 2, 300, rows=100_000, most=8000, start="mode"),
        "full": Settings(0.3, 3, 4, 2000, rows=195_000),
        "paper": Settings(1.0, 10, 4, 5000),
    },
    parts=parts,
    work=work,
    report=report,
    data=("audio-gaussian",),
    listing=("chains", "epsilons"),
    knobs=("chains", "epsilon", "start"),
)
