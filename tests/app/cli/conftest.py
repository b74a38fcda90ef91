"""What the tests of all commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line, given as words or as text to split; returns exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main([word for argument in arguments for word in str(argument).split()])
        except SystemExit as stop:  # of --help and --version
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def refused(run: Run) -> Callable[[str, str], None]:
    """refused(command, message): exit code 2, nothing on standard output, and one line that holds the message."""

    def check(command: str, message: str) -> None:
        code, out, err = run(command)
        assert (code, out) == (2, "")
        assert err.startswith("austerity: ")
        assert err.count("\n") == 1
        assert message in err

    return check


@pytest.fixture
def example() -> Path:
    """A bundled trial run, with N = 100,000."""
    return Path(__file__).parents[3] / "examples" / "logistic_trial.csv"
