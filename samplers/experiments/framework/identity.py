"""What the numbers of a part depend on: the text of the code that computes them, settings, data and version."""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

PACKAGE = "samplers.experiments"


def identity(name: str, work: Callable[..., Any], settings: Any, fingerprints: Mapping[str, str]) -> str:
    """Of the parts of an experiment: changes with its code, but not with the words of its report."""
    known = [name, version("austerity"), repr(settings), *fingerprints.values(), reached(work)]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()


def reached(function: Callable[..., Any]) -> str:
    """The definitions that a function of an experiment's module uses by name, there and in this package's helpers.

    Code of the samplers and of the calculator belongs to the version. Comments do not count.
    """
    module = inspect.getmodule(function)
    assert module is not None
    if function.__name__ not in _definitions(module):  # made inside another function
        return inspect.getsource(function)
    texts: dict[tuple[str, str], str] = {}
    waiting = [(module, function.__name__)]
    while waiting:
        place, name = waiting.pop()
        key, node = (place.__name__, name), _definitions(place).get(name)
        if node is None or key in texts:
            continue
        if isinstance(node, ast.ImportFrom):
            if node.module and node.module.startswith(PACKAGE):
                original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
                waiting.append((import_module(node.module), original))
            continue
        texts[key] = ast.unparse(node)
        waiting += [(place, used.id) for used in ast.walk(node) if isinstance(used, ast.Name)]
    return "\n".join(texts[key] for key in sorted(texts))


@lru_cache(maxsize=64)
def _definitions(module: ModuleType) -> Mapping[str, ast.stmt]:
    """What a module defines or imports at its top level, by name."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {used.id: node for target in targets for used in ast.walk(target) if isinstance(used, ast.Name)}
    return found
