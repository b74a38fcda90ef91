"""E6: variable selection by reversible jumps, exact and by sequential tests.

The full size has the paper's moves, prior and tests, and half its numbers of samples; the data are the census instead
of MiniBooNE.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer.records import Design
from designer.schedule import Floats
from samplers.accept.comparison import AcceptTest
from samplers.accept.exact import ExactTest
from samplers.accept.sequential import SequentialTest
from samplers.experiments.origins import notice, origin_of
from samplers.experiments.report import Cell, Panel, Report, Series, Table
from samplers.experiments.running import Experiment, Values, Work
from samplers.experiments.seeds import generator
from samplers.experiments.walks import timed_chain
from samplers.jump_chain import JumpChain
from samplers.models.rj_logistic import RJLogistic
from samplers.sources import Source, load

EXACT, TRUTH = "exact", "truth"
PAPER = {EXACT: 24_583, "ε = 0.01": 137_375, "ε = 0.05": 245_906, "ε = 0.1": 419_090}
TEST_POINTS = 500


class Settings(NamedTuple):
    """The data, the tests, and the lengths: of finding a good model, of the truth, and as a share of the paper's."""

    share: float
    chains: int
    burn_in: int
    truth_steps: int
    data: str = "census"
    rows: int | None = None
    rate: float = 1e-10
    sd_update: float = 0.01
    sd_birth: float = 0.1
    m: int = 500
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1)
    seed: int = 1

    @property
    def names(self) -> list[str]:
        """The tests that are compared."""
        return [EXACT, *(f"ε = {epsilon:g}" for epsilon in self.epsilons)]

    def steps(self, name: str) -> int:
        """Of a chain."""
        return max(400, round(self.share * PAPER[name]))


def parts(settings: Settings) -> list[str]:
    """The truth, and all chains."""
    return [TRUTH, *(f"{name} #{k}" for name in settings.names for k in range(settings.chains))]


def work(settings: Settings, name: str, work: Work) -> Values:
    """One chain, from a good model that a shared chain found: its inclusion and predictions as running means."""
    source = load(settings.data, work.data, settings.rows)
    model = _model(settings, source)
    found = JumpChain(model, _fast(settings, model), _one_variable(model), generator(settings.seed, "e6", "burn-in"))
    done = 0
    while done < settings.burn_in:
        work.step(0.3 * done / settings.burn_in, f"{name}: looking for a good model")
        done += found.advance(min(500, settings.burn_in - done)).accepted.size
    kind = name.partition(" #")[0]
    test: AcceptTest = ExactTest()
    if kind not in (TRUTH, EXACT):
        test = SequentialTest.from_design(_design(settings, model, float(kind.removeprefix("ε = "))))
    chain = JumpChain(model, test, found.theta, generator(settings.seed, "e6", name))
    steps = settings.truth_steps if kind == TRUTH else settings.steps(kind)
    points = _with_constant(source.x_test[:TEST_POINTS])

    def functions(draws: Floats) -> Floats:
        return np.column_stack([draws != 0.0, 1.0 / (1.0 + np.exp(-draws @ points.T))])

    rest = Work(work.data, lambda share, note: work.tell(0.3 + 0.7 * share, name), work.cancelled)
    timed = timed_chain(chain, steps, functions, rest, thin=5, block=200, keep=10)
    wrong = float(np.mean((timed.means[-1, model.dimension :] > 0.5) != (source.y_test[:TEST_POINTS] > 0.5)))
    return {**timed._asdict(), "columns": model.dimension, "test_error": wrong, **origin_of(source)}


def _model(settings: Settings, source: Source) -> RJLogistic:
    options = {"rate": settings.rate, "sd_update": settings.sd_update, "sd_birth": settings.sd_birth}
    return RJLogistic.from_data(_with_constant(source.x), source.y, **options)


def _with_constant(x: Floats) -> Floats:
    return np.column_stack([np.ones(x.shape[0]), x])


def _one_variable(model: RJLogistic) -> Floats:
    """The paper's start: the constant alone."""
    theta = np.zeros(model.dimension)
    theta[0] = 0.1
    return theta


def _design(settings: Settings, model: RJLogistic, epsilon: float) -> Design:
    return Design(model.n_data, min(settings.m, model.n_data), epsilon)


def _fast(settings: Settings, model: RJLogistic) -> AcceptTest:
    """Finding a good model needs no exact decisions."""
    return SequentialTest.from_design(_design(settings, model, settings.epsilons[0]))


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Samples per second, inclusion probabilities beside the exact ones, and risk of predictions."""
    truth = values[TRUTH]
    columns = int(truth["columns"])
    true_inclusion, true_means = truth["means"][-1, :columns], truth["means"][-1, columns:]
    chains = {name: [values[f"{name} #{k}"] for k in range(settings.chains)] for name in settings.names}
    inclusion = {name: np.mean([p["means"][-1, :columns] for p in parts], axis=0) for name, parts in chains.items()}
    apart = {name: float(np.abs(value - true_inclusion).mean()) for name, value in inclusion.items()}
    rate = {name: float(np.mean([p["at"][-1] / p["seconds"][-1] for p in parts])) for name, parts in chains.items()}
    usage = {name: float(np.mean([p["usage"] for p in parts])) for name, parts in chains.items()}
    risk = {
        name: np.mean([np.mean((p["means"][:, columns:] - true_means) ** 2, axis=1) for p in parts], axis=0)
        for name, parts in chains.items()
    }
    rows: list[list[Cell]] = [
        [
            name,
            settings.steps(name),
            rate[name],
            rate[name] / rate[EXACT],
            PAPER[name] / PAPER[EXACT],
            usage[name],
            apart[name],
            float(np.mean([p["test_error"] for p in parts])),
            float(inclusion[name].sum()),
            float(risk[name][-1]),
        ]
        for name, parts in chains.items()
    ]
    names = [
        "test", "samples", "samples/s", "× exact", "× exact (paper)", "data use", "mean difference of inclusion",
        "test error", "mean number of variables", "final risk",
    ]  # fmt: skip
    checks = {
        "data use falls with ε": [*usage.values()] == sorted(usage.values(), reverse=True),
        "every test makes at least twice as many steps from as many likelihood evaluations": max(
            usage[name] for name in settings.names[1:]
        )
        <= 0.5,
        "inclusion probabilities are those of exact sampling, up to 0.05 on average and its own noise": (
            max(apart.values()) <= apart[EXACT] + 0.05
        ),
    }
    tests = settings.names[1:]
    used = ", ".join(f"{usage[name]:.1%}" for name in tests)
    faster = ", ".join(f"{rate[name] / rate[EXACT]:.2g}" for name in tests)
    finding = (
        f"From the same good model ({float(true_inclusion.sum()):.1f} variables on average), tests with ε = "
        f"{', '.join(f'{e:g}' for e in settings.epsilons)} read {used} of the data and draw {faster} times as many "
        f"samples per second as exact reversible jumps (paper, on MiniBooNE: 5.6, 10, 17). Inclusion probabilities "
        f"differ from those of a longer exact chain by {', '.join(f'{apart[name]:.3f}' for name in tests)} on average; "
        f"an exact chain of {settings.steps(EXACT):,} samples differs by {apart[EXACT]:.3f}. Births and deaths are "
        f"rare, so that all chains, exact ones too, keep much of the model that they start from, as the paper warns."
    )
    return Report(
        finding,
        checks,
        [Table("Reversible jumps", names, rows)],
        _panels(chains, risk, inclusion, true_inclusion),
        [notice(truth)],
    )


def _panels(
    chains: Mapping[str, list[Values]], risk: Mapping[str, Floats], inclusion: Mapping[str, Floats], truth: Floats
) -> list[Panel]:
    def against(key: str) -> list[Series]:
        return [Series(name, np.mean([p[key] for p in parts], axis=0), risk[name]) for name, parts in chains.items()]

    variables = np.arange(truth.size, dtype=np.float64)
    bars = [Series("longer exact chain", variables, truth, style="bars")]
    bars += [Series(name, variables, value, style="points") for name, value in inclusion.items()]
    label = "risk in the predictive mean"
    return [
        Panel("Inclusion probabilities", "variable", "probability", bars, note="All tests agree with exact sampling."),
        Panel(
            "Risk against time", "seconds of sampling", label, against("seconds"), True, True, "Lower left is better."
        ),
        Panel("Risk against work", "likelihood evaluations", label, against("evaluations"), True, True),
    ]


EXPERIMENT = Experiment(
    name="e6",
    title="Variable selection by reversible jumps",
    source="K14 §6.3, supplement E, Figs 4 and 13",
    question="Do sequential tests find the same variables as exact reversible jumps, and how much faster?",
    sizes={
        "tiny": Settings(0.01, 1, 1000, 2000, rows=10_000),
        "quick": Settings(0.02, 1, 2000, 1500),
        "full": Settings(0.5, 2, 30_000, 40_000),
    },
    parts=parts,
    work=work,
    report=report,
    data=("census",),
)
