"""What may be asked: the JSON object of a request becomes the options of a command, through the command's own parser.

Options that name files, and those whose work has no bound, are not offered. The pairs of a trial run come in the
request.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from app.cli import options as shared
from app.cli.commands import compare, delta, design, evaluate
from app.cli.options import Parser
from designer.core.errors import BadInput
from designer.core.files import shorten
from designer.pairs.trial_run import TrialRun

MOST_NUMBERS = 20_000  # pairs of a trial run, and numbers of any other list: what a page of the dashboard takes
COLUMNS = ("mu", "sigma", "log_ratio", "skew")
LISTS = {shared.numbers: (1, MOST_NUMBERS), shared.number_range: (1, 2), shared.three_numbers: (3, 3)}
TEST = ("m", "epsilon", "alpha", "growth")


class Question(NamedTuple):
    """A command that may be asked: its module, the options on offer, what it needs, and whether it takes pairs."""

    module: ModuleType
    options: tuple[str, ...]
    needs: tuple[str, ...]
    takes_trial: bool = True


QUESTIONS = {
    "evaluate": Question(evaluate, ("n_data", *TEST, "mu_std"), ("n_data", "m", "epsilon"), takes_trial=False),
    "delta": Question(delta, (*TEST, "rule", "skew", "normal"), ("trial", "m", "epsilon")),
    "design": Question(
        design,
        (
            *("tolerance", "criterion", "rule", "skew", "normal", "n_data", "acceptance", "spread", "m_low", "m_high"),
            *("alpha", "epsilon", "growth", "quantile", "fixed_m", "confidence", "cost"),
        ),
        ("tolerance",),
    ),
    "compare": Question(compare, ("tolerance", "m", "epsilon", "delta", "best", "range", "factor"), ("trial",)),
}


@cache
def parser_of(name: str) -> Parser:
    """The parser of a command alone."""
    commands = Parser(prog="austerity").add_subparsers(parser_class=Parser)
    QUESTIONS[name].module.add(commands)
    return commands.choices[name]


@cache
def actions_of(name: str) -> dict[str, argparse.Action]:
    """The options on offer, by the names they have in a request."""
    by_name = {
        option.lstrip("-").replace("-", "_"): action
        for action in parser_of(name)._actions
        for option in action.option_strings
    }
    return {option: by_name[option] for option in QUESTIONS[name].options}


def options_of(name: str, asked: Mapping[str, Any], folder: Path) -> argparse.Namespace:
    """The options of a command as a request gives them; a trial run is written into the folder."""
    question, actions = QUESTIONS[name], actions_of(name)
    names = [*(["trial"] if question.takes_trial else []), *actions]
    if unknown := [key for key in asked if key not in names]:
        raise BadInput(f"{shorten(unknown[0], 40)!r}: {name} has no such entry; it has {', '.join(names)}")
    words = [word for key, value in asked.items() if key != "trial" for word in _words(key, actions[key], value)]
    if missing := [key for key in question.needs if key not in asked]:
        raise BadInput(f"{missing[0]}: {name} needs this entry")
    if "trial" in asked:
        path = folder / "trial.npz"
        _trial(asked["trial"]).save(path)
        words.append(str(path))
    return parser_of(name).parse_args([*words, "--json", "--quiet"])


def _words(key: str, action: argparse.Action, value: Any) -> list[str]:
    """An entry of a request as words of a command line."""
    option = action.option_strings[-1]
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise BadInput(f"{key}: must be true or false")
        return [option] if value else []
    if action.type in LISTS:
        low, high = LISTS[action.type]
        values = value if isinstance(value, list) else [value]
        if not (low <= len(values) <= high and all(map(_is_number, values))):
            raise BadInput(f"{key}: must be {_counted(low, high)}")
        return [f"{option}={','.join(map(repr, values))}"]
    if action.type is not None:
        if not _is_number(value):
            raise BadInput(f"{key}: must be a number")
        return [f"{option}={value!r}"]
    if not isinstance(value, str) or len(value) > 100:
        raise BadInput(f"{key}: must be a word")
    return [f"{option}={value}"]


def _counted(low: int, high: int) -> str:
    return f"a list of {low if low == high else f'{low} to {high:,}'} numbers"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _trial(posted: Any) -> TrialRun:
    """The trial run of a request."""
    if not isinstance(posted, dict) or not {"n_data", "mu", "sigma"} <= posted.keys() <= {"n_data", *COLUMNS}:
        raise BadInput(f"trial: must have n_data, mu and sigma, and may have {' and '.join(COLUMNS[2:])}, nothing else")
    if not _is_number(posted["n_data"]):
        raise BadInput("trial.n_data: must be a number")
    for key in COLUMNS:
        column = posted.get(key, [])
        if not (isinstance(column, list) and len(column) <= MOST_NUMBERS and all(map(_is_number, column))):
            raise BadInput(f"trial.{key}: must be {_counted(1, MOST_NUMBERS)}, one of each pair")
    return TrialRun(**posted)
