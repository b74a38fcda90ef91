"""`austerity budget`: the ε, or the schedule of tests, with the least risk in a given time."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.files import check_target, write_table
from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput, progress_bar

if TYPE_CHECKING:
    from designer.core.progress import ShowProgress
    from designer.further.budget.epsilon import Option, Quantity
    from designer.further.budget.phases import TimePlan
    from designer.pairs.trial_run import TrialRun
    from designer.search.criteria import Cost
    from samplers.study.time_costs import TimeCosts

SUMMARY = "Find the test or schedule with the least risk in a given time."
EXAMPLE = "austerity budget trial.csv --seconds 60 --measure config.toml"


class _Inputs(NamedTuple):
    """What `time_options` needs besides the trial run; and what was measured of it."""

    cost: Cost
    quantity: Quantity
    exact_seconds: float | None
    measured: TimeCosts | None


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "budget",
        run,
        SUMMARY,
        EXAMPLE,
        shared.trial_run("pairs of an exact chain"),
        shared.acceptance_rule(),
        shared.step_cost("a step takes a + b*data + c*looks seconds (default: as measured)"),
        shared.output_file("FILE.toml", "write the schedule here: [schedule] and [test] of a config"),
        shared.table_file("write all tests here"),
        shared.dimension(", at least 2"),
    )
    parser.add_argument("--seconds", metavar="S", type=shared.number, required=True, help="how long the chain may run")
    parser.add_argument(
        "--measure",
        metavar="CONFIG.toml",
        help="measure cost, autocorrelation and sensitivity by running the exact chain of this config and some "
        "tests; values given as options take precedence",
    )
    parser.add_argument(
        "--steps",
        type=shared.integer,
        default=5000,
        help="with --measure: steps of the exact chain (default: %(default)s)",
    )
    parser.add_argument(
        "--exact-seconds",
        metavar="S",
        type=shared.number,
        help="time of an exact step; 0: never use the exact test (default: as measured, or a + b*N/2 + c)",
    )
    parser.add_argument(
        "--autocorrelation",
        metavar="STEPS",
        type=shared.number,
        help="steps of the exact chain worth one independent draw (default: as measured)",
    )
    parser.add_argument(
        "--sensitivity",
        type=shared.number,
        help="bias in posterior sds per unit of temperature: about half the skewness for a mean, 0.71 for a variance "
        "(default: as measured)",
    )
    parser.add_argument(
        "--degree",
        type=shared.number,
        default=1.0,
        help="1: means of parameters; 2: means of their squares (default: 1)",
    )
    parser.add_argument(
        "--m",
        type=shared.numbers,
        help="mini-batches to try, separated by commas (default: 500, or less for small N)",
    )
    parser.add_argument(
        "--anytime", action="store_true", help="make the schedule for a chain that may be stopped earlier"
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.files import write_whole
    from designer.engine.step_error import check_rule
    from designer.further.budget.epsilon import best_option, check_time, time_options
    from designer.further.budget.phases import anytime_schedule, time_schedule
    from designer.pairs.trial_run import TrialRun
    from samplers.adapt.phases import schedule_text

    check_target(options.output, ".toml")
    check_target(options.table)
    check_time(options.seconds)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    with progress_bar(options) as show:
        inputs = _inputs(options, trial, show)
        tests = time_options(
            trial,
            inputs.cost,
            inputs.quantity,
            check_rule(options.rule),
            m=options.m,
            exact_seconds=math.inf if inputs.exact_seconds == 0 else inputs.exact_seconds,
            dimension=options.dimension,
            progress=show,
        )
    best = best_option(tests, options.seconds)
    plan = (anytime_schedule if options.anytime else time_schedule)(tests, options.seconds)
    if options.table:
        write_table(options.table, (_row(test, options.seconds) for test in tests))
    if options.output:
        write_whole(options.output, schedule_text(plan, trial.n_data))
    return _output(best, plan, options, inputs.measured)


def _inputs(options: argparse.Namespace, trial: TrialRun, show: ShowProgress | None) -> _Inputs:
    """Cost, quantity and seconds of an exact step: as given, else as measured."""
    from designer.further.budget.epsilon import Quantity
    from designer.search.criteria import Cost

    if options.measure is None:
        if missing := [name for name in ("cost", "autocorrelation", "sensitivity") if getattr(options, name) is None]:
            raise UsageError(f"{', '.join(missing)}: give --{' and --'.join(missing)}, or --measure CONFIG.toml")
        quantity = Quantity(options.autocorrelation, options.sensitivity, options.degree)
        return _Inputs(Cost(*options.cost), quantity, options.exact_seconds, None)
    measured = _measure(options, trial, show)
    quantity = measured.quantity(options.sensitivity, options.degree)
    if options.autocorrelation is not None:
        quantity = quantity._replace(autocorrelation=options.autocorrelation)
    if options.cost is not None:  # then the measured time of an exact step does not fit either
        return _Inputs(Cost(*options.cost), quantity, options.exact_seconds, measured)
    seconds = measured.exact_seconds if options.exact_seconds is None else options.exact_seconds
    return _Inputs(measured.cost, quantity, seconds, measured)


def _measure(options: argparse.Namespace, trial: TrialRun, show: ShowProgress | None) -> TimeCosts:
    """Costs from a short run of a config on the data of the trial run."""
    from samplers.config.config import SamplerConfig
    from samplers.study.time_costs import time_costs

    config = SamplerConfig.load(options.measure, exact=True)
    costs = time_costs(config, options.steps, min(options.m) if options.m else None, progress=show)
    if costs.n_data != trial.n_data:
        raise UsageError(f"{options.measure}: N = {costs.n_data:,}, but the trial run has N = {trial.n_data:,}")
    return costs


def _output(best: Option, plan: TimePlan, options: argparse.Namespace, measured: TimeCosts | None) -> CommandOutput:
    seconds = options.seconds
    phases = [
        {"m": row["m"], "epsilon": row["epsilon"], "seconds": p.seconds, "steps": p.steps, "weight": p.weight}
        for p in plan.phases
        for row in [_row(p.option, seconds)]
    ]
    data = {
        "best": _row(best, seconds),
        "schedule": {"risk": plan.risk, "bias": plan.bias, "variance": plan.variance, "phases": phases},
    }
    if measured is not None:
        data["measured"] = measured._asdict() | {"cost": measured.cost._asdict()}
    lines = [
        *([] if measured is None else [_measured_line(measured)]),
        f"best fixed test in {seconds:g} s: {best.name}",
        f"  risk {best.risk(seconds):.4g} posterior variances, as from {best.worth(seconds):,.0f} independent draws",
        f"  bias {best.bias:.3g} sd, temperature {best.temperature:.3f}, data use {best.usage:.2%} per step",
        *_edge_line(best),
        f"schedule: risk {plan.risk:.4g}",
        *(
            f"  {phase.steps:,} steps ({phase.seconds:.4g} s) with {phase.option.name}, weight {phase.weight:.3f}"
            for phase in plan.phases
        ),
        *(f"written to {path}" for path in (options.output, options.table) if path),
    ]
    return CommandOutput(data, lines)


def _measured_line(measured: TimeCosts) -> str:
    """What was measured."""
    a, b, _ = measured.cost
    sensitivity = "not measured" if measured.sensitivity is None else f"{measured.sensitivity:.3g}"
    return (
        f"measured: {a:.3g} s per step and {b:.3g} s per datum, {measured.exact_seconds:.3g} s per exact step; "
        f"autocorrelation {measured.autocorrelation:.3g} steps ({measured.effective:,.0f} effective draws), "
        f"sensitivity {sensitivity}"
    )


def _edge_line(best: Option) -> list[str]:
    """A warning if the best ε is the smallest or the largest that was tried."""
    from designer.further.budget.epsilon import EPSILONS

    ends = {EPSILONS[0]: "smallest", EPSILONS[-1]: "largest"}
    return [f"  this is the {ends[best.epsilon]} ε that was tried"] if best.epsilon in ends else []


def _row(option: Option, seconds: float) -> dict[str, Any]:
    design = option.design
    settings = {"m": None if design is None else design.m, "epsilon": option.epsilon}
    rest = {name: getattr(option, name) for name in ("bias", "seconds", "temperature", "usage", "acceptance")}
    return {**settings, "risk": option.risk(seconds), **rest}
