"""`austerity experiment`: the papers' experiments, with their numbers and figures in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.options import Commands, add_command
from app.cli.resolve import cluster_at
from app.cli.terminal import CommandOutput, progress_bar

if TYPE_CHECKING:
    from samplers.experiments.framework.knobs import Knobs
    from samplers.experiments.framework.report import Panel, Report
    from samplers.experiments.framework.running import Size

SUMMARY = "Run one of the papers' experiments and report what it shows."
EXAMPLE = "austerity experiment e3 --quick --output e3"
BAR_STEPS = 1000  # of the progress bar
SIZES, STARTS = ("tiny", "quick", "full", "paper"), ("mode", "far")
SHOWN = {True: "yes", False: "NO ", None: "?  "}  # a check: ? is unresolved
LONGEST_NOTE = 40  # characters beside the bar


def add(commands: Commands) -> None:
    """Declare the command."""
    folder = "folder for numbers, figures and finished parts, from which a second run continues; not needed for list"
    parser = add_command(
        commands, "experiment", run, SUMMARY, EXAMPLE, shared.cluster(), shared.output_file("DIR", folder)
    )
    parser.add_argument("name", metavar="NAME", help="e1 to e13; or list, to list them all")
    parser.add_argument("--quick", action="store_true", help="run at a size that takes about a minute: --size quick")
    parser.add_argument(
        "--size",
        metavar="SIZE",
        choices=SIZES,
        help="tiny (seconds), quick (about a minute), full (the default), or paper, where that is larger (hours)",
    )
    knobs = parser.group("settings (each experiment has some of these, and says which)")
    knobs.add_argument(
        "--chains", metavar="K", type=shared.integer, help="chains of each test; more chains continue an earlier run"
    )
    knobs.add_argument("--seed", metavar="S", type=shared.integer, help="seed of all random numbers")
    knobs.add_argument("--epsilon", metavar="E,...", type=shared.numbers, help="ε of the sequential tests, as 0.01,0.1")
    knobs.add_argument("--start", metavar="WHERE", choices=STARTS, help="mode, or far: where the chains start")
    parser.add_argument(
        "--data", metavar="DIR", help="folder with the data sets in their own formats (default: synthetic twins)"
    )
    parser.add_argument(
        "--data-set",
        metavar="NAME",
        help="data set to use; e6 has census and miniboone, e4 and e5 audio-gaussian and audio",
    )
    parser.add_argument(
        "--download",
        action="store_true",
        help="fetch missing data sets from their public addresses, into --data or ~/.cache/austerity",
    )
    group = parser.group("output")
    group.add_argument("--no-figures", action="store_true", help="write numbers only")
    group.add_argument(
        "--progress-lines", action="store_true", help="report progress to programs, as lines `share note`"
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from samplers.experiments import experiment
    from samplers.experiments.framework.data_sets import data_sets, on_data_set
    from samplers.experiments.framework.knobs import turned
    from samplers.experiments.framework.running import run_experiment

    if options.name == "list":
        return _list()
    chosen = experiment(options.name)
    if options.data_set is not None:
        chosen = on_data_set(chosen, options.data_set)
    chosen = turned(chosen, _knobs(options))
    if options.output is None:
        raise UsageError("output: missing; give a folder for numbers and figures (--output DIR)")
    size = _size(options)
    folder: str | None = options.data
    obtained: list[str] = []
    if options.download:
        folder, obtained = _download(data_sets(chosen, size), folder)
    with cluster_at(options.cluster) as cluster, progress_bar(options, counts=False) as show:

        def report_progress(share: float, note: str) -> None:
            if options.progress_lines:
                print(f"{share:.4f} {note}", file=sys.stderr, flush=True)
            elif show is not None:
                show(round(BAR_STEPS * share), BAR_STEPS, note[:LONGEST_NOTE])

        mapper = None if cluster is None else cluster.parts
        done = run_experiment(chosen, size, options.output, data=folder, progress=report_progress, mapper=mapper)
    report, heading = done.report, f"{chosen.name}: {chosen.title}"
    figures = [] if options.no_figures else write_figures(report, Path(options.output), heading)
    checks = [f"{SHOWN[check]}  {statement}" for statement, check in report.checks.items()]
    lines = [
        *obtained,
        *report.notices,
        report.finding,
        *checks,
        f"written to {options.output}: {', '.join(['report.json', 'finding.txt', 'table*.csv', *figures])}",
    ]
    data = {"name": chosen.name, "size": size, "finding": report.finding, "checks": dict(report.checks)}
    data |= {"notices": list(report.notices), "seconds": dict(done.seconds), "output": str(options.output)}
    data |= {"obtained": obtained} if options.download else {}
    return CommandOutput(data, lines)


def _size(options: argparse.Namespace) -> Size:
    if options.quick and options.size not in (None, "quick"):
        raise UsageError(f"quick: cannot be given together with size = {options.size}")
    chosen: Size = "quick" if options.quick else options.size or "full"
    return chosen


def _knobs(options: argparse.Namespace) -> Knobs:
    """The knobs that were given."""
    from samplers.experiments.framework.knobs import Knobs

    return Knobs(options.chains, options.seed, options.epsilon, options.start)


def _download(names: Sequence[str], folder: str | None) -> tuple[str, list[str]]:
    """Fetch missing data sets into the folder, or into the cache; returns that folder, and a line for each."""
    from samplers.data.sources import cache_folder, obtain

    place = cache_folder() if folder is None else Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"data: {place}: {error.strerror}") from None
    return str(place), [obtain(name, place) for name in names]


def _list() -> CommandOutput:
    from samplers.experiments import NAMES, experiment

    experiments = [experiment(name) for name in NAMES]
    data = {"experiments": [{"name": e.name, "title": e.title, "source": e.source} for e in experiments]}
    return CommandOutput(data, [f"{e.name:<8} {e.title} ({e.source})" for e in experiments])


def write_figures(report: Report, output: Path, title: str) -> list[str]:
    """Write figures.html, and a PNG for each panel if a browser can draw them; returns the names of the files."""
    from plotly.io import write_images

    from app.figures.panels import figure
    from designer.core.files import write_whole

    if not report.panels:
        return []
    write_whole(output / "figures.html", _page(report.panels, title))
    names = [f"figure{number}.png" for number in range(1, len(report.panels) + 1)]
    figures = [figure(panel) for panel in report.panels]
    with TemporaryDirectory(prefix=".figures-", dir=output) as drawn:  # on a full disk no file is left half written
        files = [Path(drawn) / name for name in names]
        try:
            write_images(figures, files, width=900, height=500, scale=2)  # one browser draws them all
        except (ImportError, ValueError, RuntimeError):  # no kaleido, or no browser for it
            return ["figures.html (PNG files need the package kaleido and Chromium)"]
        for file in files:
            file.replace(output / file.name)
    return ["figures.html", *names]


def _page(panels: Sequence[Panel], title: str) -> str:
    """All panels on one self-contained page."""
    from app.figures.panels import figure
    from app.figures.style import OFFLINE, PRIVATE

    parts = [
        figure(panel).to_html(full_html=False, include_plotlyjs=number == 0, config=PRIVATE)
        + f"<p>{escape(panel.note)}</p>"
        for number, panel in enumerate(panels)
    ]
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{OFFLINE}">'
    head += f"<title>{escape(title)}</title><style>body{{font-family:sans-serif}}</style>"
    body = f"<h1>{escape(title)}</h1>{''.join(parts)}"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
