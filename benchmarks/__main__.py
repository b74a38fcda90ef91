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

Made by `make bench`. Times are the best of several runs after warming up; compare ratios, machines differ.
`python -m benchmarks SECTION` measures one section ({sections}) anew.

"""


class Wanted(NamedTuple):
    """Seconds for each chain, and whether files may be written."""

    seconds: float
    dry: bool


Section = Callable[[Wanted], list[str]]


def _of(module: str) -> Section:
    """A section by the name of its module, imported only when it is wanted: the dashboard's brings a browser."""
    return lambda wanted: list(import_module(f"benchmarks.{module}").report())


def _timed(module: str) -> Section:
    """The same, of chains that run for the seconds wanted."""
    return lambda wanted: list(import_module(f"benchmarks.{module}").report(wanted.seconds))


def _growth(wanted: Wanted) -> list[str]:
    """How costs grow, with a picture unless nothing may be written."""
    growth = import_module("benchmarks.growth")
    return list(growth.report(None if wanted.dry else growth.PICTURE))


SECTIONS: dict[str, Section] = {
    "engine": _of("engine"),
    "engine_peers": _of("engine_peers"),
    "growth": _growth,
    "search": _of("searching"),
    "samplers": _timed("sampling"),
    "accuracy": _timed("accuracy"),
    "peers": _timed("comparison"),
}
SECTIONS |= {name: _of(name) for name in ("dashboard", "boundaries", "steps", "posterior", "skewness")}
SECTIONS |= {name: _of(name) for name in ("budget", "redesign", "which_test", "gibbs_slice", "tall")}
LONG = ("stress", "faults", "load")  # a quarter of an hour each: measured when named
SECTIONS |= {name: _of(name) for name in LONG}


def usual() -> list[str]:
    """The sections of `make bench`."""
    return [name for name in SECTIONS if name not in LONG]


def machine() -> str:
    """The processor's name, where the system tells."""
    try:
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        return names[0].split(":")[1].strip()
    except (OSError, IndexError):
        return platform.processor() or "unknown processor"


def stamp() -> str:
    """When and on what."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("austerity", "numpy", "scipy", "numba"))
    return f"{date.today()}, {machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}."


def kept(text: str) -> dict[str, str]:
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
    parser.add_argument("--dry", action="store_true", help="print only, leave RESULTS.md as it is")
    given = parser.parse_args()
    unknown = [name for name in given.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]!r}: choose from {', '.join(SECTIONS)}")
    found = kept(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    wanted, names, start = Wanted(given.seconds, given.dry), given.sections or usual(), time.monotonic()
    failed = []
    for k, name in enumerate(names, 1):
        _progress(f"{name}, section {k} of {len(names)}", start)
        try:
            found[name] = "\n".join([*SECTIONS[name](wanted), stamp(), ""]) + "\n"
        except Exception:  # the others are measured all the same
            traceback.print_exc()
            failed.append(name)
            continue
        print(found[name], flush=True)
        if not given.dry:
            write(found)
    _progress("all done" if not failed else f"failed: {', '.join(failed)}", start)
    if failed:
        sys.exit(1)


def write(found: dict[str, str]) -> None:
    """RESULTS.md, with its sections in order."""
    text = "".join(f"<!-- {name} -->\n{found[name]}" for name in SECTIONS if name in found)
    RESULTS.write_text(TITLE.format(sections=", ".join(SECTIONS)) + text.rstrip() + "\n", encoding="utf-8")


def _progress(what: str, start: float) -> None:
    """On the standard error, so that the report alone can go to a file."""
    print(f"[{time.monotonic() - start:,.0f} s] {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
