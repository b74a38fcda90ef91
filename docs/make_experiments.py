"""Write docs/experiments.md from the full-size results that come with the package: python -m docs.make_experiments

Their figures are drawn into docs/pictures/experiments (that needs the package kaleido and Chromium); what the papers
report beside it, and why figures differ, is written by hand in docs/beside_the_papers.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from samplers.experiments import NAMES, experiment
from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable, in_words
from samplers.experiments.framework.running import Experiment, shipped
from samplers.experiments.framework.stories import beside_the_paper, story

PAGE = Path(__file__).with_name("experiments.md")
PICTURES = PAGE.parent / "pictures" / "experiments"
WIDTH, HEIGHT = 900, 480  # of a picture, in pixels
COLOURS = 64  # of its palette
NOT_RUN = "<!-- not run: takes minutes to hours; the tests run every experiment at its smallest size -->"
MOST_ROWS = 60  # of a table
INTRODUCTION = """\
# Experiments

The experiments of the papers. [equations.md](equations.md) names the papers K14, K16 and S17.
All experiments have the papers' numbers of data, except E4, which has a tenth of them, E6, which uses census income
instead of MiniBooNE, and E9, which uses synthetic twins and fewer digits. Where the papers' chains ran for hours,
ours are shorter: E3 has 40% of their samples, E4 30%, E6 10%; all three have fewer chains; part of E11 has fewer
samples. Each section gives its size and the reason. *Full* in the settings is the size of the runs shown here;
`--size paper` runs E3, E4 and E6 at the papers' own size, which takes hours to days.
The dashboard shows the same tables and figures (*Experiments* page). The command in each section runs the experiment
again; with `--quick` it takes about a minute. `--chains`, `--seed`, `--epsilon` and `--start mode` or `--start far`
change what an experiment can change. Finished parts are kept in the folder of `--output`: a second run continues, on
this machine or with `--cluster`, and more chains or other ε add to it. `--data DIR` reads data sets in their own
formats, and `--download` fetches them where there is a network. Without either, a synthetic twin is used, and the
report says so. E6 also runs on MiniBooNE (`--data-set miniboone`), E4 and E5 on four sounds (`--data-set audio`).
Checks are statements that the experiment should confirm, evaluated on the numbers of the run; a check that fails is
shown as such, and one whose bands overlap as unresolved. Seconds are processor
time on one core of the machine that ran it.

`python -m docs.make_experiments` writes this page from `samplers/experiments/stored`.
`python -m samplers.experiments.framework.ship DIR` puts a finished run there, with the ground truth it computed
(`truth.npz`, if any: means, standard errors, seed and digest).
"""


def page() -> str:
    """All experiments, one section each."""
    contents = [f"- [{_heading(e)}](#{e.name})" for e in map(experiment, NAMES)]
    return "\n".join([INTRODUCTION, *contents, "", *(section(name) for name in NAMES)])


def section(name: str) -> str:
    """One experiment: its question and, if a result is stored, what was found."""
    found, kept = experiment(name), shipped(name)
    lines = [f'<a id="{name}"></a>', "", f"## {_heading(found)}", "", f"*{found.question}* ({found.source})", ""]
    lines += [NOT_RUN, "```sh", command(found), "```", ""]
    if kept is None:
        return "\n".join([*lines, "No full-size result comes with this version.", ""])
    described, report = kept
    lines += [f"**In short.** {_escaped(story(name, report).words)}", ""]
    lines += [_escaped(report.finding), "", *_beside(name), *_checks(report)]
    lines += [*(f"- {_escaped(line)}" for line in report.notices), "", *_pictures(name, report)]
    lines += [line for table in report.tables for line in markdown(table)]
    return "\n".join([*lines, *_how(described)])


def command(found: Experiment) -> str:
    """What runs it again."""
    return f"austerity experiment {found.name} {'--data DIR ' if found.data else ''}--output {found.name}"


def markdown(table: ResultTable) -> list[str]:
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
    return f"{found.name.upper()}: {found.title}"


def _checks(report: Report) -> list[str]:
    return [f"- **{in_words(true)}**: {_escaped(what)}" for what, true in report.checks.items()]


def pictures(name: str, report: Report) -> Iterator[tuple[Path, Panel]]:
    """The file of every panel's picture."""
    for number, panel in enumerate(report.panels, start=1):
        yield PICTURES / f"{name}-{number}.png", panel


def _pictures(name: str, report: Report) -> list[str]:
    lines: list[str] = []
    for file, panel in pictures(name, report):
        told = " ".join(filter(None, (f"{panel.title}.", panel.note)))
        lines += [f"![{_alternative(told)}]({file.relative_to(PAGE.parent).as_posix()})", "", f"*{_escaped(told)}*", ""]
    return lines


def _beside(name: str) -> list[str]:
    """What the paper reports, and why ours differs."""
    found = beside_the_paper(name)
    return [f"**Beside the paper.** {found}", ""] if found else []


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


def _alternative(text: str) -> str:
    """Text that can stand for a picture."""
    return re.sub(r"[\[\]]", "", text)


def draw(names: Sequence[str]) -> None:
    """The pictures of these experiments, by one browser for all; with few colours, so that they stay small."""
    import plotly.io
    from PIL import Image

    from app.figures.panels import figure

    PICTURES.mkdir(parents=True, exist_ok=True)
    kept = {name: found[1] for name in names if (found := shipped(name)) is not None}
    drawn = [(figure(panel), file) for name, report in kept.items() for file, panel in pictures(name, report)]
    figures, files = [one for one, _ in drawn], [file for _, file in drawn]
    plotly.io.write_images(figures, files, width=WIDTH, height=HEIGHT, scale=1.5)
    for file in files:
        Image.open(file).convert("RGB").quantize(COLOURS).save(file, optimize=True)


def _escaped(text: str) -> str:
    """Text without what Markdown would take for its own."""
    return re.sub(r"([|*<])", r"\\\1", text)


def main() -> None:
    """The page, and the pictures of the experiments named on the command line (`all` for all of them)."""
    wanted = NAMES if "all" in sys.argv[1:] else sys.argv[1:]
    if wanted:
        draw(wanted)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
