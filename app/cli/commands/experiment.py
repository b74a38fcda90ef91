"""`experiment`: the papers' experiments, with their numbers and figures in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from app.cli.terminal import Answer, cluster_at, progress_bar
from designer.core.errors import BadInput
from designer.core.files import write_whole

if TYPE_CHECKING:
    from samplers.experiments.framework.report import Panel, Report
    from samplers.experiments.framework.running import Size

STEPS = 1000  # of the progress bar


def run_named(options: argparse.Namespace) -> Answer:
    """`austerity experiment`."""
    from samplers.experiments import experiment
    from samplers.experiments.framework.data_sets import data_sets, on_data_set
    from samplers.experiments.framework.running import run_experiment

    if options.name == "list":
        return _listed()
    found = experiment(options.name)
    if options.data_set is not None:
        found = on_data_set(found, options.data_set)
    if options.output is None:
        raise BadInput("output: needed: a directory for numbers and figures (--output DIR)")
    size: Size = "quick" if options.quick else "full"
    folder: str | None = options.data
    obtained: list[str] = []
    if options.download:
        folder, obtained = _obtained(data_sets(found, size), folder)
    with cluster_at(options.cluster) as cluster, progress_bar(quiet=options.quiet or options.json) as show:

        def tell(share: float, note: str) -> None:
            if options.progress_lines:
                print(f"{share:.4f} {note}", file=sys.stderr, flush=True)
            elif show is not None and share > 0:
                show(max(1, round(STEPS * share)), STEPS, note[:40])

        mapper = None if cluster is None else cluster.parts
        done = run_experiment(found, size, options.output, data=folder, progress=tell, mapper=mapper)
    output, heading = Path(options.output), f"{found.name}: {found.title}"
    written = [] if options.no_figures else write_figures(done.report, output, heading)
    checks = [f"{'yes' if true else 'NO '}  {statement}" for statement, true in done.report.checks.items()]
    lines = [
        *obtained,
        *done.report.notices,
        done.report.finding,
        *checks,
        f"written to {options.output}: {', '.join(['report.json', 'finding.txt', 'table*.csv', *written])}",
    ]
    data = {"name": found.name, "size": size, "finding": done.report.finding, "checks": dict(done.report.checks)}
    data |= {"notices": list(done.report.notices), "seconds": dict(done.seconds), "output": str(options.output)}
    data |= {"obtained": obtained} if options.download else {}
    return Answer(data, lines)


def _obtained(names: Sequence[str], folder: str | None) -> tuple[str, list[str]]:
    """Fetch what is missing into the folder of data sets, or into the cache; that folder, and a line for each."""
    from samplers.data.sources import cache_folder, obtain

    place = cache_folder() if folder is None else Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"data: {place}: {error.strerror}") from None
    return str(place), [obtain(name, place) for name in names]


def _listed() -> Answer:
    from samplers.experiments import NAMES, experiment

    found = [experiment(name) for name in NAMES]
    data = {"experiments": [{"name": e.name, "title": e.title, "source": e.source} for e in found]}
    return Answer(data, [f"{e.name:<8} {e.title} ({e.source})" for e in found])


def write_figures(report: Report, output: Path, title: str) -> list[str]:
    """figures.html always, a PNG for each panel where a browser can draw them; returns the names of the files."""
    from plotly.io import write_images

    from app.figures.panels import figure

    if not report.panels:
        return []
    write_whole(output / "figures.html", _page(report.panels, title))
    names = [f"figure{number}.png" for number in range(1, len(report.panels) + 1)]
    figures = [figure(panel) for panel in report.panels]
    with TemporaryDirectory(prefix=".figures-", dir=output) as drawn:  # on a full disk, no half of one
        files = [Path(drawn) / name for name in names]
        try:
            write_images(figures, files, width=900, height=500, scale=2)  # one browser draws them all
        except (ImportError, ValueError, RuntimeError):  # no kaleido, or no browser for it
            return ["figures.html (PNG files need the package kaleido and Chromium)"]
        for file in files:
            file.replace(output / file.name)
    return ["figures.html", *names]


def _page(panels: Sequence[Panel], title: str) -> str:
    """All panels on one page that needs nothing from elsewhere."""
    from app.figures.panels import figure

    parts = [
        figure(panel).to_html(full_html=False, include_plotlyjs=number == 0) + f"<p>{escape(panel.note)}</p>"
        for number, panel in enumerate(panels)
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>body{{font-family:sans-serif}}</style>'
    body = f"<h1>{escape(title)}</h1>{''.join(parts)}"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
