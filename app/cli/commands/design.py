"""`austerity design`: the cheapest design within a tolerance."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.files import DESIGN_FILES, check_target
from app.cli.options import Commands, add_command
from app.cli.resolve import cluster_at, search_options
from app.cli.terminal import CommandOutput, note_lines, progress_bar

if TYPE_CHECKING:
    from designer.pairs.trial_run import TrialRun
    from designer.rule.design import Predicted
    from designer.search.remarks import BesideExact
    from designer.search.search import Options, SearchResult

SUMMARY = "Find the cheapest design within a tolerance on the error."
EXAMPLE = "austerity design trial.csv --tolerance 0.01 --output design.toml"
STATIONARY_PAIRS = 400  # made for --acceptance


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "design",
        run,
        SUMMARY,
        EXAMPLE,
        shared.trial_run("pairs of a trial run; not needed with --criterion worst-case or --acceptance", optional=True),
        shared.tolerance("largest error allowed, as the criterion measures it"),
        shared.acceptance_rule(),
        shared.skewness(),
        shared.search_space(),
        shared.step_cost(shared.DATA_COST),
        shared.cluster(),
        shared.output_file("DESIGN.toml", "write the design here (or .json); nothing is written if infeasible"),
        shared.table_file("write all evaluated designs here"),
    )
    parser.add_argument(
        "--criterion",
        default="average",
        help="average: mean |Δ| over the pairs; quantile: a quantile of |Δ|; worst-case: the error at μ_std = 0, "
        "without a trial run; fixed-m: the papers' heuristic (default: %(default)s)",
    )
    parser.add_argument(
        "--acceptance",
        metavar="RATE",
        type=shared.number,
        help="without a trial run: simulate the pairs of a stationary chain with this acceptance rate",
    )
    parser.add_argument(
        "--spread", metavar="SD", type=shared.number, default=0.0, help="sd of log κ over these pairs (default: 0)"
    )
    parser.add_argument(
        "--folds", type=shared.integer, help="also cross-validate the design, with this number of folds"
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.files import csv_text, write_whole
    from designer.search.criteria import check_criterion
    from designer.search.search import search

    check_target(options.output, *DESIGN_FILES)
    check_target(options.table)
    criterion, trial = check_criterion(options.criterion), _trial(options)
    limits = search_options(options, trial)
    if options.folds is not None and trial is None:
        raise UsageError("--folds needs a trial run")
    with cluster_at(options.cluster) as cluster, progress_bar(options) as show:
        where: Options = {"progress": show, "mapper": None if cluster is None else cluster.map}
        result = search(trial, options.tolerance, criterion, **(limits | where))
    output = _infeasible(result, options) if result.best is None else _feasible(result, trial, options, limits)
    output.lines.extend([] if trial is None else note_lines(trial.notes))
    if options.table:
        write_whole(options.table, csv_text(result.evaluated._fields, zip(*result.evaluated, strict=True)))
    if options.output and result.best is not None:
        result.best.save(options.output)
        output.lines.append(f"written to {options.output}")
    return output


def _trial(options: argparse.Namespace) -> TrialRun | None:
    """The trial run named on the command line, or one made for an acceptance rate, or none."""
    import numpy as np

    from designer.pairs.trial_run import TrialRun

    if options.trial is not None and options.acceptance is not None:
        raise UsageError("give a trial run or --acceptance, not both")
    if options.trial is not None:
        return TrialRun.load(options.trial, n_data=options.n_data)
    if options.acceptance is None and options.n_data is None:
        raise UsageError("give a trial run, or --n-data with --acceptance or with --criterion worst-case")
    if options.acceptance is not None:
        if options.n_data is None:
            raise UsageError("--acceptance needs --n-data")
        rng = np.random.default_rng(0)
        return TrialRun.at_stationarity(options.n_data, options.acceptance, STATIONARY_PAIRS, rng, options.spread)
    if options.spread:
        raise UsageError("--spread needs --acceptance")
    return None


def _infeasible(result: SearchResult, options: argparse.Namespace) -> CommandOutput:
    data = {"feasible": False, "design": None, "reason": result.reason, "nearest_tolerance": result.nearest_tolerance}
    data |= {"confidence": result.confidence, "exact_cost": result.exact_cost}
    unwritten = [f"{options.output}: not written"] if options.output else []
    return CommandOutput(data | {"evaluated": len(result.evaluated)}, [f"infeasible: {result.reason}", *unwritten])


def _feasible(
    result: SearchResult, trial: TrialRun | None, options: argparse.Namespace, limits: Options
) -> CommandOutput:
    best = result.best
    assert best is not None and best.predicted is not None
    predicted, beside = best.predicted, _beside_exact(result, trial, options)
    data: dict[str, Any] = {
        "feasible": True,
        "design": {key: getattr(best, key) for key in ("n_data", "m", "epsilon", "alpha", "growth")},
        "criterion": result.criterion,
        "tolerance": result.tolerance,
        "error": result.error,
        "error_limit": None if result.confidence is None else result.limit,
        "confidence": result.confidence,
        "mean_abs_delta": predicted.mean_abs_delta,
        "mean_usage": predicted.mean_usage,
        "worst_error": predicted.worst_error,
        "worst_usage": predicted.worst_usage,
        "source": predicted.source,
        "estimate": predicted.estimate,
        "looks": result.looks,
        "cost": result.cost,
        "exact_cost": result.exact_cost,
        "evaluations": {"test": beside.test, "exact": beside.exact} if options.cost is None else None,
        "remarks": list(result.remarks),
        "evaluated": len(result.evaluated),
    }
    lines = [
        f"N = {best.n_data:,}: m = {best.m:,}, ε = {best.epsilon:g}, α = {best.alpha:g}, growth = {best.growth:g}",
        _error_line(result),
    ]
    if trial is not None and predicted.mean_abs_delta is not None:
        bands, band_lines = _bands(result, trial, options)
        data |= bands
        lines += band_lines
    lines += [
        *_worst(predicted),
        *([] if predicted.source is None else [f"{'source':<24}{predicted.source}"]),
        f"{'evaluations per step' if options.cost is None else 'cost per step':<24}{beside.test:,.0f}  "
        f"(an exact chain that keeps log p(xᵢ; θ): {beside.exact:,.0f})",
        *(f"remark: {remark}" for remark in result.remarks),
        f"{len(result.evaluated):,} designs evaluated; numerical error below {predicted.estimate:.0e}",
    ]
    if trial is not None and options.folds is not None:
        folds, line = _cross_validated(trial, options, limits)
        return CommandOutput(data | folds, [*lines, line])
    return CommandOutput(data, lines)


def _error_line(result: SearchResult) -> str:
    """The expected error, and the upper limit that the tolerance holds for."""
    limit = "" if result.confidence is None else f"at most {result.limit:.4g} with confidence {result.confidence:g}, "
    return f"{f'error ({result.criterion})':<24}{result.error:.4g}  ({limit}tolerance {result.tolerance:g})"


def _beside_exact(result: SearchResult, trial: TrialRun | None, options: argparse.Namespace) -> BesideExact:
    """What a step costs, beside a step of an exact chain: by default in likelihood evaluations."""
    from designer.search.criteria import Cost
    from designer.search.remarks import beside_exact

    assert result.best is not None and result.usage is not None and result.looks is not None
    cost = Cost() if options.cost is None else Cost(*options.cost)
    n_heavy = 0 if trial is None else trial.n_heavy
    return beside_exact(cost, result.best.n_data, result.usage, result.looks, n_heavy)


def _worst(predicted: Predicted) -> list[str]:
    """The hardest decision, if the theory holds for it."""
    if predicted.worst_error is None or predicted.worst_usage is None:
        return []
    return [f"{'worst case':<24}error {predicted.worst_error:.4g}, data use {predicted.worst_usage:.2%}"]


def _bands(result: SearchResult, trial: TrialRun, options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """How much the pairs leave open: bootstrap bands of mean |Δ| and data use."""
    import numpy as np

    from designer.search.resample import bootstrap

    assert result.best is not None
    band = bootstrap(np.random.default_rng(0), result.best, trial, rule=options.rule, skew=options.skew)
    # the bands say nothing about a quantile, and an upper limit already allows for few pairs
    averaged = result.criterion in ("average", "fixed-m") and result.confidence is None
    data = {
        "mean_abs_delta_band": list(band.error[1:]),
        "mean_usage_band": list(band.usage[1:]),
        "warning": band.warning(result.tolerance) if averaged else None,
    }
    error, usage = band.error, band.usage
    lines = [
        f"{'mean |Δ|':<24}{error.value:.4g}  (95% band {error.low:.4g} to {error.high:.4g})",
        f"{'mean data use per step':<24}{usage.value:.2%}  (95% band {usage.low:.2%} to {usage.high:.2%})",
    ]
    return data, [*lines, f"warning: {data['warning']}"] if data["warning"] else lines


def _cross_validated(trial: TrialRun, options: argparse.Namespace, limits: Options) -> tuple[dict[str, Any], str]:
    """What designs made without some of the pairs do on those pairs."""
    import numpy as np

    from designer.search.criteria import check_criterion
    from designer.search.resample import cross_validate

    rng, criterion = np.random.default_rng(0), check_criterion(options.criterion)
    result = cross_validate(rng, trial, options.tolerance, criterion, folds=options.folds, **limits)
    line = f"{options.folds} folds: no fold has a design" + (" for all its pairs" if options.skew else "")
    if result.test_error is not None:
        verdict = "the tolerance holds" if result.holds else "the tolerance does NOT hold"
        error = f"{result.test_error:.4g} ± {result.test_error_se:.2g}"
        line = f"{options.folds} folds: error on unseen pairs {error}; {verdict}"
    data = {"folds": options.folds, "test_error": result.test_error, "test_error_se": result.test_error_se}
    return data | {"holds": result.holds}, line
