"""Examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import designer

MODULES = [f"designer.{module.name}" for module in pkgutil.iter_modules(designer.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_there_are_examples_to_run():
    finder = doctest.DocTestFinder()
    examples = [e for name in MODULES for t in finder.find(importlib.import_module(name)) for e in t.examples]
    assert len(examples) > 10
