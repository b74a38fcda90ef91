"""`austerity posterior`: what a test does to the posterior that a chain samples."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from app.cli import options as shared
from app.cli.errors import UsageError
from app.cli.files import DESIGN_FILES, check_target
from app.cli.options import Commands, add_command
from app.cli.resolve import chosen_design, given
from app.cli.terminal import CommandOutput, status

if TYPE_CHECKING:
    from designer.further.posterior.error import PosteriorError
    from designer.further.posterior.independent import IndependentError
    from designer.pairs.trial_run import TrialRun

SUMMARY = "Predict what a test does to the posterior distribution."
EXAMPLE = "austerity posterior trial.csv --m 500 --epsilon 0.05 --dimension 50"


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "posterior",
        run,
        SUMMARY,
        EXAMPLE,
        shared.trial_run("pairs of an exact random walk", optional=True),
        shared.acceptance_rule(),
        shared.sequential_test(),
        shared.dimension(),
        shared.output_file("DESIGN.toml", "with --sd-inflation: write the test here (or .json)"),
    )
    parser.add_argument(
        "--config",
        metavar="CONFIG.toml",
        help="for independent proxy proposals: the chain's config, instead of its pairs; the data are read",
    )
    parser.add_argument(
        "--skewness",
        type=shared.number,
        default=0.0,
        help="skewness of the parameter's marginal, -1.5 to 1.5 (default: %(default)s)",
    )
    parser.add_argument(
        "--sd-inflation",
        metavar="X",
        type=shared.number,
        help="instead of a test: find the tolerance and ε that keep posterior sds within a factor 1 + X",
    )


def run(options: argparse.Namespace) -> CommandOutput:
    """Run the command."""
    from designer.engine.step_error import check_rule
    from designer.further.posterior.error import posterior_error
    from designer.pairs.trial_run import TrialRun

    check_target(options.output, *DESIGN_FILES)
    if options.config is not None:
        return _independent(options)
    if options.trial is None:
        raise UsageError("give TRIAL.csv, pairs of a random walk, or --config for independent proxy proposals")
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    if options.sd_inflation is not None:
        return _tolerance(options, trial)
    if options.output is not None:
        raise UsageError("--output is for --sd-inflation, which finds a test")
    design, rule = chosen_design(options, trial.n_data), check_rule(options.rule)
    with status("computing what the chain samples", options):
        error = posterior_error(design, trial, rule, dimension=options.dimension, skewness=options.skewness)
    return CommandOutput(error._asdict(), _lines(error, options.dimension))


def _independent(options: argparse.Namespace) -> CommandOutput:
    """The answer for independent proposals, from the data."""
    from designer.engine.step_error import check_rule
    from samplers.config.config import SamplerConfig
    from samplers.runs.posterior import posterior_config

    unused = given(options, "trial", "n_data", "dimension", "sd_inflation", "output")
    if unused or options.skewness:
        raise UsageError(f"give --config or {next(iter(unused), 'skewness')}, not both")
    config = SamplerConfig.load(options.config, exact=True)
    with status("computing what the chain samples", options):
        found = posterior_config(config, lambda n_data: chosen_design(options, n_data), check_rule(options.rule))
    error, names = found.error, found.names
    data = {key: value.tolist() if hasattr(value, "tolist") else value for key, value in error._asdict().items()}
    return CommandOutput({"names": names, **data}, _independent_lines(error, names))


def _independent_lines(error: IndependentError, names: list[str]) -> list[str]:
    """For people: the coordinates that are off most."""
    order = abs(error.bias).argsort()[::-1][:10]
    lines = [f"{'name':<16}{'bias in sds':>14}{'se':>9}{'sd ratio':>10}{'se':>9}"]
    for k in order:
        numbers = (
            f"{error.bias[k]:>14.4f}{error.bias_se[k]:>9.4f}{error.sd_ratio[k]:>10.3f}{error.sd_ratio_se[k]:>9.3f}"
        )
        lines.append(f"{names[k]:<16}{numbers}")
    return [
        *lines,
        f"largest bias of a mean: {error.largest:.2g} ± {error.half_width:.1g} sd, at most {error.upper:.2g} in any "
        "coordinate (95%)",
        f"acceptance rate {error.acceptance:.4f}, mean |Δ| {error.mean_abs_delta:.3g}, from {error.states} states, "
        f"{error.ess:.0f} effective; Δ by {error.source}",
    ]


def _tolerance(options: argparse.Namespace, trial: TrialRun) -> CommandOutput:
    """The tolerance, and the test, that keep the posterior's sds within the factor asked for."""
    from designer.engine.step_error import check_rule
    from designer.further.posterior.tolerance import tolerance_for

    if unused := given(options, "design", "epsilon", "growth"):
        raise UsageError(f"give --sd-inflation or --{next(iter(unused))}, not both")
    with status("searching for the tolerance", options):
        answer = tolerance_for(
            trial,
            options.sd_inflation,
            options.m,
            check_rule(options.rule),
            dimension=options.dimension,
            skewness=options.skewness,
            **given(options, "alpha"),
        )
    design = answer.design
    if options.output:
        design.save(options.output)
    settings = {name: getattr(design, name) for name in ("n_data", "m", "epsilon", "alpha", "growth")}
    lines = [
        f"posterior sds within a factor {answer.most_ratio:g}: tolerance on mean |Δ| {answer.tolerance:.4g}",
        f"with m = {design.m:,}, α = {design.alpha:g}: ε up to {design.epsilon:.4g}",
        *_lines(answer.error, options.dimension),
        *([f"written to {options.output}"] if options.output else []),
    ]
    return CommandOutput({"tolerance": answer.tolerance, "design": settings, **answer.error._asdict()}, lines)


def _lines(error: PosteriorError, dimension: int | None) -> list[str]:
    """For people."""
    bound = "1 (uninformative: no contraction is known in more than one dimension)"
    if dimension == 1:
        bound = f"{error.theorem_1_bound:.3g} (η = {error.contraction:.3f}, on the middle 99.9%)"
    rows = {
        "effective temperature": None if error.temperature is None else f"{error.temperature:.4f}",
        "posterior sds grow by a factor": f"{error.sd_ratio:.4f}",
        "bias of the mean, in posterior sds": f"{round(error.bias, 4) + 0.0:.4f}",
        "total variation of a marginal": f"{error.total_variation:.4f}",
        "Theorem 1's bound on it": bound,
        "acceptance rate": f"{error.acceptance:.4f}",
        "mean |Δ| over the pairs": f"{error.mean_abs_delta:.4g}",
        "numerical error of the factor below": f"{error.estimate:.0e} (given the pairs and this model of the chain)",
    }
    return [f"{name:<38} {value}" for name, value in rows.items() if value is not None]
