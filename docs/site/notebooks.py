"""A page as a notebook that runs from top to bottom in a clone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

BLOCK = re.compile(
    r"(?P<not_run><!-- not run: [^\n]+? -->\n+)?^```(?P<language>\w*)\n(?P<body>.*?)^```$"
    r"(?:\n+^```text\n(?P<printed>.*?)^```$)?",  # a block of text right after another block: what that prints
    re.S | re.M,
)
COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.M)
FILE_NAME = re.compile(r"# ([\w.-]+\.toml)\n")
PICTURE = re.compile(r'<picture>.*?<img alt="([^"]*)".*?</picture>', re.S)
LINK = re.compile(r"!?\[([^\[\]]*)\]\((?!https?:)([^()#\s]*)(?:#[\w-]*)?\)")
ABOUT = (
    "*To run this notebook, put it into a clone of austerity, beside the folder `examples`, and start Jupyter in the "
    "environment in which austerity is installed. Cells write their files beside it. The outputs below are those of "
    "the page; `…` stands for what differs from machine to machine, or was left out.*"
)


def notebook(text: str) -> str:
    r"""A page as a notebook: its words; its Python, configs and commands in cells to run, with the outputs it shows.

    Examples
    --------
    >>> page = "# Two\n\n```python\nprint(2)\n```\n\n```text\n2\n```\n\n```toml\n# a.toml\nb = 1\n```\n"
    >>> cells = json.loads(notebook(page))["cells"]
    >>> [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    ['print(2)', '%%writefile a.toml\n# a.toml\nb = 1']
    >>> cells[2]["outputs"]
    [{'output_type': 'stream', 'name': 'stdout', 'text': '2\n'}]
    >>> [cell["source"] for cell in json.loads(notebook("# Go\n\n```console\n$ austerity demo\n```\n"))["cells"]][2:]
    ['!austerity demo']
    """
    cells, last = [], 0
    for block in BLOCK.finditer(text):
        if code := list(_cells(block)):
            cells += [_words(text[last : block.start()]), *code]
            last = block.end() if block["language"] == "python" else block.end("body") + len("```")
    cells.append(_words(text[last:]))
    cells = [cell for cell in cells if cell["source"]]
    cells.insert(min(1, len(cells)), _words(ABOUT))
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    full = [dict(cell, id=f"cell-{k}") for k, cell in enumerate(cells)]
    return json.dumps({"cells": full, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _cells(block: re.Match[str]) -> Iterator[dict[str, Any]]:
    """What a block is in a notebook; nothing if it stays among the words."""
    body = block["body"]
    if block["not_run"]:
        return
    if block["language"] == "python":
        yield _code(body, block["printed"])
    elif block["language"] == "toml" and (named := FILE_NAME.match(body)):
        yield _code(f"%%writefile {named[1]}\n{body}")
    elif block["language"] == "console":
        for found in COMMAND.finditer(body):
            yield _code("!" + re.sub(r"\s*\\\n\s*", " ", found["command"]), found["shown"])


def _words(text: str) -> dict[str, Any]:
    """Text; what it refers to is named by its place in the clone, since a notebook may lie anywhere."""
    plain = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    plain = PICTURE.sub(r"*Picture on the page: \1.*", plain)
    return {"cell_type": "markdown", "metadata": {}, "source": LINK.sub(_named, plain).strip()}


def _named(link: re.Match[str]) -> str:
    if not link[2]:
        return link[1]
    path = link[2].removeprefix("../") if link[2].startswith("../") else f"docs/{link[2]}"
    return f"{link[1]} (`{path}`)"


def _code(text: str, shown: str | None = None) -> dict[str, Any]:
    outputs = [{"output_type": "stream", "name": "stdout", "text": shown}] if shown else []
    return {"cell_type": "code", "metadata": {}, "source": text.strip(), "outputs": outputs, "execution_count": None}
