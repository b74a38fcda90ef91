"""The report of the regime map: data, draws and bias of every method at each N, and which method wins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import MISSING, Values

WALK, CONTROLLED, PROXY, GRADIENTS = "walk", "controlled", "proxy", "gradients"
SEQUENTIAL, BARKER, CONCENTRATION, EXACT, NUTS = "sequential", "barker", "concentration", "exact", "nuts"
MOVES = {
    WALK: "random walk",
    CONTROLLED: "random walk, control variates",
    PROXY: "proxy proposals, control variates",
    GRADIENTS: "gradients of all data",
}
TESTS = {BARKER: "Barker", CONCENTRATION: "concentration", EXACT: "exact", NUTS: "NUTS"}
LEAST_EFFECTIVE, LEAST_JUDGED = (
    20.0,
    50.0,
)  # effective draws, to report on a chain at all, and to say that it has no bias
TOLERATED = 0.1  # bias of means and spread, in posterior standard deviations
SURE = 2.0  # standard errors


class MapCell(NamedTuple):
    """One cell of the map: number of data, proposal and test."""

    n_data: int
    move: str
    test: str

    @property
    def name(self) -> str:
        """The name of its part."""
        return f"n{self.n_data}-{self.move}-{self.test}"

    @property
    def test_label(self) -> str:
        """The test in words."""
        return TESTS.get(self.test) or f"sequential ε = {self.test.removeprefix(SEQUENTIAL)}"

    @property
    def label(self) -> str:
        """Test and proposal in words."""
        return self.test_label if self.test == NUTS else f"{self.test_label} ({MOVES[self.move]})"


class CellResult(NamedTuple):
    """The results of a cell; figures of a chain with too few effective draws are None.

    `bias` is the root mean square over the coordinates of (mean - reference) in standard deviations, `noise` its value
    for a chain without bias, and `spread` the mean of sd / reference sd.
    """

    cell: MapCell
    steps: int
    data: float
    evaluations: float
    rate: float
    acceptance: float
    effective: float | None = None
    effective_rate: float | None = None
    price: float | None = None  # evaluations per effective draw
    bias: float | None = None
    noise: float | None = None
    spread: float | None = None
    coordinates: int = 1

    @property
    def biased(self) -> bool | None:
        """Whether the bias clearly exceeds TOLERATED; None if the chain is too short to tell.

        Coordinates are treated as independent: the noise of their average falls with the square root of their number.
        """
        if self.effective is None or self.bias is None or self.noise is None or self.spread is None:
            return None
        noise = SURE * self.noise / math.sqrt(2.0 * self.coordinates)
        shifted = self.bias > math.hypot(TOLERATED, self.noise) + noise
        if shifted or abs(self.spread - 1.0) > TOLERATED + noise:
            return True
        return None if self.effective < LEAST_JUDGED else False

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.effective is None:
            return f"ESS < {LEAST_EFFECTIVE:g}: not measured"
        return {True: "biased", False: "no bias seen", None: f"ESS < {LEAST_JUDGED:g}: bias not judged"}[self.biased]


def row_of(cell: MapCell, chain: Values, reference: Values) -> CellResult:
    """The results of a cell from the numbers of its chain."""
    seconds = max(float(chain["seconds"]), 1e-9)
    row = CellResult(
        cell,
        int(chain["steps"]),
        float(chain["data"]),
        float(chain["evaluations"]),
        chain["steps"] / seconds,
        float(chain["acceptance"]),
    )
    effective = float(chain["effective"])
    if effective < LEAST_EFFECTIVE:
        return row
    return row._replace(
        effective=effective,
        effective_rate=effective / seconds,
        price=row.evaluations * row.steps / effective,
        bias=float(np.sqrt(np.mean(((chain["mean"] - reference["mean"]) / reference["sd"]) ** 2))),
        noise=1.0 / math.sqrt(effective),
        spread=float(np.mean(chain["sd"] / reference["sd"])),
        coordinates=len(reference["sd"]),
    )


def regime_report(dimension: int, references: Mapping[int, Values], parts: Mapping[MapCell, Values]) -> Report:
    """Tables, curves against N, and the winners in words."""
    rows = [row_of(cell, part, references[cell.n_data]) for cell, part in parts.items() if MISSING not in part]
    missing = {cell: str(part[MISSING]) for cell, part in parts.items() if MISSING in part}
    sizes = list(references)
    winners = {n: _winners([row for row in rows if row.cell.n_data == n]) for n in sizes}
    notices = [
        f"Data: synthetic; {dimension} standard normal covariates, labels drawn from the model, a fixed seed for each "
        "N; rows in single precision.",
        "Seconds are for one core of the machine that ran the experiment, without mode and proxies; evaluations do "
        "not depend on the machine. NUTS uses all cores, and a gradient counts as one evaluation of every datum. A "
        "test evaluates both states at each datum it reads, and with proxies also their centre (proxies are not "
        "stored); exact decisions cache the values of the current state.",
        "Exact decisions with a random walk and control variates are left out: they give the chain without them.",
        "The concentration test is not compiled: compare its data per step, not its seconds. Its bound on the error "
        "of the proxies comes from Taylor's theorem and the longest row.",
        *sorted({f"{cell.label} is missing: {why}." for cell, why in missing.items()}),
    ]
    tables = [_map(rows), _winners_table(winners), _references(references)]
    return Report(_finding(sizes, rows, winners), _checks(sizes, rows), tables, _panels(rows), notices)


Winners = Mapping[str, CellResult | None]
ALL, PLAIN, UNTESTED = "of all", "without control variates", "with exact decisions"
CHEAPEST, PEER = "by evaluations", "NUTS, for comparison"


def _winners(rows: list[CellResult]) -> Winners:
    """The most effective draws per second, or per evaluation, among the methods without visible bias, if any."""
    sound = [row for row in rows if row.biased is False]

    def best(among: Iterable[CellResult], score: Callable[[CellResult], float]) -> CellResult | None:
        return max(among, key=score, default=None)

    return {
        ALL: best(sound, _rate),
        PLAIN: best((row for row in sound if row.cell.move == WALK), _rate),
        UNTESTED: best((row for row in sound if row.cell.test == EXACT), _rate),
        CHEAPEST: best(sound, lambda row: -(row.price or math.inf)),
        PEER: next((row for row in rows if row.cell.test == NUTS), None),
    }


def _rate(row: CellResult) -> float:
    return row.effective_rate or 0.0


def _checks(sizes: list[int], rows: list[CellResult]) -> dict[str, bool]:
    by_cell = {row.cell: row for row in rows}
    test = _strictest(rows)
    proxy = [by_cell[MapCell(n, PROXY, test)] for n in sizes]
    plain = [by_cell[MapCell(n, WALK, test)] for n in sizes]
    exact = [by_cell[MapCell(n, WALK, EXACT)] for n in sizes]
    growth = sizes[-1] / sizes[0]
    priced = [(ours, theirs) for ours, theirs in zip(proxy, exact, strict=True) if theirs.price is not None]
    return {
        "with proxy proposals and control variates, the sequential test shows no bias at any N": all(
            row.biased is False for row in proxy
        ),
        "its data per step then stay within a factor of 5 over all N": max(row.data for row in proxy)
        <= 5.0 * min(row.data for row in proxy),
        "without them, its data per step grow faster than √N": plain[-1].data > math.sqrt(growth) * plain[0].data,
        "an exact random walk, wherever it could be measured, needs at least ten times the evaluations per effective "
        "draw": bool(priced)
        and all((ours.price or math.inf) * 10.0 <= (theirs.price or 0.0) for ours, theirs in priced),
    }


def _strictest(rows: list[CellResult]) -> str:
    """The sequential test with the smallest ε."""
    return min((row.cell.test for row in rows if row.cell.test.startswith(SEQUENTIAL)), key=_epsilon)


def _epsilon(test: str) -> float:
    return float(test.removeprefix(SEQUENTIAL))


def _finding(sizes: list[int], rows: list[CellResult], winners: Mapping[int, Winners]) -> str:
    sentences = [_sentence(n, [row for row in rows if row.cell.n_data == n], winners[n]) for n in sizes]
    biased = [f"{row.cell.label} at N = {row.cell.n_data:,}" for row in rows if row.biased]
    test = _strictest(rows)
    reads = "; ".join(
        f"{MOVES[move]}: {' → '.join(f'{row.data:,.0f}' for row in rows if (row.cell.move, row.cell.test) == way)}"
        for move, way in ((move, (move, test)) for move in (WALK, CONTROLLED, PROXY))
    )
    numbers = " → ".join(f"{n:,}" for n in sizes)
    summary = f"Data per step of the sequential test with ε = {_epsilon(test):g} for N = {numbers}: {reads}."
    ending = f"Too much bias (more than {TOLERATED:g} sd in means or spread): {', '.join(biased)}." if biased else ""
    return " ".join([*sentences, summary, ending]).strip()


def _sentence(n: int, rows: list[CellResult], winners: Winners) -> str:
    """The winners at one N, in words."""
    best = winners[ALL]
    if best is None:
        return f"N = {n:,}: no chain was long enough to tell."
    texts = [f"N = {n:,}: {best.cell.label} wins with {_shown(best)}"]
    exact, plain, peer = winners[UNTESTED], winners[PLAIN], winners[PEER]
    if exact is not None and exact.cell not in (best.cell, plain and plain.cell):
        texts.append(f"the best with exact decisions is {exact.cell.label} with {_shown(exact)}")
    if plain is None:
        fastest = max(row.rate for row in rows if row.cell.move == WALK)
        texts.append(
            f"without control variates, no chain was both long enough to tell and free of bias; none made more than "
            f"{_number(fastest)} steps per second"
        )
    elif plain.cell != best.cell:
        texts.append(f"the best without control variates is {plain.cell.label} with {_shown(plain)}")
    if peer is not None:
        known = peer.effective_rate is not None
        texts.append(f"NUTS makes {_shown(peer)}" if known else f"NUTS made too few draws ({peer.steps}) to tell")
    return "; ".join(texts) + "."


def _shown(row: CellResult) -> str:
    return f"{_number(_rate(row))} effective draws per second and {row.data:,.0f} data per step"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.2g}"


def _map(rows: list[CellResult]) -> ResultTable:
    columns = ["N", "proposal", "test", "steps", "data per step", "of the data", "evaluations per step", "steps/s"]
    columns += [
        "acceptance",
        "min ESS",
        "min ESS/s",
        "evaluations per effective draw",
        "bias (sd)",
        "noise of the bias",
    ]
    columns += ["sd / reference", "verdict"]
    entries: list[list[Cell]] = [
        [
            row.cell.n_data, MOVES[row.cell.move], row.cell.test_label, row.steps, row.data,
            row.data / row.cell.n_data, row.evaluations, row.rate, row.acceptance, row.effective, row.effective_rate,
            row.price, row.bias, row.noise, row.spread, row.verdict,
        ]
        for row in rows
    ]  # fmt: skip
    return ResultTable("The map", columns, entries)


def _winners_table(winners: Mapping[int, Winners]) -> ResultTable:
    columns = ["N", "winner", "method", "min ESS/s", "evaluations per effective draw", "data per step"]
    entries: list[list[Cell]] = [
        [n, kind, row.cell.label, row.effective_rate, row.price, row.data]
        for n, every in winners.items()
        for kind, row in every.items()
        if row is not None
    ]
    return ResultTable("Winners among the methods that show no bias", columns, entries)


def _references(references: Mapping[int, Values]) -> ResultTable:
    columns = ["N", "seconds for mode and proxies", "largest error of a reference mean (sd)"]
    entries: list[list[Cell]] = [[n, float(part["setup"]), float(part["error"])] for n, part in references.items()]
    return ResultTable("Set-up", columns, entries)


def _panels(rows: list[CellResult]) -> list[Panel]:
    panels = []
    for move in (WALK, CONTROLLED, PROXY):
        some = [row for row in rows if row.cell.move in (move, GRADIENTS)]
        note = "Both axes are logarithmic: a line parallel to that of the exact test means a fixed share of the data."
        series = _series(some, lambda row: row.data)
        panels.append(Panel(f"Data per step: {MOVES[move]}", "N", "data per step", series, True, True, note))
    for move in (WALK, CONTROLLED, PROXY):
        some = [row for row in rows if row.cell.move in (move, GRADIENTS)]
        series = _series(some, lambda row: row.effective_rate)
        note = "Only chains with enough effective draws."
        title = f"Effective draws per second: {MOVES[move]}"
        panels.append(Panel(title, "N", "min ESS per second", series, True, True, note))
    note = (
        "1 is correct. A plain sequential test with a fixed batch takes more looks as N grows, and makes more errors."
    )
    spread = _series(rows, lambda row: row.spread)
    panels.append(Panel("Spread of the draws", "N", "sd / reference sd", spread, True, False, note))
    return panels


def _series(rows: list[CellResult], value: Callable[[CellResult], float | None]) -> list[Series]:
    """One line per method, over the N for which the value is known."""
    labels = list(dict.fromkeys(row.cell.label for row in rows))
    series = []
    for label in labels:
        known = [(row.cell.n_data, value(row)) for row in rows if row.cell.label == label]
        points = [(n, y) for n, y in known if y is not None]
        if points:
            series.append(Series(label, [n for n, _ in points], [y for _, y in points]))
    return series
