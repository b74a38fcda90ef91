"""`import austerity as au`: every public name, the same object wherever it is taken from, and a cheap import."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import austerity as au
import designer
import samplers

ROOT = Path(__file__).parent.parent


def loaded(statement: str) -> set[str]:
    """Modules in a fresh process after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(done.stdout.split())


def test_the_names_are_those_of_the_two_packages_and_none_is_in_both():
    assert set(designer.__all__) & set(samplers.__all__) == set()
    assert len(set(au.__all__)) == len(au.__all__)
    assert set(au.__all__) == {*designer.__all__, *samplers.__all__}
    assert set(au.__all__) <= set(dir(au))


@pytest.mark.parametrize("package", [designer, samplers], ids=lambda package: package.__name__)
def test_every_name_is_the_same_object_here_and_there(package):
    for name in package.__all__:
        value = getattr(au, name)
        assert value is getattr(package, name), name
        if not isinstance(value, ModuleType):
            assert value is getattr(sys.modules[value.__module__], name), f"{name} is defined elsewhere"
            assert value.__module__.split(".")[0] == package.__name__


def test_every_name_is_documented_and_listed_by_topic():
    for package in (designer, samplers):
        for name in package.__all__:
            assert inspect.getdoc(getattr(package, name)), name
    text = samplers.__doc__
    assert [name for name in samplers.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_unknown_names_are_refused():
    for package in (au, samplers):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = package.nothing
    assert not hasattr(au, "import_module")


def test_importing_it_loads_the_calculator_and_itself():
    assert loaded("import austerity") - loaded("import designer") == {"austerity", "samplers"}


def test_importing_the_samplers_loads_nothing_of_theirs():
    assert {name for name in loaded("import samplers") if name.startswith(("samplers.", "numpy", "designer"))} == set()
