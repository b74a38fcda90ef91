"""The `austerity` command. Each subcommand is a function from its arguments to a result dict and lines for people."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple, NoReturn

from designer.errors import BadInput, NumericalFailure


class Answer(NamedTuple):
    """What a command found: for programs (`--json`), for people, and the exit code."""

    data: dict[str, Any]
    lines: list[str]
    code: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, or 2 after one line per problem."""
    options = build_parser().parse_args(arguments)
    try:
        answer: Answer = options.command(options)
    except (BadInput, NumericalFailure, OSError) as problem:
        for line in str(problem).splitlines():
            print(f"austerity: {line}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("austerity: interrupted", file=sys.stderr)
        return 130
    print(json.dumps(answer.data, allow_nan=False) if options.json else "\n".join(answer.lines))
    return answer.code


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"austerity: {message} (try: {self.prog} --help)\n")


def build_parser() -> Parser:
    """All subcommands with their options."""
    parser = Parser(
        prog="austerity",
        description="Design and error analysis of sequential accept/reject tests for MCMC on tall data.",
    )
    parser.add_argument("--version", action="version", version=f"austerity {version('austerity')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    def command(name: str, function: Callable[[argparse.Namespace], Answer], text: str) -> Parser:
        sub: Parser = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=function)
        sub.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        return sub

    sub = command("evaluate", evaluate, "Error and data use of one sequential test.")
    _design_options(sub, n_data_required=True)
    sub.add_argument(
        "--mu-std", default="0,0.5,1,2,5,10", help="standardised means, separated by commas (default: %(default)s)"
    )

    sub = command("delta", delta, "Error in the acceptance probability for the pairs of a trial run.")
    sub.add_argument("trial", metavar="TRIAL.csv", help="columns mu, sigma and perhaps log_ratio, skew; also .parquet, .npz")
    _design_options(sub, n_data_required=False)
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")

    command("selfcheck", check_engine, "Compare the engine with its reference values on this machine.")
    command("demo", demonstrate, "A short tour on the bundled example.")
    return parser


def _design_options(sub: Parser, *, n_data_required: bool) -> None:
    sub.add_argument("--n-data", type=_integer, required=n_data_required, help="N, the number of data")
    sub.add_argument("--m", type=_integer, required=True, help="data in the first batch, and in each one if growth is 1")
    sub.add_argument("--epsilon", type=_number, required=True, help="stop when a decision's p-value is below this, in (0, 0.5]")
    sub.add_argument("--alpha", type=_number, default=0.5, help="0.5: constant bounds (default) ... 1: O'Brien-Fleming")
    sub.add_argument("--growth", type=_number, default=1.0, help="1: equal batches (default); from 1.05: looks grow by this")


def _integer(text: str) -> int:
    number = _number(text)
    if number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text) if text.lstrip("+-").isdigit() else int(number)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number - number != 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def evaluate(options: argparse.Namespace) -> Answer:
    """`austerity evaluate`."""
    from designer.plan import as_plan
    from designer.records import Design
    from designer.walk import characteristics

    design = Design(options.n_data, options.m, options.epsilon, options.alpha, options.growth)
    try:
        mu_std = [float(text) for text in options.mu_std.split(",")]
    except ValueError:
        raise BadInput(f"mu_std = {options.mu_std!r}: must be numbers separated by commas") from None
    curve = characteristics(design, mu_std)
    looks = as_plan(design).schedule.size
    data = {
        "looks": looks,
        "mu_std": curve.mu_std.tolist(),
        "error": curve.error.tolist(),
        "usage": curve.usage.tolist(),
        "estimate": curve.estimate,
    }
    rows = zip(curve.mu_std, curve.error, curve.usage, strict=True)
    lines = [
        f"N = {design.n_data:,}, m = {design.m:,}, epsilon = {design.epsilon:g}, alpha = {design.alpha:g}: {looks:,} looks",
        f"{'mu_std':>10} {'error':>12} {'data used':>12}",
        *(f"{mu:>10g} {error:>12.6f} {usage:>12.4%}" for mu, error, usage in rows),
        f"numerical error below {curve.estimate:.0e}",
    ]
    return Answer(data, lines)


def delta(options: argparse.Namespace) -> Answer:
    """`austerity delta`."""
    from designer.acceptance import acceptance, check_rule
    from designer.records import Design, TrialRun

    trial = TrialRun.load(options.trial, n_data=options.n_data)
    design = Design(trial.n_data, options.m, options.epsilon, options.alpha, options.growth)
    found = acceptance(design, trial, check_rule(options.rule))
    data = {
        "log_acceptance": trial.log_acceptance.tolist(),
        "kappa": trial.kappa.tolist(),
        "probability": found.probability.tolist(),
        "delta": found.delta.tolist(),
        "usage": found.usage.tolist(),
        "mean_abs_delta": found.mean_abs_delta,
        "mean_usage": found.mean_usage,
        "estimate": found.estimate,
    }
    lines = [
        f"{len(trial):,} pairs, N = {trial.n_data:,}; m = {design.m:,}, epsilon = {design.epsilon:g}, alpha = {design.alpha:g}",
        f"mean |error in the acceptance probability|  {found.mean_abs_delta:.6f}",
        f"largest                                     {abs(found.delta).max():.6f}",
        f"mean data used per step                     {found.mean_usage:.4%}",
        f"numerical error below {found.estimate:.0e}",
    ]
    return Answer(data, lines)


def check_engine(options: argparse.Namespace) -> Answer:
    """`austerity selfcheck`."""
    from designer.selfcheck import selfcheck

    checks = selfcheck()
    passed = all(check.passed for check in checks)
    data = {
        "passed": passed,
        "checks": [
            {"name": c.name, "difference": c.difference, "allowed": c.allowed, "passed": c.passed} for c in checks
        ],
    }
    lines = [
        *(f"{'ok  ' if c.passed else 'FAIL'}  {c.name:<36} {c.difference:.1e} (allowed {c.allowed:.0e})" for c in checks),
        "all checks passed" if passed else "the engine does not work correctly on this machine",
    ]
    return Answer(data, lines, 0 if passed else 1)


def demonstrate(options: argparse.Namespace) -> Answer:
    """`austerity demo`."""
    checks = check_engine(options)
    shown = ["evaluate", "--n-data", "12214", "--m", "500", "--epsilon", "0.05"]
    answer = evaluate(build_parser().parse_args(shown))
    lines = ["The engine on this machine:", *checks.lines, "", "$ austerity " + " ".join(shown), *answer.lines]
    return Answer({"selfcheck": checks.data, "evaluate": answer.data}, lines, checks.code)


if __name__ == "__main__":
    sys.exit(main())
