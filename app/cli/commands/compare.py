"""`austerity compare`: which acceptance test costs least on the pairs of a trial run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.files import check_target
from app.cli.options import Commands, Parser, add_command
from app.cli.terminal import CommandOutput, progress_bar, status

if TYPE_CHECKING:
    from designer.core.progress import ShowProgress
    from designer.pairs.trial_run import TrialRun
    from samplers.study.compare_tests import Candidates, Measurement, Prediction
    from samplers.study.laplace import LaplaceVerdict

SUMMARY = "Find the cheapest acceptance test for a trial run."
EXAMPLE = "austerity compare trial.csv --best --tolerance 0.02"
DEFAULTS = {"m": 500, "epsilon": 0.05, "delta": 0.01}
SIMULATED = ("data", "data_se", "acceptance", "acceptance_se", "predicted_data", "predicted_acceptance")
SYMBOLS = {"epsilon": "ε", "alpha": "α", "sigma": "σ", "delta": "δ", "range_in_sd": "range in sd"}  # for people
LEGEND = [
    "evaluations: of log p(xᵢ; θ), two per datum read (one if cached)",
    "per move: evaluations per right move; wrongly accepted moves do not count",
    "at most: evaluations for the effective draws of one slowly mixing Metropolis step, if the test makes no errors",
]


class _Part(NamedTuple):
    """The tests on one set of pairs: their settings, their predictions, and what was simulated."""

    name: str
    trial: TrialRun
    candidates: Candidates
    predictions: list[Prediction]
    simulated: dict[str, Measurement]


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "compare",
        run,
        SUMMARY,
        EXAMPLE,
        shared.trial_run(),
        shared.tolerance("largest error of a test to recommend (default: %(default)s)", default=0.05),
        _simulation(),
        shared.output_file("FILE.csv", "write the table here"),
    )
    parser.add_argument(
        "--m",
        type=shared.integer,
        help="mini-batch of every test (default: 500); with --best, the smallest to consider",
    )
    parser.add_argument("--epsilon", metavar="ε", type=shared.number, help="ε of the sequential test (default: 0.05)")
    parser.add_argument(
        "--delta", metavar="δ", type=shared.number, help="guarantee of the concentration test (default: 0.01)"
    )
    parser.add_argument(
        "--best", action="store_true", help="give every test the settings that read the least data within the tolerance"
    )
    parser.add_argument(
        "--range", type=shared.number, default=6.0, help="bound on |lᵢ| in standard deviations (default: %(default)s)"
    )
    parser.add_argument("--factor", type=shared.number, help="factor by which control variates shrink κ (default: 30)")
    parser.add_argument(
        "--config",
        metavar="CONFIG.toml",
        help="config of the chain, to predict the exact mini-batch test if the trial run carries no prediction for it",
    )
    parser.add_argument(
        "--control", metavar="TRIAL.csv", help="pairs recorded with control variates, instead of --factor"
    )


def _simulation() -> Parser:
    """The options of the simulation, which come before those of the output."""
    parent = Parser(add_help=False)
    group = parent.group("simulation")
    group.add_argument("--simulate", action="store_true", help="also run the tests on data with the pairs' moments")
    group.add_argument(
        "--pairs", type=shared.integer, default=20, help="number of pairs to simulate (default: %(default)s)"
    )
    group.add_argument(
        "--repeats", type=shared.integer, default=50, help="number of decisions per pair (default: %(default)s)"
    )
    group.add_argument("--seed", type=shared.integer, default=0, help="seed of the simulation (default: %(default)s)")
    return parent


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.errors import integer, real
    from designer.core.files import write_whole
    from designer.pairs.trial_run import TrialRun
    from samplers.study.compare_tests import CONTROLLED, MINIBATCH, PLAIN

    check_target(options.output)
    if options.best and (options.epsilon is not None or options.delta is not None):
        raise UsageError("--best chooses ε and δ itself; leave out --epsilon and --delta")
    if options.control is not None and options.factor is not None:
        raise UsageError("give --control or --factor, not both")
    real("tolerance", options.tolerance, 0.0, 1.0)
    integer("seed", options.seed, 0, 2**63)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    verdict: LaplaceVerdict | None = None
    alternatives: dict[str, dict[str, float]] = {}
    if options.config is not None:
        trial, verdict, alternatives = _with_config(trial, options)
    pairs = {PLAIN: trial, CONTROLLED: _controlled(trial, options)}
    with progress_bar(options) as show:
        parts = [_part(name, each, options, show) for name, each in pairs.items()]
    if options.output:
        write_whole(options.output, _csv(parts))
    data = {"n_data": trial.n_data, "tolerance": options.tolerance, "parts": [_json(p, options) for p in parts]}
    lines = [line for part in parts for line in _lines(part, options)] + LEGEND
    if not any(row.test == MINIBATCH for part in parts for row in part.predictions):
        lines.append("exact mini-batch test: not compared, it needs the model; give --config")
    if verdict is not None:
        data["laplace"] = verdict.facts() | {"alternatives": alternatives}
        lines += ["", *(["without a chain, evaluations for one effective draw:"] if alternatives else [])]
        lines += [f"{name:<31}{row['evaluations']:>11,.0f}  {_off(name, row)}" for name, row in alternatives.items()]
        lines.append(verdict.sentence)
    return CommandOutput(data, [*lines, *([f"written to {options.output}"] if options.output else [])])


def _off(name: str, row: dict[str, float]) -> str:
    """How far off draws without a chain are, in words."""
    kind = "off by at most" if name == "Laplace" else "exact but for noise, here"
    return f"{kind} {row['error']:.2g} sd"


def _with_config(
    trial: TrialRun, options: argparse.Namespace
) -> tuple[TrialRun, LaplaceVerdict, dict[str, dict[str, float]]]:
    """The same pairs with what the model of a config says about the exact mini-batch test, and about Laplace."""
    import numpy as np

    from designer.pairs.trial_run import TrialRun
    from samplers.config.assemble import build
    from samplers.config.config import SamplerConfig
    from samplers.runs.laplace import controlled
    from samplers.study.laplace import laplace_verdict
    from samplers.study.predict_minibatch import minibatch_notes

    config = SamplerConfig.load(options.config, exact=True)
    with status("bounds of the terms", options):
        spec = build(config)
        if spec.model.n_data != trial.n_data:
            found = f"the trial run has N = {trial.n_data:,}, the model of {options.config} {spec.model.n_data:,}"
            raise UsageError(f"{found} without its heavy rows; make a trial run of this config")
        notes = minibatch_notes(np.random.default_rng(options.seed), spec.model, spec.proposal, spec.rule)
    if not notes:
        raise UsageError(f"{options.config}: the model has no bounds; needs logistic regression with control variates")
    with status("judging the Laplace approximation", options):
        model = controlled(spec)
        verdict = laplace_verdict(model, np.random.default_rng(options.seed))
    columns = trial.n_data, trial.mu, trial.sigma, trial.log_ratio, trial.skew, trial.residuals
    pairs = TrialRun(*columns, notes=dict(trial.notes) | notes)
    return pairs, verdict, verdict.alternatives(model.n_rows)


def _controlled(trial: TrialRun, options: argparse.Namespace) -> TrialRun:
    """Pairs with control variates: recorded ones, or the trial run's with a smaller κ."""
    from designer.pairs.trial_run import TrialRun
    from samplers.study.compare_tests import with_control_variates

    if options.control is None:
        return with_control_variates(trial, 30.0 if options.factor is None else options.factor)
    recorded = TrialRun.load(options.control, n_data=options.n_data)
    if recorded.n_data != trial.n_data:
        raise UsageError(f"{options.control}: N = {recorded.n_data:,}, but the trial run has N = {trial.n_data:,}")
    return recorded


def _part(name: str, trial: TrialRun, options: argparse.Namespace, show: ShowProgress | None) -> _Part:
    import numpy as np

    from samplers.study.compare_tests import measure, predict

    def report(done: int, total: int) -> None:
        if show is not None:
            show(done, total, name)

    candidates = _candidates(trial, options, report)
    simulated: dict[str, Measurement] = {}
    if options.simulate:
        rng = np.random.default_rng(options.seed)
        rows = measure(rng, trial, candidates, pairs=options.pairs, repeats=options.repeats, progress=report)
        simulated = {row.test: row for row in rows}
    return _Part(name, trial, candidates, predict(trial, candidates), simulated)


def _candidates(trial: TrialRun, options: argparse.Namespace, report: Callable[[int, int], None]) -> Candidates:
    """The tests with the settings of the options, or each with its best."""
    from designer.rule.design import Design
    from samplers.decide.barker import BarkerTest
    from samplers.decide.concentration import ConcentrationTest
    from samplers.study.best_tests import best_candidates
    from samplers.study.compare_tests import Candidates

    if options.best:
        return best_candidates(trial, options.tolerance, options.range, least_batch=options.m, progress=report)
    m, epsilon, delta = (DEFAULTS[key] if (v := getattr(options, key)) is None else v for key in DEFAULTS)
    sequential = Design(trial.n_data, int(min(m, trial.n_data)), epsilon)
    barker, concentration = BarkerTest(m=int(m)), ConcentrationTest(m=int(m), delta=delta)
    return Candidates(sequential, barker, concentration, options.range)


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _lines(part: _Part, options: argparse.Namespace) -> list[str]:
    from samplers.study.compare_tests import MINIBATCH, cheapest

    best = cheapest(part.predictions, options.tolerance)
    lines = [
        f"{part.name}: {best.test} costs least of the tests with an error of at most {options.tolerance:g}",
        f"{'test':<21}{'data':>11}{'evaluations':>13}{'acceptance':>12}{'error':>10}{'per move':>13}{'at most':>13}",
    ]
    for row in part.predictions:
        numbers = f"{row.data:>11,.0f}{row.evaluations:>13,.0f}{row.acceptance:>12.3f}{row.error:>10.2g}"
        costs = f"{row.per_move:>13,.0f}{row.per_metropolis_step:>13,.0f}"
        knobs = part.candidates.knobs(row.test).items()
        settings = ", ".join(f"{SYMBOLS.get(key, key)} = {_short(value)}" for key, value in knobs)
        lines.append(f"{row.test:<21}{numbers}{costs}  {settings}".rstrip())
    for seen in part.simulated.values():
        data = f"{seen.data:,.0f} ± {seen.data_se:,.0f} ({seen.predicted_data:,.0f} predicted)"
        accepted = f"{seen.acceptance:.3f} ± {seen.acceptance_se:.2g} ({seen.predicted_acceptance:.3f} predicted)"
        lines.append(f"simulated, {seen.test}: data {data}, acceptance {accepted}")
    minibatch = next((row for row in part.predictions if row.test == MINIBATCH), None)
    return [*lines, *([] if minibatch is None else [f"{minibatch.test}: {minibatch.note}"]), ""]


def _json(part: _Part, options: argparse.Namespace) -> dict[str, Any]:
    from samplers.study.compare_tests import cheapest

    tests = [
        row._asdict()
        | {"knobs": part.candidates.knobs(row.test)}
        | ({"simulated": part.simulated[row.test]._asdict()} if row.test in part.simulated else {})
        for row in part.predictions
    ]
    best = cheapest(part.predictions, options.tolerance).test
    return {"pairs": part.name, "digest": part.trial.digest, "cheapest": best, "tests": tests}


def _csv(parts: list[_Part]) -> str:
    """In long form: one row per set of pairs and test."""
    from designer.core.files import csv_text

    fields = list(parts[0].predictions[0]._fields)
    rows = []
    for part in parts:
        for row in part.predictions:
            seen = part.simulated.get(row.test)
            rows.append([part.name, *row, *(None if seen is None else getattr(seen, name) for name in SIMULATED)])
    return csv_text(["pairs", *fields, *(f"simulated_{name}" for name in SIMULATED)], rows)
