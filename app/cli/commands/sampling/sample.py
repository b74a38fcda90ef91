"""`austerity sample`: from a config, or from a table and a formula, to an audited posterior."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.files import check_target
from app.cli.options import Commands, add_command
from app.cli.resolve import design_file, given, refuse_formula, table_config
from app.cli.terminal import CommandOutput, as_json, shows_progress

if TYPE_CHECKING:
    from samplers.flow.result import SampleResult

SUMMARY = "Sample a posterior to the accuracy you ask for, in one command."
EXAMPLE = "austerity sample policies.csv --formula claimed~age+power --prior 10 --posterior-error 0.02 --output out"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "sample",
        run,
        SUMMARY,
        EXAMPLE,
        shared.formula(),
        shared.seed(),
        shared.tolerance(
            "instead of --posterior-error: largest mean |Δ|, the error of the acceptance probability", required=False
        ),
        shared.output_file("DIR", "folder for checkpoints, results.nc, the report and everything else", required=True),
    )
    parser.add_argument("source", metavar="CONFIG.toml|TABLE", help="config with [data] and [model]; or a table")
    parser.add_argument(
        "--posterior-error",
        metavar="E",
        type=shared.number,
        help="largest error that the method may add to a mean or sd, in posterior sds (default: 0.05)",
    )
    parser.add_argument("--chains", type=shared.integer, help="number of chains (default: the config's, or 4)")
    parser.add_argument(
        "--draws", type=shared.integer, help="draws per chain (default: as many as 400 effective ones need)"
    )
    parser.add_argument(
        "--warmup", type=shared.integer, help="steps to discard before the draws (default: depends on the proposal)"
    )
    choices = parser.group("decisions to override")
    choices.add_argument("--test", help="auto, exact-minibatch, sequential or exact (default: auto, the cheapest)")
    choices.add_argument("--design", metavar="DESIGN.toml", help="use this design of a sequential test (or .json)")
    choices.add_argument("--proposal", help="auto, proxy or random-walk (default: auto)")
    choices.add_argument("--order", type=shared.integer, help="order of the control variates: 2, 1, or 0 for none")
    choices.add_argument("--heavy", metavar="ROWS", help="rows that every step reads: a number, or auto")
    choices.add_argument(
        "--laplace",
        help="auto: no chain where Laplace, or weighted draws of it, are good enough; never; always (default: auto)",
    )
    choices.add_argument("--pairs", type=shared.integer, help="pairs of the trial run, if a design needs one")
    choices.add_argument(
        "--audit",
        metavar="PASSES",
        type=shared.integer,
        help="audit at most this many steps; 0 for no audit (default: 400)",
    )
    choices.add_argument(
        "--certify",
        metavar="PASSES",
        type=shared.integer,
        help="passes over the data for a certificate (default: none)",
    )
    group = parser.group("output")
    group.add_argument("--report", metavar="FILE.html", help="also write the report here (.html, or text)")
    group.add_argument("--resume", action="store_true", help="continue in DIR; no finished step is repeated")


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from samplers.flow.sample import sample

    check_target(options.report)
    source: Any = Path(options.source)
    if not source.exists():
        raise UsageError(f"{source}: no such config or table")
    if source.suffix.lower() == ".toml":
        refuse_formula(options, options.source)
    else:
        source = table_config(options.source, options)
    names = "posterior_error", "tolerance", "draws", "warmup", "chains", "seed"
    wishes = given(options, *names, "test", "proposal", "order", "laplace", "pairs", "audit", "certify")
    if options.heavy is not None:
        wishes["heavy"] = options.heavy if options.heavy == "auto" else _rows(options.heavy)
    if (design := design_file(options)) is not None:
        wishes["design"] = design
    result = sample(source, **wishes, output=options.output, resume=options.resume, progress=shows_progress(options))
    text = result.report(options.report)
    lines = text.splitlines() + ([f"report: {options.report}"] if options.report is not None else [])
    return CommandOutput(_data(result), lines)


def _rows(text: str) -> int:
    try:
        return shared.integer(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--heavy: {error}; must be a number of rows, or auto") from None


def _data(result: SampleResult) -> dict[str, Any]:
    """For programs."""
    table, verdict, design = result.summary(), result.laplace, result.design
    knobs = ("n_data", "m", "epsilon", "alpha", "growth")
    return {
        "method": result.method,
        "warnings": list(result.warnings),
        "posterior_error": {"status": result.claim.status, "sentence": result.claim.sentence},
        "decisions": as_json(result.decisions),
        "chains": table.chains,
        "draws": table.draws,
        "summary": as_json(table.rows),
        "laplace": None if verdict is None else verdict.facts(),
        "design": None if design is None else {name: getattr(design, name) for name in knobs},
        "audit": as_json(result.audit),
        "certificate": as_json(result.certificate),
        "results": str(Path(str(result.output)) / "results.nc"),
        "report": str(Path(str(result.output)) / "report.html"),
    }
