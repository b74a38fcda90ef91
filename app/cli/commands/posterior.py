"""`posterior`: what a test does to the posterior that a chain samples."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from app.cli.commands.evaluate import asked_design
from app.cli.terminal import DESIGN_FILES, Answer, check_target, doing, write_design
from app.cli.terminal import integer_argument as whole
from app.cli.terminal import number_argument as number
from designer.core.errors import BadInput

if TYPE_CHECKING:
    from designer.further.posterior.error import PosteriorError
    from designer.pairs.trial_run import TrialRun


def add_options(sub: argparse.ArgumentParser) -> None:
    """The options of `posterior` besides those of a test."""
    sub.add_argument("--dimension", type=whole, help="number of parameters (default: the limit of many)")
    sub.add_argument(
        "--skewness", type=number, default=0.0, help="of the parameter looked at, -1.5 to 1.5 (default: %(default)s)"
    )
    sub.add_argument(
        "--sd-inflation",
        type=number,
        metavar="X",
        help="instead of a test: the tolerance (and epsilon) that keeps posterior sds within a factor 1 + X",
    )
    sub.add_argument("--rule", default="metropolis", help="metropolis (default) or barker")
    sub.add_argument("--output", metavar="DESIGN.toml", help="with --sd-inflation: write the test here")
    sub.add_argument("--quiet", action="store_true", help="do not say on standard error what is being done")


def posterior(options: argparse.Namespace) -> Answer:
    """`austerity posterior`."""
    from designer.engine.step_error import check_rule
    from designer.further.posterior.error import posterior_error
    from designer.pairs.trial_run import TrialRun

    check_target(options.output, *DESIGN_FILES)
    trial = TrialRun.load(options.trial, n_data=options.n_data)
    if options.sd_inflation is not None:
        return _wish(options, trial)
    if options.output is not None:
        raise BadInput("--output is for --sd-inflation, which finds a test")
    test = asked_design(options, trial.n_data)
    with doing("computing what the chain samples", quiet=options.quiet or options.json):
        found = posterior_error(
            test, trial, check_rule(options.rule), dimension=options.dimension, skewness=options.skewness
        )
    return Answer(found._asdict(), _lines(found, options.dimension))


def _wish(options: argparse.Namespace, trial: TrialRun) -> Answer:
    from designer.engine.step_error import check_rule
    from designer.further.posterior.tolerance import tolerance_for

    if idle := [name for name in ("design", "epsilon", "growth") if getattr(options, name) is not None]:
        raise BadInput(f"give --sd-inflation or --{idle[0]}, not both")
    shape = {} if options.alpha is None else {"alpha": options.alpha}
    with doing("searching the tolerance", quiet=options.quiet or options.json):
        wish = tolerance_for(
            trial,
            options.sd_inflation,
            options.m,
            check_rule(options.rule),
            dimension=options.dimension,
            skewness=options.skewness,
            **shape,
        )
    design = wish.design
    if options.output:
        write_design(options.output, design)
    knobs = {name: getattr(design, name) for name in ("n_data", "m", "epsilon", "alpha", "growth")}
    lines = [
        f"posterior sds within a factor {wish.most_ratio:g}: tolerance on mean |Delta| {wish.tolerance:.4g}",
        f"with m = {design.m:,}, alpha = {design.alpha:g}: epsilon up to {design.epsilon:.4g}",
        *_lines(wish.error, options.dimension),
        *([f"written to {options.output}"] if options.output else []),
    ]
    return Answer({"tolerance": wish.tolerance, "design": knobs, **wish.error._asdict()}, lines)


def _lines(found: PosteriorError, dimension: int | None) -> list[str]:
    """For people."""
    heat = [] if found.temperature is None else [f"temperature of the posterior           {found.temperature:.4f}"]
    unknown = "1, of no use: no contraction below 1 is known in more than one dimension"
    known = f"{found.theorem_1_bound:.3g} (eta = {found.contraction:.3f}, on the middle 99.9%)"
    bound = known if dimension == 1 else unknown
    return [
        *heat,
        f"standard deviations grow by a factor   {found.sd_ratio:.4f}",
        f"bias of the mean, in posterior sds     {round(found.bias, 4) + 0.0:.4f}",
        f"total variation of a marginal          {found.total_variation:.4f}",
        f"bound on it by Theorem 1               {bound}",
        f"acceptance rate                        {found.acceptance:.4f}",
        f"mean |Delta| of the pairs              {found.mean_abs_delta:.4g}",
        f"numerical error of the factor below    {found.estimate:.0e} (for these pairs, and this model of the chain)",
    ]
