"""Commands that the pages mention in their text exist, with the options that are named."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from app.cli.main import build_parser
from tests.documents import BLOCK, pages

(COMMANDS,) = (a.choices for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))


def mentioned(path: Path) -> list[list[str]]:
    """The words of every `austerity …` in the running text."""
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    return [shlex.split(code) for code in re.findall(r"`austerity ([^`]+)`", text.replace("\n", " "))]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_commands_and_their_options_exist(path):
    for command, *words in mentioned(path):
        assert command in COMMANDS
        options = {word.strip("[]").partition("=")[0] for word in words if word.strip("[").startswith("-")}
        assert options <= set(COMMANDS[command]._option_string_actions), (command, options)


def test_there_are_commands_to_check():
    assert sum(len(mentioned(path)) for path in pages()) > 30
