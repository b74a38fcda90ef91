"""A certificate for a posterior: how far the chain's law is from the exact one, measured by coupled chains.

At stationarity the mean distance of the coupled chains of `samplers.study.coupled` bounds the Wasserstein distance
between what is sampled and the truth (Biswas and Mackey 2021), and mean(Y) - mean(X) estimates the bias of the means
with an error that the coupling makes small. It costs a pass over the data per step: a budget of 1,000, say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.core.progress import Progress, raise_if
from samplers.chains.blas import blas_threads
from samplers.chains.parallel import MAX_SEED
from samplers.chains.protocol import MarkovChain, State
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.runs.run import warmed_up
from samplers.runs.saved_run import BLAS_THREADS, RESULTS
from samplers.runs.store import Store
from samplers.study.coupled import Coupled, coupled_chains, twin
from samplers.study.means import Mean
from samplers.study.observe import WITHOUT_ERROR, check_observable

if TYPE_CHECKING:
    from xarray import DataTree

PASSES, FEWEST = 1000, 100  # by default, and at least
PAIRS = 4  # of chains
BURN_IN = 0.2  # share of the passes
SPREAD = 200  # steps of the tested chain from one start to the next
ENOUGH = 100  # effective draws of the exact chains
WISH = 0.05  # posterior standard deviations
CONFIDENCE = 0.95  # that all statements of a certificate hold together
BATCHES = 10  # of each pair of chains, for standard errors
UNSEEN = 3.0  # events of which none was seen may have this expectation (95%)
APART = 1.13  # mean distance of two independent draws, in standard deviations
LOOSE = 0.1  # share of meetings below which the coupling hardly helps

Outcome = Literal["certified", "not certified", "wrong"]


class Certificate(NamedTuple):
    """How far a chain's law is from the exact posterior, coordinate by coordinate, in posterior standard deviations.

    Attributes
    ----------
    outcome
        "certified": all means and sds are within the wish, with a confidence of 95% for all together. "wrong": one is
        not, with the same confidence. "not certified": this many passes cannot tell.
    sentence
        That in words.
    names
        Of the coordinates.
    bias, bias_se
        Of the means.
    sd_change, sd_change_se
        Relative error of the standard deviations.
    wasserstein
        Upper limit of the Wasserstein distance of order 1 between the sampled and the exact marginal.
    bound
        Upper limit of all |bias|, and of all |sd_change|, together.
    wish
        What both should not exceed.
    effective
        Effective draws of the exact chains, for the coordinate that has the fewest.
    meetings
        Share of the steps after which exact and tested chain are in the same state.
    passes
        Over the data.

    Examples
    --------
    >>> numbers = np.zeros(1), np.full(1, 0.001), np.zeros(1), np.full(1, 0.001), np.full(1, 0.01)
    >>> Certificate("certified", "all within 0.05 sd", ("x",), *numbers, 0.01, 0.05, 400.0, 0.98, 1000).outcome
    'certified'
    """

    outcome: Outcome
    sentence: str
    names: tuple[str, ...]
    bias: Floats
    bias_se: Floats
    sd_change: Floats
    sd_change_se: Floats
    wasserstein: Floats
    bound: float
    wish: float
    effective: float
    meetings: float
    passes: int


class Sampled(Protocol):
    """Results that know their chain, as `sample` returns them."""

    def sampled_chain(self) -> tuple[MarkovChain, Floats | None, tuple[str, ...] | None]:
        """The chain, states that it visited, and the names of the coordinates."""


def certify(
    source: MarkovChain | SamplerConfig | Sampled | DataTree | str | Path,
    passes: int = PASSES,
    *,
    wish: float = WISH,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Certificate:
    """Measure how far a chain's posterior is from the exact one, by chains coupled with exact ones.

    Four pairs of chains start from states that the tested chain visited. In each pair the exact chain is burnt in alone
    with a fifth of the passes; then both use the same random numbers.

    Parameters
    ----------
    source
        A chain after its warm-up; a config; the results of `run_config` or of `sample`; or the path of a config or of a
        run's directory. Results and directories also give the states to start from.
    passes
        Over the data, in all; each step of an exact chain is one.
    wish
        Largest error of means and standard deviations to certify, in posterior standard deviations.
    seed
        Of the random numbers.
    progress, cancelled
        Called with (passes made, all passes); when `cancelled` says so, `Cancelled` is raised.

    Returns
    -------
    Certificate
        Whether the posterior is right within the wish; the errors, and bounds on them.

    Raises
    ------
    BadInput
        If the test is exact: it needs no certificate. If a step of the chain is not a decision about one pair.

    Examples
    --------
    >>> from designer import Design
    >>> from samplers import Chain, Controlled, Logistic, ProxyStep, SequentialTest, find_mode
    >>> x = np.random.default_rng(0).standard_normal((2000, 2))
    >>> y = np.random.default_rng(1).random(2000) < 1.0 / (1.0 + np.exp(-x[:, 0]))
    >>> model = Logistic.from_data(x, y, prior_precision=1.0)
    >>> proxied = Controlled.around(model, find_mode(model))
    >>> test = SequentialTest.from_design(Design(2000, 100, 0.05))
    >>> chain = Chain(proxied, ProxyStep.of(proxied), test, proxied.centre, np.random.default_rng(2))
    >>> found = certify(chain, passes=400)
    >>> found.outcome, found.bound < 0.05
    ('certified', True)
    """
    integer("passes", passes, FEWEST, 10**8)  # before anything is read
    with blas_threads(BLAS_THREADS):
        chain, states, names = _chain(source)
        return certify_chain(chain, states, names, passes, wish=wish, seed=seed, progress=progress, cancelled=cancelled)


def certify_chain(
    chain: MarkovChain,
    states: Floats | None,
    names: tuple[str, ...] | None,
    passes: int = PASSES,
    *,
    wish: float = WISH,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Certificate:
    """The certificate of a chain, given states that it visited, if they are known, and the names of the coordinates."""
    passes = integer("passes", passes, FEWEST, 10**8)
    wish, seed = real("wish", wish, 0.0, 10.0, open_low=True), integer("seed", seed, 0, MAX_SEED)

    def tell(done: int) -> None:
        raise_if(cancelled)
        if progress is not None:
            progress(done, passes)

    with blas_threads(BLAS_THREADS):
        _check(chain)
        each = passes // PAIRS
        burn_in = max(1, int(BURN_IN * each))
        starts = _starts(chain, states, np.random.default_rng([seed, PAIRS]))
        found = coupled_chains(chain, starts, burn_in, each - burn_in, seed, tell)
    return judge(found, wish, PAIRS * each, names or tuple(f"theta[{j}]" for j in range(chain.theta.size)))


def _check(chain: MarkovChain) -> None:
    if isinstance(chain.test, WITHOUT_ERROR):
        raise BadInput(f"test: {type(chain.test).__name__} decides exactly, so its chain needs no certificate")
    check_observable(chain)


def _chain(source: Any) -> tuple[MarkovChain, Floats | None, tuple[str, ...] | None]:
    """The chain after its warm-up, states that it visited if they are known, and the names of the coordinates."""
    if isinstance(source, SamplerConfig):
        return _of_config(source)
    if hasattr(source, "sampled_chain"):  # what `sample` returns
        sampled: tuple[MarkovChain, Floats | None, tuple[str, ...] | None] = source.sampled_chain()
        return sampled
    if hasattr(source, "advance") and hasattr(source, "propose"):
        return source, None, None
    if hasattr(source, "encoding"):
        if "source" not in source.encoding:
            raise BadInput("results: not those of a saved run; give its directory, or its config")
        return _of_directory(Path(source.encoding["source"]).parent)
    if not isinstance(source, (str, Path)):
        raise BadInput(f"source: a {type(source).__name__}; must be a chain, a config, results, or a path")
    return _of_directory(Path(source)) if Path(source).is_dir() else _of_config(SamplerConfig.load(source))


def _of_config(config: SamplerConfig) -> tuple[MarkovChain, None, tuple[str, ...] | None]:
    for name in ("redesign", "schedule"):
        if getattr(config, name) is not None:
            raise BadInput(f"{name}: a certificate is of one test; leave this table out")
    if config.test is None:
        raise BadInput("test.kind = 'exact': decides exactly, so its chain needs no certificate")
    spec = build(config)
    return warmed_up(config, spec), None, spec.names


def _of_directory(directory: Path) -> tuple[MarkovChain, Floats, tuple[str, ...] | None]:
    from samplers.runs.results import from_netcdf

    text = (Store(directory).meta() or {}).get("source", {}).get("config")
    if text is None:
        raise BadInput(f"{directory}: does not say which config it was run with; give the config instead")
    chain, _, names = _of_config(SamplerConfig.from_toml(text))
    states = np.asarray(from_netcdf(directory / RESULTS)["posterior/theta"].values)
    return chain, states.reshape(-1, states.shape[-1]), names


def _starts(chain: MarkovChain, states: Floats | None, rng: np.random.Generator) -> list[tuple[State, State]]:
    """A start for the exact and one for the tested chain of each pair, far apart in the tested chain's history."""
    if states is not None and len(states) >= 2 * PAIRS:
        picked = states[rng.choice(len(states), 2 * PAIRS, replace=False)]
        return list(zip(picked[::2], picked[1::2], strict=True))
    found = []
    walker = twin(chain, chain.theta, rng, chain.test)
    for _ in range(2 * PAIRS):
        walker.advance(SPREAD)
        found.append(walker.theta.copy())
    return list(zip(found[::2], found[1::2], strict=True))


def judge(found: Coupled, wish: float, passes: int, names: tuple[str, ...]) -> Certificate:
    """The errors of means and standard deviations with their limits, and what follows."""
    sd = found.exact.std(axis=(0, 1), ddof=1)
    scale = np.where(sd > 0.0, sd, 1.0)
    centre = found.exact.mean(axis=(0, 1))
    x, y = (found.exact - centre) / scale, (found.tested - centre) / scale
    level = 1.0 - (1.0 - CONFIDENCE) / (4.0 * sd.size)  # means and sds of all coordinates, both sides
    means, spreads = _means(y - x), _means(0.5 * (y * y - x * x))
    distances = _means(np.abs(y - x))
    unseen = UNSEEN / (x.shape[0] * x.shape[1]) * APART / max(found.acceptance, 1e-3)
    effective = min(_effective(column) for column in np.moveaxis(found.exact, 2, 0))
    errors = [*means, *spreads]
    upper = np.array([max(m.upper(level), _negative(m).upper(level)) + unseen for m in errors])
    lower = np.array([max(m.lower(level), _negative(m).lower(level)) - unseen for m in errors])
    outcome: Outcome = "not certified"
    if effective >= ENOUGH:
        outcome = "certified" if upper.max() <= wish else "wrong" if lower.max() > wish else "not certified"
    worst = int(np.argmax(lower if outcome == "wrong" else upper))
    one = errors[worst]
    what = f"{'the mean' if worst < sd.size else 'the sd'} of {names[worst % sd.size]}"
    certificate = Certificate(
        outcome=outcome,
        sentence="",
        names=names,
        bias=np.array([m.value for m in means]),
        bias_se=np.array([m.se for m in means]),
        sd_change=np.array([m.value for m in spreads]),
        sd_change_se=np.array([m.se for m in spreads]),
        wasserstein=np.array([m.upper(level) + unseen for m in distances]),
        bound=float(upper.max()),
        wish=wish,
        effective=effective,
        meetings=found.meetings,
        passes=passes,
    )
    return certificate._replace(sentence=_words(certificate, what, one))


def _negative(mean: Mean) -> Mean:
    return mean._replace(value=-mean.value, skewness=-mean.skewness)


def _means(values: Floats) -> list[Mean]:
    """Means of the coordinates of (pairs, steps, D); errors by batch means, or by autocorrelations if larger."""
    pairs, steps, dimension = values.shape
    length = max(1, steps // BATCHES)
    batches = values[:, : length * (steps // length)].reshape(pairs, -1, length, dimension).mean(axis=2)
    found = []
    for j in range(dimension):
        by_batches = Mean.independent(batches[:, :, j].ravel())
        chains = [Mean.of(values[k, :, j]) for k in range(pairs)]
        se = math.sqrt(sum(chain.se**2 for chain in chains)) / pairs
        found.append(by_batches._replace(value=float(values[:, :, j].mean()), se=max(by_batches.se, se)))
    return found


def _effective(chains: Floats) -> float:
    """Effective draws of one coordinate of several chains, which must also agree with each other."""
    from arviz_stats import base

    if np.ptp(chains) == 0.0:
        return 0.0
    stats: Any = base.array_stats  # type: ignore[attr-defined]
    size = float(stats.ess(chains, chain_axis=0, draw_axis=1, method="mean"))
    return min(size, float(chains.size)) if math.isfinite(size) else 0.0


def _words(found: Certificate, what: str, one: Mean) -> str:
    coupled = f"{found.passes:,} passes, {found.effective:,.0f} effective exact draws"
    if found.effective < ENOUGH:
        more = found.passes * ENOUGH / max(found.effective, 1.0)
        return (
            f"NOT CERTIFIED: {coupled}, of which {ENOUGH} are needed; about {more:,.0f} passes would do, or proposals "
            "that mix faster"
        )
    error = f"{what} is off by {one.value:+.3f} ± {one.se:.3f} sd"
    if found.outcome == "certified":
        return f"certified: all means and sds within {found.bound:.3f} sd (95%, wish {found.wish:g}); {coupled}"
    if found.outcome == "wrong":
        return f"WRONG: {error}, beyond the allowed {found.wish:g} (95%); {coupled}"
    loose = "; these chains hardly ever meet, so the bound is loose" if found.meetings < LOOSE else ""
    return (
        f"NOT CERTIFIED: {error}, at most {found.bound:.3f} (95%, wish {found.wish:g}): cannot tell; {coupled}{loose}"
    )
