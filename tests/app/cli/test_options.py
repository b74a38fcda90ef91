"""Values on the command line, and the parser that all commands share."""

from __future__ import annotations

import argparse

import pytest

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.options import Parser


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("1e6", 10**6), ("1_000_000", 10**6), ("1,000,000", 10**6), ("-3", -3), ("9" * 30, int("9" * 30))],
)
def test_whole_numbers(text, value):
    assert shared.integer(text) == value


@pytest.mark.parametrize("text", ["10.5", "1,00", "x", "", "inf", "nan", "1e999"])
def test_what_is_no_whole_number(text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not a (whole )?number"):
        shared.integer(text)


def test_lists_of_numbers():
    assert shared.numbers("0,-1,2e-3") == [0.0, -1.0, 0.002]
    assert shared.three_numbers("0,1,0") == [0.0, 1.0, 0.0]
    assert (shared.number_range("0.5,1"), shared.number_range("0.7")) == ([0.5, 1.0], [0.7])


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (shared.numbers, "1,,2", "'' is not a number"),
        (shared.three_numbers, "1,2", "'1,2' has 2 numbers; must be three"),
        (shared.number_range, "1,2,3", "'1,2,3' has 3 numbers; give one value, or two for a range"),
        (shared.number_range, "2,1", "give the smaller end of the range first"),
    ],
)
def test_lists_that_are_refused(read, text, message):
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        read(text)


def test_negative_numbers_are_values_and_not_options():
    parser = Parser(prog="p")
    parser.add_argument("--mu-std", type=shared.numbers)
    assert parser.parse_args(["--mu-std", "-1,2"]).mu_std == [-1.0, 2.0]
    assert parser.parse_args(["--mu-std", "-.5"]).mu_std == [-0.5]


def test_a_mistake_is_one_short_line():
    parser = Parser(prog="p")
    with pytest.raises(UsageError, match=r"^unrecognized arguments: x+… \(try: p --help\)$"):
        parser.parse_args(["x" * 5000])
    with pytest.raises(UsageError) as caught:
        parser.parse_args(["a\nb"])
    assert "\n" not in str(caught.value)


def test_a_group_that_a_parent_began_is_continued():
    parent = Parser(add_help=False)
    parent.group("output").add_argument("--json")
    parser = Parser(prog="p", parents=[parent])
    parser.group("output").add_argument("--table", required=True)
    parser.add_argument("trial", metavar="TRIAL.csv")
    text = parser.format_help()
    assert text.startswith("usage: p TRIAL.csv --table TABLE [options]\n")
    assert text.count("output:") == 1
    assert text.index("--json") < text.index("--table", text.index("output:"))
