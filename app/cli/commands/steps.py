"""`austerity steps`: the step size of a random walk and its test, chosen together."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.files import DESIGN_FILES, check_target, write_table
from app.cli.options import Commands, add_command
from app.cli.terminal import CommandOutput, progress_bar

if TYPE_CHECKING:
    from designer.further.step_size import StepRow
    from designer.pairs.trial_run import TrialRun

SUMMARY = "Choose the step size of a random walk together with its test."
EXAMPLE = "austerity steps trial.csv --tolerance 0.02 --scales 0.5,1,2 --output design.toml"
COLUMNS = ("m", "epsilon", "alpha")  # of the design in the table


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "steps",
        run,
        SUMMARY,
        EXAMPLE,
        shared.trial_run("pairs of a random walk, whose step size counts as 1"),
        shared.tolerance("largest mean |Δ| at step size 1"),
        shared.acceptance_rule(),
        shared.skewness(),
        shared.step_cost("a step costs a + b*data + c*looks (default: 0,2,0, likelihood evaluations)"),
        shared.batch_range(),
        shared.confidence(),
        shared.output_file("DESIGN.toml", "write the design for the best step size here (or .json)"),
        shared.table_file("write the table of all step sizes here"),
    )
    parser.add_argument(
        "--at",
        metavar="SCALE=TRIAL.csv",
        action="append",
        default=[],
        help="pairs recorded at another step size; may be repeated",
    )
    parser.add_argument(
        "--scales", type=shared.numbers, help="relative step sizes to try, separated by commas (default: 0.25 to 2)"
    )
    parser.add_argument(
        "--hold",
        default="jump",
        help="jump: allow an error in proportion to the squared jump, for the same bias; step: allow the same error "
        "at every step size (default: %(default)s)",
    )
    parser.add_argument(
        "--kappa-power",
        metavar="P",
        type=shared.number,
        default=1.0,
        help="κ grows like the step size to the power P, up to 3 with control variates; fitted if --at is given "
        "(default: %(default)s)",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.engine.step_error import check_rule
    from designer.further.step_size import EVALUATIONS, SCALES, best_step
    from designer.search.criteria import Cost
    from designer.search.space import Space

    check_target(options.output, *DESIGN_FILES)
    check_target(options.table)
    trials = _trials(options)
    with progress_bar(options) as show:
        result = best_step(
            trials,
            options.tolerance,
            options.scales or SCALES,
            cost=EVALUATIONS if options.cost is None else Cost(*options.cost),
            hold=options.hold,
            rule=check_rule(options.rule),
            kappa_power=options.kappa_power,
            skew=options.skew,
            space=Space(options.m_low, options.m_high),
            confidence=options.confidence,
            progress=show,
        )
    rows = [flat_row(row) for row in result.rows]
    data: dict[str, Any] = {
        "feasible": result.best is not None,
        "best": None if result.best is None else flat_row(result.best),
        "exact": flat_row(result.exact),
        "flat": None if result.flat is None else list(result.flat),
        "sentence": result.sentence,
        "rows": rows,
    }
    lines = [*_table(result.rows), result.sentence]
    if result.flat is not None:
        low, high = result.flat
        lines.append(f"efficiency is within 5% of the best for step sizes from {low:.3g} to {high:.3g}")
    if options.table:
        write_table(options.table, rows)
    if options.output and result.best is not None and result.best.design is not None:
        result.best.design.save(options.output)
        lines.append(f"design written to {options.output}")
    return CommandOutput(data, lines)


def flat_row(row: StepRow) -> dict[str, float | int | None]:
    """A row with the design's settings in place of the design; missing values are None."""
    settings = {name: getattr(row.design, name, None) for name in COLUMNS}
    numbers = {name: value for name, value in row._asdict().items() if name != "design"}
    known = {name: None if math.isnan(value) else value for name, value in numbers.items()}
    return {"scale": row.scale} | settings | known


def _trials(options: argparse.Namespace) -> dict[float, TrialRun]:
    """Trial runs by step size: the first has size 1, `--at` gives others."""
    from designer.pairs.trial_run import TrialRun

    trials = {1.0: TrialRun.load(options.trial, n_data=options.n_data)}
    for text in options.at:
        scale, path = _scale_and_path(text)
        if scale in trials:
            raise UsageError(f"--at {text}: step size {scale:g} already has a trial run")
        trials[scale] = TrialRun.load(path, n_data=options.n_data)
    return trials


def _scale_and_path(text: str) -> tuple[float, str]:
    scale, mark, path = text.partition("=")
    try:
        if not mark:
            raise argparse.ArgumentTypeError
        return shared.number(scale), path
    except argparse.ArgumentTypeError:
        raise UsageError(f"--at {text}: must be SCALE=TRIAL.csv, such as 2=double.csv") from None


def _table(rows: list[StepRow]) -> list[str]:
    head = ("step", "m", "ε", "error", "acceptance", "data use", "jump", "s.e.", "efficiency", "exact")
    lines = ["".join(f"{name:>11}" for name in head)]
    for row in rows:
        cells = [f"{row.scale:.3g}", *("-" for _ in range(8)), f"{row.exact_efficiency:.3g}"]
        if row.design is not None:
            cells[1:3] = f"{row.design.m:,}", f"{row.design.epsilon:.3g}"
            cells[3:6] = f"{row.error:.3g}", f"{row.acceptance:.3f}", f"{row.usage:.2%}"
            cells[6] = f"{row.jump:.3g}"
            cells[7] = "-" if math.isnan(row.jump_error) else f"{row.jump_error:.1g}"
            cells[8] = f"{row.efficiency:.3g}"
        lines.append("".join(f"{cell:>11}" for cell in cells))
    return lines
