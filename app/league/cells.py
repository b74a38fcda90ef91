"""The figures of the league, one cell for each posterior, N and method."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

RESULTS = Path(__file__).with_name("results.json")
ENOUGH = 100  # effective draws: with fewer, a rate per second means little


class Cell(NamedTuple):
    """What one method did on one posterior.

    Attributes
    ----------
    setup, seconds
        Seconds before the first draw (mode, trial run, design, compilation, warm-up), and for the draws.
    steps, rows, acceptance
        Of the chain; rows of data read per step.
    effective
        Smallest number of effective draws of all coordinates; infinite for a method that needs no draws.
    mean_error, mean_se, mean_shown
        Largest error of a mean in posterior standard deviations, its standard error, and how much of an error is shown:
        what exceeds three standard errors.
    sd_error, sd_se, sd_shown
        The same for standard deviations, relative.
    memory
        Peak memory of the process in MB, data included.
    trusted
        Whether the method itself trusts its result.
    details
        Settings and versions.
    problem
        Why there are no figures.
    measured
        When, where and with what; if empty, as the league says.

    Examples
    --------
    >>> cell = Cell(setup=1.0, seconds=10.0, effective=5000.0)
    >>> cell.per_second, round(cell.seconds_to(0.02), 6)
    (500.0, 6.0)
    >>> Cell(problem="unfinished").seconds_to(0.02)
    inf
    """

    setup: float = math.nan
    seconds: float = math.nan
    steps: int = 0
    rows: float = math.nan
    acceptance: float = math.nan
    effective: float = 0.0
    mean_error: float = 0.0
    mean_se: float = 0.0
    mean_shown: float = 0.0
    sd_error: float = 0.0
    sd_se: float = 0.0
    sd_shown: float = 0.0
    memory: float = math.nan
    trusted: bool = True
    details: str = ""
    problem: str = ""
    measured: str = ""

    @property
    def per_second(self) -> float:
        """Effective draws per second; nan where a method has too few, or needs none."""
        if self.problem or not self.seconds or self.effective < ENOUGH:
            return math.nan
        return self.effective / self.seconds

    @property
    def error(self) -> float:
        """The larger of the two errors."""
        return max(self.mean_error, self.sd_error)

    @property
    def shown(self) -> float:
        """The larger of the two errors that are shown."""
        return max(self.mean_shown, self.sd_shown)

    def seconds_to(self, wish: float) -> float:
        """Seconds until every mean is known to `wish` posterior sds, set-up included; infinite if it never is.

        A method that is shown to be farther off never gets there. One that needs no draws is there at once, if both its
        errors are within the wish.
        """
        if self.problem or not self.trusted or self.shown > wish:
            return math.inf
        if math.isinf(self.effective):
            return self.setup if self.error <= wish else math.inf
        return self.setup + wish**-2.0 / self.per_second if self.effective >= ENOUGH else math.inf

    def why_not(self, wish: float) -> str:
        """Why it never gets there, in a few words; empty if it does."""
        if math.isfinite(self.seconds_to(wish)):
            return ""
        if self.problem:
            return self.problem
        if not self.trusted:
            return "does not trust its own weights"
        if self.shown > wish or math.isinf(self.effective):
            return f"off by {self.error:.2g}"
        return f"unfinished: {self.effective:.0f} effective draws"


Place: TypeAlias = tuple[str, int]
Cells: TypeAlias = Mapping[tuple[str, int, str], Cell]


class League(NamedTuple):
    """All cells, for each posterior and N what its reference is, and the stamp of cells that have none of their own.

    Examples
    --------
    >>> cells = {("a", 10, "NUTS"): Cell(), ("a", 10, "exact"): Cell(measured="2026-11-20, two cores.")}
    >>> League(cells, {}, "2026-11-18, two cores.").when
    'Measured: 1 cell 2026-11-18, two cores; 1 cell 2026-11-20, two cores.'
    """

    cells: Cells
    references: Mapping[Place, str]
    measured: str = ""

    @property
    def places(self) -> list[Place]:
        """Posteriors and N, in the order in which they were measured."""
        return list(dict.fromkeys((name, n) for name, n, _ in self.cells))

    @property
    def when(self) -> str:
        """When, where and with what the cells were measured: one stamp, or each with the number of its cells."""
        stamps = Counter((cell.measured or self.measured).rstrip(".") for cell in self.cells.values())
        if len(stamps) <= 1:
            return f"Measured: {''.join(stamps)}."
        counted = [f"{count} cell{'s' * (count > 1)} {stamp}" for stamp, count in sorted(stamps.items())]
        return f"Measured: {'; '.join(counted)}."

    def at(self, place: Place) -> dict[str, Cell]:
        """The methods at one place."""
        return {method: cell for (name, n, method), cell in self.cells.items() if (name, n) == place}


def load(file: Path = RESULTS) -> League:
    """The stored figures; an empty league if there are none."""
    if not file.exists():
        return League({}, {})
    stored = json.loads(file.read_text(encoding="utf-8"))
    cells = {(row["posterior"], row["n"], row["method"]): _cell(row["figures"]) for row in stored["cells"]}
    references = {(row["posterior"], row["n"]): row["source"] for row in stored["references"]}
    return League(cells, references, stored["measured"])


def _cell(figures: dict[str, Any]) -> Cell:
    """A cell of what JSON holds: what is left out is as by default, null is infinite."""
    known: dict[str, Any] = {name: math.inf if value is None else value for name, value in figures.items()}
    return Cell(**known)


def as_json(league: League) -> str:
    """The text of the stored file: one line per cell, figures with four digits."""
    cells = [
        {"posterior": name, "n": n, "method": method, "figures": _figures(cell)}
        for (name, n, method), cell in league.cells.items()
    ]
    references = [{"posterior": name, "n": n, "source": source} for (name, n), source in league.references.items()]
    lines = [",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows) for rows in (references, cells)]
    head = json.dumps(league.measured, ensure_ascii=False)
    return f'{{"measured": {head},\n"references": [\n  {lines[0]}\n],\n"cells": [\n  {lines[1]}\n]}}\n'


def _figures(cell: Cell) -> dict[str, Any]:
    usual = Cell._field_defaults
    kept = {name: value for name, value in cell._asdict().items() if repr(value) != repr(usual[name])}
    return {name: _rounded(value) for name, value in kept.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isinf(value) else float(f"{value:.4g}")
    return value
