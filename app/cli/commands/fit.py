"""`austerity fit`: a regression of a table that reads only as much data as each update needs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.files import check_target
from app.cli.options import Commands, add_command
from app.cli.resolve import given
from app.cli.terminal import CommandOutput, as_json, progress_bar

if TYPE_CHECKING:
    from samplers.config.fit_config import FitConfig

SUMMARY = "Fit a regression to a table, reading only the rows it needs."
EXAMPLE = "austerity fit wages.csv --formula wage~age+C(region) --loss quantile --quantile 0.9 --report fit.html"
MODEL = ("formula", "loss", "quantile", "p", "positive", "missing")
HOW = ("epsilon", "tolerance", "rule", "first", "increment", "growth", "max_iterations", "max_read", "seed", "against")
STEPS = 1000  # of the progress bar


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "fit",
        run,
        SUMMARY,
        EXAMPLE,
        shared.seed("seed of the random order of rows (default: 0)"),
        shared.output_file("FILE.csv", "write the coefficients here, with all digits"),
    )
    parser.add_argument("source", metavar="CONFIG.toml|TABLE", help="config with [data] and [fit]; or a table")
    model = parser.group("model of a table")
    model.add_argument("--formula", metavar="'Y ~ X'", help="response and terms, such as 'wage ~ age + C(region)'")
    model.add_argument("--response", metavar="COLUMN", help="instead of a formula: the response column")
    model.add_argument("--columns", metavar="A,B", help="with --response: the predictor columns, used as they are")
    model.add_argument("--loss", help="lad, quantile, lp, logistic or poisson (default: lad)")
    model.add_argument(
        "--quantile",
        metavar="TAU",
        type=shared.number,
        help="quantile to fit, such as 0.9; needed with --loss quantile",
    )
    model.add_argument(
        "--p", metavar="P", type=shared.number, help="power of the residuals, 1 to 4; needed with --loss lp"
    )
    model.add_argument("--positive", metavar="VALUE", help="the value of the response that counts as 1, such as yes")
    model.add_argument("--missing", help="refuse: rows without a value are an error; drop: leave them out")
    how = parser.group("reading")
    how.add_argument(
        "--tolerance",
        type=shared.number,
        help="stop when an update on all rows gains less than this share of the mean loss (default: 1e-6; 1e-3 reads "
        "less)",
    )
    how.add_argument(
        "--epsilon",
        metavar="ε",
        type=shared.number,
        help="probability of accepting a wrong direction at a look (default: 0.01)",
    )
    how.add_argument("--rule", help="descent, euclidean, or printed: the test as K16 prints it (default: descent)")
    how.add_argument("--first", metavar="N0", type=shared.integer, help="rows at the first look (default: N/1000)")
    how.add_argument("--increment", metavar="ROWS", type=shared.integer, help="rows between looks (default: N/1000)")
    how.add_argument(
        "--growth",
        type=shared.number,
        help="smallest factor by which the sample grows from look to look (default: 1.1)",
    )
    how.add_argument("--max-iterations", type=shared.integer, help="stop after this many iterations (default: 200)")
    how.add_argument(
        "--max-read", metavar="ROWS", type=shared.integer, help="start no iteration once this many rows have been read"
    )
    how.add_argument("--against", metavar="A,B", help="compare with batch (IRLS on all rows), sgd, or both: batch,sgd")
    group = parser.group("output")
    group.add_argument("--report", metavar="FILE.html", help="write a report with figures (.html), or text")
    group.add_argument("--config-output", metavar="FILE.toml", help="write this fit as a config")


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.files import write_whole

    check_target(options.output, ".csv")
    check_target(options.report)
    check_target(options.config_output, ".toml")
    config = _config(options)
    with progress_bar(options, counts=False) as show:
        fit = config.run(tell=None if show is None else lambda share, note: show(int(STEPS * share), STEPS, note))
    written = []
    for path, text in ((options.output, fit.to_csv), (options.config_output, lambda: _beside(config, options))):
        if path is not None:
            write_whole(path, text())
            written.append(f"written to {path}")
    lines = fit.report(options.report).splitlines()
    written += [f"report: {options.report}"] if options.report is not None else []
    return CommandOutput(as_json(fit.facts()), [*lines, *written])


def _beside(config: FitConfig, options: argparse.Namespace) -> str:
    """The config for a file: its path of the table is relative to that file."""
    folder = os.path.dirname(os.path.abspath(options.config_output))
    return config.at(os.path.relpath(config.data.path, folder)).to_toml()


def _config(options: argparse.Namespace) -> FitConfig:
    """The config of the options, or that of the file with the options in place of its entries."""
    from samplers.config.fit_config import FitConfig
    from samplers.fit.of_table import columns_formula

    source = Path(options.source)
    if not source.exists():
        raise UsageError(f"{source}: no such config or table")
    wishes: dict[str, Any] = given(options, *MODEL, *HOW)
    if "against" in wishes:
        wishes["against"] = [name.strip() for name in wishes["against"].split(",")]
    if source.suffix.lower() == ".toml":
        if options.response is not None or options.columns is not None:
            raise UsageError(f"--response and --columns are for a table; {source} has a formula")
        return FitConfig.load(source, **wishes)
    if (options.response is None) != (options.columns is None):
        raise UsageError("--response and --columns go together; or give --formula")
    if options.response is not None:
        if "formula" in wishes:
            raise UsageError("give --formula, or --response and --columns, not both")
        wishes["formula"] = columns_formula(options.response, [name.strip() for name in options.columns.split(",")])
    if "formula" not in wishes:
        raise UsageError(f"{source}: is a table; --formula 'response ~ terms' says what to fit")
    return FitConfig.of(source, **wishes)
