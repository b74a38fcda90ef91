"""Write docs/experiments.md from the full-size results that come with the package: python -m docs.make_experiments"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from samplers.experiments import NAMES, experiment
from samplers.experiments.report import Cell, Report, Table
from samplers.experiments.running import Experiment, shipped

PAGE = Path(__file__).with_name("experiments.md")
MOST_ROWS = 60  # of a table; the regime map has as many
INTRODUCTION = """\
# Experiments

The experiments of the papers at full size, and a map of who wins where. K14, K16 and S17 are the papers of
[equations.md](equations.md).
Each has tables and figures in the dashboard (page *Experiments*), and runs again with the command below it; with
`--quick` it takes about a minute. Without `--data` a synthetic twin stands in for a data set, and the report says so.
Checks are statements that the experiment should bear out, evaluated on the numbers of the run; one that does not hold
is shown as such. Seconds are those of the machine that ran it, two cores.

This page is made by `python -m docs.make_experiments` from `samplers/experiments/stored`;
`python -m samplers.experiments.store DIR` puts a finished run there.
"""


def page() -> str:
    """All experiments, one section each."""
    contents = [f"- [{_heading(e)}](#{e.name})" for e in map(experiment, NAMES)]
    return "\n".join([INTRODUCTION, *contents, "", *(section(name) for name in NAMES)])


def section(name: str) -> str:
    """One experiment: its question and, if a result is stored, what was found."""
    found, kept = experiment(name), shipped(name)
    lines = [f'<a id="{name}"></a>', "", f"## {_heading(found)}", "", f"*{found.question}* ({found.source})", ""]
    lines += ["```bash", command(found), "```", ""]
    if kept is None:
        return "\n".join([*lines, "No full-size result comes with this version.", ""])
    described, report = kept
    lines += [_escaped(report.finding), "", *_checks(report), *(f"- {_escaped(line)}" for line in report.notices), ""]
    lines += [line for table in report.tables for line in markdown(table)]
    return "\n".join([*lines, *_how(described)])


def command(found: Experiment) -> str:
    """What runs it again."""
    return f"austerity experiment {found.name} {'--data DIR ' if found.data else ''}--output {found.name}"


def markdown(table: Table) -> list[str]:
    """A table with its title."""
    head = [f"**{_escaped(table.title)}**", "", _row(table.columns), _row(["---"] * len(table.columns))]
    rows = [_row([shown(cell) for cell in row]) for row in table.rows[:MOST_ROWS]]
    left_out = len(table.rows) - len(rows)
    return [*head, *rows, *([f"\nand {left_out} more rows in the dashboard."] if left_out else []), ""]


def shown(cell: Cell) -> str:
    """Four significant digits of what is measured, all of what is counted.

    Examples
    --------
    >>> [shown(cell) for cell in (12214, 0.0123456, 15561.7, 3.0, 1.2e-7, 2.5e9, None, True)]
    ['12,214', '0.01235', '15,562', '3', '1.2e-07', '2.5e+09', '', 'yes']
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if 1000.0 <= abs(cell) < 1e9 else f"{cell:.4g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def _heading(found: Experiment) -> str:
    return found.title if found.name == "regimes" else f"{found.name.upper()}: {found.title}"


def _checks(report: Report) -> list[str]:
    return [f"- **{'holds' if true else 'does not hold'}**: {_escaped(what)}" for what, true in report.checks.items()]


def _how(described: dict[str, Any]) -> list[str]:
    """Settings, time and version."""
    settings = ", ".join(f"{key} = {_value(value)}" for key, value in described["settings"].items())
    seconds = sum(described["seconds"].values())
    ran = f"{len(described['seconds'])} parts, {shown(float(seconds))} seconds, austerity {described['version']}"
    return [f"Settings ({described['size']}): {settings}. {ran[0].upper()}{ran[1:]}.", ""]


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(map(_value, value))})"
    return "none" if value is None else shown(value)


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    """Text without what Markdown would take for its own."""
    return re.sub(r"([|*<])", r"\\\1", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
