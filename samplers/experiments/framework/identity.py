"""The identity of stored numbers: a digest of the code that computes them, settings, data and version."""

from __future__ import annotations

import ast
import copy
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
    """The identity of an experiment's parts: it changes with their code, but not with the words of the report."""
    known = [name, version("austerity"), repr(settings), *fingerprints.values(), reached(work)]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()


def reached(function: Callable[..., Any]) -> str:
    """The source of all definitions that a function uses by name, in its module and in this package's helpers.

    Code of the samplers and of the calculator is covered by the version. Comments and docstrings do not count.
    """
    module = inspect.getmodule(function)
    assert module is not None
    if function.__name__ not in _definitions(module):  # defined inside another function
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
        texts[key] = ast.unparse(_without_docstring(node))
        waiting += [(place, used.id) for used in ast.walk(node) if isinstance(used, ast.Name)]
    return "\n".join(texts[key] for key in sorted(texts))


def _without_docstring(node: ast.stmt) -> ast.stmt:
    """A function or class without its docstrings; other statements as they are."""
    node = copy.deepcopy(node)
    for inner in ast.walk(node):
        if isinstance(inner, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(inner, clean=False) is not None:
            inner.body = inner.body[1:] or [ast.Pass()]
    return node


@lru_cache(maxsize=64)
def _definitions(module: ModuleType) -> Mapping[str, ast.stmt]:
    """The top-level definitions and imports of a module, by name."""
    statements: dict[str, ast.stmt] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            statements[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            statements |= {alias.asname or alias.name: node for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            statements |= {
                used.id: node for target in targets for used in ast.walk(target) if isinstance(used, ast.Name)
            }
    return statements
