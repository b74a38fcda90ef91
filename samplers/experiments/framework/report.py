"""The result of an experiment: a finding in words, checks, tables and panels to plot. Plain data, stored as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.files import csv_text

Style = Literal["line", "points", "bars", "steps"]
Cell = str | int | float | bool | None
Numbers = Sequence[float] | Floats
Check = bool | None  # whether a statement holds; None: this run cannot tell


class Series(NamedTuple):
    """One curve or set of points; `low` and `high` are the limits of its error bars or band."""

    name: str
    x: Numbers | Sequence[str]
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    style: Style = "line"


class Panel(NamedTuple):
    """One plot; `note` says in a sentence what it shows (it is also the alternative text)."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    note: str = ""


class ResultTable(NamedTuple):
    """A table of results, with a heading for each column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def to_csv(self) -> str:
        """The table as CSV text."""
        return csv_text(self.columns, self.rows)


class Report(NamedTuple):
    """The outcome of an experiment.

    `finding` is a paragraph in words. `checks` are statements that the experiment should confirm, each true or false in
    this run, or None if the run cannot tell (see `in_words`). `notices` say what a reader must know, for example that a
    synthetic twin replaced a data set.
    """

    finding: str
    checks: Mapping[str, Check]
    tables: Sequence[ResultTable]
    panels: Sequence[Panel]
    notices: Sequence[str] = ()

    def to_json(self) -> str:
        """The report as JSON text; numbers that are not finite become null."""
        document = {
            "finding": self.finding,
            "checks": dict(self.checks),
            "tables": [table._asdict() for table in self.tables],
            "panels": [panel._asdict() | {"series": [s._asdict() for s in panel.series]} for panel in self.panels],
            "notices": list(self.notices),
        }
        return json.dumps(_plain(document), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read a report from JSON text."""
        document = json.loads(text)
        tables = [ResultTable(**table) for table in document["tables"]]
        panels = [
            Panel(**(panel | {"series": [Series(**series) for series in panel["series"]]}))
            for panel in document["panels"]
        ]
        return cls(document["finding"], document["checks"], tables, panels, document["notices"])


def in_words(check: Check) -> Literal["holds", "does not hold", "unresolved"]:
    """Whether a statement holds, in words.

    Examples
    --------
    >>> [in_words(check) for check in (True, False, None)]
    ['holds', 'does not hold', 'unresolved']
    """
    return "unresolved" if check is None else "holds" if check else "does not hold"


def _plain(value: Any) -> Any:
    """The same value in lists, dicts, numbers and strings only."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
