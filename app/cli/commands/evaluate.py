"""`evaluate`, `delta`, `selfcheck`: one test, analysed."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from app.cli.terminal import Answer, read_design
from designer.core.errors import BadInput

if TYPE_CHECKING:
    from designer.engine.step_error import Acceptance
    from designer.rule.design import Design


def evaluate(options: argparse.Namespace) -> Answer:
    """`austerity evaluate`."""
    from designer.engine.walk import characteristics
    from designer.rule.plan import as_plan

    test = asked_design(options, options.n_data)
    try:
        mu_std = [float(text) for text in options.mu_std.split(",")]
    except ValueError:
        raise BadInput(f"mu_std = {options.mu_std!r}: must be numbers separated by commas") from None
    curve = characteristics(test, mu_std)
    looks = as_plan(test).schedule.size
    data = {
        "looks": looks,
        "mu_std": curve.mu_std.tolist(),
        "error": curve.error.tolist(),
        "usage": curve.usage.tolist(),
        "estimate": curve.estimate,
    }
    rows = zip(curve.mu_std, curve.error, curve.usage, strict=True)
    lines = [
        f"N = {test.n_data:,}, {_knobs(test)}: {looks:,} looks",
        f"{'mu_std':>10} {'error':>12} {'data used':>12}",
        *(f"{mu:>10g} {error:>12.6f} {usage:>12.4%}" for mu, error, usage in rows),
        f"numerical error below {curve.estimate:.0e}",
    ]
    return Answer(data, lines)


def delta(options: argparse.Namespace) -> Answer:
    """`austerity delta`."""
    from designer.engine.step_error import acceptance, check_rule
    from designer.pairs.trial_run import TrialRun

    trial = TrialRun.load(options.trial, n_data=options.n_data)
    test = asked_design(options, trial.n_data)
    found = acceptance(test, trial, check_rule(options.rule), skew=options.skew)
    data = {
        "log_acceptance": trial.log_acceptance.tolist(),
        "kappa": trial.kappa.tolist(),
        "probability": found.probability.tolist(),
        **_per_pair(found),
        "estimate": found.estimate,
    }
    if options.skew:
        gaussian = acceptance(test, trial, check_rule(options.rule))
        return _skewed(found, gaussian, data, f"{len(trial):,} pairs, N = {test.n_data:,}")
    lines = [
        f"{len(trial):,} pairs, N = {test.n_data:,}; {_knobs(test)}",
        f"mean |error in the acceptance probability|  {found.mean_abs_delta:.6f}",
        f"largest                                     {found.max_abs_delta:.6f}",
        f"mean data used per step                     {found.mean_usage:.4%}",
        f"numerical error below {found.estimate:.0e}",
    ]
    return Answer(data, lines)


def asked_design(options: argparse.Namespace, n_data: int | None) -> Design:
    """The test of a design file, or the one that the other options describe."""
    from designer.rule.design import Design

    knobs = {"--m": options.m, "--epsilon": options.epsilon, "--alpha": options.alpha, "--growth": options.growth}
    given = [name for name, value in knobs.items() if value is not None]
    if (design := read_design(options.design)) is not None:
        if given:
            raise BadInput(f"give --design or {given[0]}, not both")
        if n_data not in (None, design.n_data):
            raise BadInput(f"{options.design}: the design is for n_data = {design.n_data:,}, not {n_data:,}")
        return design
    needed = {"--n-data": n_data, "--m": options.m, "--epsilon": options.epsilon}
    if missing := [name for name, value in needed.items() if value is None]:
        raise BadInput(f"the following arguments are required: {', '.join(missing)} (or --design FILE)")
    assert n_data is not None
    shape = {name: value for name in ("alpha", "growth") if (value := getattr(options, name)) is not None}
    return Design(n_data, options.m, options.epsilon, **shape)


def _knobs(test: Design) -> str:
    """The knobs of a test in a few words."""
    if test.explicit:
        return f"m = {test.m:,}, growth = {test.growth:g}, bounds of its own at every look"
    return f"m = {test.m:,}, epsilon = {test.epsilon:g}, alpha = {test.alpha:g}"


def _per_pair(found: Acceptance) -> dict[str, Any]:
    """Delta and data use of every pair and on average; null where there is no prediction."""
    columns = {"delta": found.delta.tolist(), "usage": found.usage.tolist()}
    shown: dict[str, Any] = {name: [_or_none(value) for value in values] for name, values in columns.items()}
    return shown | {"mean_abs_delta": _or_none(found.mean_abs_delta), "mean_usage": _or_none(found.mean_usage)}


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _both(name: str, skewed: float, gaussian: float, style: str) -> str:
    """A line with a number for either theory."""
    cells = ["-" if math.isnan(value) else format(value, style) for value in (skewed, gaussian)]
    return f"{name:<42}{cells[0]:>14}{cells[1]:>12}"


def _skewed(found: Acceptance, gaussian: Acceptance, data: dict[str, Any], head: str) -> Answer:
    """The answer of `delta --skew`: with the correction for skewness, and without."""
    lines = [
        head,
        f"{'':<42}{'with skewness':>14}{'without':>12}",
        _both("mean |error in the acceptance probability|", found.mean_abs_delta, gaussian.mean_abs_delta, ".4f"),
        _both("largest", found.max_abs_delta, gaussian.max_abs_delta, ".4f"),
        _both("mean data used per step", found.mean_usage, gaussian.mean_usage, ".2%"),
    ]
    lines += [found.remark] if found.remark else []
    return Answer(data | {"gaussian": _per_pair(gaussian), "remark": found.remark}, lines)


def check_engine(options: argparse.Namespace) -> Answer:
    """`austerity selfcheck`."""
    from designer.check.selfcheck import selfcheck

    checks = selfcheck()
    passed = all(check.passed for check in checks)
    data = {
        "passed": passed,
        "checks": [
            {"name": c.name, "difference": c.difference, "allowed": c.allowed, "passed": c.passed} for c in checks
        ],
    }
    lines = [
        *(
            f"{'ok  ' if c.passed else 'FAIL'}  {c.name:<36} {c.difference:.1e} (allowed {c.allowed:.0e})"
            for c in checks
        ),
        "all checks passed" if passed else "the engine does not work correctly on this machine",
    ]
    return Answer(data, lines, 0 if passed else 1)
