"""`trial`, `run`, `audit`: chains of a config."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.terminal import Answer, check_target, cluster_at, doing, given, progress_bar, read_design, steps_shown_by
from designer.core.errors import BadInput, integer
from designer.core.files import write_whole

if TYPE_CHECKING:
    from xarray import DataTree

    from samplers.adapt.redesign import Change
    from samplers.chains.parallel import RunProgress
    from samplers.runs.results import Steps, Summary

SHOWN_CHANGES = 3  # of the designs of each chain; redesign.csv has all
SHOWN = 8  # parameters at the end of a run; results.nc has all


def collect_trial(options: argparse.Namespace) -> Answer:
    """`austerity trial`."""
    from designer.pairs.diagnostics import summarise
    from samplers.config.built_in import BUILT_IN, built_in, twin_notice
    from samplers.config.config import SamplerConfig
    from samplers.runs.run import collect_pairs

    check_target(options.output)
    check_target(options.config_output)
    numbers = integer("pairs", options.pairs, 1, 10**6), integer("every", options.every, 1, 10**6)
    if options.config in BUILT_IN:
        config = built_in(options.config, options.data, **given(options, "seed"))
    elif options.data is not None:
        raise BadInput("data: --data is for the built-in chains; a config names its own data")
    elif not Path(options.config).exists():
        raise BadInput(f"{options.config}: no such file, and not a built-in chain ({', '.join(BUILT_IN)})")
    else:
        config = SamplerConfig.load(options.config, exact=True, **given(options, "seed"))
    with cluster_at(options.cluster) as cluster, progress_bar(quiet=options.quiet or options.json) as show:
        collect = collect_pairs if cluster is None else cluster.collect_pairs
        trial = collect(config, *numbers, progress=show)
    trial.save(options.output)
    written = [f"written to {options.output}"]
    if options.config_output is not None:
        write_whole(options.config_output, config.to_toml())
        written.append(f"its config to {options.config_output}")
    summary, notice = summarise(trial), twin_notice(config)
    remarks = summary.remarks if notice is None else [*summary.remarks, notice]
    data = {"pairs": len(trial), "n_data": trial.n_data, "digest": trial.digest, "remarks": remarks}
    lines = [
        f"{len(trial):,} pairs, N = {trial.n_data:,}: acceptance {summary.probability.mean:.3f}, "
        f"kappa {summary.kappa.mean:.4g} ± {summary.kappa.sd:.2g}",
        *remarks,
        ", ".join(written),
    ]
    return Answer(data, lines)


def run_chains(options: argparse.Namespace) -> Answer:
    """`austerity run`."""
    from samplers.adapt.redesign import logs_in
    from samplers.config.config import SamplerConfig
    from samplers.runs.results import steps, summary
    from samplers.runs.run import run_config
    from samplers.runs.saved_run import RESULTS

    config = SamplerConfig.load(
        options.config, read_design(options.design), **given(options, "chains", "draws", "seed")
    )
    if options.resume:
        _check_resumable(Path(options.output))
    reached: list[RunProgress] = []
    with cluster_at(options.cluster) as cluster, progress_bar(quiet=options.quiet or options.json) as show:
        tell = _remembering(reached, steps_shown_by(show))
        run = run_config if cluster is None else cluster.run_config
        results = run(config, options.output, resume=options.resume, progress=tell)
    target = Path(options.output) / RESULTS
    with doing("summarising the results", quiet=options.quiet or options.json):
        found, done = summary(results), steps(results)
    data = {
        "chains": found.chains,
        "draws": found.draws,
        **done._asdict(),
        "seconds": reached[-1].seconds if reached else 0.0,
        "summary": [_plain(row._asdict()) for row in found.rows],
        "results": str(target),
    }
    logs = dict(zip(results["posterior"].chain.values.tolist(), logs_in(results.attrs), strict=False))
    if logs:
        data["redesign"] = [[change._asdict() for change in log] for log in logs.values()]
    weighted, about = _weighted(results, found)
    data |= weighted
    end = [*found.remarks, *about, *_redesign_lines(logs), _done_line(done, reached), f"written to {target}"]
    return Answer(data | {"remarks": found.remarks}, [found.worst(SHOWN).text(), *end])


def _weighted(results: DataTree, found: Summary) -> tuple[dict[str, Any], list[str]]:
    """With a schedule, the means by the weights of its phases, or why there are none: the table knows no weights."""
    from samplers.adapt.phases import scheduled_mean

    if "schedule" not in results.attrs:
        return {}, []
    alike = "the table counts the draws of all phases of the schedule alike"
    try:
        means = scheduled_mean(results)
    except BadInput as none:
        return {}, [f"{alike} ({none})"]
    names = [row.name for row in found.rows if row.name.startswith("theta")]
    known = dict(zip(names, zip(*(part.tolist() for part in means), strict=True), strict=True))
    shown = [row.name for row in found.worst(SHOWN).rows if row.name in known]
    line = ", ".join(f"{name} {known[name][0]:.4g} ± {known[name][1]:.2g}" for name in shown)
    rows = [_plain({"name": name, "mean": mean, "se": se}) for name, (mean, se) in known.items()]
    return {"scheduled_mean": rows}, [f"{alike}; weighted, with standard errors between chains: {line}"]


def _redesign_lines(logs: Mapping[int, Sequence[Change]]) -> list[str]:
    """The latest changes of the designs, chain by chain."""
    lines = []
    for number, log in logs.items():
        changes = [change for change in log if change.changed]
        lines.append(f"chain {number}: designed {len(log):,} times, changed {len(changes):,} times")
        lines += [f"  {change.line}" for change in changes[-SHOWN_CHANGES:]]
    return lines


def _check_resumable(directory: Path) -> None:
    """A run that does not exist cannot be resumed; a mistyped directory should not start a new one.

    One that holds nothing yet is what a run leaves that was killed at once: there the run starts.
    """
    from samplers.runs.store import Store

    if not directory.is_dir():
        raise BadInput(f"{directory}: no such directory; leave out --resume to start a run there")
    store = Store(directory)
    if store.meta() is None and store.foreign:
        raise BadInput(f"{directory}: holds no run; leave out --resume to start one")


def can_go_on(options: argparse.Namespace) -> bool:
    """Whether a command that was stopped is a run of which something is saved."""
    return hasattr(options, "resume") and (Path(options.output) / "run.bin").exists()


def _remembering(
    reached: list[RunProgress], tell: Callable[[RunProgress], None] | None
) -> Callable[[RunProgress], None]:
    """Pass progress on, and keep the last of it."""

    def both(progress: RunProgress) -> None:
        reached[:] = [progress]
        if tell is not None:
            tell(progress)

    return both


def _done_line(done: Steps, reached: list[RunProgress]) -> str:
    usage = "" if done.usage is None else f" ({done.usage:.3%})"
    line = f"acceptance {done.acceptance:.3f}, {done.data_per_step:,.0f} data per step{usage}"
    if done.gradient_data:
        line += f" and {done.gradient_data:,} for the proposal's gradient"
    if not reached:
        return f"{line}; all steps were there already"
    return f"{line}; {reached[-1].done:,} steps in {reached[-1].seconds:.1f} s"


def audit_chain(options: argparse.Namespace) -> Answer:
    """`austerity audit`."""
    from samplers.config.config import SamplerConfig
    from samplers.runs.run import audit_config

    config = SamplerConfig.load(options.config, read_design(options.design), **given(options, "seed"))
    found = audit_config(config, integer("steps", options.steps, 1, 10**9), integer("every", options.every, 1, 10**6))
    rows = {name: getattr(found, name)._asdict() for name in ("wrong", "delta", "usage")}
    return Answer({"pairs": found.pairs, **rows, "agrees": found.agrees}, [found.sentence])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Without NaN and infinity, which JSON does not have (R-hat of one chain)."""
    unfit = {name for name, value in row.items() if isinstance(value, float) and not math.isfinite(value)}
    return {name: None if name in unfit else value for name, value in row.items()}
