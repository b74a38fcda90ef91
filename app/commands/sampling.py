"""`trial`, `run`, `audit`: chains of a config."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from app.terminal import Answer, check_target, given, progress_bar, read_design, steps_shown_by
from designer.errors import integer


def collect_trial(options: argparse.Namespace) -> Answer:
    """`austerity trial`."""
    from designer.diagnostics import summarise
    from samplers.config import SamplerConfig
    from samplers.runner import collect_pairs

    check_target(options.output)
    config = SamplerConfig.load(options.config, exact=True, **given(options, "seed"))
    trial = collect_pairs(config, integer("pairs", options.pairs, 1, 10**6), integer("every", options.every, 1, 10**6))
    trial.save(options.output)
    summary = summarise(trial)
    data = {"pairs": len(trial), "n_data": trial.n_data, "digest": trial.digest, "remarks": summary.remarks}
    lines = [
        f"{len(trial):,} pairs, N = {trial.n_data:,}: acceptance {summary.probability.mean:.3f}, "
        f"kappa {summary.kappa.mean:.4g} ± {summary.kappa.sd:.2g}",
        *summary.remarks,
        f"written to {options.output}",
    ]
    return Answer(data, lines)


def run_chains(options: argparse.Namespace) -> Answer:
    """`austerity run`."""
    from samplers.config import SamplerConfig
    from samplers.results import steps, summary, to_netcdf
    from samplers.runner import run_config

    config = SamplerConfig.load(
        options.config, read_design(options.design), **given(options, "chains", "draws", "seed")
    )
    with progress_bar(quiet=options.quiet or options.json) as show:
        results = run_config(config, options.output, resume=options.resume, progress=steps_shown_by(show))
    target = Path(options.output) / "results.nc"
    to_netcdf(results, target)
    found, done = summary(results), steps(results)
    data = {
        "chains": found.chains,
        "draws": found.draws,
        **done._asdict(),
        "summary": [_plain(row._asdict()) for row in found.rows],
        "results": str(target),
    }
    lines = [
        f"acceptance {done.acceptance:.3f}, {done.data_per_step:,.0f} data per step ({done.usage:.3%})",
        found.text(),
        f"written to {target}",
    ]
    return Answer(data, lines)


def audit_chain(options: argparse.Namespace) -> Answer:
    """`austerity audit`."""
    from samplers.config import SamplerConfig
    from samplers.runner import audit_config

    config = SamplerConfig.load(options.config, read_design(options.design), **given(options, "seed"))
    found = audit_config(config, integer("steps", options.steps, 1, 10**9), integer("every", options.every, 1, 10**6))
    rows = {name: getattr(found, name)._asdict() for name in ("wrong", "delta", "usage")}
    return Answer({"pairs": found.pairs, **rows, "agrees": found.agrees}, [found.sentence])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Without NaN, which JSON does not have (R-hat of one chain)."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
