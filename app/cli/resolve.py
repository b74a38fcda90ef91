"""What shared options stand for: a test, the limits of a search, a cluster."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app.cli.errors import UsageError

if TYPE_CHECKING:
    from designer.pairs.trial_run import TrialRun
    from designer.rule.design import Design
    from designer.search.search import Options
    from samplers.cluster.client import Cluster
    from samplers.config.config import SamplerConfig

FORMULA = ("formula", "family", "positive", "weights", "missing", "prior")  # options of `app.cli.options.formula`


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options among `names` that were given."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def design_file(options: argparse.Namespace) -> Design | None:
    """The design in the file of `--design`, if it was given."""
    from designer.rule.design import Design

    return None if options.design is None else Design.load(options.design)


def chain_of(options: argparse.Namespace, *, exact: bool = False, **run: Any) -> SamplerConfig:
    """The config of a file or of a built-in chain, with the design of `--design`; `run` are entries of `[run]`.

    A built-in chain has the exact test unless there is a design; `exact` asks for it in any case.
    """
    from samplers.config.built_in import CHAINS, built_in
    from samplers.config.config import SamplerConfig

    design = None if exact else design_file(options)
    if options.config in CHAINS:
        config = built_in(options.config, options.data)
        return SamplerConfig.from_toml(config.to_toml(), design, exact=design is None, **run)
    if options.data is not None:
        raise UsageError("data: --data is for the built-in chains; a config names its own data")
    return SamplerConfig.load(options.config, design, exact=exact, **run)


def chosen_design(options: argparse.Namespace, n_data: int | None) -> Design:
    """The test of `--design`, or the one that `--m`, `--epsilon` and the others describe."""
    from designer.rule.design import Design

    knobs = given(options, "m", "epsilon", "alpha", "growth")
    design = design_file(options)
    if design is not None:
        if knobs:
            raise UsageError(f"give --design or --{next(iter(knobs))}, not both")
        if n_data not in (None, design.n_data):
            raise UsageError(f"{options.design}: the design is for n_data = {design.n_data:,}, not {n_data:,}")
        return design
    needed = {"--n-data": n_data, "--m": options.m, "--epsilon": options.epsilon}
    if missing := [name for name, value in needed.items() if value is None]:
        raise UsageError(f"the following arguments are required: {', '.join(missing)} (or --design FILE)")
    assert n_data is not None
    return Design(n_data, **knobs)


def knobs_line(design: Design) -> str:
    """The settings of a design in a few words."""
    if design.explicit:
        return f"m = {design.m:,}, growth = {design.growth:g}, explicit bounds at every look"
    return f"m = {design.m:,}, ε = {design.epsilon:g}, α = {design.alpha:g}"


def table_config(path: str, options: argparse.Namespace, **run: Any) -> SamplerConfig:
    """The config of a table and the options of `app.cli.options.formula`; `run` are entries of `[run]`."""
    from samplers.config.from_table import config_from_table

    if options.formula is None:
        raise UsageError(f"{path}: is a table; --formula 'response ~ terms' says what to model")
    return config_from_table(path, **given(options, *FORMULA), **run)


def refuse_formula(options: argparse.Namespace, config: str) -> None:
    """Refuse the options of a formula beside a config, which has entries for them."""
    if there := given(options, *FORMULA):
        raise UsageError(f"--{next(iter(there))}: is for a table; {config} says it in [model]")


def search_options(options: argparse.Namespace, trial: TrialRun | None) -> Options:
    """What `design` and `frontier` tell the search."""
    from designer.engine.step_error import check_rule
    from designer.search.criteria import Cost
    from designer.search.space import Space

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
        "confidence": options.confidence,
    }


@contextmanager
def cluster_at(address: str | None) -> Iterator[Cluster | None]:
    """The cluster whose scheduler is at an address; None if no address was given."""
    if address is None:
        yield None
        return
    from samplers.cluster.client import Cluster

    with Cluster(address) as cluster:  # whose import sets the levels of its loggers
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we tell of a lost scheduler ourselves
        yield cluster
