"""Content of the site beyond docs/: links as the site needs them, the library's reference, pages as notebooks."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import austerity

ROOT = Path(__file__).parents[2]
ELSEWHERE = {  # pages outside docs/, and their names on the site
    "benchmarks/RESULTS.md": "measurements.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
LINK = re.compile(r"\]\(((?:\.\./|docs/)?)([\w./-]+)(#[\w-]*)?\)")


def with_links(markdown: str, page: str) -> str:
    """The text of a page with links that lead to places on the site; a file that the site lacks is only named.

    Examples
    --------
    >>> with_links("[measured](../benchmarks/RESULTS.md#engine), [source](../designer/rule/levels.py)", "numerics.md")
    '[measured](measurements.md#engine), source (`designer/rule/levels.py`)'
    >>> with_links("[limits](docs/limits.md), [how](RELEASING.md)", "contributing.md")
    '[limits](limits.md), how (`RELEASING.md`)'
    """
    outside = page in ELSEWHERE.values()

    def moved(found: re.Match[str]) -> str:
        text, start, path, anchor = found[1], found[2], found[3], found[4] or ""
        if start == "docs/" and outside:
            return f"[{text}]({path}{anchor})"
        if not (start == "../" or outside):
            return found[0]
        if path in ELSEWHERE:
            return f"[{text}]({ELSEWHERE[path]}{anchor})"
        return f"[{text}](README.md)" if path == "README.md" else f"{text} (`{path}`)"

    return re.sub(r"\[([^\[\]]*)" + LINK.pattern, moved, markdown)


def public_names() -> dict[str, list[str]]:
    """Where every public name lives, by room."""
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in austerity.__all__:
        found = getattr(austerity, name)
        if not isinstance(found, ModuleType) and hasattr(found, "__module__"):
            home = found.__module__
            rooms[".".join(home.split(".")[:2])].append(f"{home}.{getattr(found, '__qualname__', name)}")
    return {room: sorted(rooms[room]) for room in sorted(rooms)}


def contents(rooms: dict[str, list[str]]) -> str:
    """The first page of the reference: every name, with a link."""
    lines = ["# The library", "", "`import austerity as au` offers every name on these pages.", ""]
    for room, paths in rooms.items():
        links = ", ".join(f"[{path.rpartition('.')[2]}]({room}.md#{path})" for path in paths)
        lines += [f"**[{room}]({room}.md)**: {links}", ""]
    return "\n".join(lines)


def described(room: str, paths: list[str]) -> str:
    """The page of a room: each name by its docstring."""
    return "\n".join([f"# {room}", "", *(f"::: {path}\n" for path in paths)])


def notebook(text: str) -> str:
    """A page as a notebook: its words, and its Python in cells to run.

    Examples
    --------
    >>> page = "# Two\\n\\n```python\\n1 + 1\\n```\\n"
    >>> [(cell["cell_type"], cell["source"]) for cell in json.loads(notebook(page))["cells"]]
    [('markdown', '# Two'), ('code', '1 + 1')]
    """
    cells, last = [], 0
    for block in FENCE.finditer(text):
        if block[1] == "python":
            cells += [_words(text[last : block.start()]), _code(block[2])]
            last = block.end()
    cells.append(_words(text[last:]))
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    full = [dict(cell, id=f"cell-{k}") for k, cell in enumerate(cell for cell in cells if cell["source"])]
    return json.dumps({"cells": full, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _words(text: str) -> dict[str, Any]:
    plain = re.sub(r"<!--.*?-->", "", text, flags=re.S).strip()
    return {"cell_type": "markdown", "metadata": {}, "source": plain}


def _code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": text.strip(), "outputs": [], "execution_count": None}
