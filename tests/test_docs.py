"""Examples in docstrings and in the README are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import designer
from app.cli import main
from samplers.config import SamplerConfig

ROOT = Path(__file__).parents[1]

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


def code_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def test_the_readme_s_python_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = code_blocks(ROOT / "README.md", "python")
    assert blocks
    for block in blocks:
        names: dict[str, object] = {}
        exec(compile(block, "README.md", "exec"), names)
        assert names["found"].best is not None


def test_the_readme_s_config_is_one():
    (block,) = code_blocks(ROOT / "README.md", "toml")
    config = SamplerConfig.from_toml(block, exact=True)
    assert config.data.path == "data.parquet"
    assert config.run.chains == 4


def test_the_readme_s_output_is_real(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert main(["design", str(ROOT / "examples" / "control_variate_trial.csv"), "--tolerance", "0.01"]) == 0
    shown = capsys.readouterr().out.splitlines()[:-1]  # the last line tells of rounding errors, which are the machine's
    assert len(shown) == 5
    assert "\n".join(shown) in text
