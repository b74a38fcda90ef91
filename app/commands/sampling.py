"""`trial`, `run`, `audit`: chains of a config."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from app.terminal import Answer, given, progress_bar, steps_shown_by
from designer.errors import integer

if TYPE_CHECKING:
    from designer.records import Design


def collect_trial(options: argparse.Namespace) -> Answer:
    """`austerity trial`."""
    from designer.diagnostics import summarise
    from samplers.config import SamplerConfig
    from samplers.runner import collect_pairs

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
    from samplers.results import summary, to_netcdf
    from samplers.runner import run_config

    config = SamplerConfig.load(options.config, _test(options), **given(options, "chains", "draws", "seed"))
    with progress_bar(quiet=options.quiet or options.json) as show:
        results = run_config(config, options.output, resume=options.resume, progress=steps_shown_by(show))
    target = Path(options.output) / "results.nc"
    to_netcdf(results, target)
    found, stats = summary(results), results["sample_stats"]
    used = float(stats["n_used"].mean())
    data = {
        "chains": found.chains,
        "draws": found.draws,
        "acceptance": float(stats["accepted"].mean()),
        "data_per_step": used,
        "summary": [row._asdict() for row in found.rows],
        "results": str(target),
    }
    lines = [
        f"{found.chains} chains of {found.draws:,} draws: acceptance {data['acceptance']:.3f}, {used:,.0f} data a step",
        found.text(),
        f"written to {target}",
    ]
    return Answer(data, lines)


def audit_chain(options: argparse.Namespace) -> Answer:
    """`austerity audit`."""
    from samplers.config import SamplerConfig
    from samplers.runner import audit_config

    config = SamplerConfig.load(options.config, _test(options), **given(options, "seed"))
    found = audit_config(config, integer("steps", options.steps, 1, 10**9), integer("every", options.every, 1, 10**6))
    rows = {name: getattr(found, name)._asdict() for name in ("wrong", "delta", "usage")}
    data = {"pairs": found.pairs, **rows, "agrees": found.agrees}
    return Answer(data, [found.sentence], 0 if found.agrees else 1)


def _test(options: argparse.Namespace) -> Design | None:
    """The design named on the command line, if any."""
    from designer.records import Design

    if options.design is None:
        return None
    return Design.from_toml(Path(options.design).read_text(encoding="utf-8"))
