"""`budget`: the epsilon, or the schedule of them, with the least risk in a given time."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from app.cli.terminal import Answer, Show, check_target, progress_bar
from app.cli.terminal import integer_argument as whole
from app.cli.terminal import number_argument as number
from app.cli.terminal import numbers_argument as numbers
from designer.core.errors import BadInput
from designer.core.files import csv_text, write_whole

if TYPE_CHECKING:
    from designer.further.budget.epsilon import Option, Quantity
    from designer.further.budget.phases import TimePlan
    from designer.pairs.trial_run import TrialRun
    from designer.search.criteria import Cost
    from samplers.study.time_costs import TimeCosts


class _Needs(NamedTuple):
    """What `time_options` asks for, beside the trial run; and what was measured of it."""

    cost: Cost
    quantity: Quantity
    exact_seconds: float | None
    measured: TimeCosts | None


def add_options(sub: argparse.ArgumentParser) -> None:
    """The options of `budget`."""
    sub.add_argument("trial", metavar="TRIAL.csv", help="pairs of an exact chain")
    sub.add_argument("--seconds", type=number, required=True, help="how long the chain may run")
    sub.add_argument(
        "--measure",
        metavar="CONFIG.toml",
        help="run the exact chain of this config and some tests, and measure cost, autocorrelation and sensitivity; "
        "what is also given goes before",
    )
    sub.add_argument(
        "--steps", type=whole, default=5000, help="of the exact chain, with --measure (default: %(default)s)"
    )
    sub.add_argument("--cost", type=numbers, help="a,b,c: a step takes a + b*data + c*looks seconds")
    sub.add_argument(
        "--exact-seconds",
        type=number,
        help="of an exact step (default: as measured, or a + b*N/2 + c; 0: no exact test)",
    )
    sub.add_argument("--autocorrelation", type=number, help="steps of the exact chain worth one independent draw")
    sub.add_argument(
        "--sensitivity",
        type=number,
        help="bias in posterior sds per unit of temperature: about half the skewness for a mean, 0.71 for a variance",
    )
    sub.add_argument("--degree", type=number, default=1.0, help="1: means of parameters (default); 2: of their squares")
    sub.add_argument("--m", type=numbers, help="batches to try, separated by commas (default: 500, less for small N)")
    sub.add_argument("--dimension", type=whole, help="number of parameters, at least 2 (default: the limit of many)")
    sub.add_argument("--n-data", type=whole, help="N, the number of data, if the file does not say")
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")
    sub.add_argument("--anytime", action="store_true", help="the schedule for a chain that may be stopped earlier")
    sub.add_argument("--output", metavar="FILE.toml", help="write the schedule here: [schedule] and [test] of a config")
    sub.add_argument("--table", metavar="FILE.csv", help="write all tests here")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")


def budget(options: argparse.Namespace) -> Answer:
    """`austerity budget`."""
    from designer.engine.step_error import check_rule
    from designer.further.budget.epsilon import best_option, check_time, time_options
    from designer.further.budget.phases import anytime_schedule, time_schedule
    from designer.pairs.trial_run import TrialRun
    from samplers.adapt.phases import schedule_text

    check_target(options.output, ".toml")
    check_target(options.table)
    check_time(options.seconds)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    with progress_bar(quiet=options.quiet or options.json) as show:
        needs = _needs(options, trial, show)
        known = time_options(
            trial,
            needs.cost,
            needs.quantity,
            check_rule(options.rule),
            m=options.m,
            exact_seconds=math.inf if needs.exact_seconds == 0 else needs.exact_seconds,
            dimension=options.dimension,
            progress=show,
        )
    best = best_option(known, options.seconds)
    plan = (anytime_schedule if options.anytime else time_schedule)(known, options.seconds)
    if options.table:
        rows = [_row(option, options.seconds) for option in known]
        write_whole(options.table, csv_text(rows[0], (row.values() for row in rows)))
    if options.output:
        write_whole(options.output, schedule_text(plan, trial.n_data))
    return _answer(best, plan, options, needs.measured)


def _needs(options: argparse.Namespace, trial: TrialRun, show: Show | None) -> _Needs:
    """Cost, quantity and seconds of an exact step: as given, else as measured."""
    from designer.further.budget.epsilon import Quantity
    from designer.search.criteria import Cost

    if options.cost is not None and len(options.cost) != 3:
        raise BadInput(f"cost: {len(options.cost)} numbers given; must be three, as 1e-5,1e-8,0")
    if options.measure is None:
        if missing := [name for name in ("cost", "autocorrelation", "sensitivity") if getattr(options, name) is None]:
            raise BadInput(f"{', '.join(missing)}: give --{' and --'.join(missing)}, or --measure CONFIG.toml")
        quantity = Quantity(options.autocorrelation, options.sensitivity, options.degree)
        return _Needs(Cost(*options.cost), quantity, options.exact_seconds, None)
    found = _measured(options, trial, show)
    quantity = found.quantity(options.sensitivity, options.degree)
    if options.autocorrelation is not None:
        quantity = quantity._replace(autocorrelation=options.autocorrelation)
    if options.cost is not None:  # then an exact step is not the measured one, either
        return _Needs(Cost(*options.cost), quantity, options.exact_seconds, found)
    seconds = found.exact_seconds if options.exact_seconds is None else options.exact_seconds
    return _Needs(found.cost, quantity, seconds, found)


def _measured(options: argparse.Namespace, trial: TrialRun, show: Show | None) -> TimeCosts:
    """From a short run of a config on the data of the trial run."""
    from samplers.config.config import SamplerConfig
    from samplers.study.time_costs import time_costs

    config = SamplerConfig.load(options.measure, exact=True)
    found = time_costs(config, options.steps, min(options.m) if options.m else None, progress=show)
    if found.n_data != trial.n_data:
        raise BadInput(f"{options.measure}: N = {found.n_data:,}, the trial run has {trial.n_data:,}")
    return found


def _answer(best: Option, plan: TimePlan, options: argparse.Namespace, measured: TimeCosts | None) -> Answer:
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
        *([] if measured is None else [_said(measured)]),
        f"best fixed test in {seconds:g} s: {best.name}",
        f"  risk {best.risk(seconds):.4g} of a posterior variance, as from {best.worth(seconds):,.0f} draws; "
        f"bias {best.bias:.3g} sd, temperature {best.temperature:.3f}, {best.usage:.2%} of the data per step",
        *_edge(best),
        f"schedule: risk {plan.risk:.4g}",
        *(
            f"  {phase.steps:,} steps ({phase.seconds:.4g} s) with {phase.option.name}, weight {phase.weight:.3f}"
            for phase in plan.phases
        ),
        *(f"written to {path}" for path in (options.output, options.table) if path),
    ]
    return Answer(data, lines)


def _said(measured: TimeCosts) -> str:
    """What was measured, in a line."""
    a, b, _ = measured.cost
    heat = "not measured" if measured.sensitivity is None else f"{measured.sensitivity:.3g}"
    return (
        f"measured: {a:.3g} s per step and {b:.3g} s per datum, {measured.exact_seconds:.3g} s per exact step; "
        f"autocorrelation {measured.autocorrelation:.3g} steps ({measured.effective:,.0f} effective draws), "
        f"sensitivity {heat}"
    )


def _edge(best: Option) -> list[str]:
    """A word of warning if the best epsilon is the first or the last that was tried."""
    from designer.further.budget.epsilon import EPSILONS

    ends = {EPSILONS[0]: "smallest", EPSILONS[-1]: "largest"}
    return [f"  no ε beyond was tried: this is the {ends[best.epsilon]}"] if best.epsilon in ends else []


def _row(option: Option, seconds: float) -> dict[str, Any]:
    design = option.design
    knobs = {"m": None if design is None else design.m, "epsilon": option.epsilon}
    rest = {name: getattr(option, name) for name in ("bias", "seconds", "temperature", "usage", "acceptance")}
    return {**knobs, "risk": option.risk(seconds), **rest}
