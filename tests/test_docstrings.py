"""Every public name is documented as numpydoc asks, its parameters are the real ones, and its examples are true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pydoc
import re
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import samplers

ROOT = Path(__file__).parent.parent
PUBLIC = (
    "designer",
    "designer.pairs.examples",
    "designer.further",
    "samplers",
    "samplers.decide",
    "samplers.study.compare_tests",
    "samplers.study.best_tests",
    "samplers.chains.gibbs",
    "samplers.chains.gibbs_values",
    "samplers.fit",
    "samplers.models",
    "samplers.proposals",
    "samplers.data.sources",
    "samplers.study.step_trials",
)  # packages and modules whose `__all__` is what users build on
MAPS = {
    name: importlib.import_module(name)
    for name in ("designer", "designer.further", "samplers", "samplers.decide", "samplers.models")
}
DESCRIPTORS = (property, classmethod, cached_property)
SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Notes", "Examples")
EXAMPLES = [
    path
    for package in ("designer", "samplers", "app")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


def named(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def exported() -> dict[str, Any]:
    """Functions and classes by where users import them from, each once; not constants and type aliases."""
    found: dict[int, tuple[str, Any]] = {}
    for place in PUBLIC:
        module = importlib.import_module(place)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                found.setdefault(id(thing), (f"{place}.{name}", thing))
    return dict(found.values())


THINGS = exported()
METHODS = {
    f"{where}.{name}": member
    for where, thing in THINGS.items()
    if inspect.isclass(thing)
    for name, member in vars(thing).items()
    if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, DESCRIPTORS))
}


def sections(thing: Any) -> dict[str, list[str]]:
    """The lines of a docstring by section; those before the first one under an empty name."""
    found: dict[str, list[str]] = {"": []}
    here, lines = "", (inspect.getdoc(thing) or "").splitlines()
    for number, line in enumerate(lines):
        if line in SECTIONS and lines[number + 1 : number + 2] == ["-" * len(line)]:
            here = line
            found[here] = []
        elif not set(line) <= {"-"} or not line:
            found[here].append(line)
    return found


def documented(lines: list[str]) -> list[str]:
    """Names in a section of parameters: lines that are not indented, several names apart by commas."""
    heads = [line for line in lines if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def parameters(thing: Any) -> list[str]:
    """Those that a caller gives."""
    return [name for name in inspect.signature(thing).parameters if name not in {"self", "cls"}]


def takes_arguments(thing: Any) -> bool:
    """Not so a protocol, nor an error with nothing but a message."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return inspect.isfunction(thing.__init__)
    return not getattr(thing, "_is_protocol", False)


@pytest.mark.parametrize("place", PUBLIC)
def test_exports_are_there(place):
    module = importlib.import_module(place)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert missing == []
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(module.__all__) <= set(dir(module))


def test_names_that_are_imported_when_asked_for_are_the_exported_ones():
    assert sorted(samplers.__all__) == sorted([*samplers._MODULES, *samplers._WHOLE])
    assert all(getattr(samplers, name).__module__.startswith("samplers.") for name in samplers._MODULES)
    assert all(getattr(samplers, name).__name__ == module for name, module in samplers._WHOLE.items())
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = samplers.Nothing


def test_the_public_names_are_many():
    assert len(THINGS) > 130
    assert len(METHODS) > 150


def test_a_stale_docstring_would_be_noticed():
    def scaled(values, factor):
        """Multiply.

        Parameters
        ----------
        values, times
            To multiply, and how often.
        **more
            Nothing.
        """

    assert documented(sections(scaled)["Parameters"]) == ["values", "times", "more"]
    assert parameters(scaled) == ["values", "factor"]
    assert "Examples" not in sections(scaled)


@pytest.mark.parametrize("where", THINGS)
def test_a_summary_in_one_line(where):
    first, *rest = sections(THINGS[where])[""]
    assert first.endswith((".", "?", ")")) or rest[:1] == [""], first
    assert len(first) > 10


@pytest.mark.parametrize("where", [where for where, thing in THINGS.items() if takes_arguments(thing)])
def test_every_parameter_is_described_and_no_other(where):
    thing = THINGS[where]
    found = sections(thing)
    told = documented(found.get("Parameters", []) + found.get("Attributes", []))
    assert sorted(told) == sorted(parameters(thing))


@pytest.mark.parametrize("where", [where for where, thing in THINGS.items() if inspect.isfunction(thing)])
def test_what_a_function_returns_is_described(where):
    thing = THINGS[where]
    returns = inspect.signature(thing).return_annotation not in (None, "None")
    assert ("Returns" in sections(thing)) == returns


@pytest.mark.parametrize("where", THINGS)
def test_there_is_an_example(where):
    text = "\n".join(sections(THINGS[where]).get("Examples", []))
    if where == "samplers.Cluster":  # whose example needs a scheduler
        assert "with Cluster(" in text
    else:
        assert doctest.DocTestParser().get_examples(text)


@pytest.mark.parametrize("where", METHODS)
def test_methods_say_what_they_do_and_name_real_parameters(where):
    member = METHODS[where]
    assert member.__doc__
    if told := documented(sections(member).get("Parameters", [])):
        assert sorted(told) == sorted(parameters(member.__func__ if isinstance(member, classmethod) else member))


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_examples_are_true(path):
    result = doctest.testmod(importlib.import_module(named(path)))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("place", MAPS)
def test_the_page_of_a_package_shows_its_names(place):
    """What `python -m pydoc` prints: a map first, which names things that are there, and then all of them."""
    module = MAPS[place]
    page = pydoc.render_doc(module, renderer=pydoc.plaintext)
    for name in module.__all__:
        assert re.search(rf"\b{name}\b", page), name
    text = inspect.getdoc(module) or ""
    heads = [head for head in text.splitlines() if re.fullmatch(r"[\w, ]+", head) and not head.startswith(" ")]
    listed = {name.strip() for head in heads for name in head.split(",")}
    there = {*dir(module), *(path.stem for path in Path(module.__file__).parent.iterdir())}
    assert listed & there, "the map is empty"
    assert {name for name in listed if re.fullmatch(r"[A-Za-z_]\w*", name)} - there <= {"Examples"}


SCRIPT = '''
"""What a user writes: every public name, and a whole way through both packages."""

import numpy as np

from designer import Cost, Design, Plan, SearchResult, Space, TrialRun, acceptance, characteristics, search
from designer.further import Quantity, time_options, time_schedule
from samplers import Chain, Draws, Logistic, Model, Observed, RandomWalk, SequentialTest, audit, observe, run
{imports}


class Mean:
    def __init__(self, x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        self.x, self.n_data = x, x.size

    def log_prior(self, theta: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return 0.0

    def terms(self, theta, theta_new, indices):  # type: ignore[no-untyped-def]
        return self.x[indices] * (theta_new - theta)


def design(trial: TrialRun) -> Design:
    found: SearchResult = search(trial, tolerance=0.01, space=Space(m_low=500), cost=Cost(per_datum=2.0))
    assert found.best is not None
    return found.best


rng = np.random.default_rng(1)
trial = TrialRun.at_stationarity(20_000, 0.5, 40, rng)
test = design(trial)
delta: float = acceptance(test, trial).mean_abs_delta
estimate: float = characteristics(test, [0.0, 1.0]).estimate
x = rng.standard_normal((20_000, 3))
model: Model = Logistic.from_data(x, x[:, 0] > 0.0)
chain = Chain(model, RandomWalk.isotropic(0.1, 3), SequentialTest.from_design(test), np.zeros(3), rng)
seen: Observed = observe(chain, 100)
agrees: bool = audit(test, seen, 20_000).agrees
draws: list[Draws] = run(
    Mean(x[:, 0]), RandomWalk.isotropic(0.1, 1), SequentialTest.from_design(test), start=[0.0], draws=10
)
plan = time_schedule(time_options(trial, Cost(per_datum=1e-8), Quantity(100.0, 0.3)), 10.0)
risk: float = plan.risk
'''


def test_users_code_is_type_checked(tmp_path):
    """mypy --strict, as a user has it, sees the types of the installed packages, and every mistake in their use."""
    imports = "\n".join(
        f"from {place} import {name} as {place.replace('.', '_')}_{name}"
        for place in PUBLIC
        for name in importlib.import_module(place).__all__
    )
    (tmp_path / "good.py").write_text(SCRIPT.replace("{imports}", imports))
    if (known := ROOT / ".mypy_cache").is_dir():  # of `make lint`: what is known of other packages is read, not made
        shutil.copytree(known, tmp_path / "cache")
    (tmp_path / "bad.py").write_text("from designer import Design\n\nDesign(1000, 'ten', 0.05)\nDesign(1000, 10).n\n")
    options = ("--strict", "--config-file", os.devnull, "--cache-dir", str(tmp_path / "cache"))
    outside = {name: value for name, value in os.environ.items() if name not in {"MYPYPATH", "PYTHONPATH"}}
    command = [sys.executable, "-m", "mypy", *options, "good.py", "bad.py"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=outside, timeout=300)
    complaints = re.findall(r"^(\w+)\.py:\d+: error: .* \[([a-z-]+)\]$", found.stdout, re.MULTILINE)
    expected = [("bad", kind) for kind in ("arg-type", "attr-defined", "call-arg")]
    assert sorted(complaints) == expected, found.stdout + found.stderr
    assert "Found 3 errors in 1 file" in found.stdout
