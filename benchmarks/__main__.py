"""Run all measurements and write benchmarks/RESULTS.md."""

from __future__ import annotations

import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks import engine, sampling, searching


def machine() -> str:
    """The processor's name, where the system tells."""
    try:
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        return names[0].split(":")[1].strip()
    except (OSError, IndexError):
        return platform.processor() or "unknown processor"


def main() -> None:
    packages = ", ".join(f"{name} {version(name)}" for name in ("austerity", "numpy", "scipy", "numba"))
    lines = [
        "# Measurements",
        "",
        "Made by `make bench`. Times are the best of several runs after warming up; compare ratios, machines differ.",
        "",
        f"{date.today()}, {machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}.",
        "",
    ]
    for part in (engine, searching, sampling):
        lines += part.report()
    text = "\n".join(lines).rstrip() + "\n"
    Path(__file__).with_name("RESULTS.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
