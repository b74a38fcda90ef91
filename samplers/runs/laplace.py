"""Need a config's posterior be sampled at all? Its Laplace approximation, judged, and its draws as results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.core.progress import Progress
from designer.pairs.trial_run import TrialRun
from samplers.chains.blas import blas_threads
from samplers.chains.spec import ChainSpec
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.config.schema import ProxyTable, WithProxies
from samplers.models import LinearModel, SmoothModel
from samplers.models.control import Controlled, find_mode
from samplers.models.groups import Grouped
from samplers.runs.results import collect, to_netcdf
from samplers.runs.run import collect_pairs
from samplers.runs.saved_run import BLAS_THREADS, RESULTS, check_directory
from samplers.runs.store import Store
from samplers.study.laplace import LaplaceVerdict, laplace_verdict, verdict_by
from samplers.study.weighted_draws import WeightedDraws, weighted_draws

if TYPE_CHECKING:
    from xarray import DataTree

IMPORTANCE_DRAWS = 2000  # weighted draws whose resampled ones become the results


class LaplaceRun(NamedTuple):
    """The verdict on a config's posterior, and draws of what is good enough; None if that is a chain only.

    Examples
    --------
    >>> LaplaceRun._fields
    ('verdict', 'results')
    """

    verdict: LaplaceVerdict
    results: DataTree | None


def laplace_config(
    config: SamplerConfig, draws: int = 200, wish: float = 0.05, output: str | Path | None = None
) -> LaplaceRun:
    r"""Judge the Laplace approximation of a config's posterior; if it or importance sampling is enough, return draws.

    Parameters
    ----------
    config
        Data and a logistic model; its test is not used, its proposal neither.
    draws, wish
        As for `laplace_verdict`.
    output
        A new directory for `results.nc`; nothing is written there if the verdict is to sample.

    Returns
    -------
    LaplaceRun
        The verdict, and the draws as `run_config` returns them: independent ones of the Laplace approximation, as many
        as the config asks for, or as many as are effective after importance sampling.

    Examples
    --------
    >>> import tempfile
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((5000, 2)), rng.random(5000) < 0.5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/data.npz", x=x, y=y)
    ...     text = f'[test]\nkind = "exact"\n[data]\npath = "{folder}/data.npz"\n[run]\ndraws = 100'
    ...     judged = laplace_config(SamplerConfig.from_toml(text))
    >>> judged.verdict.method, judged.results["posterior/theta"].shape
    ('laplace', (4, 100, 2))
    """
    store = None if output is None else Store(output)
    if store is not None:
        check_directory(store, resume=False)
    with blas_threads(BLAS_THREADS):
        spec = build(_with_plain_proposal(config))
        model, rng = controlled(spec), np.random.default_rng(config.run.seed)
        verdict = laplace_verdict(model, rng, draws, wish)
        drawn = verdict.weighted
        if verdict.method == "importance":
            drawn = weighted_draws(model, rng, IMPORTANCE_DRAWS)
            again = verdict_by(drawn, wish)[0]  # more draws may meet a tail that the first ones missed
            verdict = again if again.method == "sample" else verdict
        results = _results(config, spec, verdict, drawn, rng)
    if store is not None and results is not None:
        store.directory.mkdir(parents=True, exist_ok=True)
        to_netcdf(results, store.directory / RESULTS)
    return LaplaceRun(verdict, results)


def trial_with_verdict(
    config: SamplerConfig, pairs: int, every: int | None = None, *, progress: Progress | None = None
) -> tuple[TrialRun, LaplaceVerdict | None]:
    """A trial run, as `collect_pairs` makes it, and whether one need sample at all.

    The verdict is None unless the chain has control variates of order 2: others would need another look at the data.
    Models with group effects have none either, as their scales are sampled.
    """
    with blas_threads(BLAS_THREADS):
        spec = build(config)
        trial = collect_pairs(config, pairs, every, spec=spec, progress=progress)
        if not isinstance(spec.model, Controlled) or spec.model.order != 2 or isinstance(spec.model.model, Grouped):
            return trial, None
        return trial, laplace_verdict(spec.model, np.random.default_rng(config.run.seed))


def _with_plain_proposal(config: SamplerConfig) -> SamplerConfig:
    """The same posterior, without a search for the best proposal, which nobody would use."""
    if not isinstance(config.model, WithProxies):
        return config
    return config.model_copy(update={"proposal": ProxyTable(tails="normal", profile=False)})


def controlled(spec: ChainSpec) -> Controlled:
    """The chain's model with control variates of order 2 at the mode, whatever the chain itself uses."""
    model: Any = spec.model
    if isinstance(model, Controlled) and model.order == 2:
        return model
    plain = model.model if isinstance(model, Controlled) else model
    if not isinstance(plain, (LinearModel, SmoothModel)):
        raise BadInput(f"model.kind = {spec.kind!r}: the Laplace approximation needs a model with a linear predictor")
    return Controlled.around(plain, find_mode(plain))


def _results(
    config: SamplerConfig, spec: ChainSpec, verdict: LaplaceVerdict, drawn: WeightedDraws, rng: np.random.Generator
) -> DataTree | None:
    facts = {"model": spec.kind, "method": verdict.method, "laplace": verdict.sentence}
    if verdict.method == "sample":
        return None
    if verdict.method == "laplace":
        chains = [{"theta": verdict.laplace_draws(rng, config.run.draws)} for _ in range(config.run.chains)]
        return collect(chains, facts | {"note": "independent draws of the Laplace approximation"}, names=spec.names)
    theta = drawn.resampled(rng, int(drawn.ess))
    note = f"importance sampling: as many draws as are effective of {len(drawn.theta):,} weighted ones"
    return collect([{"theta": theta}], facts | {"note": note, "pareto_k": drawn.pareto_k}, names=spec.names)
