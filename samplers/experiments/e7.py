"""E7: stochastic gradient Langevin dynamics, uncorrected and corrected by acceptance tests, on a line with a kink.

The full size is the paper's. x is not given there; x ~ U(-1, 1) puts the mode near the kink, as its figure has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer.schedule import Floats
from samplers.chain import Chain
from samplers.experiments.compared import EXACT, accept_test, design_of, names_of
from samplers.experiments.report import Cell, Panel, Report, Series, Table
from samplers.experiments.running import Experiment, Values, Work
from samplers.experiments.seeds import generator
from samplers.models.lasso import Lasso, draw_line
from samplers.proposals import Langevin
from samplers.risk import block_error, effective_size

PAPER = {"ε = 0.1": 0.142, "ε = 0.5": 0.05}  # data read, K16 section 4.2.4
UNCORRECTED = "uncorrected"
BLOCK = 500
BINS = 120
REACH = -0.2, 0.2  # beyond which there is no posterior to speak of
ASTRAY = "uncorrected SGLD is off by more than three times the noise of its distance, with its mean too far right"
CLOSE = "corrected chains are as close to the truth as their length allows, or within 0.02 of that"
KOLMOGOROV = 1.95  # sqrt(n) times the distance of n independent draws exceeds this with probability 0.001
CLEAR, SURE = 3.0, 3.0  # times the noise of a distance, standard errors
FAR = 0.999  # quantile of the posterior beyond which a draw is far off


class Settings(NamedTuple):
    """The data, the proposal, the tests and the length of the chains."""

    draws: int
    n_data: int = 10_000
    step: float = 5e-6
    batch: int = 500
    m: int = 500
    epsilons: tuple[float, ...] = (0.1, 0.5)
    precision: float = 3.0
    penalty: float = 4950.0
    data_seed: int = 1  # a line whose posterior has its mode right of the kink
    seed: int = 1

    def model(self) -> Lasso:
        """The line."""
        x, y = draw_line(np.random.default_rng(self.data_seed), self.n_data)
        return Lasso.from_data(x, y, self.precision, self.penalty)


def parts(settings: Settings) -> list[str]:
    """A chain each."""
    return [UNCORRECTED, *names_of(settings.epsilons)]


def work(settings: Settings, name: str, work: Work) -> Values:
    """Draws of one chain; n_used as a share of the data, without the mini-batch of the gradient."""
    model = settings.model()
    rng, proposal = generator(settings.seed, "e7", name), Langevin(model, settings.step, settings.batch)
    start = np.array([_mode(model)])
    if name == UNCORRECTED:
        draws = np.empty(settings.draws)
        for k in range(settings.draws):
            if k % BLOCK == 0:
                work.step(k / settings.draws)
            start = proposal.propose(rng, start).theta
            draws[k] = start[0]
        return {"draws": draws, "usage": 0.0, "acceptance": 1.0}
    chain = Chain(model, proposal, accept_test(name, settings.n_data, settings.m), start, rng)
    blocks = []
    while chain.steps < settings.draws:
        work.step(chain.steps / settings.draws)
        blocks.append(chain.advance(min(BLOCK, settings.draws - chain.steps)))
    theta = np.concatenate([block.theta[:, 0] for block in blocks])
    used = np.concatenate([block.n_used for block in blocks])
    accepted = np.concatenate([block.accepted for block in blocks])
    return {"draws": theta, "usage": float(used.mean()) / settings.n_data, "acceptance": float(accepted.mean())}


def _mode(model: Lasso) -> float:
    """Of the posterior: soft thresholding."""
    x, y = model.rows.T
    score = model.precision * float(x @ y)
    return float(np.sign(score) * max(0.0, abs(score) - model.penalty) / (model.precision * float(x @ x)))


def distance(model: Lasso, draws: Floats) -> float:
    """Kolmogorov distance of the draws to the true posterior."""
    values = np.sort(draws)
    below, grid = model.cumulative(values), np.arange(values.size + 1) / values.size
    return float(max(np.max(grid[1:] - below), np.max(below - grid[:-1])))


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Histograms beside the true density, and how far each chain is from it."""
    model = settings.model()
    distances = {name: distance(model, part["draws"]) for name, part in values.items()}
    usage = {name: float(part["usage"]) for name, part in values.items()}
    corrected = [name for name in values if name != UNCORRECTED]
    far = {name: float(np.mean(model.cumulative(part["draws"]) > FAR)) for name, part in values.items()}
    noise = {name: KOLMOGOROV / math.sqrt(effective_size(part["draws"])) for name, part in values.items()}
    shift, shift_se = _shift(model, values[UNCORRECTED]["draws"])
    checks = {
        ASTRAY: distances[UNCORRECTED] > CLEAR * noise[UNCORRECTED] and shift > SURE * shift_se,
        "every correction brings the distance down at least threefold": all(
            distances[name] <= distances[UNCORRECTED] / 3.0 for name in corrected
        ),
        CLOSE: all(distances[name] <= noise[name] + 0.02 for name in corrected),
        "the test reads less with larger ε": [*usage.values()][1:] == sorted([*usage.values()][1:], reverse=True),
    }
    rows: list[list[Cell]] = [
        [
            name, distances[name], noise[name], usage[name], PAPER.get(name), float(values[name]["acceptance"]),
            far[name], *_shift(model, values[name]["draws"]),
        ]
        for name in values
    ]  # fmt: skip
    columns = [
        "chain",
        "Kolmogorov distance",
        "99.9% of its noise",
        "data used by the test",
        "paper",
        "acceptance",
        "beyond the 99.9% point",
    ]
    columns += ["mean minus true mean", "± s.e."]
    read = ", ".join(f"{usage[name]:.1%} at {name}" for name in corrected if name != EXACT)
    left = ", ".join(f"{distances[name]:.3f}" for name in corrected if name != EXACT)
    thrown = (
        f"uncorrected SGLD is displaced to the right by {shift:.4f} ± {shift_se:.4f} on average, with "
        f"{far[UNCORRECTED]:.1%} of its {settings.draws:,} draws beyond the 99.9% point of the posterior: a step into "
        "the steep valley left of the kink throws it there"
        if checks[ASTRAY]
        else f"uncorrected SGLD was not seen to go astray in {settings.draws:,} draws"
    )
    single = [name for name in corrected if name != EXACT and _looks_once(settings, name)]
    close = checks[CLOSE] and len(single) > 0
    worth = (
        f": the correction is worth having even when a single look decides it ({', '.join(single)})" if close else ""
    )
    finding = (
        f"With N = {settings.n_data:,} and step {settings.step:g}, {thrown}. Its distribution is "
        f"{distances[UNCORRECTED]:.3f} (Kolmogorov) from the true one; the exact correction leaves "
        f"{distances[EXACT]:.3f}, where independent draws as many as its effective ones stay below {noise[EXACT]:.3f} "
        f"in 99.9% of cases. The sequential test reads {read} of the data (paper: 14.2% at ε = 0.1, 5% at ε = 0.5; the "
        f"gradient's mini-batch not counted) and leaves {left}{worth}."
    )
    return Report(
        finding, checks, [Table("Distance to the true posterior", columns, rows)], _panels(model, values, checks)
    )


def _shift(model: Lasso, draws: Floats) -> tuple[float, float]:
    """Mean of the draws minus the posterior's, with the standard error of the former."""
    grid = np.linspace(*REACH, 20_001)
    density = model.density(grid)
    return float(draws.mean() - np.sum(grid * density) / np.sum(density)), block_error(draws)


def _looks_once(settings: Settings, name: str) -> bool:
    """Whether the test's bounds are zero: it decides at its first look by design."""
    return design_of(name, settings.n_data, settings.m).epsilon >= 0.5


def _panels(model: Lasso, values: Mapping[str, Values], checks: Mapping[str, bool]) -> list[Panel]:
    """K14 Fig. 5, K16 Fig. 9: density, gradient, and a histogram for each chain."""
    near = np.linspace(-0.05, 0.08, 261)
    score = model.precision * (model.rows[:, 0] @ model.rows[:, 1] - near * (model.rows[:, 0] @ model.rows[:, 0]))
    gradient = score - model.penalty * np.sign(near)
    panels = [
        Panel("Posterior", "θ", "density", [Series("true", near, model.density(near))], note="A sharp drop left of 0."),
        Panel(
            "Gradient of the log posterior",
            "θ",
            "gradient",
            [Series("gradient", near, gradient)],
            note="In the valley left of the kink at 0 the gradient is huge"
            + (": it throws an uncorrected chain far right." if checks[ASTRAY] else "."),
        ),
    ]
    for name, part in values.items():
        edges = np.linspace(float(part["draws"].min()), float(part["draws"].max()), BINS + 1)
        height, _ = np.histogram(part["draws"], edges, density=True)
        middle = 0.5 * (edges[1:] + edges[:-1])
        series = [Series("draws", middle, height, style="bars"), Series("true", middle, model.density(middle))]
        note = "Histogram of the draws with the true density."
        panels.append(Panel(f"SGLD, {name}", "θ", "density", series, note=note))
    return panels


EXPERIMENT = Experiment(
    name="e7",
    title="Langevin dynamics with an acceptance test",
    source="K14 §6.4 and Fig. 5, K16 §4.2.4 and Fig. 9",
    question="Does an approximate acceptance test repair stochastic gradient Langevin dynamics where it goes astray?",
    sizes={
        "tiny": Settings(20_000, seed=2),
        "quick": Settings(40_000),
        "full": Settings(100_000),
    },
    parts=parts,
    work=work,
    report=report,
)
