"""Run measurements and write them into benchmarks/RESULTS.md: `python -m benchmarks [SECTION ...] [--seconds S]`."""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Callable
from datetime import date
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks import accuracy, comparison, engine, sampling, searching

RESULTS = Path(__file__).with_name("RESULTS.md")
SECTIONS: dict[str, Callable[[float], list[str]]] = {
    "engine": lambda seconds: engine.report(),
    "search": lambda seconds: searching.report(),
    "samplers": sampling.report,
    "accuracy": accuracy.report,
    "peers": comparison.report,
}
TITLE = """# Measurements

Made by `make bench`. Times are the best of several runs after warming up; compare ratios, machines differ.
`python -m benchmarks SECTION` measures one section ({sections}) anew.

"""


def _module(name: str) -> Callable[[float], list[str]]:
    """A section by the name of its module, imported only when it is wanted: the dashboard's brings a browser."""
    return lambda seconds: list(import_module(f"benchmarks.{name}").report())


SECTIONS |= {name: _module(name) for name in ("dashboard", "boundaries", "strata", "steps", "posterior")}
SECTIONS |= {name: _module(name) for name in ("budget", "redesign", "which_test", "gibbs_slice", "stress", "tall")}


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
        "sections", nargs="*", metavar="SECTION", help=f"some of: {', '.join(SECTIONS)}; all by default"
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each chain runs (default: %(default)g)")
    parser.add_argument("--dry", action="store_true", help="print only, leave RESULTS.md as it is")
    given = parser.parse_args()
    unknown = [name for name in given.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]!r}: choose from {', '.join(SECTIONS)}")
    found = kept(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in given.sections or SECTIONS:
        found[name] = "\n".join([*SECTIONS[name](given.seconds), stamp(), ""]) + "\n"
        print(found[name], flush=True)
        if not given.dry:
            text = TITLE.format(sections=", ".join(SECTIONS)) + "".join(
                f"<!-- {name} -->\n{found[name]}" for name in SECTIONS if name in found
            )
            RESULTS.write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
