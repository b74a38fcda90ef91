"""`austerity trial`: the pairs of an exact chain, recorded as a trial run."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli import options as shared
from app.cli.files import check_target
from app.cli.options import Commands, add_command
from app.cli.resolve import chain_of, cluster_at, given
from app.cli.terminal import CommandOutput, note_lines, progress_bar

SUMMARY = "Record the pairs of an exact chain as a trial run."
EXAMPLE = "austerity trial e3 --pairs 200 --output trial.parquet --config-output config.toml"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "trial",
        run,
        SUMMARY,
        EXAMPLE,
        shared.seed(),
        shared.cluster(),
        shared.output_file(
            "TRIAL.parquet", "write the trial run here (or .npz; .csv and .tsv keep no residuals)", required=True
        ),
    )
    parser.add_argument(
        "config",
        metavar="CONFIG.toml|NAME",
        type=shared.chain_name,
        help=f"config with [model], [data], [proposal] and [run]; or a built-in chain: {shared.BUILT_IN_NAMES}",
    )
    parser.add_argument("--data", metavar="DIR", help=shared.DATA_FOLDER)
    parser.add_argument("--pairs", type=shared.integer, default=100, help="number of pairs (default: %(default)s)")
    parser.add_argument(
        "--every",
        type=shared.integer,
        help="steps from one pair to the next (default: 10, fewer for proxy proposals, 1 for independent ones)",
    )
    parser.group("output").add_argument(
        "--config-output", metavar="CONFIG.toml", help="also write the whole config here, for `austerity run`"
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.core.errors import integer
    from designer.core.files import write_whole
    from designer.pairs.diagnostics import summarise
    from designer.pairs.trial_run import TrialRun
    from samplers.config.built_in import twin_notice
    from samplers.runs.laplace import trial_with_verdict

    check_target(options.output)
    check_target(options.config_output)
    pairs = integer("pairs", options.pairs, 1, 10**6)
    every = None if options.every is None else integer("every", options.every, 1, 10**6)
    config, verdict = chain_of(options, exact=True, **given(options, "seed")), None
    with cluster_at(options.cluster) as cluster, progress_bar(options) as show:
        if cluster is None:
            trial, verdict = trial_with_verdict(config, pairs, every, progress=show)
        else:
            trial = cluster.collect_pairs(config, pairs, every, progress=show)
    trial.save(options.output)
    written, saved = [f"written to {options.output}"], trial
    if trial.residuals is not None and Path(options.output).suffix.lower() not in (".parquet", ".npz"):
        saved = TrialRun(trial.n_data, trial.mu, trial.sigma, trial.log_ratio, trial.skew, notes=trial.notes)
        written.append("without residuals, which predictions at small m need (.parquet and .npz keep them)")
    if options.config_output is not None:
        write_whole(options.config_output, config.to_toml())
        written.append(f"its config to {options.config_output}")
    summary, notice = summarise(saved), twin_notice(config)
    remarks = summary.remarks if notice is None else [*summary.remarks, notice]
    data = {"pairs": len(trial), "n_data": trial.n_data, "digest": saved.digest, "remarks": remarks}
    data["n_heavy"] = trial.notes.get("n_heavy", 0)
    data["laplace"] = None if verdict is None else verdict.facts()
    lines = [
        f"{len(trial):,} pairs, N = {trial.n_data:,}: acceptance {summary.probability.mean:.3f}, "
        f"mean κ {summary.kappa.mean:.4g} (sd {summary.kappa.sd:.2g})",
        *note_lines(trial.notes),
        *remarks,
        *([] if verdict is None else [verdict.sentence]),
        ", ".join(written),
    ]
    return CommandOutput(data, lines)
