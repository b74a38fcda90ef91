"""`strata`: designs by kappa."""

from __future__ import annotations

import argparse
from typing import Any

from app.terminal import DESIGN_FILES, Answer, check_target, progress_bar, write_design


def strata(options: argparse.Namespace) -> Answer:
    """`austerity strata`."""
    from designer.acceptance import check_rule
    from designer.further.strata import stratified
    from designer.records import TrialRun
    from designer.space import Space

    check_target(options.output, *DESIGN_FILES)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    space = Space(options.m_low, options.m_high)
    with progress_bar(quiet=options.quiet or options.json) as progress:
        found = stratified(
            trial, options.tolerance, options.strata, space=space, rule=check_rule(options.rule), progress=progress
        )
    single = found.single
    assert single is not None and single.predicted is not None and found.error is not None and found.usage is not None
    knobs = ("m", "epsilon", "alpha", "growth")
    data: dict[str, Any] = {
        "n_data": found.n_data,
        "first": found.first,
        "edges": list(found.edges),
        "strata": [{name: getattr(design, name) for name in knobs} for design in found.designs],
        "error": found.error,
        "usage": found.usage,
        "single": {name: getattr(single, name) for name in knobs},
        "single_usage": single.predicted.mean_usage,
        "gain": found.gain,
    }
    ends = ["0", *(f"{edge:g}" for edge in found.edges), "inf"]
    lines = [f"{'kappa':<16} {'m':>10} {'epsilon':>12} {'alpha':>8}"]
    lines += [
        f"{f'{low} to {high}':<16} {design.m:>10,} {design.epsilon:>12.4g} {design.alpha:>8.4g}"
        for low, high, design in zip(ends, ends[1:], found.designs, strict=False)
    ]
    lines += [f"kappa is judged after {found.first:,} data"] if found.edges else []
    lines += [
        f"error, mean |Delta|    {found.error:.4g}  (tolerance {options.tolerance:g})",
        f"data used per step     {found.usage:.2%}; {single.predicted.mean_usage:.2%} with one design, "
        f"m = {single.m:,}, epsilon = {single.epsilon:g}, alpha = {single.alpha:g}",
        f"strata save {found.gain:.2%} of the data" if found.edges else "strata save nothing on these pairs",
    ]
    if options.output:
        write_design(options.output, found)
        lines.append(f"written to {options.output}")
    return Answer(data, lines)
