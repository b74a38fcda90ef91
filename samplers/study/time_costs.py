"""What a time budget needs to know about a chain, measured by running it: seconds per step, τ and sensitivity.

`designer.further.budget.epsilon` takes them as numbers; here they come from a short run of a config
(docs/time_budget.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer
from designer.further.budget.epsilon import Quantity, sensitivity
from designer.rule.design import Design
from designer.search.criteria import Cost
from designer.search.space import usual_batch
from samplers.chains.blas import blas_threads
from samplers.chains.driver import Stopwatch, advance_to
from samplers.chains.protocol import MarkovChain
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.decide.comparison import AcceptTest
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models import Model
from samplers.models.arrays import blocks
from samplers.runs.run import warmed_up
from samplers.runs.saved_run import BLAS_THREADS
from samplers.study.risk import effective_size

__all__ = ["TimeCosts", "fitted_cost", "log_posterior", "time_costs"]

LEAST_STEPS = 100
STRETCHES = 4  # of each test, of which the fastest counts
TIMED = 200  # steps of each sequential test, in all
MOST_EVALUATED = 2000  # draws whose log posterior is computed, at most
ENOUGH = 200.0  # effective draws from which a sensitivity is more than noise
TESTS = ((1, 0.2), (1, 0.01), (8, 0.01))  # times m, ε


class TimeCosts(NamedTuple):
    """What was measured of a config's chain.

    Attributes
    ----------
    cost
        Seconds of a sequential step, fixed and per datum.
    exact_seconds
        Of an exact step.
    autocorrelation
        Steps of the exact chain worth one independent draw, of the parameter that mixes worst.
    sensitivity
        Of the parameters' means; None if there were too few effective draws to tell it from noise.
    steps, effective
        Steps of the exact chain, and the effective draws among them.
    dimension, n_data
        Number of parameters, and of data.

    Examples
    --------
    >>> costs = TimeCosts(Cost(1e-6, 1e-8), 1e-4, 50.0, None, 2000, 40.0, 3, 10_000)
    >>> costs.quantity(sensitivity=0.3).autocorrelation
    50.0
    """

    cost: Cost
    exact_seconds: float
    autocorrelation: float
    sensitivity: float | None
    steps: int
    effective: float
    dimension: int
    n_data: int

    def quantity(self, sensitivity: float | None = None, degree: float = 1.0) -> Quantity:
        """For `time_options`; a given sensitivity replaces the measured one."""
        used = self.sensitivity if sensitivity is None else sensitivity
        if used is None:
            raise BadInput(
                f"sensitivity: {self.effective:,.0f} effective draws in {self.steps:,} steps are too few to measure "
                f"it, {ENOUGH:.0f} are needed; make more steps, or give a value"
            )
        return Quantity(self.autocorrelation, used, degree)


def time_costs(
    config: SamplerConfig,
    steps: int = 5000,
    m: int | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> TimeCosts:
    r"""Time the exact chain of a config after its warm-up, and some sequential tests.

    Parameters
    ----------
    config
        Data, model and proposal; its test is not used.
    steps
        Of the exact chain: τ needs some 20 times as many as it is, a sensitivity 200 times as many.
    m
        Batch of the sequential tests; 500 by default, less for small N.
    progress
        Called with (steps done, all steps).

    Returns
    -------
    TimeCosts
        For `time_options`. Seconds are those of this machine, now.

    Examples
    --------
    >>> import tempfile
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((500, 2)), rng.random(500) < 0.5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/data.npz", x=x, y=y)
    ...     text = f'[test]\nkind = "exact"\n[data]\npath = "{folder}/data.npz"\n[run]\nwarmup = 50'
    ...     costs = time_costs(SamplerConfig.from_toml(text), steps=400)
    >>> costs.dimension, costs.exact_seconds > 0, costs.cost.per_datum >= 0
    (2, True, True)
    """
    steps = integer("steps", steps, LEAST_STEPS, 10**8)
    with blas_threads(BLAS_THREADS):
        return _measured(config, steps, m, progress or (lambda done, total: None))


def _measured(config: SamplerConfig, steps: int, m: int | None, tell: Callable[[int, int], None]) -> TimeCosts:
    spec = build(config)._replace(test=ExactTest())
    if not isinstance(spec.model, Model) or config.proposal.kind == "slice":
        raise BadInput(f"proposal.kind = {config.proposal.kind!r}: only chains with one decision per step are measured")
    total = config.run.warmup + steps
    chain = warmed_up(config, spec, lambda done: tell(done, total))
    n_data = chain.n_data
    batch = integer("m", usual_batch(n_data) if m is None else m, 2, n_data)
    chain.advance(2)  # compile before the clock runs
    theta, _, exact = _timed(chain, ExactTest(), steps)
    tell(total, total)
    sizes = [(min(times * batch, n_data), epsilon) for times, epsilon in TESTS]
    tests = [SequentialTest.from_design(Design(n_data, size, epsilon)) for size, epsilon in sizes]
    timings = [_timed(chain, test, TIMED)[1:] for test in tests]
    effective = effective_size(theta)
    thinned = theta[:: math.ceil(len(theta) / MOST_EVALUATED)]
    slope = sensitivity(thinned, log_posterior(chain, thinned)) if effective >= ENOUGH else None
    tau = max(1.0, steps / effective)
    cost = fitted_cost(*zip(*timings, strict=True))
    return TimeCosts(cost, exact, tau, slope, steps, effective, theta.shape[1], n_data)


def _timed(chain: MarkovChain, test: AcceptTest, steps: int) -> tuple[Floats, float, float]:
    """Draws, mean data per step that the test chose, and seconds per step in the fastest stretch."""
    chain.use_test(test)
    lengths = [part.size for part in np.array_split(np.arange(steps), STRETCHES)]
    breaks, watch = (chain.steps + np.cumsum(lengths)).tolist(), Stopwatch(chain)
    draws = advance_to(chain, chain.steps + steps, size=None, breaks=breaks, advance=watch)
    seconds = min(lap / length for lap, length in zip(watch.laps, lengths, strict=True))
    return draws.theta, float(np.mean(draws.n_used)) - chain.n_always, seconds


def fitted_cost(data: Sequence[float], seconds: Sequence[float]) -> Cost:
    """Fixed seconds per step and seconds per datum, neither negative, by least squares.

    Looks are not told apart from data: with one batch size they grow together.

    Examples
    --------
    >>> fitted_cost([100.0, 300.0], [2e-6, 4e-6])
    Cost(fixed=1e-06, per_datum=1e-08, per_look=0.0)
    """
    from scipy.optimize import nnls

    scale = max(data)  # columns of like size
    columns = np.column_stack([np.ones(len(data)), np.asarray(data) / scale])
    fixed, whole = nnls(columns, np.asarray(seconds) / max(seconds))[0] * max(seconds)
    if whole == 0.0:  # noise: if data cost nothing, all tests would cost the same
        fixed, whole = 0.0, float(np.mean(np.asarray(seconds) / np.asarray(data))) * scale
    return Cost(float(f"{fixed:.12g}"), float(f"{whole / scale:.12g}"))


def log_posterior(chain: MarkovChain, theta: Floats) -> Floats:
    """Log posterior of draws up to a constant: from their lᵢ against the first draw, a block of data at a time."""
    model = chain.model
    parts = [np.arange(part.start, part.stop) for part in blocks(model.n_data)]
    return np.array(
        [model.log_prior(one) + sum(float(model.terms(theta[0], one, part).sum()) for part in parts) for one in theta]
    )
