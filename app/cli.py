"""The `austerity` command. Each subcommand is a function from its arguments to a result dict and lines for people."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from designer.errors import BadInput, NumericalFailure, integer
from designer.files import write_whole

if TYPE_CHECKING:
    from designer.records import TrialRun
    from designer.search import Evaluated, SearchResult
    from samplers.chain import Progress


class Show(Protocol):
    """Draws a progress bar."""

    def __call__(self, done: int, total: int, note: str = "", /) -> None: ...


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
    """A parser that reports a mistake in one line, and takes `--mu-std -1,2` for numbers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = re.compile(r"^-\.?\d[\d.,eE+-]*$")

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
    sub.add_argument(
        "trial", metavar="TRIAL.csv", help="columns mu, sigma and perhaps log_ratio, skew; also .parquet, .npz"
    )
    _design_options(sub, n_data_required=False)
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")

    sub = command("design", design, "The design of least cost for a tolerance on the acceptance error.")
    sub.add_argument("trial", metavar="TRIAL.csv", nargs="?", help="pairs of a trial run; not needed for worst-case")
    sub.add_argument("--n-data", type=_integer, help="N, the number of data, if the file does not say")
    sub.add_argument("--tolerance", type=_number, required=True, help="largest error allowed, by the criterion")
    sub.add_argument(
        "--criterion",
        default="average",
        help="average: mean |Delta| over the pairs (default); worst-case: E(0), needs no trial run; "
        "fixed-m: the papers' heuristic; quantile: a quantile of |Delta|",
    )
    sub.add_argument(
        "--acceptance", type=_number, help="no trial run yet: make pairs at stationarity for this acceptance rate"
    )
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")
    sub.add_argument("--quantile", type=_number, default=0.95, help="for --criterion quantile (default: %(default)s)")
    sub.add_argument("--fixed-m", type=_integer, default=500, help="for --criterion fixed-m (default: %(default)s)")
    sub.add_argument("--m-low", type=_integer, help="smallest batch to consider (default: 500, less for small N)")
    sub.add_argument("--m-high", type=_integer, help="largest batch to consider (default: N/2)")
    sub.add_argument("--alpha", type=_numbers, default=[0.5, 1.0], help="one value, or a range as 0.5,1 (default)")
    sub.add_argument("--epsilon", type=_numbers, default=[1e-6, 0.5], help="range to consider, as 1e-6,0.5 (default)")
    sub.add_argument("--growth", type=_numbers, default=[1.0], help="growth factors to try, separated by commas")
    sub.add_argument(
        "--cost", type=_numbers, help="a,b,c: minimise a + b*data + c*looks per step (default: 0,1,0, the data read)"
    )
    sub.add_argument("--output", metavar="FILE.toml", help="write the design here; nothing is written if infeasible")
    sub.add_argument("--table", metavar="FILE.csv", help="write all evaluated designs here")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")

    sub = command("trial", collect_trial, "Pairs of an exact chain of a config, as a trial run for `design`.")
    sub.add_argument("config", metavar="CONFIG.toml", help="[model], [data], [proposal] and [run] of a run")
    sub.add_argument("--pairs", type=_integer, default=100, help="how many (default: %(default)s)")
    sub.add_argument("--every", type=_integer, default=10, help="steps from one to the next (default: %(default)s)")
    sub.add_argument("--seed", type=_integer, help="instead of the config's")
    sub.add_argument("--output", metavar="TRIAL.csv", required=True, help="also .parquet or .npz")

    sub = command("run", run_chains, "Run the chains of a config; --resume goes on with a run that was stopped.")
    sub.add_argument("config", metavar="CONFIG.toml", help="[test], [model], [data], [proposal] and [run]")
    sub.add_argument("--design", metavar="DESIGN.toml", help="fills in or replaces [test]")
    sub.add_argument("--output", metavar="DIR", required=True, help="checkpoints, and results.nc at the end")
    sub.add_argument("--chains", type=_integer, help="instead of the config's")
    sub.add_argument("--draws", type=_integer, help="instead of the config's; with --resume, a longer run")
    sub.add_argument("--seed", type=_integer, help="instead of the config's")
    sub.add_argument("--resume", action="store_true", help="go on where the run in DIR was stopped")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")

    command("selfcheck", check_engine, "Compare the engine with its reference values on this machine.")
    command("demo", demonstrate, "A short tour on the bundled example.")
    return parser


def _design_options(sub: Parser, *, n_data_required: bool) -> None:
    sub.add_argument("--n-data", type=_integer, required=n_data_required, help="N, the number of data")
    sub.add_argument(
        "--m", type=_integer, required=True, help="data in the first batch, and in each one if growth is 1"
    )
    sub.add_argument(
        "--epsilon", type=_number, required=True, help="stop when a decision's p-value is below this, in (0, 0.5]"
    )
    sub.add_argument("--alpha", type=_number, default=0.5, help="0.5: constant bounds (default) ... 1: O'Brien-Fleming")
    sub.add_argument(
        "--growth", type=_number, default=1.0, help="1: equal batches (default); from 1.05: looks grow by this"
    )


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


def _numbers(text: str) -> list[float]:
    return [_number(part) for part in text.split(",")]


def evaluate(options: argparse.Namespace) -> Answer:
    """`austerity evaluate`."""
    from designer.plan import as_plan
    from designer.records import Design
    from designer.walk import characteristics

    test = Design(options.n_data, options.m, options.epsilon, options.alpha, options.growth)
    try:
        mu_std = [float(text) for text in options.mu_std.split(",")]
    except ValueError:
        raise BadInput(f"mu_std = {options.mu_std!r}: must be numbers separated by commas") from None
    curve = characteristics(test, mu_std)
    looks = as_plan(test).schedule.size
    data = {
        "looks": looks,
        "mu_std": curve.mu_std.tolist(),
        "error": curve.error.tolist(),
        "usage": curve.usage.tolist(),
        "estimate": curve.estimate,
    }
    rows = zip(curve.mu_std, curve.error, curve.usage, strict=True)
    lines = [
        f"N = {test.n_data:,}, m = {test.m:,}, epsilon = {test.epsilon:g}, alpha = {test.alpha:g}: {looks:,} looks",
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
    test = Design(trial.n_data, options.m, options.epsilon, options.alpha, options.growth)
    found = acceptance(test, trial, check_rule(options.rule))
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
        f"{len(trial):,} pairs, N = {test.n_data:,}; m = {test.m:,}, epsilon = {test.epsilon:g}, alpha {test.alpha:g}",
        f"mean |error in the acceptance probability|  {found.mean_abs_delta:.6f}",
        f"largest                                     {abs(found.delta).max():.6f}",
        f"mean data used per step                     {found.mean_usage:.4%}",
        f"numerical error below {found.estimate:.0e}",
    ]
    return Answer(data, lines)


def design(options: argparse.Namespace) -> Answer:
    """`austerity design`."""
    from designer.acceptance import check_rule
    from designer.criteria import Cost, check_criterion
    from designer.search import search
    from designer.space import Space

    criterion, rule = check_criterion(options.criterion), check_rule(options.rule)
    trial = _trial(options)
    if options.cost is not None and len(options.cost) != 3:
        raise BadInput(f"cost: {len(options.cost)} numbers given; must be three, as 0,1,0")
    for name in ("alpha", "epsilon"):
        if len(getattr(options, name)) > 2:
            raise BadInput(f"{name}: give one value, or two for a range")
    space = Space(
        options.m_low,
        options.m_high,
        (options.alpha[0], options.alpha[-1]),
        tuple(options.growth),
        (options.epsilon[0], options.epsilon[-1]),
    )
    with _progress(quiet=options.quiet or options.json) as progress:
        found = search(
            trial,
            options.tolerance,
            criterion,
            n_data=options.n_data if trial is None else None,
            space=space,
            fixed_m=options.fixed_m,
            cost=None if options.cost is None else Cost(*options.cost),
            rule=rule,
            quantile=options.quantile,
            progress=progress,
        )
    if options.table:
        write_table(options.table, found.evaluated)
    if found.best is None:
        data = {"feasible": False, "design": None, "reason": found.reason, "nearest_tolerance": found.nearest_tolerance}
        return Answer(data | {"evaluated": len(found.evaluated)}, [f"infeasible: {found.reason}"])
    if options.output:
        write_whole(options.output, found.best.to_toml())
    return _design_answer(found, trial, options)


def _trial(options: argparse.Namespace) -> TrialRun | None:
    """The trial run named on the command line, or one made for an acceptance rate, or none."""
    import numpy as np

    from designer.records import TrialRun

    if options.trial is not None and options.acceptance is not None:
        raise BadInput("give a trial run or --acceptance, not both")
    if options.trial is not None:
        return TrialRun.load(options.trial, n_data=options.n_data)
    if options.acceptance is not None:
        if options.n_data is None:
            raise BadInput("--acceptance needs --n-data")
        return TrialRun.at_stationarity(options.n_data, options.acceptance, 400, np.random.default_rng(0))
    return None


def _design_answer(found: SearchResult, trial: TrialRun | None, options: argparse.Namespace) -> Answer:
    import numpy as np

    from designer.resample import bootstrap

    best = found.best
    assert best is not None and best.predicted is not None
    data: dict[str, Any] = {
        "feasible": True,
        "design": {key: getattr(best, key) for key in ("n_data", "m", "epsilon", "alpha", "growth")},
        "criterion": found.criterion,
        "tolerance": found.tolerance,
        "error": found.error,
        "mean_abs_delta": best.predicted.mean_abs_delta,
        "mean_usage": best.predicted.mean_usage,
        "worst_error": best.predicted.worst_error,
        "worst_usage": best.predicted.worst_usage,
        "estimate": best.predicted.estimate,
        "looks": found.looks,
        "cost": found.cost,
        "evaluated": len(found.evaluated),
    }
    lines = [
        f"N = {best.n_data:,}: m = {best.m:,}, epsilon = {best.epsilon:g}, alpha = {best.alpha:g}, "
        f"growth = {best.growth:g}",
        f"error, {found.criterion:<14}  {found.error:.4g}  (tolerance {found.tolerance:g})",
    ]
    if trial is not None:
        band = bootstrap(np.random.default_rng(0), best, trial, rule=options.rule)
        data |= {"mean_abs_delta_band": list(band.error[1:]), "mean_usage_band": list(band.usage[1:])}
        data["warning"] = band.warning(found.tolerance) if found.criterion != "worst-case" else None
        lines += [
            f"mean |Delta|           {band.error.value:.4g}  (95% band {band.error.low:.4g} to {band.error.high:.4g})",
            f"data used per step     {band.usage.value:.2%}  (95% band {band.usage.low:.2%} to {band.usage.high:.2%})",
        ]
        if data["warning"]:
            lines.append(f"warning: {data['warning']}")
    lines.append(
        f"worst case             error {best.predicted.worst_error:.4f}, data {best.predicted.worst_usage:.4%}"
    )
    lines.append(f"{len(found.evaluated):,} designs evaluated; numerical error below {best.predicted.estimate:.0e}")
    if options.output:
        lines.append(f"written to {options.output}")
    return Answer(data, lines)


def collect_trial(options: argparse.Namespace) -> Answer:
    """`austerity trial`."""
    from designer.diagnostics import summarise
    from samplers.config import SamplerConfig
    from samplers.runner import collect_pairs

    config = SamplerConfig.load(options.config, exact=True, **_given(options, "seed"))
    trial = collect_pairs(config, integer("pairs", options.pairs, 1, 10**6), integer("every", options.every, 1, 10**6))
    trial.save(options.output)
    summary = summarise(trial)
    data = {"pairs": len(trial), "n_data": trial.n_data, "digest": trial.digest, "remarks": summary.remarks}
    lines = [
        f"{len(trial):,} pairs, N = {trial.n_data:,}: acceptance {summary.probability.mean:.3f}, "
        f"kappa {summary.kappa.mean:.4g} ± {summary.kappa.sd:.2g}",
        *summary.remarks,
        f"written to {options.output}",
    ]
    return Answer(data, lines)


def run_chains(options: argparse.Namespace) -> Answer:
    """`austerity run`."""
    from designer.records import Design
    from samplers.config import SamplerConfig
    from samplers.results import summary, to_netcdf
    from samplers.runner import run_config

    test = None if options.design is None else Design.from_toml(Path(options.design).read_text(encoding="utf-8"))
    config = SamplerConfig.load(options.config, test, **_given(options, "chains", "draws", "seed"))
    with _progress(quiet=options.quiet or options.json) as show:
        results = run_config(config, options.output, resume=options.resume, progress=_steps(show))
    target = Path(options.output) / "results.nc"
    to_netcdf(results, target)
    found, stats = summary(results), results["sample_stats"]
    used = float(stats["n_used"].mean())
    data = {
        "chains": found.chains,
        "draws": found.draws,
        "acceptance": float(stats["accepted"].mean()),
        "data_per_step": used,
        "summary": [row._asdict() for row in found.rows],
        "results": str(target),
    }
    lines = [
        f"{found.chains} chains of {found.draws:,} draws: acceptance {data['acceptance']:.3f}, {used:,.0f} data per step",
        found.text(),
        f"written to {target}",
    ]
    return Answer(data, lines)


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options among `names` that were given."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _steps(show: Show | None) -> Callable[[Progress], None] | None:
    """Show the progress of chains, a few times a second."""
    if show is None:
        return None
    shown = [0.0]

    def tell(progress: Progress) -> None:
        if progress.seconds - shown[0] >= 0.2 or progress.done == progress.total:
            shown[0] = progress.seconds
            note = (
                f"{progress.rate:,.0f} steps/s, acceptance {progress.acceptance:.2f}, {progress.usage:.2%} of the data"
            )
            show(progress.done, progress.total, note)

    return tell


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
        *(
            f"{'ok  ' if c.passed else 'FAIL'}  {c.name:<36} {c.difference:.1e} (allowed {c.allowed:.0e})"
            for c in checks
        ),
        "all checks passed" if passed else "the engine does not work correctly on this machine",
    ]
    return Answer(data, lines, 0 if passed else 1)


def demonstrate(options: argparse.Namespace) -> Answer:
    """`austerity demo`."""
    checks = check_engine(options)
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


def write_table(path: str, table: Evaluated) -> None:
    """All evaluated designs as CSV."""
    rows = zip(*(column.tolist() for column in table), strict=True)
    lines = [",".join(table._fields), *(",".join(str(value).lower() for value in row) for row in rows)]
    write_whole(path, "\n".join(lines) + "\n")


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Show | None]:
    """A progress bar with the time left, on standard error when that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()

    def show(done: int, total: int, note: str = "") -> None:
        left = (time.monotonic() - start) / done * (total - done)
        bar = "#" * (30 * done // total)
        line = f"[{bar:<30}] {done:,}/{total:,}, about {left:.0f} s left  {note}"
        print(f"\r{line:<100}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r" + 110 * " " + "\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
