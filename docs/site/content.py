"""Content of the site beyond docs/: links and pictures as the site needs them, schemas, the library's reference."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import austerity
from app.cli.http import openapi

ROOT = Path(__file__).parents[2]
ELSEWHERE = {  # pages outside docs/, and their names on the site
    "benchmarks/RESULTS.md": "measurements.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
}
DESCRIBED = {  # JSON for programs, and its place on the site
    **{f"app/cli/schemas/1/{file.name}": f"schemas/1/{file.name}" for file in sorted(openapi.SCHEMAS.glob("*.json"))},
    "app/cli/http/openapi.py": "schemas/1/openapi.json",
}
PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">'
    r'\s*<img alt="(?P<alt>[^"]*)" src="(?P<light>[^"]+)">\s*</picture>'
)
LINK = re.compile(r"\]\(((?:\.\./|docs/)?)([\w./-]+)(#[\w-]*)?\)")


def with_links(markdown: str, page: str) -> str:
    """The text of a page with links that lead to places on the site; a file that the site lacks is only named.

    Examples
    --------
    >>> with_links("[measured](../benchmarks/RESULTS.md#engine), [source](../designer/rule/levels.py)", "numerics.md")
    '[measured](measurements.md#engine), source (`designer/rule/levels.py`)'
    >>> with_links("[limits](docs/limits.md), [how](RELEASING.md)", "contributing.md")
    '[limits](limits.md), how (`RELEASING.md`)'
    >>> with_links("[run](../app/cli/schemas/1/run.json)", "programs.md")
    '[run](schemas/1/run.json)'
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
        if path in DESCRIBED:
            return f"[{text}]({DESCRIBED[path]})"
        return f"[{text}](README.md)" if path == "README.md" else f"{text} (`{path}`)"

    return re.sub(r"\[([^\[\]]*)" + LINK.pattern, moved, markdown)


def with_themes(markdown: str) -> str:
    """The text of a page with pictures that follow the theme chosen on the site, not only that of the system.

    Examples
    --------
    >>> dark = '<source media="(prefers-color-scheme: dark)" srcset="b.png">'
    >>> print(with_themes(f'<picture>\\n{dark}\\n<img alt="A page" src="a.png">\\n</picture>'))
    ![A page](a.png#only-light)
    ![A page](b.png#only-dark)
    """
    return PICTURE.sub(r"![\g<alt>](\g<light>#only-light)\n![\g<alt>](\g<dark>#only-dark)", markdown)


def for_programs() -> dict[str, str]:
    """The JSON Schema of each command and the OpenAPI document, by their places on the site."""
    return {
        place: json.dumps(openapi.document(), indent=1, ensure_ascii=False)
        if path.endswith(".py")
        else (ROOT / path).read_text(encoding="utf-8")
        for path, place in DESCRIBED.items()
    }


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
