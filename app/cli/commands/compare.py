"""`compare`: which acceptance test costs least on the pairs of a trial run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from app.cli.terminal import Answer, Show, check_target, progress_bar
from app.cli.terminal import integer_argument as whole
from app.cli.terminal import number_argument as number
from designer.core.errors import BadInput, integer, real
from designer.core.files import csv_text, write_whole

if TYPE_CHECKING:
    from designer.pairs.trial_run import TrialRun
    from samplers.study.compare_tests import Candidates, Measurement, Prediction

USUAL = {"m": 500, "epsilon": 0.05, "delta": 0.01}
SIMULATED = ("data", "data_se", "acceptance", "acceptance_se", "predicted_data", "predicted_acceptance")


class _Part(NamedTuple):
    """The tests on one set of pairs: their knobs, what is predicted, what was simulated."""

    name: str
    trial: TrialRun
    candidates: Candidates
    rows: list[Prediction]
    seen: dict[str, Measurement]


def add_options(sub: argparse.ArgumentParser) -> None:
    """The options of `compare`."""
    sub.add_argument("trial", metavar="TRIAL.csv", help="pairs of a trial run")
    sub.add_argument("--n-data", type=whole, help="N, the number of data, if the file does not say")
    sub.add_argument("--m", type=whole, help="batch of every test (default: 500); with --best the smallest to consider")
    sub.add_argument("--epsilon", type=number, help="threshold of the sequential test (default: 0.05)")
    sub.add_argument("--delta", type=number, help="guarantee of the concentration test (default: 0.01)")
    sub.add_argument("--best", action="store_true", help="give every test the knobs that read least at the tolerance")
    sub.add_argument(
        "--tolerance", type=number, default=0.05, help="largest error of a test to recommend (default: %(default)s)"
    )
    sub.add_argument(
        "--range", type=number, default=6.0, help="bound on |l_i| in standard deviations (default: %(default)s)"
    )
    sub.add_argument("--factor", type=number, help="how much control variates shrink kappa (default: 30)")
    sub.add_argument("--control", metavar="TRIAL.csv", help="pairs recorded with control variates, instead of --factor")
    sub.add_argument("--simulate", action="store_true", help="also run the real tests on data with the pairs' moments")
    sub.add_argument("--pairs", type=whole, default=20, help="to simulate (default: %(default)s)")
    sub.add_argument("--repeats", type=whole, default=50, help="decisions per pair (default: %(default)s)")
    sub.add_argument("--seed", type=whole, default=0, help="of the simulation (default: %(default)s)")
    sub.add_argument("--output", "-o", metavar="FILE.csv", help="write the table here")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")


def compare(options: argparse.Namespace) -> Answer:
    """`austerity compare`."""
    from designer.pairs.trial_run import TrialRun
    from samplers.study.compare_tests import CONTROLLED, PLAIN

    check_target(options.output)
    if options.best and (options.epsilon is not None or options.delta is not None):
        raise BadInput("--best chooses epsilon and delta itself; leave them out")
    if options.control is not None and options.factor is not None:
        raise BadInput("give --control or --factor, not both")
    real("tolerance", options.tolerance, 0.0, 1.0)
    integer("seed", options.seed, 0, 2**63)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    pairs = {PLAIN: trial, CONTROLLED: _controlled(trial, options)}
    with progress_bar(quiet=options.quiet or options.json) as show:
        parts = [_part(name, each, options, show) for name, each in pairs.items()]
    if options.output:
        write_whole(options.output, _csv(parts))
    data = {"n_data": trial.n_data, "tolerance": options.tolerance, "parts": [_json(p, options) for p in parts]}
    lines = [line for part in parts for line in _lines(part, options)]
    lines += [
        "evaluations: of log p(x_i; theta), two per datum read (one if cached);",
        "per move: per right move, without those that are accepted by error;",
        "at most: for the effective draws of one slowly mixing Metropolis step, if the test does not err",
    ]
    return Answer(data, [*lines, *([f"written to {options.output}"] if options.output else [])])


def _controlled(trial: TrialRun, options: argparse.Namespace) -> TrialRun:
    """Pairs with control variates: recorded ones, or these with a smaller kappa."""
    from designer.pairs.trial_run import TrialRun
    from samplers.study.compare_tests import with_control_variates

    if options.control is None:
        return with_control_variates(trial, 30.0 if options.factor is None else options.factor)
    found = TrialRun.load(options.control, n_data=options.n_data)
    if found.n_data != trial.n_data:
        raise BadInput(f"{options.control}: N = {found.n_data:,}, the trial run has {trial.n_data:,}")
    return found


def _part(name: str, trial: TrialRun, options: argparse.Namespace, show: Show | None) -> _Part:
    from samplers.study.compare_tests import measure, predict

    def tell(done: int, total: int) -> None:
        if show is not None:
            show(done, total, name)

    candidates = _candidates(trial, options, tell)
    seen: dict[str, Measurement] = {}
    if options.simulate:
        rng = np.random.default_rng(options.seed)
        found = measure(rng, trial, candidates, pairs=options.pairs, repeats=options.repeats, progress=tell)
        seen = {row.test: row for row in found}
    return _Part(name, trial, candidates, predict(trial, candidates), seen)


def _candidates(trial: TrialRun, options: argparse.Namespace, tell: Callable[[int, int], None]) -> Candidates:
    """The tests as the options say, or each at its best."""
    from designer.rule.design import Design
    from samplers.decide.barker import BarkerTest
    from samplers.decide.concentration import ConcentrationTest
    from samplers.study.best_tests import best_candidates
    from samplers.study.compare_tests import Candidates

    if options.best:
        return best_candidates(trial, options.tolerance, options.range, least_batch=options.m, progress=tell)
    m, epsilon, delta = (USUAL[key] if (v := getattr(options, key)) is None else v for key in USUAL)
    sequential = Design(trial.n_data, int(min(m, trial.n_data)), epsilon)
    barker, concentration = BarkerTest(m=int(m)), ConcentrationTest(m=int(m), delta=delta)
    return Candidates(sequential, barker, concentration, options.range)


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _lines(part: _Part, options: argparse.Namespace) -> list[str]:
    from samplers.study.compare_tests import cheapest

    best = cheapest(part.rows, options.tolerance)
    lines = [
        f"{part.name}: {best.test} costs least of the tests with an error of at most {options.tolerance:g}",
        f"{'test':<21}{'data':>11}{'evaluations':>13}{'acceptance':>12}{'error':>10}{'per move':>13}{'at most':>13}",
    ]
    for row in part.rows:
        numbers = f"{row.data:>11,.0f}{row.evaluations:>13,.0f}{row.acceptance:>12.3f}{row.error:>10.2g}"
        costs = f"{row.per_move:>13,.0f}{row.per_metropolis_step:>13,.0f}"
        chosen = ", ".join(f"{key} = {_short(value)}" for key, value in part.candidates.knobs(row.test).items())
        lines.append(f"{row.test:<21}{numbers}{costs}  {chosen}".rstrip())
    for seen in part.seen.values():
        data = f"{seen.data:,.0f} ± {seen.data_se:,.0f} ({seen.predicted_data:,.0f} predicted)"
        accepted = f"{seen.acceptance:.3f} ± {seen.acceptance_se:.2g} ({seen.predicted_acceptance:.3f} predicted)"
        lines.append(f"simulated, {seen.test}: data {data}, acceptance {accepted}")
    return [*lines, ""]


def _json(part: _Part, options: argparse.Namespace) -> dict[str, Any]:
    from samplers.study.compare_tests import cheapest

    tests = [
        row._asdict()
        | {"knobs": part.candidates.knobs(row.test)}
        | ({"simulated": part.seen[row.test]._asdict()} if row.test in part.seen else {})
        for row in part.rows
    ]
    best = cheapest(part.rows, options.tolerance).test
    return {"pairs": part.name, "digest": part.trial.digest, "cheapest": best, "tests": tests}


def _csv(parts: list[_Part]) -> str:
    """Long form: one row per set of pairs and test."""
    fields = list(parts[0].rows[0]._fields)
    rows = []
    for part in parts:
        for row in part.rows:
            seen = part.seen.get(row.test)
            rows.append([part.name, *row, *(None if seen is None else getattr(seen, name) for name in SIMULATED)])
    return csv_text(["pairs", *fields, *(f"simulated_{name}" for name in SIMULATED)], rows)
