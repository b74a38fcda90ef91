"""The commands in the how-to pages are ones that the command line takes, and the files they name are there."""

import re
import shlex
from pathlib import Path

import pytest

from app.cli import build_parser

ROOT = Path(__file__).parents[2]
PAGES = ("which_test", "pymc_stan_numpyro", "no_trial_run")


@pytest.mark.parametrize("name", PAGES)
def test_commands_are_understood(name):
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ austerity (.+)$", text, re.MULTILINE)
    assert commands
    for command in commands:
        words = shlex.split(command)
        assert build_parser().parse_args(words).command is not None
        assert all((ROOT / word).exists() for word in words if word.startswith("examples/"))
    for link in re.findall(r"\]\((\w+\.md)\)", text):
        assert (ROOT / "docs" / link).exists()
