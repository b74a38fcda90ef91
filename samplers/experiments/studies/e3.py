"""E3: random-walk logistic regression on handwritten digits, exact and by sequential tests, with and without proxies.

Paper has the paper's data, walk, tests and numbers of samples, with ten chains of each test; full is a share of that.
Exact chains are longer, because they are faster here than in the paper: risks are compared at equal cost. Chains start
at the mode, or far from it, at draws from the prior; for K16 Fig. 5 some always do. For N up to a million, the same
rows are drawn with replacement (see `replicated`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.rule.design import Design
from samplers.chains.chain import Chain
from samplers.data.sources import Source, load
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.experiments.framework.data_sets import notice, origin_of
from samplers.experiments.framework.knobs import Start
from samplers.experiments.framework.report import Cell, Check, Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import evenly, with_bars
from samplers.experiments.framework.shared import Shared
from samplers.experiments.problems.burn_in import BURN_IN, THIN, burn_in_panels, burn_in_tests, named
from samplers.experiments.problems.exact_vs_sequential import (
    EXACT,
    TRUTH,
    Chains,
    Verdict,
    accept_test,
    averaged,
    chains_of,
    design_of,
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
from samplers.experiments.problems.memory import (
    MEMORY,
    memory_names,
    memory_of,
    memory_sentence,
    memory_table,
    memory_work,
)
from samplers.experiments.problems.replicated import (
    CONTROLLED,
    PROXY,
    Common,
    Tall,
    is_tall,
    tall_checks,
    tall_panels,
    tall_results,
    tall_sentence,
    tall_table,
    tall_work,
)
from samplers.experiments.problems.timed_chain import timed_chain
from samplers.models import Model
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.study.audit import audit
from samplers.study.observe import observe

AUDIT = "audit"
PAPER = {EXACT: 75_484, "ε = 0.01": 133_069, "ε = 0.05": 200_672, "ε = 0.1": 257_897, "ε = 0.2": 422_978}
SURPRISE = 4.0
SHOWN_DRAWS = 500


class Settings(NamedTuple):
    """The data, the walk and the tests; `share` is the share of the paper's number of samples.

    Exact chains make `exact_longer` times as many. Chains from far starts (K16 Fig. 5) have the share `burn_in`.
    """

    share: float
    chains: int
    truth_steps: int
    audited: int
    tall: Tall
    burn_in: float
    rows: int | None = None
    prior_precision: float = 10.0
    scale: float = 0.01
    m: int = 500
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2)
    proxy_m: int = 100
    proxy_epsilon: float = 0.01
    proxy_steps: int = 200_000
    exact_longer: int = 4
    burn_in_chains: int = 3
    memory_steps: int = 300
    start: Start = "mode"
    seed: int = 1

    @property
    def names(self) -> list[str]:
        """The chains that are compared."""
        return [*self.plain, CONTROLLED, PROXY]

    @property
    def plain(self) -> list[str]:
        """The exact test and the tests without proxies."""
        return names_of(self.epsilons)

    @property
    def common(self) -> Common:
        """The settings that the chains on taller data share with the others."""
        return Common(self.m, self.proxy_m, self.proxy_epsilon, self.prior_precision, self.seed)

    def steps(self, name: str) -> int:
        """Steps of a chain."""
        if name in (CONTROLLED, PROXY):
            return max(200, round(self.share * self.proxy_steps))
        share, test = (
            (self.burn_in, name.removeprefix(f"{BURN_IN} ")) if name.startswith(BURN_IN) else (self.share, name)
        )
        return max(200, round(share * (self.exact_longer if test == EXACT else 1) * paper_steps(PAPER, test)))


def parts(settings: Settings) -> list[str]:
    """The truth, all chains, an audit of each plain test, what memory does, far starts, and chains on taller data."""
    tests = list(map(name_of, settings.epsilons))
    audits, far = [f"{AUDIT} {name}" for name in tests], [named(name) for name in burn_in_tests(settings.epsilons)]
    own = [TRUTH, *numbered(settings.names, settings.chains), *audits, *memory_names(tests)]
    return [*own, *numbered(far, settings.burn_in_chains), *settings.tall.parts]


class DigitsProblem(NamedTuple):
    """The data with their test points, the posterior, and its proxies at the mode."""

    source: Source
    model: Logistic
    mode: Floats
    proxies: Controlled

    def predictions(self, draws: Floats) -> Floats:
        """P(y = 1) at every test point, for each draw."""
        probability: Floats = 1.0 / (1.0 + np.exp(-draws @ self.source.x_test.T))
        return probability


_PREPARED = Shared[DigitsProblem]()


def problem(settings: Settings, work: Work) -> DigitsProblem:
    """Load the data, find the mode, and make the proxies."""
    source = load("mnist79", work.data, settings.rows)
    model = Logistic.from_data(source.x, source.y, settings.prior_precision)
    mode = find_mode(model)
    return DigitsProblem(source, model, mode, Controlled.around(model, mode, 2))


def work(settings: Settings, name: str, work: Work) -> Values:
    """The numbers of one part."""
    if is_tall(name):
        source = load("mnist79", work.data, settings.rows)
        return tall_work(settings.tall, settings.common, source, name, work)
    given = _PREPARED.get((settings, work.data), lambda: problem(settings, work))
    rng = generator(settings.seed, "e3", name)
    if name.startswith(AUDIT):
        return _audited(settings, given, name.removeprefix(f"{AUDIT} "), rng)
    if name.startswith(MEMORY):
        test = name.removeprefix(f"{MEMORY} ")
        return memory_work(
            given.model, lambda model, own: _chain(settings, given, test, own, model), rng, settings.memory_steps, work
        )
    kind = kind_of(name)
    steps, thin = (settings.truth_steps, 1) if kind == TRUTH else (settings.steps(kind), THIN)
    timed = timed_chain(
        lambda own: _started(settings, given, kind, own), rng, steps, given.predictions, work, thin=thin
    )
    return {**timed._asdict(), "kept": timed.kept[:, :2], **origin_of(given.source)}


def _started(settings: Settings, given: DigitsProblem, name: str, rng: np.random.Generator) -> Chain:
    """A chain from the mode, or from a draw from the prior."""
    test = name.removeprefix(f"{BURN_IN} ")
    chain = _chain(settings, given, test, rng)
    if name != TRUTH and (test != name or settings.start == "far"):
        chain.theta[:] = rng.standard_normal(given.mode.size) / np.sqrt(settings.prior_precision)
    return chain


def _chain(
    settings: Settings, given: DigitsProblem, name: str, rng: np.random.Generator, model: Model | None = None
) -> Chain:
    """A chain at the mode; `model` is the given one, or what remembers it."""
    dimension, n_data = given.mode.size, given.model.n_data
    walk, step = RandomWalk.isotropic(settings.scale, dimension), ProxyStep.of(given.proxies)
    if name == TRUTH:  # exact decisions on independence proposals from the proxy: nearly independent draws
        return Chain(given.proxies, step, ExactTest(), given.mode, rng)
    if name in (CONTROLLED, PROXY):
        small = Design(n_data, min(settings.proxy_m, n_data), settings.proxy_epsilon)
        proposal = step if name == PROXY else walk
        return Chain(given.proxies, proposal, SequentialTest.from_design(small), given.mode, rng)
    return Chain(model or given.model, walk, accept_test(name, n_data, settings.m), given.mode, rng)


def _audited(settings: Settings, given: DigitsProblem, name: str, rng: np.random.Generator) -> Values:
    """Wrong decisions and data use beside the calculator's predictions (the insets of K14 Fig. 2)."""
    chain, n_data = _chain(settings, given, name, rng), given.model.n_data
    audited = audit(design_of(name, n_data, settings.m), observe(chain, 4 * settings.audited, 4), n_data)
    return {
        f"{key}_{field}": float(getattr(getattr(audited, key), field))
        for key in ("wrong", "usage", "delta")
        for field in ("value", "se", "predicted")
    }


class Spent(NamedTuple):
    """Risk after as many evaluations as an exact chain, or at the end; and the share of these evaluations spent."""

    risk: float
    share: float


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Risk against time and evaluations; data use and wrong decisions against ε."""
    chains, truth = chains_of(settings.names, settings.chains, values), estimate([values[TRUTH]])
    verdicts = {name: judged(parts, truth) for name, parts in chains.items()}
    rate, usage, acceptance = rates(chains), averaged(chains, "usage"), averaged(chains, "acceptance")
    tests = list(map(name_of, settings.epsilons))
    plain = with_memory({name: chains[name] for name in settings.plain}, memory_of(values, tests))
    heads = {key: lowest_risk(plain, truth, key) for key in (TIME, WORK, READ)}
    shares = {name: variance_and_bias(chains[name], truth) for name in settings.plain}
    far = chains_of(list(map(named, burn_in_tests(settings.epsilons))), settings.burn_in_chains, values)
    early = with_memory({name.removeprefix(f"{BURN_IN} "): far[name] for name in far}, memory_of(values, tests))
    burning = {key: lowest_risk(early, truth, key) for key in (TIME, WORK, READ)}
    audits = {name: values[f"{AUDIT} {name}"] for name in tests}
    spent = {name: _spent(chains, verdicts, name) for name in chains}
    rows: list[list[Cell]] = [
        [
            name, settings.steps(name), PAPER.get(name), rate[name],
            None if name not in PAPER else PAPER[name] / 400.0, usage[name], acceptance[name], verdicts[name].final,
            verdicts[name].shown, spent[name].risk, spent[name].share,
            None if name not in audits else float(audits[name]["wrong_value"]),
            None if name not in audits else float(audits[name]["wrong_predicted"]),
            *(shares[name][:2] if name in shares else (None, None)),
            *(float(np.mean([part[key][-1] for part in chains[name]])) for key in ("seconds", "evaluations")),
        ]
        for name in chains
    ]  # fmt: skip
    columns = [
        "chain", "samples", "paper's samples in 400 s", "samples/s", "samples/s (paper)", "data use", "acceptance",
        "final risk", "resolved", "risk at the exact chain's evaluations", "share of these evaluations spent",
        "wrong decisions", "predicted", "variance between chains", "squared bias", "seconds", "likelihood evaluations",
    ]  # fmt: skip
    surprise = max(abs(a["wrong_value"] - a["wrong_predicted"]) / a["wrong_se"] for a in audits.values())
    used = [float(audits[name]["usage_value"]) for name in audits]
    checks: dict[str, Check] = {
        "wrong decisions are as the calculator predicts": surprise <= SURPRISE,
        "data use falls with ε": used == sorted(used, reverse=True),
        "proxy proposals reach a lower risk than exact sampling with no more likelihood evaluations": (
            spent[PROXY].risk < spent[EXACT].risk
        ),
    }
    if (same := name_of(settings.proxy_epsilon)) in usage:
        less = usage[CONTROLLED] < usage[same] / 3.0
        checks["control variates read less than a third of the data of the plain test with the same ε"] = less
    checks = {
        **headline_checks("K14 Fig. 2", heads),
        "K14 §6.1: for every ε the variance still dominates the bias": together([s.dominated for s in shares.values()]),
        **headline_checks("K16 Fig. 5, burn-in from far starts", burning),
        **checks,
    }
    higher = tall_results(settings.tall, values)
    checks |= tall_checks(settings.tall, higher)
    panels = risk_panels(chains, verdicts, "risk in the predictive mean", own_error(truth))
    panels += [*_against_epsilon(settings, audits), _marginals(settings, chains, values[TRUTH])]
    panels += burn_in_panels(early, values[TRUTH])
    verdicts_far = {name: judged(parts, truth) for name, parts in early.items()}
    panels += [
        panel._replace(title=f"Burn-in: {panel.title.lower()}")
        for panel in risk_panels(early, verdicts_far, "risk in the predictive mean", own_error(truth))
    ]
    panels += tall_panels(settings.tall, higher, values)
    finding = " ".join(
        [
            _finding(settings, rows, spent, truth.effective),
            headline_sentence(heads),
            memory_sentence(values, tests),
            f"From far starts, with {settings.burn_in:.3g} of the paper's samples (K16 Fig. 5): "
            + headline_sentence(burning),
            tall_sentence(settings.tall, higher, values),
        ]
    )
    tables = [ResultTable("Random-walk logistic regression", columns, rows), tall_table(higher, values)]
    tables += [headline_table(heads), headline_table(burning)._replace(title="The same from far starts")]
    tables.append(memory_table(values, tests))
    return Report(finding, checks, tables, panels, [notice(values[TRUTH])])


def _spent(chains: Chains, verdicts: Mapping[str, Verdict], name: str) -> Spent:
    """Interpolated at the evaluations of a whole exact chain; chains with fewer evaluations are taken at their end."""
    work = np.mean([part["evaluations"] for part in chains[name]], axis=0)
    budget = float(np.mean([part["evaluations"][-1] for part in chains[EXACT]]))
    at = min(budget, float(work[-1]))
    return Spent(float(np.interp(at, work, verdicts[name].risk.risk)), at / budget)


def _finding(settings: Settings, rows: list[list[Cell]], spent: Mapping[str, Spent], effective: float) -> str:
    by_name, tests = {str(row[0]): row for row in rows}, list(map(name_of, settings.epsilons))
    exact = by_name[EXACT]
    speed = listed([by_name[name][3] / exact[3] for name in tests], ".2g")  # type: ignore[operator]
    best = min(tests, key=lambda name: spent[name].risk)
    plain = "lower" if spent[best].risk < spent[EXACT].risk else "not lower"
    variates = "lower" if spent[CONTROLLED].risk < spent[best].risk else "not lower"
    winner = min(spent, key=lambda name: spent[name].risk)
    return (
        f"At ε = {listed(settings.epsilons, 'g')} the sequential test draws {speed} times as many samples per second "
        f"as exact sampling that caches log p(xᵢ; θ){in_paper(PAPER, tests)}, and reads "
        f"{listed([by_name[name][5] for name in tests], '.0%')} of the data. With the likelihood evaluations of "
        f"{settings.steps(EXACT):,} exact steps, the risk of the predictive mean is {spent[EXACT].risk:.2g} for exact "
        f"sampling and {spent[best].risk:.2g} for the best plain test ({best}), which is {plain}; with control "
        f"variates it is {spent[CONTROLLED].risk:.2g}, {variates} than for the best plain test, with "
        f"{spent[CONTROLLED].share:.0%} of those evaluations ({by_name[CONTROLLED][5]:.1%} of the data per step); with "
        f"proxy proposals it is {spent[PROXY].risk:.2g}, with {spent[PROXY].share:.0%} of them. Lowest risk: {winner}. "
        f"The truth comes from a chain of exact decisions with {effective:,.0f} effective draws (by block means)."
    )


def _against_epsilon(settings: Settings, audits: Mapping[str, Values]) -> list[Panel]:
    """The audits beside the calculator."""
    panels, measured = [], list(audits.values())
    note = "Points: audited steps with bars of two standard errors. Line: the calculator on the same pairs."
    for key, title in {"usage": "Data use", "wrong": "Wrong decisions"}.items():
        value, se, predicted = (
            [float(m[f"{key}_{field}"]) for m in measured] for field in ("value", "se", "predicted")
        )
        series = [
            with_bars("measured", settings.epsilons, value, se),
            Series("calculator", settings.epsilons, predicted),
        ]
        panels.append(Panel(f"{title} against ε", "ε", title.lower(), series, note=note))
    return panels


def _marginals(settings: Settings, chains: Chains, truth: Values) -> Panel:
    shown = [EXACT, name_of(settings.epsilons[-1]), PROXY]
    drawn = {TRUTH: truth["kept"]} | {name: chains[name][0]["kept"] for name in shown}
    some = {name: evenly(draws, SHOWN_DRAWS) for name, draws in drawn.items()}
    series = [Series(name, draws[:, 0], draws[:, 1], style="points") for name, draws in some.items()]
    return Panel("Two coordinates", "θ₁", "θ₂", series, note=f"{SHOWN_DRAWS} draws of each chain, evenly thinned.")


EXPERIMENT = Experiment(
    name="e3",
    title="Random-walk logistic regression",
    source="K14 §6.1, Fig. 2; K16 §4.2.1, Figs 4 and 5",
    question="Is a biased but faster chain better than an exact one, for a given time or number of evaluations?",
    sizes={
        "tiny": Settings(
            0.02, 2, 3000, 100, Tall((2000, 100_000), 2 * 10**6, 1000, 128), 0.01, rows=2000, scale=0.02, m=200
        ),
        "quick": Settings(0.03, 3, 20_000, 150, Tall((12_214, 100_000), 2 * 10**7, 3000, 256), 0.03),
        "full": Settings(0.4, 4, 200_000, 1000, Tall((12_214, 10**5, 10**6), 2 * 10**8, 30_000, 512), 0.125),
        "paper": Settings(1.0, 10, 200_000, 1000, Tall((12_214, 10**5, 10**6), 5 * 10**8, 30_000, 512), 0.125),
    },
    parts=parts,
    work=work,
    report=report,
    data=("mnist79",),
    listing=("chains", "epsilons", "burn_in_chains"),
    knobs=("chains", "epsilon", "start"),
)
