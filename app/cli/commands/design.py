"""`design`, `frontier`, `summary`: from a trial run to a design."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from app.cli.terminal import DESIGN_FILES, Answer, check_target, cluster_at, progress_bar, write_design
from designer.core.errors import BadInput
from designer.core.files import csv_text, write_whole

if TYPE_CHECKING:
    from designer.pairs.trial_run import TrialRun
    from designer.search.frontier import FrontierPoint
    from designer.search.search import Options, SearchResult


def design(options: argparse.Namespace) -> Answer:
    """`austerity design`."""
    from designer.search.criteria import check_criterion
    from designer.search.search import search

    check_target(options.output, *DESIGN_FILES)
    check_target(options.table)
    criterion, trial = check_criterion(options.criterion), _trial(options)
    search_options = _search_options(options, trial)
    if options.folds is not None and trial is None:
        raise BadInput("--folds needs a trial run")
    with cluster_at(options.cluster) as cluster, progress_bar(quiet=options.quiet or options.json) as progress:
        where: Options = {"progress": progress, "mapper": None if cluster is None else cluster.map}
        found = search(trial, options.tolerance, criterion, **(search_options | where))
    table = csv_text(found.evaluated._fields, zip(*found.evaluated, strict=True))
    if found.best is None:
        if options.table:
            write_whole(options.table, table)
        data = {"feasible": False, "design": None, "reason": found.reason, "nearest_tolerance": found.nearest_tolerance}
        kept = [f"{options.output}: not written"] if options.output else []
        return Answer(data | {"evaluated": len(found.evaluated)}, [f"infeasible: {found.reason}", *kept])
    answer = _design_answer(found, trial, options)
    if trial is not None and options.folds is not None:
        answer = _with_folds(answer, trial, options, search_options)
    if options.table:
        write_whole(options.table, table)
    if options.output:
        write_design(options.output, found.best)
        answer.lines.append(f"written to {options.output}")
    return answer


def frontier(options: argparse.Namespace) -> Answer:
    """`austerity frontier`."""
    from designer.pairs.trial_run import TrialRun
    from designer.search.frontier import FrontierPoint
    from designer.search.frontier import frontier as compute

    check_target(options.output)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    test = None if options.test is None else TrialRun.load(options.test, n_data=options.n_data)
    search_options = _search_options(options, trial)
    with cluster_at(options.cluster) as cluster, progress_bar(quiet=options.quiet or options.json) as progress:
        where: Options = {"progress": progress, "mapper": None if cluster is None else cluster.map}
        found = compute(trial, options.tolerances, test, **(search_options | where))
    fields = ("criterion", "tolerance", "m", "epsilon", "alpha", "growth", *FrontierPoint._fields[3:])
    rows = [_frontier_row(point) for point in found]
    if options.output:
        write_whole(options.output, csv_text(fields, rows))
    lines = [f"{'criterion':<11} {'tolerance':>10} {'m':>10} {'epsilon':>10} {'alpha':>6} {'error':>10} {'data':>8}"]
    for row in rows:
        knobs = f"{row[2]:>10,} {row[3]:>10.4g} {row[4]:>6.3f}" if row[2] is not None else f"{'infeasible':>28}"
        measured = "" if row[6] is None else f" {row[6]:>10.4g} {row[7]:>8.2%}"
        fresh = "" if row[8] is None else f"   on fresh pairs {row[8]:.4g}, {row[9]:.2%}"
        lines.append(f"{row[0]:<11} {row[1]:>10.4g} {knobs}{measured}{fresh}")
    return Answer({"points": [dict(zip(fields, row, strict=True)) for row in rows]}, lines)


def summary(options: argparse.Namespace) -> Answer:
    """`austerity summary`."""
    from designer.engine.step_error import check_rule
    from designer.pairs.diagnostics import SUMMARY_LEVELS, summarise, worst_tail_check
    from designer.pairs.trial_run import TrialRun

    trial = TrialRun.load(options.trial, n_data=options.n_data)
    found = summarise(trial, check_rule(options.rule))
    spreads = {name: getattr(found, name) for name in ("log_acceptance", "kappa", "probability", "skew")}
    spreads = {name: spread for name, spread in spreads.items() if spread is not None}
    data: dict[str, Any] = {
        "pairs": found.pairs,
        "n_data": found.n_data,
        "digest": trial.digest,
        **{name: spread._asdict() for name, spread in spreads.items()},
        "remarks": found.remarks,
    }
    levels = "".join(f"{level:>10.0%}" for level in SUMMARY_LEVELS)
    lines = [f"{found.pairs:,} pairs, N = {found.n_data:,}", f"{'':<16}{'mean':>10}{'sd':>10}{levels}"]
    for name, spread in spreads.items():
        cells = "".join(f"{value:>10.3g}" for value in (spread.mean, spread.sd, *spread.quantiles))
        lines.append(f"{name:<16}{cells}")
    if (check := worst_tail_check(trial, options.m, options.epsilon)) is not None:
        data["normal_approximation"] = check._asdict()
        lines.append(f"normal approximation at the most skewed pair: {check.sentence}")
    return Answer(data, [*lines, *found.remarks])


def _search_options(options: argparse.Namespace, trial: TrialRun | None) -> Options:
    """What `design` and `frontier` tell the search."""
    from designer.engine.step_error import check_rule
    from designer.search.criteria import Cost
    from designer.search.space import Space

    if options.cost is not None and len(options.cost) != 3:
        raise BadInput(f"cost: {len(options.cost)} numbers given; must be three, as 0,1,0")
    for name in ("alpha", "epsilon"):
        if len(getattr(options, name)) > 2:
            raise BadInput(f"{name}: give one value, or two for a range")
        if getattr(options, name)[0] > getattr(options, name)[-1]:
            raise BadInput(f"{name}: give the smaller end of the range first")
    space = Space(
        options.m_low,
        options.m_high,
        (options.alpha[0], options.alpha[-1]),
        tuple(options.growth),
        (options.epsilon[0], options.epsilon[-1]),
    )
    return {
        "n_data": options.n_data if trial is None else None,
        "space": space,
        "fixed_m": options.fixed_m,
        "cost": None if options.cost is None else Cost(*options.cost),
        "rule": check_rule(options.rule),
        "quantile": options.quantile,
        "skew": options.skew,
    }


def _with_folds(answer: Answer, trial: TrialRun, options: argparse.Namespace, search_options: Options) -> Answer:
    """The answer with what designs made without some of the pairs do on those."""
    from designer.search.criteria import check_criterion
    from designer.search.resample import cross_validate

    rng, criterion = np.random.default_rng(0), check_criterion(options.criterion)
    found = cross_validate(rng, trial, options.tolerance, criterion, folds=options.folds, **search_options)
    line = f"{options.folds} folds: no fold has a design" + (" for all its pairs" if options.skew else "")
    if found.test_error is not None:
        verdict = "holds" if found.holds else "does NOT hold"
        error = f"{found.test_error:.4g} ± {found.test_error_se:.2g}"
        line = f"{options.folds} folds: error on unseen pairs {error}: {verdict}"
    data = {"folds": options.folds, "test_error": found.test_error, "test_error_se": found.test_error_se}
    return answer._replace(data=answer.data | data | {"holds": found.holds}, lines=[*answer.lines, line])


def _frontier_row(point: FrontierPoint) -> tuple[Any, ...]:
    best = point.design
    knobs = (None,) * 4 if best is None else (best.m, best.epsilon, best.alpha, best.growth)
    return (point.criterion, point.tolerance, *knobs, *point[3:])


def _trial(options: argparse.Namespace) -> TrialRun | None:
    """The trial run named on the command line, or one made for an acceptance rate, or none."""
    from designer.pairs.trial_run import TrialRun

    if options.trial is not None and options.acceptance is not None:
        raise BadInput("give a trial run or --acceptance, not both")
    if options.trial is not None:
        return TrialRun.load(options.trial, n_data=options.n_data)
    if options.acceptance is None and options.n_data is None:
        raise BadInput("give a trial run, or --n-data with --acceptance or with --criterion worst-case")
    if options.acceptance is not None:
        if options.n_data is None:
            raise BadInput("--acceptance needs --n-data")
        rng = np.random.default_rng(0)
        return TrialRun.at_stationarity(options.n_data, options.acceptance, 400, rng, options.spread)
    if options.spread:
        raise BadInput("--spread needs --acceptance")
    return None


def _design_answer(found: SearchResult, trial: TrialRun | None, options: argparse.Namespace) -> Answer:
    from designer.search.resample import bootstrap

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
    if trial is not None and best.predicted.mean_abs_delta is not None:
        band = bootstrap(np.random.default_rng(0), best, trial, rule=options.rule, skew=options.skew)
        data |= {"mean_abs_delta_band": list(band.error[1:]), "mean_usage_band": list(band.usage[1:])}
        averaged = found.criterion in ("average", "fixed-m")  # what the bands are about
        data["warning"] = band.warning(found.tolerance) if averaged else None
        lines += [
            f"mean |Delta|           {band.error.value:.4g}  (95% band {band.error.low:.4g} to {band.error.high:.4g})",
            f"data used per step     {band.usage.value:.2%}  (95% band {band.usage.low:.2%} to {band.usage.high:.2%})",
        ]
        if data["warning"]:
            lines.append(f"warning: {data['warning']}")
    worst = best.predicted
    lines += [
        f"worst case             error {worst.worst_error:.4g}, data {worst.worst_usage:.2%}",
        f"{len(found.evaluated):,} designs evaluated; numerical error below {worst.estimate:.0e}",
    ]
    return Answer(data, lines)
