"""Options that several commands share, as argparse parents, and the parser that they build on.

`designer` and `samplers` are imported inside functions only: `austerity --help` answers before they would have loaded.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from app.cli.errors import UsageError
from app.cli.terminal import CommandOutput, say

DATA_COST = "minimise a + b*data + c*looks per step (default: 0,1,0, the data read)"
BUILT_IN_NAMES = "e3, e3-control, e3-proxy, e4, e6, logistic, control, ica"  # a test compares them with the library
DATA_FOLDER = "folder with the data of a built-in chain (default: a synthetic twin)"
Run: TypeAlias = Callable[[argparse.Namespace], CommandOutput]
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help with `-o, --output FILE` on one line: Python before 3.13 repeats FILE."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {action.metavar or action.dest.upper()}"


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, reads `--mu-std -1,2` as numbers, and keeps its usage line short."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=HelpFormatter, **settings)
        self._negative_number_matcher = re.compile(r"^-\.?\d[\d.,eE+-]*$")

    def error(self, message: str) -> NoReturn:
        """Raise the mistake; `main` reports it."""
        from designer.core.files import shorten

        raise UsageError(f"{shorten(message, 1000)} (try: {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help also where the encoding lacks Greek letters."""
        say(message.rstrip("\n"), file)

    def group(self, title: str) -> argparse._ArgumentGroup:
        """The group of options with this title, which a parent may have begun."""
        for group in self._action_groups:
            if group.title == title:
                return group
        return self.add_argument_group(title)

    def format_help(self) -> str:
        """The help text; its usage line names only what must be given."""
        self.usage = self.usage or " ".join([self.prog, *self._needed(), "[options]"])
        return super().format_help()

    def _needed(self) -> list[str]:
        """What the usage line names: files and required options."""
        files, needed = [], []
        for action in self._actions:
            name = str(action.metavar or action.dest.upper())
            if not action.option_strings:
                files.append(name if action.required else f"[{name}]")
            elif action.required:
                needed.append(f"{action.option_strings[-1]} {name}")
        return files + needed


def add_command(commands: Commands, name: str, run: Run, summary: str, example: str, *parents: Parser) -> Parser:
    """Add a command with its one-line summary, an example for the end of its help, and the options of `parents`."""
    parser: Parser = commands.add_parser(
        name, help=summary, description=summary, epilog=f"example:\n  {example}", parents=[*parents, reporting()]
    )
    parser.set_defaults(run=run)
    return parser


# --- values -----------------------------------------------------------------------------------------------------------


def integer(text: str) -> int:
    """Read a whole number, also as 1e6, 1_000_000 or 1,000,000."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        text = text.replace(",", "")
    value = number(text)
    if value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text) if text.lstrip("+-").isdigit() else int(value)


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value - value != 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return value


def numbers(text: str) -> list[float]:
    """Read finite numbers separated by commas."""
    return [number(part) for part in text.split(",")]


def three_numbers(text: str) -> list[float]:
    """Read the a,b,c of `--cost`."""
    values = numbers(text)
    if len(values) != 3:
        raise argparse.ArgumentTypeError(f"{text!r} has {len(values)} numbers; must be three, such as 0,1,0")
    return values


def number_range(text: str) -> list[float]:
    """Read one value, or the two ends of a range."""
    values = numbers(text)
    if len(values) > 2:
        raise argparse.ArgumentTypeError(f"{text!r} has {len(values)} numbers; give one value, or two for a range")
    if values[0] > values[-1]:
        raise argparse.ArgumentTypeError(f"{text!r}: give the smaller end of the range first")
    return values


def chain_name(text: str) -> str:
    """The path of a config or the name of a built-in chain; a mistyped one is told before other options are missed."""
    if text not in BUILT_IN_NAMES.split(", ") and not (Path(text).suffix or Path(text).exists()):
        raise UsageError(f"{text}: no such file, and not a built-in chain ({BUILT_IN_NAMES})")
    return text


# --- parents ----------------------------------------------------------------------------------------------------------


def _parent() -> Parser:
    return Parser(add_help=False)


def reporting() -> Parser:
    """How a command talks: every command has these."""
    parent = _parent()
    group = parent.group("output")
    group.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    group.add_argument("--quiet", action="store_true", help="show no progress on standard error")
    return parent


def output_file(metavar: str, text: str, *, required: bool = False) -> Parser:
    """Where the main result goes."""
    parent = _parent()
    parent.group("output").add_argument("-o", "--output", metavar=metavar, required=required, help=text)
    return parent


def table_file(text: str) -> Parser:
    """Where a table goes, besides the main result."""
    parent = _parent()
    parent.group("output").add_argument("--table", metavar="FILE.csv", help=text)
    return parent


def data_size(text: str = "number of data N (default: as recorded in the trial run)") -> Parser:
    """N."""
    parent = _parent()
    parent.add_argument("--n-data", metavar="N", type=integer, help=text)
    return parent


def trial_run(text: str = "pairs of a trial run", *, optional: bool = False) -> Parser:
    """The file of a trial run, and N if the file does not record it."""
    parent = Parser(add_help=False, parents=[data_size()])
    text += "; also .parquet or .npz"
    parent.add_argument("trial", metavar="TRIAL.csv", nargs="?" if optional else None, help=text)
    return parent


def sequential_test() -> Parser:
    """One sequential test, from a file or knob by knob; `app.cli.resolve.chosen_design` reads it."""
    parent = _parent()
    group = parent.group("test")
    group.add_argument("--design", metavar="DESIGN.toml", help="read the test from this file (or .json)")
    group.add_argument("--m", type=integer, help="size of the first mini-batch; of every one if growth is 1")
    group.add_argument(
        "--epsilon", metavar="ε", type=number, help="decide once the p-value is below ε, in [1e-16, 0.5]"
    )
    group.add_argument(
        "--alpha", metavar="α", type=number, help="shape of the bounds: 0.5 constant, 1 O'Brien-Fleming (default: 0.5)"
    )
    group.add_argument(
        "--growth", type=number, help="factor by which looks grow, at least 1.05; 1: equal mini-batches (default: 1)"
    )
    return parent


def acceptance_rule() -> Parser:
    """How a chain accepts."""
    parent = _parent()
    parent.add_argument(
        "--rule", default="metropolis", help="acceptance rule, metropolis or barker (default: %(default)s)"
    )
    return parent


def dimension(least: str = "") -> Parser:
    """How many parameters the chain has; `least` says how many it must have."""
    parent = _parent()
    parent.add_argument(
        "--dimension", metavar="D", type=integer, help=f"number of parameters{least} (default: the large-D limit)"
    )
    return parent


def skewness() -> Parser:
    """Where predictions come from: None, each pair from the source that supports it; True or False, a theory."""
    parent = _parent()
    parent.add_argument(
        "--skew",
        action="store_const",
        const=True,
        help="predict by the normal theory with the recorded skewness, never by resampling",
    )
    parent.add_argument(
        "--normal",
        action="store_const",
        const=False,
        dest="skew",
        help="predict by the normal theory alone, even where the pairs' skewness or residuals contradict it",
    )
    return parent


def tolerance(text: str, default: float | None = None, *, required: bool | None = None) -> Parser:
    """The tolerance, required if there is no default, unless `required` says otherwise."""
    parent = _parent()
    needed = default is None if required is None else required
    parent.add_argument("--tolerance", type=number, required=needed, default=default, help=text)
    return parent


def step_cost(text: str) -> Parser:
    """The cost of a step."""
    parent = _parent()
    parent.add_argument("--cost", metavar="A,B,C", type=three_numbers, help=text)
    return parent


def batch_range() -> Parser:
    """The mini-batches that a search considers."""
    parent = _parent()
    group = parent.group("search")
    group.add_argument(
        "--m-low", metavar="M", type=integer, help="smallest mini-batch to consider (default: 500, or less for small N)"
    )
    group.add_argument("--m-high", metavar="M", type=integer, help="largest mini-batch to consider (default: N/2)")
    return parent


def confidence() -> Parser:
    """How sure a design must be."""
    parent = _parent()
    parent.group("search").add_argument(
        "--confidence",
        metavar="P",
        type=number,
        default=0.95,
        help="probability that the tolerance holds for all pairs of the chain, not only those of the trial run; 0.5: "
        "only for the pairs of the trial run (default: %(default)s)",
    )
    return parent


def search_space() -> Parser:
    """What `design` and `frontier` search; `app.cli.resolve.search_options` reads it."""
    parent = Parser(add_help=False, parents=[batch_range(), confidence()])
    group = parent.group("search")
    group.add_argument(
        "--alpha",
        metavar="LOW,HIGH",
        type=number_range,
        default=[0.5, 1.0],
        help="α to consider: a range, or one value (default: 0.5,1)",
    )
    group.add_argument(
        "--epsilon",
        metavar="LOW,HIGH",
        type=number_range,
        default=[1e-6, 0.5],
        help="ε to consider: a range, or one value (default: 1e-6,0.5)",
    )
    group.add_argument(
        "--growth", type=numbers, default=[1.0], help="growth factors to try, separated by commas (default: 1)"
    )
    group.add_argument(
        "--quantile", type=number, default=0.95, help="level for the criterion quantile (default: %(default)s)"
    )
    group.add_argument(
        "--fixed-m",
        metavar="M",
        type=integer,
        default=500,
        help="mini-batch for the criterion fixed-m (default: %(default)s)",
    )
    return parent


def formula() -> Parser:
    """A model of a table, instead of a config; `app.cli.resolve.table_config` reads it."""
    parent = _parent()
    group = parent.group("model of a table")
    group.add_argument("--formula", metavar="'Y ~ X'", help="response and terms, such as 'claims ~ age + C(region)'")
    group.add_argument(
        "--family",
        help="bernoulli, probit, cloglog, binomial, poisson, negative-binomial, gaussian, student-t, gamma or softmax "
        "(default: bernoulli)",
    )
    group.add_argument("--positive", metavar="VALUE", help="the value of the response that counts as 1, such as yes")
    group.add_argument("--weights", metavar="COLUMN", help="column, or expression, of the rows' weights")
    group.add_argument("--missing", help="refuse: rows without a value are an error; drop: leave them out")
    group.add_argument(
        "--prior",
        type=_prior,
        metavar="SD",
        help="standard deviation of a coefficient's prior, per standard deviation of its column; or flat (default)",
    )
    return parent


def _prior(text: str) -> float | str:
    """Read a standard deviation, or the word flat."""
    return text if text == "flat" else number(text)


def chain_config() -> Parser:
    """The config of a chain with a test, and the design to use in it."""
    parent = _parent()
    chains = f"or a built-in chain: {BUILT_IN_NAMES}; its test is exact unless --design gives another"
    parent.add_argument(
        "config",
        metavar="CONFIG.toml|NAME",
        type=chain_name,
        help=f"config with [test], [model], [data], [proposal], [run]; {chains}",
    )
    parent.add_argument(
        "--design", metavar="DESIGN.toml", help="replace the config's [test] with this design (or .json)"
    )
    parent.add_argument("--data", metavar="DIR", help=DATA_FOLDER)
    return parent


def seed(text: str = "seed of the random numbers (default: the config's)", default: int | None = None) -> Parser:
    """The seed."""
    parent = _parent()
    parent.add_argument("--seed", type=integer, default=default, help=text)
    return parent


def cluster() -> Parser:
    """Where the work is done."""
    parent = _parent()
    parent.group("computing").add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="let the workers of the Dask cluster at this address (tcp://host:8786) do the work; same results",
    )
    return parent
