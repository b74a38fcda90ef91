"""What `make coverage` prints and writes: lines reached by the tests, by room, and the files with most lines missed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

WORST = 20  # files that are listed


def room(path: str) -> str:
    """`samplers/models/control/mode.py` is in the room samplers/models; `austerity/__init__.py` in austerity."""
    return "/".join(Path(path).parts[:2][: len(Path(path).parts) - 1])


def row(name: str, lines: int, missed: int) -> str:
    return f"| {name} | {lines:,} | {missed:,} | {100 * (1 - missed / max(lines, 1)):.1f}% |"


def summary(measured: dict[str, Any]) -> str:
    files = {name: file["summary"] for name, file in measured["files"].items()}
    lines, missed = Counter[str](), Counter[str]()
    for name, counts in files.items():
        for place in (room(name), "all"):
            lines[place] += counts["num_statements"]
            missed[place] += counts["missing_lines"]
    rooms = [row(place, lines[place], missed[place]) for place in sorted(lines.keys() - {"all"})]
    worst = sorted(files, key=lambda name: -files[name]["missing_lines"])[:WORST]
    head = ["| {} | lines | missed | reached |", "|---|--:|--:|--:|"]
    table = [head[0].format("room"), head[1], *rooms, row("**all**", lines["all"], missed["all"])]
    gaps = [row(name, files[name]["num_statements"], files[name]["missing_lines"]) for name in worst]
    return "\n".join([*table, "", head[0].format("file"), head[1], *gaps]) + "\n"


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    text = summary(json.loads(source.read_text(encoding="utf-8")))
    target.write_text(text, encoding="utf-8")
    print(text, end="")
