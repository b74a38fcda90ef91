"""Published texts of models: taken out of their files as they are, and run with data of our own.

The files belong to their projects and are not stored here. A `Source` says which file of which commit has the model,
the names of the functions or the marks of the notebook cells that define it, and the SHA-256 of the text that is taken.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from designer.core.errors import BadInput

MARK = 8  # first digits of the SHA-256 of a cell
REMOVED = {"ConstantData": "Data", "MutableData": "Data"}  # names of PyMC that are gone, and what they became
IDLE = ("sample", "model_to_graphviz")  # of PyMC: what a cell does besides defining its model


class Source(NamedTuple):
    """Where a model was published: repository, path, commit, and what of the file defines it."""

    repository: str
    path: str
    commit: str
    functions: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()  # the first digits of their SHA-256
    sha256: str = ""  # of everything that is taken

    @property
    def place(self) -> str:
        """Where the file belongs in the folder: its path under the repository's name."""
        return f"{self.repository.split('/')[1]}/{self.path}"


def missing(sources: Iterable[Source], folder: Path) -> list[str]:
    """The files that the folder has not, a line for each: what to get, and where to put it."""
    lines = {f"{each.place}: {each.path} of github.com/{each.repository} at commit {each.commit}" for each in sources
             if not (folder / each.place).is_file()}  # fmt: skip
    return sorted(lines)


def blocks(path: Path) -> list[str]:
    """The Python texts of a file: the whole of a module, or the code cells of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return ["".join(cell["source"]) for cell in cells]
    if path.suffix == ".md":
        cells = re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
        return [re.sub(r"\A(---\n.*?\n---\n|(:[^\n]*\n)+)", "", cell, flags=re.DOTALL).strip("\n") for cell in cells]
    return [text]


def taken(source: Source, folder: Path) -> str:
    """The text of the model, unmodified."""
    every, parts = blocks(folder / source.place), []
    for name in source.functions:
        found = [ast.get_source_segment(text, node) for text, node in _statements(every)
                 if isinstance(node, ast.FunctionDef) and node.name == name]  # fmt: skip
        parts.append(_only(found, f"function {name}", source))
    for mark in source.cells:
        parts.append(_only([text for text in every if sha256(text)[:MARK] == mark], f"cell {mark}", source))
    text = "\n\n".join(parts)
    if sha256(text) != source.sha256:
        raise BadInput(f"{source.place}: the text has SHA-256 {sha256(text)}, not {source.sha256}; is it that commit?")
    return text


def sha256(text: str) -> str:
    """Of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _only(found: list[Any], what: str, source: Source) -> str:
    if len(found) != 1:
        raise BadInput(f"{source.place}: has {len(found)} times {what}, not once; is it commit {source.commit}?")
    return str(found[0])


def _statements(texts: Iterable[str]) -> Iterable[tuple[str, ast.stmt]]:
    """The statements of the blocks; lines for the notebook's own commands are blanked, the others stay in place."""
    for text in texts:
        python = re.sub(r"^[ \t]*[%!].*$", "", text, flags=re.MULTILINE)
        yield from ((python, node) for node in ast.parse(python).body)


def executed(source: Source, folder: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """What the text defines, given its file's own imports and the data under the names that it uses.

    Only imports that the text needs are made. Sampling and drawing inside a cell do nothing, and names that PyMC has
    dropped mean what they became.
    """
    text = taken(source, folder)
    wanted = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    space: dict[str, Any] = {}
    for _, node in _statements(blocks(folder / source.place)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            node.names = [each for each in node.names if (each.asname or each.name.split(".")[0]) in wanted]
            if node.names:
                exec(compile(ast.Module([node], []), source.place, "exec"), space)
    if "pm" in space:
        space["pm"] = _Models(space["pm"])
    space.update(data)
    exec(compile(text, source.place, "exec"), space)
    return space


class _Models:
    """PyMC for the text of a cell."""

    def __init__(self, package: ModuleType) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        if name in IDLE:
            return lambda *args, **kwargs: None
        return getattr(self._package, name if hasattr(self._package, name) else REMOVED.get(name, name))
