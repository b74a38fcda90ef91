"""The command line as a whole: help, exit codes, how errors are reported, and what may lie in the current folder."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from app.cli.commands import evaluate
from app.cli.main import GROUPS, build_parser
from tests.commands import PATIENCE, austerity, finished

ROOT = Path(__file__).parents[3]
(COMMANDS,) = (a.choices for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
HEAVY = {"designer", "samplers", "numba", "numpy", "scipy", "pydantic", "streamlit", "plotly", "tqdm"}


# --- help -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_help_lists_every_command_in_a_group(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run("--help")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "usage: austerity COMMAND [options]"
    assert [line[:-1] for line in lines if line[:-1] in GROUPS] == list(GROUPS)
    assert [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in COMMANDS] == [*COMMANDS]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", [80, 120])
def test_help_of_a_command(run, monkeypatch, command, width):
    """What must be given, one sentence, every option with its default, an example that can be parsed."""
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(command, "--help")
    lines, parser = out.splitlines(), COMMANDS[command]
    assert code == 0
    assert lines[0].startswith(f"usage: austerity {command} ")
    assert lines[0].endswith(" [options]")
    assert lines[2] == parser.description
    assert lines[2].endswith(".")
    assert lines[-2] == "example:"
    words = lines[-1].split()
    assert words[:2] == ["austerity", command]
    build_parser().parse_args(words[1:])
    for action in parser._actions:
        if action.default not in (None, False, [], argparse.SUPPRESS):
            assert "(default: " in action.help, action.dest
        assert action.help, action.dest
        assert not action.required or not action.option_strings or f"{action.option_strings[-1]} " in lines[0]
    assert {"-h", "--json", "--quiet"} <= parser._option_string_actions.keys()


def test_an_option_means_the_same_in_every_command():
    """Each option takes the same kind of value everywhere, or the exceptions are listed here."""
    ranges = {"--m", "--epsilon", "--alpha", "--growth"}  # one value, or several to choose from
    names, kinds = {"--pairs"}, {"--seed", "--n-data", "--tolerance", "--rule", "--cost", "--output", "--json"}
    types: dict[str, set[object]] = {}
    for parser in COMMANDS.values():
        for option, action in parser._option_string_actions.items():
            types.setdefault(option, set()).add(getattr(action.type, "__name__", None))
    assert {option for option, found in types.items() if len(found) > 1} == ranges | names
    assert kinds <= types.keys()
    assert all(
        "-o" in parser._option_string_actions
        for parser in COMMANDS.values()
        if "--output" in parser._option_string_actions
    )


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["design", "--help"]])
def test_help_loads_nothing_heavy(words):
    code = (
        "import sys\n"
        "from app.cli.main import main\n"
        f"try: main({words!r})\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert "app.cli.main" in loaded
    assert HEAVY & {*loaded} == set()


def test_help_is_printed_where_greek_letters_cannot_be():
    ended = finished(austerity("evaluate", "--help"), env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "--epsilon \\u03b5" in ended.stdout


# --- the current folder -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Somebody's project with files that are named like our packages, and end any process that imports them."""
    for name in ("app", "designer", "samplers", "austerity"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the folder was imported')\n")
    return tmp_path


def test_files_named_like_our_packages_do_no_harm(folder, monkeypatch):
    monkeypatch.chdir(folder)
    ended = finished(austerity("evaluate", "--n-data", 1000, "--m", 100, "--epsilon", 0.05))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert finished(austerity("--version")).stdout.startswith("austerity ")
    ended = finished([sys.executable, "-m", "app.cli", "--version"])
    assert "app.py of the folder was imported" in ended.stderr  # so the files are a real danger


def test_the_installed_script_ignores_them_too(folder, tmp_path_factory, monkeypatch):
    """As pip writes it; tests/test_release.py installs the wheel."""
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["austerity"]
    module, _, function = entry.partition(":")
    script = tmp_path_factory.mktemp("bin") / "austerity"
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    script.chmod(0o755)
    monkeypatch.chdir(folder)
    ended = finished([str(script), "--version"])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("austerity ")


# --- errors and exit codes --------------------------------------------------------------------------------------------


def test_commands_that_do_not_exist(refused):
    refused("nonsense", "invalid choice: 'nonsense' (choose from ")
    refused("", "required: COMMAND (try: austerity --help)")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run nowhere.toml --output out", "nowhere.toml: cannot be read: No such file or directory"),
        ("evaluate --n-data 100 --m 1 --epsilon 0.1", "m = 1: must be a whole number"),
        ("evaluate --m 1", "required: --n-data"),
        ("nonsense", "invalid choice"),
    ],
)
def test_errors_are_json_too(run, command, message):
    code, out, err = run(command, "--json")
    assert code == 2
    assert list(json.loads(out)) == ["error"]
    assert message in json.loads(out)["error"]
    assert err == f"austerity: {json.loads(out)['error']}\n"


@pytest.mark.parametrize("command", ["evaluate --n-data 1000 --m 100 --epsilon 0.05", "--help", "evaluate --json"])
def test_a_reader_that_closes_the_pipe_ends_it_quietly(command):
    reading, writing = os.pipe()
    os.close(reading)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # as in a shell
    with open(writing, "w") as closed:
        ended = subprocess.run(
            austerity(*command.split()), stdout=closed, stderr=subprocess.PIPE, env=env, text=True, timeout=PATIENCE
        )
    has_error = command == "evaluate --json"  # which is reported on standard error
    assert ended.returncode == 128 + signal.SIGPIPE
    assert ended.stderr.count("\n") == has_error
    assert "Broken" not in ended.stderr


def test_an_output_that_cannot_be_written_is_one_line():
    command = austerity("evaluate", "--n-data", 1000, "--m", 100, "--epsilon", 0.05)
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert ended.returncode == 2
    assert ended.stderr == "austerity: the output cannot be written: No space left on device\n"


def test_no_memory_is_one_line(run, monkeypatch):
    monkeypatch.setattr(evaluate, "run", lambda _: np.empty(2**57))
    code, out, err = run("evaluate --json")
    assert code == 2
    assert err.startswith("austerity: not enough memory: Unable to allocate 1")
    assert err == f"austerity: {json.loads(out)['error']}\n"
    assert "--resume" not in err


def test_a_defect_shows_its_traceback(run, monkeypatch):
    def broken(_: argparse.Namespace) -> None:
        raise TypeError("a defect")

    monkeypatch.setattr(evaluate, "run", broken)
    with pytest.raises(TypeError, match="a defect"):
        run("evaluate")
