"""Run measurements and write them into benchmarks/RESULTS.md: `python -m benchmarks [SECTION ...] [--seconds S]`."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import time
import traceback
from collections.abc import Callable
from datetime import date
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).with_name("RESULTS.md")
TITLE = """# Measurements

Made by `make bench`. Times are the best of several runs after a warm-up; compare ratios, since machines differ.
`python -m benchmarks SECTION` measures one section again ({sections}).

"""


class Options(NamedTuple):
    """Seconds for each chain, whether to write no files, how many data the cases of `trust` have, a folder of files."""

    seconds: float
    dry: bool
    size: int | None = None
    folder: str | None = None


Section = Callable[[Options], list[str]]


def _of(module: str) -> Section:
    """The section of a module, imported only when it is measured: the dashboard's brings a browser."""
    return lambda options: list(import_module(f"benchmarks.{module}").report())


def _timed(module: str) -> Section:
    """The same for chains, which run for a given number of seconds."""
    return lambda options: list(import_module(f"benchmarks.{module}").report(options.seconds))


def _league(options: Options) -> list[str]:
    """The stored figures of the league, which `make league` measures."""
    page, cells = import_module("benchmarks.league.page"), import_module("app.league.cells")
    return list(page.section(cells.load()))


def _trust(options: Options) -> list[str]:
    """All permanent cases, or some of them at a given size."""
    return list(import_module("benchmarks.samplers.trust").report(options.size))


def _twelve(options: Options) -> list[str]:
    """Published models, whose files are given."""
    return list(import_module("benchmarks.models.twelve").report(options.folder))


def _growth(options: Options) -> list[str]:
    """How costs grow, with a picture unless no files may be written."""
    growth = import_module("benchmarks.growth")
    return list(growth.report(None if options.dry else growth.PICTURE))


SECTIONS: dict[str, Section] = {
    "league": _league,
    "engine": _of("engine.curves"),
    "engine_peers": _of("engine.other_engines"),
    "growth": _growth,
    "search": _of("search.speed"),
    "coverage": _of("search.coverage"),
    "samplers": _timed("samplers.speed"),
    "exact_minibatch": _timed("samplers.exact_minibatch"),
    "dashboard": _of("dashboard.response"),
    "boundaries": _of("search.boundaries"),
    "steps": _of("search.steps"),
    "posterior": _of("samplers.posterior"),
    "skewness": _of("engine.skewness"),
    "small_batches": _of("engine.small_batches"),
    "budget": _of("search.budget"),
    "redesign": _of("samplers.redesign"),
    "which_test": _of("samplers.which_test"),
    "gibbs_slice": _of("samplers.gibbs_slice"),
    "tall": _of("samplers.tall"),
    "need_i_sample": _of("samplers.need_i_sample"),
    "proposals": _of("samplers.proposals"),
    "lazy": _of("samplers.lazy"),
    "jax_rows": _of("samplers.jax_rows"),
    "trust": _trust,
    "flow": _of("samplers.flow"),
    "groups": _of("samplers.groups"),
    "audits": _of("samplers.audits"),
    "certify": _of("samplers.certify"),
    "families": _of("samplers.families"),
    "stress": _of("reliability.stress"),
    "faults": _of("reliability.faults"),
    "load": _of("reliability.load"),
    "twelve": _twelve,
}
# a quarter of an hour each: measured only when named
LONG = ("trust", "flow", "audits", "stress", "faults", "load", "twelve")


def usual() -> list[str]:
    """The sections of `make bench`."""
    return [name for name in SECTIONS if name not in LONG]


def machine() -> str:
    """The processor's name, if the system tells."""
    try:
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        return names[0].split(":")[1].strip()
    except (OSError, IndexError):
        return platform.processor() or "unknown processor"


def stamp() -> str:
    """Date, machine and versions."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("austerity", "numpy", "scipy", "numba"))
    return f"{date.today()}, {machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}."


def sections_of(text: str) -> dict[str, str]:
    """The sections of a RESULTS.md, by the marks before them."""
    parts = re.split(r"^<!-- (\w+) -->\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and accuracy.")
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"some of: {', '.join(SECTIONS)}; by default all but {', '.join(LONG)}",
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each chain runs (default: %(default)g)")
    parser.add_argument("--dry", action="store_true", help="print the results without writing RESULTS.md")
    parser.add_argument(
        "--size", type=int, metavar="N", help="trust: only some cases, with N data each, printed and not written"
    )
    parser.add_argument("--from", dest="folder", metavar="FOLDER", help="twelve: where the published files are")
    given = parser.parse_args()
    unknown = [name for name in given.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]!r}: choose from {', '.join(SECTIONS)}")
    texts = sections_of(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    dry = given.dry or given.size is not None
    options, names, start = (
        Options(given.seconds, dry, given.size, given.folder),
        given.sections or usual(),
        time.monotonic(),
    )
    failed = []
    for k, name in enumerate(names, 1):
        _progress(f"{name}, section {k} of {len(names)}", start)
        try:
            texts[name] = "\n".join([*SECTIONS[name](options), stamp(), ""]) + "\n"
        except Exception:  # the other sections are still measured
            traceback.print_exc()
            failed.append(name)
            continue
        print(texts[name], flush=True)
        if not dry:
            write(texts)
    _progress("all done" if not failed else f"failed: {', '.join(failed)}", start)
    if failed:
        sys.exit(1)


def write(texts: dict[str, str]) -> None:
    """Write RESULTS.md, with its sections in order."""
    text = "".join(f"<!-- {name} -->\n{texts[name]}" for name in SECTIONS if name in texts)
    RESULTS.write_text(TITLE.format(sections=", ".join(SECTIONS)) + text.rstrip() + "\n", encoding="utf-8")


def _progress(what: str, start: float) -> None:
    """Print to standard error, so that the report alone can go to a file."""
    print(f"[{time.monotonic() - start:,.0f} s] {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
