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


class Of(NamedTuple):
    """The section of a module, imported only when it is measured: the dashboard's brings a browser.

    Chains (`timed`) run for a given number of seconds.
    """

    module: str
    timed: bool = False

    def __call__(self, options: Options) -> list[str]:
        report = import_module(f"benchmarks.{self.module}").report
        return list(report(options.seconds) if self.timed else report())


def _league(options: Options) -> list[str]:
    """The stored figures of the league, which `make league` measures."""
    page, cells = import_module("benchmarks.league.page"), import_module("app.league.cells")
    return list(page.section(cells.load()))


def _trust(options: Options) -> list[str]:
    """All permanent cases, or some of them at a given size."""
    return list(import_module("benchmarks.samplers.trust").report(options.size))


def _budget(options: Options) -> list[str]:
    """On K14's digits, if they are given."""
    return list(import_module("benchmarks.search.budget").report(folder=options.folder))


def _twelve(options: Options) -> list[str]:
    """Published models, whose files are given."""
    return list(import_module("benchmarks.models.twelve").report(options.folder))


def _growth(options: Options) -> list[str]:
    """How costs grow, with a picture unless no files may be written."""
    growth = import_module("benchmarks.growth")
    return list(growth.report(None if options.dry else growth.PICTURE))


SECTIONS: dict[str, Section] = {
    "league": _league,
    "engine": Of("engine.curves"),
    "engine_peers": Of("engine.other_engines"),
    "growth": _growth,
    "search": Of("search.speed"),
    "coverage": Of("search.coverage"),
    "samplers": Of("samplers.speed", timed=True),
    "exact_minibatch": Of("samplers.exact_minibatch", timed=True),
    "dashboard": Of("dashboard.response"),
    "boundaries": Of("search.boundaries"),
    "steps": Of("search.steps"),
    "posterior": Of("samplers.posterior"),
    "skewness": Of("engine.skewness"),
    "small_batches": Of("engine.small_batches"),
    "budget": _budget,
    "redesign": Of("samplers.redesign"),
    "which_test": Of("samplers.which_test"),
    "gibbs_slice": Of("samplers.gibbs_slice"),
    "tall": Of("samplers.tall"),
    "need_i_sample": Of("samplers.need_i_sample"),
    "proposals": Of("samplers.proposals"),
    "lazy": Of("samplers.lazy"),
    "jax_rows": Of("samplers.jax_rows"),
    "trust": _trust,
    "flow": Of("samplers.flow"),
    "groups": Of("samplers.groups"),
    "audits": Of("samplers.audits"),
    "certify": Of("samplers.certify"),
    "families": Of("samplers.families"),
    "stress": Of("reliability.stress"),
    "faults": Of("reliability.faults"),
    "load": Of("reliability.load"),
    "twelve": _twelve,
}
# by module, for `python -m benchmarks.MODULE`
BY_MODULE = {section.module: name for name, section in SECTIONS.items() if isinstance(section, Of)}
BY_MODULE |= {
    "league": "league",
    "growth": "growth",
    "samplers.trust": "trust",
    "models.twelve": "twelve",
    "search.budget": "budget",
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
    parser.add_argument(
        "--from",
        dest="folder",
        metavar="FOLDER",
        help="twelve: where the published files are; budget: where the digits are (otherwise: a synthetic twin)",
    )
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
            when = [] if name == "league" else [stamp(), ""]  # its cells have their own
            texts[name] = "\n".join([*SECTIONS[name](options), *when]) + "\n"
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
