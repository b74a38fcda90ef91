"""How costs grow: the engine with looks, Δ and the search with pairs, a step of a chain with N and D.

`python -m benchmarks.growth [--picture FILE.png]`; the picture needs plotly's kaleido and Chromium.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.samplers.chains import BATCH, EPSILON, LogisticProblem, make_problem, measure
from benchmarks.timing import best_ms
from designer import Design, Space, TrialRun, acceptance, characteristics, search
from samplers.decide.exact import ExactTest

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "growth.png"
MEANS = np.linspace(0.0, 20.0, 200)
LOOKS = (10, 100, 1000, 4000, 10_000)
PAIRS = (10, 100, 1000, 10_000, 100_000)
SIZES, DIMENSION = (10_000, 100_000, 1_000_000), 10
DIMENSIONS, N_DATA = (2, 10, 50, 200), 50_000
EXACT = "exact, random walk"
SECONDS = 0.5  # for each chain


class Curve(NamedTuple):
    """A cost at increasing sizes."""

    panel: str
    name: str
    unit: str
    sizes: tuple[int, ...]
    costs: list[float]

    def exponent(self, first: int = 0) -> float:
        """p in cost ~ size^p, between a size and the last one."""
        ratio = self.costs[-1] / self.costs[first]
        return math.log(ratio) / math.log(self.sizes[-1] / self.sizes[first])

    def row(self) -> str:
        """A row of the table."""
        values = ", ".join(f"{size:,}: {_short(cost)}" for size, cost in zip(self.sizes, self.costs, strict=True))
        return (
            f"| {self.panel} | {self.name} | {self.unit} | {values} | {self.exponent():.2f} | {self.exponent(-2):.2f} |"
        )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def report(picture: Path | None = None, seconds: float = SECONDS) -> list[str]:
    """The section of RESULTS.md; the picture is drawn if a path is given and the machine can."""
    curves = [*calculator_curves(), *chain_curves(seconds)]
    drawn = picture is not None and draw(curves, picture)
    return [
        "## How costs grow",
        "",
        "`p` is the exponent in cost ~ size^p from the first size to the last, `last p` that of the last step alone: a",
        "fixed cost hides the growth at small sizes. A curve has 200 standardised means, batches of 500,",
        "ε = 0.05; beyond 4,000 looks neighbouring looks are merged. Δ is for 100 looks; the search (average,",
        f"tolerance 0.01) is at N = 100,000, m from 500. Chains: logistic regression, D = {DIMENSION} where N grows,",
        f"N = {N_DATA:,} where D grows, m = {BATCH}, ε = {EPSILON:g}, one core.",
        "",
        "| with | cost | unit | at | p | last p |",
        "|---|---|---|---|---|---|",
        *(curve.row() for curve in curves),
        "",
        *([f"![The same costs as lines](../docs/pictures/{PICTURE.name})", ""] if drawn else []),
    ]


def calculator_curves() -> list[Curve]:
    """The engine, Δ and the search."""
    trials = {n: TrialRun.at_stationarity(100_000, 0.5, n, np.random.default_rng(0)) for n in PAIRS}
    space, design = Space(m_low=500), Design(100_000, 1000, 0.05)

    def curve(looks: int) -> float:
        return best_ms(lambda: characteristics(Design(500 * looks, 500, 0.05), MEANS), 3)

    def delta(pairs: int) -> float:
        return best_ms(lambda: acceptance(design, trials[pairs]), 3)

    def searched(pairs: int) -> float:
        return best_ms(lambda: search(trials[pairs], 0.01, space=space, confidence=0.5), 1)

    return [
        Curve("looks J", "a curve", "ms", LOOKS, _costs(curve, LOOKS)),
        Curve("pairs", "Δ and data use", "ms", PAIRS, _costs(delta, PAIRS)),
        Curve("pairs", "search", "ms", PAIRS, _costs(searched, PAIRS)),
    ]


def _costs(cost: Callable[[int], float], sizes: Sequence[int]) -> list[float]:
    return [cost(size) for size in sizes]


def chain_curves(seconds: float) -> list[Curve]:
    """Time and data of a step, for growing N and for growing D."""
    by_size = [_steps(make_problem(n, DIMENSION), seconds) for n in SIZES]
    by_dimension = [_steps(make_problem(N_DATA, d), seconds) for d in DIMENSIONS]
    panels = (("data N", SIZES, by_size), ("dimension D", DIMENSIONS, by_dimension))
    return [
        Curve(panel, name, unit, sizes, [step[name][k] for step in steps])
        for panel, sizes, steps in panels
        for k, unit in enumerate(("µs/step", "data/step"))
        for name in steps[0]
        if (name, unit) != (EXACT, "data/step")  # the exact chain reads all data
    ]


def _steps(problem: LogisticProblem, seconds: float) -> dict[str, tuple[float, float]]:
    """Microseconds and data of a step of each chain."""
    chains: dict[str, tuple[Any, ...]] = {
        "sequential, control variates, random walk": (problem.controlled, problem.walk, problem.sequential()),
        "sequential, control variates, proxy": (problem.controlled, problem.proxy, problem.sequential()),
        "sequential, plain, random walk": (problem.model, problem.walk, problem.sequential()),
        EXACT: (problem.model, problem.walk, ExactTest()),
    }
    runs = {name: measure(problem, *parts, seconds) for name, parts in chains.items()}
    return {name: (1e6 / run.steps_per_s, run.used) for name, run in runs.items()}


def draw(curves: list[Curve], file: Path) -> bool:
    """Draw lines on logarithmic axes, one panel for each size that grows; returns False if that is not possible."""
    try:
        figure(curves).write_image(file, width=1000, height=760, scale=2)
    except (ImportError, ValueError, RuntimeError):  # no kaleido, or no browser for it
        return False
    return True


def figure(curves: list[Curve]) -> Any:
    """A plotly figure: one panel for each size that grows, one colour for each cost, dots for data per step."""
    from plotly.colors import qualitative
    from plotly.graph_objects import Scatter
    from plotly.subplots import make_subplots

    panels = list(dict.fromkeys(curve.panel for curve in curves))
    names = list(dict.fromkeys(curve.name for curve in curves))
    units = {panel: " (line), ".join(dict.fromkeys(c.unit for c in curves if c.panel == panel)) for panel in panels}
    titles = [f"{unit}{' (dots)' if 'line' in unit else ''} against {panel}" for panel, unit in units.items()]
    result = make_subplots(rows=2, cols=2, subplot_titles=titles, vertical_spacing=0.14)
    for curve in curves:
        row, col = divmod(panels.index(curve.panel), 2)
        style = {"color": qualitative.D3[names.index(curve.name)], "dash": "dot" if curve.unit == "data/step" else None}
        label = f"{curve.name}, {curve.unit}"
        shown = label not in [trace.name for trace in result.data]
        trace = Scatter(x=curve.sizes, y=curve.costs, name=label, legendgroup=label, showlegend=shown, line=style)
        result.add_trace(trace, row=row + 1, col=col + 1)
    result.update_xaxes(type="log", dtick=1)
    result.update_yaxes(type="log", dtick=1)
    return result.update_layout(template="plotly_white", legend={"orientation": "h", "y": -0.08}, margin={"t": 40})


def main() -> None:
    parser = argparse.ArgumentParser(description="How costs grow with looks, pairs, data and dimension.")
    parser.add_argument("--picture", type=Path, help="file for the picture")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each chain (default: %(default)s)")
    given = parser.parse_args()
    print("\n".join(report(given.picture, given.seconds)))


if __name__ == "__main__":
    main()
