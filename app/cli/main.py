"""The `austerity` command: options and exit codes. What the subcommands do is in `commands`."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any, NoReturn

from app.cli.commands import (
    app as serving,
)
from app.cli.commands import (
    boundary,
    budget,
    posterior,
    steps,
)
from app.cli.commands import (
    compare as comparing,
)
from app.cli.commands import (
    design as designing,
)
from app.cli.commands import (
    evaluate as engine,
)
from app.cli.commands import (
    experiment as experimenting,
)
from app.cli.commands import (
    pairs as posteriors,
)
from app.cli.commands import (
    run as sampling,
)
from app.cli.signals import Stopped, stopped_by_signals
from app.cli.terminal import Answer, in_words
from app.cli.terminal import integer_argument as whole
from app.cli.terminal import number_argument as number
from app.cli.terminal import numbers_argument as numbers
from designer.core.errors import BadInput
from designer.core.files import shorten


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    0: done; 1: the engine fails its check; 2: a problem, told in a line each; 129, 130, 141, 143: stopped by a lost
    terminal, by Ctrl-C, by a reader of the output who has seen enough (`| head`), by SIGTERM.
    """
    try:
        try:
            return _obey(arguments)
        finally:  # after --help, too, which leaves by an exception
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as problem:  # of the output: others have been told
        _write_no_more()
        if isinstance(problem, BrokenPipeError):
            return 128 + signal.SIGPIPE
        print(f"austerity: the output cannot be written: {problem.strerror}", file=sys.stderr)
        return 2


def _write_no_more() -> None:
    """Or Python would try again at its end to write what is left, and complain."""
    with suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:  # not a file of ours: nothing to do
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _obey(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if arguments is None:  # nobody else's warnings are here
        warnings.formatwarning = _warning_line
    options = argparse.Namespace()
    try:
        with stopped_by_signals():
            build_parser().parse_args(given, options)
            answer: Answer = options.command(options)
    except (BadInput, ArithmeticError, OSError, MemoryError) as problem:
        told = in_words(problem)
        if isinstance(problem, MemoryError) and sampling.can_go_on(options):
            told += "; what was saved is kept, --resume goes on"
        for line in told.splitlines():
            print(f"austerity: {line}", file=sys.stderr)
        if "--json" in given:
            print(json.dumps({"error": told}))
        return 2
    except KeyboardInterrupt as stopped:
        with suppress(OSError):  # of a terminal that is gone
            more = "; what there is is saved, --resume goes on" if sampling.can_go_on(options) else ""
            print(f"austerity: {str(stopped) or 'interrupted'}{more}", file=sys.stderr)
        return stopped.code if isinstance(stopped, Stopped) else 130
    _say(json.dumps(answer.data, allow_nan=False) if options.json else "\n".join(answer.lines))
    return answer.code


def _warning_line(message: Warning | str, *_: object, **__: object) -> str:
    return f"austerity: {message}\n"


def _say(text: str) -> None:
    """Print what the terminal's encoding may not have: Greek letters, or names of files that are no text."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, and takes `--mu-std -1,2` for numbers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = re.compile(r"^-\.?\d[\d.,eE+-]*$")

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{shorten(message, 1000)} (try: {self.prog} --help)")


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

    sub = command("evaluate", engine.evaluate, "Error and data use of one sequential test.")
    _design_options(sub)
    sub.add_argument(
        "--mu-std", default="0,0.5,1,2,5,10", help="standardised means, separated by commas (default: %(default)s)"
    )

    sub = command("delta", engine.delta, "Error in the acceptance probability for the pairs of a trial run.")
    sub.add_argument(
        "trial", metavar="TRIAL.csv", help="columns mu, sigma and perhaps log_ratio, skew; also .parquet, .npz"
    )
    _design_options(sub)
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")
    sub.add_argument("--skew", action="store_true", help="correct for the skewness recorded in the trial run")

    sub = command("design", designing.design, "The design of least cost for a tolerance on the acceptance error.")
    sub.add_argument("trial", metavar="TRIAL.csv", nargs="?", help="pairs of a trial run; not needed for worst-case")
    sub.add_argument("--tolerance", type=number, required=True, help="largest error allowed, by the criterion")
    sub.add_argument(
        "--criterion",
        default="average",
        help="average: mean |Delta| over the pairs (default); worst-case: E(0), needs no trial run; "
        "fixed-m: the papers' heuristic; quantile: a quantile of |Delta|",
    )
    sub.add_argument(
        "--acceptance", type=number, help="no trial run yet: make pairs at stationarity for this acceptance rate"
    )
    sub.add_argument("--spread", type=number, default=0.0, help="sd of log kappa of the pairs made up (default: 0)")
    sub.add_argument("--folds", type=whole, help="also check designs on pairs they were not made for, in so many parts")
    sub.add_argument("--output", metavar="FILE.toml", help="write the design here (or .json); nothing if infeasible")
    sub.add_argument("--table", metavar="FILE.csv", help="write all evaluated designs here")
    _search_options(sub)

    sub = command("frontier", designing.frontier, "Average, fixed-m and worst-case designs over many tolerances.")
    sub.add_argument("trial", metavar="TRIAL.csv", help="pairs the designs are made for")
    sub.add_argument("--test", metavar="FRESH.csv", help="fresh pairs to measure the designs on")
    tolerances = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
    sub.add_argument(
        "--tolerances", type=numbers, default=tolerances, help="separated by commas (default: 0.001 to 0.1)"
    )
    sub.add_argument("--output", metavar="FILE.csv", help="write the table here")
    _search_options(sub)

    sub = command("steps", steps.steps, "The step size of a random walk and its test, chosen together.")
    sub.add_argument("trial", metavar="TRIAL.csv", help="pairs of a random walk; its steps have relative size 1")
    sub.add_argument("--tolerance", type=number, required=True, help="largest mean |Delta|, at steps of size 1")
    sub.add_argument(
        "--at", metavar="SCALE=TRIAL.csv", action="append", default=[], help="pairs at another step; may be repeated"
    )
    sub.add_argument("--scales", type=numbers, help="relative steps to try, separated by commas (default: 0.25 to 2)")
    sub.add_argument(
        "--hold",
        default="jump",
        help="jump: error allowed in proportion to the squared jump, for the same bias (default); step: the same",
    )
    sub.add_argument(
        "--kappa-power",
        type=number,
        default=1.0,
        help="kappa grows like step^p: 1 (default); up to 3 with control variates; fitted if --at is given",
    )
    sub.add_argument("--n-data", type=whole, help="N, the number of data, if the file does not say")
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")
    sub.add_argument("--m-low", type=whole, help="smallest batch to consider (default: 500, less for small N)")
    sub.add_argument("--m-high", type=whole, help="largest batch to consider (default: N/2)")
    sub.add_argument(
        "--cost", type=numbers, help="a,b,c: a step costs a + b*data + c*looks (default: 0,2,0, likelihood evaluations)"
    )
    sub.add_argument("--skew", action="store_true", help="correct for the skewness recorded in the trial run")
    sub.add_argument("--output", metavar="FILE.toml", help="write the design of the best step here")
    sub.add_argument("--table", metavar="FILE.csv", help="write all steps here")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")

    sub = command("boundary", boundary.boundary, "The best possible stopping boundary, and how near the families come.")
    boundary.add_options(sub)

    sub = command("summary", designing.summary, "What the pairs of a trial run look like, and whether the theory fits.")
    sub.add_argument("trial", metavar="TRIAL.csv", help="pairs of a trial run")
    sub.add_argument("--n-data", type=whole, help="N, the number of data, if the file does not say")
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")
    sub.add_argument("--m", type=whole, default=500, help="batch for the check of normality (default: %(default)s)")
    sub.add_argument("--epsilon", type=number, default=0.05, help="threshold for it (default: %(default)s)")

    sub = command("posterior", posterior.posterior, "What a test does to the posterior, beside Theorem 1's bound.")
    sub.add_argument("trial", metavar="TRIAL.csv", help="pairs of an exact random walk")
    _design_options(sub)
    posterior.add_options(sub)

    sub = command("budget", budget.budget, "The epsilon, and the schedule of them, with the least risk in a time.")
    budget.add_options(sub)

    sub = command("compare", comparing.compare, "Which acceptance test costs least on the pairs of a trial run.")
    comparing.add_options(sub)

    sub = command("pairs", posteriors.pairs_of_posterior, "A trial run from the posterior of PyMC, Stan or NumPyro.")
    posteriors.add_options(sub)

    sub = command("trial", sampling.collect_trial, "Pairs of an exact chain of a config, as a trial run for `design`.")
    sub.add_argument(
        "config",
        metavar="CONFIG.toml|NAME",
        help="[model], [data], [proposal] and [run] of a run; or a built-in chain: e3, e3-control, e3-proxy, e4, e6",
    )
    sub.add_argument("--data", metavar="DIR", help="where the files of a built-in chain's data set are")
    sub.add_argument("--config-output", metavar="CONFIG.toml", help="write the whole config here, for `run`")
    sub.add_argument("--pairs", type=whole, default=100, help="how many (default: %(default)s)")
    sub.add_argument("--every", type=whole, default=10, help="steps from one to the next (default: %(default)s)")
    sub.add_argument("--seed", type=whole, help="instead of the config's")
    sub.add_argument("--output", metavar="TRIAL.csv", required=True, help="also .parquet or .npz")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    _cluster_option(sub)

    sub = command(
        "run", sampling.run_chains, "Run the chains of a config; --resume goes on with a run that was stopped."
    )
    sub.add_argument("config", metavar="CONFIG.toml", help="[test], [model], [data], [proposal] and [run]")
    sub.add_argument("--design", metavar="DESIGN.toml", help="fills in or replaces [test]")
    sub.add_argument("--output", metavar="DIR", required=True, help="checkpoints, and results.nc at the end")
    sub.add_argument("--chains", type=whole, help="instead of the config's")
    sub.add_argument("--draws", type=whole, help="instead of the config's; with --resume, a longer run")
    sub.add_argument("--seed", type=whole, help="instead of the config's")
    sub.add_argument("--resume", action="store_true", help="go on where the run in DIR was stopped")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    _cluster_option(sub)

    sub = command("audit", sampling.audit_chain, "Compare a test's decisions with exact ones, and with its design.")
    sub.add_argument("config", metavar="CONFIG.toml", help="[test], [model], [data], [proposal] and [run]")
    sub.add_argument("--design", metavar="DESIGN.toml", help="fills in or replaces [test]")
    sub.add_argument("--steps", type=whole, default=2000, help="steps of the chain (default: %(default)s)")
    sub.add_argument("--every", type=whole, default=4, help="steps from one exact decision to the next (default: 4)")
    sub.add_argument("--seed", type=whole, help="instead of the config's")

    sub = command("experiment", experimenting.run_named, "One of the papers' experiments: numbers, figures, finding.")
    sub.add_argument("name", metavar="NAME", help="e1 to e13, regimes, or list")
    sub.add_argument("--quick", action="store_true", help="a size that takes about a minute")
    sub.add_argument("--data", metavar="DIR", help="data sets in their own formats; else synthetic twins stand in")
    sub.add_argument("--data-set", metavar="NAME", help="instead of the default one: e6 has census and miniboone")
    sub.add_argument(
        "--download",
        action="store_true",
        help="fetch data sets that are not in DIR (default: the cache ~/.cache/austerity) from their public addresses",
    )
    sub.add_argument("--output", metavar="DIR", help="numbers, figures, and finished parts: a second run goes on there")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    sub.add_argument("--no-figures", action="store_true", help="numbers only")
    sub.add_argument("--progress-lines", action="store_true", help="progress as lines `share note`, for programs")
    _cluster_option(sub)

    sub = command("app", serving.serve_dashboard, "Serve the dashboard on this machine and open it in the browser.")
    sub.add_argument("--port", type=whole, default=8501, help="0: any free one (default: %(default)s)")
    sub.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    sub.add_argument("--no-browser", action="store_true", help="only serve, open nothing")

    command("selfcheck", engine.check_engine, "Compare the engine with its reference values on this machine.")
    command("demo", demonstrate, "A short tour: self-check, one test, one design.")
    return parser


def _search_options(sub: Parser) -> None:
    sub.add_argument("--n-data", type=whole, help="N, the number of data, if the file does not say")
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")
    sub.add_argument("--quantile", type=number, default=0.95, help="for --criterion quantile (default: %(default)s)")
    sub.add_argument("--fixed-m", type=whole, default=500, help="batch of the fixed-m designs (default: %(default)s)")
    sub.add_argument("--m-low", type=whole, help="smallest batch to consider (default: 500, less for small N)")
    sub.add_argument("--m-high", type=whole, help="largest batch to consider (default: N/2)")
    sub.add_argument("--alpha", type=numbers, default=[0.5, 1.0], help="one value, or a range as 0.5,1 (default)")
    sub.add_argument("--epsilon", type=numbers, default=[1e-6, 0.5], help="range to consider, as 1e-6,0.5 (default)")
    sub.add_argument("--growth", type=numbers, default=[1.0], help="growth factors to try, separated by commas")
    sub.add_argument(
        "--cost", type=numbers, help="a,b,c: minimise a + b*data + c*looks per step (default: 0,1,0, the data read)"
    )
    sub.add_argument("--skew", action="store_true", help="correct for the skewness recorded in the trial run")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    _cluster_option(sub)


def _cluster_option(sub: Parser) -> None:
    text = "let the workers of this Dask cluster do it, as tcp://host:8786: the same results (docs/cluster.md)"
    sub.add_argument("--cluster", metavar="ADDRESS", help=text)


def _design_options(sub: Parser) -> None:
    sub.add_argument("--design", metavar="DESIGN.toml", help="the test of this file, instead of the options below")
    sub.add_argument("--n-data", type=whole, help="N, the number of data, if no file says")
    sub.add_argument("--m", type=whole, help="data in the first batch, and in each one if growth is 1")
    sub.add_argument("--epsilon", type=number, help="stop when a decision's p-value is below this, in (0, 0.5]")
    sub.add_argument("--alpha", type=number, help="0.5: constant bounds (default) ... 1: O'Brien-Fleming")
    sub.add_argument("--growth", type=number, help="1: equal batches (default); from 1.05: looks grow by this")


def demonstrate(options: argparse.Namespace) -> Answer:
    """`austerity demo`."""
    checks = engine.check_engine(options)
    data: dict[str, Any] = {"selfcheck": checks.data}
    lines = ["The engine on this machine:", *checks.lines]
    for text in (
        "evaluate --n-data 12214 --m 500 --epsilon 0.05",
        "design --n-data 12214 --acceptance 0.5 --tolerance 0.02 --quiet",
    ):
        shown = build_parser().parse_args(text.split())
        answer: Answer = shown.command(shown)
        data[text.split()[0]] = answer.data
        lines += ["", f"$ austerity {text}", *answer.lines]
    return Answer(data, lines, checks.code)


if __name__ == "__main__":
    sys.exit(main())
