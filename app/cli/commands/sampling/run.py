"""`austerity run`: the chains of a config, saved as they go."""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.options import Commands, add_command
from app.cli.resolve import chain_of, cluster_at, given
from app.cli.terminal import CommandOutput, chain_progress, note_lines, progress_bar, say_above, status

if TYPE_CHECKING:
    from xarray import DataTree

    from samplers.adapt.redesign import Change
    from samplers.chains.parallel import RunProgress
    from samplers.config.config import SamplerConfig
    from samplers.runs.results import PosteriorSummary, Steps

SUMMARY = "Run a config or a built-in chain; --resume continues a run."
EXAMPLE = "austerity run config.toml --design design.toml --output out --chains 4"
SHOWN_CHANGES = 3  # of the designs of each chain; redesign.csv has all
SHOWN = 8  # parameters at the end of a run; results.nc has all


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "run",
        run,
        SUMMARY,
        EXAMPLE,
        shared.chain_config(),
        shared.seed(),
        shared.cluster(),
        shared.output_file("DIR", "folder for checkpoints, and for results.nc at the end", required=True),
    )
    parser.add_argument("--chains", type=shared.integer, help="number of chains (default: the config's)")
    parser.add_argument(
        "--draws",
        type=shared.integer,
        help="draws per chain; with --resume, they may be more than before (default: the config's)",
    )
    parser.add_argument("--resume", action="store_true", help="continue the run in DIR from its last checkpoint")


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from samplers.runs.monitor import NotAsPredicted
    from samplers.runs.results import steps, summary
    from samplers.runs.run import run_config
    from samplers.runs.saved_run import RESULTS

    overrides = given(options, "chains", "draws", "seed")
    config = chain_of(options, **overrides)
    if options.resume:
        _check_resumable(Path(options.output))
    latest: list[RunProgress] = []
    with cluster_at(options.cluster) as cluster, progress_bar(options, counts=False) as show:
        report = _remembering(latest, chain_progress(show), quiet=options.quiet or options.json)
        run_chains = run_config if cluster is None else cluster.run_config
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotAsPredicted)  # the remarks say it
            results = run_chains(config, options.output, resume=options.resume, progress=report)
    target = Path(options.output) / RESULTS
    with status("summarising the results", options):
        table, totals = summary(results), steps(results)
    data = {
        "chains": table.chains,
        "draws": table.draws,
        **totals._asdict(),
        "seconds": latest[-1].seconds if latest else 0.0,
        "summary": [_finite(row._asdict()) for row in table.rows],
        "results": str(target),
    }
    redesigns, redesign_lines = _redesigns(results)
    means, mean_lines = _scheduled_means(results, table)
    notices = _notices(options, config)
    lines = [
        *notices,
        table.worst(SHOWN).text(),
        *table.remarks,
        *note_lines(results.attrs),
        *mean_lines,
        *filter(None, [results.attrs.get("proposal")]),
        *redesign_lines,
        _last_line(totals, latest),
        f"written to {target}",
    ]
    return CommandOutput(data | redesigns | means | {"remarks": [*notices, *table.remarks]}, lines)


def _notices(options: argparse.Namespace, config: SamplerConfig) -> list[str]:
    """What to know of the run of a built-in chain: its data may be synthetic, and its test exact."""
    from samplers.config.built_in import CHAINS, twin_notice

    if options.config not in CHAINS:
        return []
    exact = "exact test: every step reads all data; --design DESIGN.toml gives the chain another test"
    return [*filter(None, [twin_notice(config)]), *([exact] if config.test is None else [])]


def can_resume(options: argparse.Namespace) -> bool:
    """Whether a command that was stopped is a run that has saved something."""
    if not hasattr(options, "resume") or options.output is None:
        return False
    return any((Path(options.output) / name).exists() for name in ("run.bin", "steps"))


def _check_resumable(directory: Path) -> None:
    """Refuse to resume a run that does not exist: a mistyped directory should not start a new one.

    An empty directory is what a run leaves that was killed at once: there the run starts.
    """
    from samplers.runs.store import Store

    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory; leave out --resume to start a run there")
    store = Store(directory)
    if store.meta() is None and store.foreign:
        raise UsageError(f"{directory}: holds no run; leave out --resume to start one")


def _remembering(
    latest: list[RunProgress], show: Callable[[RunProgress], None] | None, *, quiet: bool
) -> Callable[[RunProgress], None]:
    """Pass progress on, and remember the latest; say once, while the chains run, that they are not as predicted."""

    def report(progress: RunProgress) -> None:
        warned = bool(latest and latest[0].warning)
        latest[:] = [progress]
        if progress.warning and not warned and not quiet:
            say_above(f"warning: {progress.warning}")
        if show is not None:
            show(progress)

    return report


def _scheduled_means(results: DataTree, table: PosteriorSummary) -> tuple[dict[str, Any], list[str]]:
    """With a schedule, the means by the weights of its phases, or why there are none; the table has no weights."""
    from designer.core.errors import BadInput
    from samplers.adapt.phases import scheduled_mean

    if "schedule" not in results.attrs:
        return {}, []
    unweighted = "the table weights the draws of all phases of the schedule alike"
    try:
        means = scheduled_mean(results)
    except BadInput as reason:
        return {}, [f"{unweighted} ({reason})"]
    names = [row.name for row in table.rows if row.name.startswith("theta")]
    known = dict(zip(names, zip(*(part.tolist() for part in means), strict=True), strict=True))
    shown = [row.name for row in table.worst(SHOWN).rows if row.name in known]
    line = ", ".join(f"{name} {known[name][0]:.4g} ± {known[name][1]:.2g}" for name in shown)
    rows = [_finite({"name": name, "mean": mean, "se": se}) for name, (mean, se) in known.items()]
    return {"scheduled_mean": rows}, [f"{unweighted}; weighted means, ± standard errors between chains: {line}"]


def _redesigns(results: DataTree) -> tuple[dict[str, Any], list[str]]:
    """What the chains changed in their designs, for programs and for people."""
    from samplers.adapt.redesign import logs_in

    logs = dict(zip(results["posterior"].chain.values.tolist(), logs_in(results.attrs), strict=False))
    data = {"redesign": [[change._asdict() for change in log] for log in logs.values()]} if logs else {}
    return data, _redesign_lines(logs)


def _redesign_lines(logs: Mapping[int, Sequence[Change]]) -> list[str]:
    """The latest changes, chain by chain."""
    lines = []
    for number, log in logs.items():
        changes = [change for change in log if change.changed]
        lines.append(f"chain {number}: searched {_times(len(log))}, changed its design {_times(len(changes))}")
        lines += [f"  {change.line}" for change in changes[-SHOWN_CHANGES:]]
    return lines


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _last_line(totals: Steps, latest: list[RunProgress]) -> str:
    usage = "" if totals.usage is None else f" ({totals.usage:.3%})"
    line = f"acceptance {totals.acceptance:.3f}, {totals.data_per_step:,.0f} data per step{usage}"
    if totals.always_data:
        line += f", {totals.always_data:,} of them in every step"
    if totals.gradient_data:
        line += f" and {totals.gradient_data:,} for the proposal's gradient"
    if not latest:
        return f"{line}; the run was already complete"
    return f"{line}; {latest[-1].done:,} steps in {latest[-1].seconds:.1f} s"


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """None for NaN and infinity, which JSON does not have (R-hat of one chain)."""
    unfit = {name for name, value in row.items() if isinstance(value, float) and not math.isfinite(value)}
    return {name: None if name in unfit else value for name, value in row.items()}
