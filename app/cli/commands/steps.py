"""`steps`: the step of a random walk and its test, chosen together."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from app.cli.terminal import DESIGN_FILES, Answer, check_target, number_argument, progress_bar, write_design
from designer.core.errors import BadInput
from designer.core.files import csv_text, write_whole

if TYPE_CHECKING:
    from designer.further.step_size import StepRow
    from designer.pairs.trial_run import TrialRun

COLUMNS = ("m", "epsilon", "alpha")  # of the design in the table


def steps(options: argparse.Namespace) -> Answer:
    """`austerity steps`."""
    from designer.engine.step_error import check_rule
    from designer.further.step_size import EVALUATIONS, SCALES, best_step
    from designer.pairs.trial_run import TrialRun
    from designer.search.criteria import Cost
    from designer.search.space import Space

    check_target(options.output, *DESIGN_FILES)
    check_target(options.table)
    if options.cost is not None and len(options.cost) != 3:
        raise BadInput(f"cost: {len(options.cost)} numbers given; must be three, as 0,2,0")
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    runs = {1.0: trial}
    for text in options.at:
        scale, other = _other(text, options.n_data)
        if scale in runs:
            raise BadInput(f"--at {text}: there is a trial run at {scale:g} already")
        runs[scale] = other
    with progress_bar(quiet=options.quiet or options.json) as progress:
        found = best_step(
            runs,
            options.tolerance,
            options.scales or SCALES,
            cost=EVALUATIONS if options.cost is None else Cost(*options.cost),
            hold=options.hold,
            rule=check_rule(options.rule),
            kappa_power=options.kappa_power,
            skew=options.skew,
            space=Space(options.m_low, options.m_high),
            progress=progress,
        )
    rows = [flat_row(row) for row in found.rows]
    data: dict[str, Any] = {
        "feasible": found.best is not None,
        "best": None if found.best is None else flat_row(found.best),
        "exact": flat_row(found.exact),
        "flat": None if found.flat is None else list(found.flat),
        "sentence": found.sentence,
        "rows": rows,
    }
    lines = [*_table(found.rows), found.sentence]
    if found.flat is not None:
        lines.append(f"efficiency is within 5% of the best for steps from {found.flat[0]:.3g} to {found.flat[1]:.3g}")
    if options.table:
        write_whole(options.table, csv_text(rows[0], [list(row.values()) for row in rows]))
    if options.output and found.best is not None and found.best.design is not None:
        write_design(options.output, found.best.design)
        lines.append(f"design written to {options.output}")
    return Answer(data, lines)


def flat_row(row: StepRow) -> dict[str, float | int | None]:
    """A row with the design's knobs in place of the design; what does not exist is None."""
    knobs = {name: None if row.design is None else getattr(row.design, name) for name in COLUMNS}
    numbers = {name: value for name, value in row._asdict().items() if name != "design"}
    known = {name: None if math.isnan(value) else value for name, value in numbers.items()}
    return {"scale": row.scale} | knobs | known


def _other(text: str, n_data: int | None) -> tuple[float, TrialRun]:
    """A trial run at another step, given as SCALE=FILE."""
    from designer.pairs.trial_run import TrialRun

    scale, mark, path = text.partition("=")
    try:
        if not mark:
            raise argparse.ArgumentTypeError
        return number_argument(scale), TrialRun.load(path, n_data=n_data)
    except argparse.ArgumentTypeError:
        raise BadInput(f"--at {text}: must be SCALE=TRIAL.csv, as 2=double.csv") from None


def _table(rows: list[StepRow]) -> list[str]:
    head = ("step", "m", "epsilon", "error", "acceptance", "data", "jump", "s.e.", "efficiency", "exact")
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
