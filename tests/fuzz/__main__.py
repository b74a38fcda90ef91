"""Fuzz every parser and the calculator: `python -m tests.fuzz [--seconds 60] [TARGET ...]`, a process for each target.

With atheris (the extra `fuzz`) coverage leads the way; without it seeds are damaged at random, by another seed at every
run, which is printed. A crash, an answer that takes longer than 20 seconds or more than 2 GB of memory ends with an
error, and the input is kept in `--corpus`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.every import TARGETS, seeds_of

SLOWEST, MOST_MEGABYTES = 20, 2048


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the parsers and the calculator.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: %(default)s)")
    parser.add_argument("--corpus", type=Path, default=Path("build/fuzz"), help="kept here (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="as an earlier run printed it (default: 0, a new one)")
    parser.add_argument("--damage", action="store_true", help="damage seeds at random although there is atheris")
    options = parser.parse_args()
    if unknown := [name for name in options.targets if name not in TARGETS]:
        parser.error(f"unknown target {unknown[0]!r}: choose from {', '.join(TARGETS)}")
    driver = "coverage" if find_spec("atheris") and not options.damage else "damage"
    limits = [f"-max_total_time={options.seconds}", f"-timeout={SLOWEST}", f"-rss_limit_mb={MOST_MEGABYTES}"]
    limits.append(f"-seed={options.seed}")
    failed = [name for name in options.targets or TARGETS if not _fuzz(driver, name, options.corpus, limits)]
    print(f"failed: {', '.join(failed)}" if failed else "no target failed")
    return 1 if failed else 0


def _fuzz(driver: str, name: str, corpus: Path, limits: list[str]) -> bool:
    folder = corpus / name
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds_of(name)):
        (folder / f"seed-{number}").write_bytes(seed)
    command = [sys.executable, "-m", f"tests.fuzz.{driver}", name, str(folder)]
    print(f"{name}: {driver}", flush=True)
    return subprocess.run([*command, f"-artifact_prefix={corpus}/{name}-", *limits], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
