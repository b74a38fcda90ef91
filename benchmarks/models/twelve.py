"""Twelve models that we did not write: do they work, what do control variates gain, do chains agree with NUTS?

`python -m benchmarks.models.twelve` measures all of them, or those that are named, and prints the table of
docs/twelve_models.md.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.models import numpyro_models, pymc_models
from designer import Design
from designer.core.errors import BadInput
from samplers import (
    Chain,
    ConditionalStep,
    Controlled,
    SequentialTest,
    choose_proposal,
    find_mode,
    from_numpyro,
    from_pymc,
)
from samplers.chains.blas import blas_threads
from samplers.chains.chain import compare
from samplers.models.adapters.jax_model import JaxModel
from samplers.models.moments import moments

N = 10_000
PAIRS = 6
WARMUP, STEPS = 300, 2000
M, EPSILON = 100, 0.01
ACCEPTED, TRIAL, SEARCH = 0.2, 200, 1500  # acceptance below which shorter steps are tried, and steps for that
BETAS = 0.6, 0.3, 0.15, 0.08
NUTS = 500, 1000  # warm-up, draws


class Case(NamedTuple):
    """A model, what it is, and where it comes from."""

    name: str
    kind: str
    origin: str
    make: Callable[[np.random.Generator], JaxModel]


def _numpyro(name: str, kind: str, origin: str) -> Case:
    model, data = getattr(numpyro_models, name), getattr(numpyro_models, f"{name}_data")
    return Case(name, kind, f"NumPyro, {origin}", lambda rng: from_numpyro(model, *data(rng, N)))


def _pymc(name: str, kind: str, origin: str) -> Case:
    return Case(name, kind, f"PyMC, {origin}", lambda rng: from_pymc(getattr(pymc_models, name)(rng, N)))


CASES = (
    _numpyro("covtype", "logistic regression", "covtype.py"),
    _numpyro("zero_inflated_poisson", "zero-inflated Poisson", "zero_inflated_poisson.py"),
    _numpyro("ordinal", "ordered logistic", "tutorial on ordinal regression"),
    _numpyro("ucbadmit", "binomial, correlated effects, not centred", "ucbadmit.py"),
    _numpyro("osic", "hierarchical linear, centred", "tutorial on hierarchical regression"),
    _numpyro("horseshoe", "logistic, horseshoe prior", "horseshoe_regression.py"),
    _numpyro("baseball", "a rate for each row", "baseball.py"),
    _pymc("robust_regression", "Student-t, degrees sampled", "robust regression"),
    _pymc("negative_binomial", "negative binomial", "negative binomial regression"),
    _pymc("radon", "hierarchical linear, centred", "multilevel primer"),
    _pymc("censored", "censored normal", "censored data"),
    _pymc("survival", "Gumbel, censored by a potential", "parametric survival analysis"),
    _pymc("mixture", "mixture of three normals", "marginalized mixture"),
)


def measured(case: Case) -> dict[str, Any]:
    """What happens to a model; a refusal is a result."""
    rng, found = np.random.default_rng(1), dict[str, Any](name=case.name, kind=case.kind, origin=case.origin)
    try:
        model = case.make(rng)
        found["dimension"] = model.dimension
        mode = find_mode(model)
        controlled = Controlled.around(model, mode, heavy="auto")
        found["heavy"] = controlled.n_heavy
        proposal: Any = (
            ConditionalStep.of(controlled) if model.prior_only.size else choose_proposal(controlled).proposal
        )
        test = SequentialTest.from_design(Design(controlled.n_data, M, EPSILON))
        chain = Chain(controlled, proposal, test, mode, np.random.default_rng(2))
        found["beta"] = _tuned(chain)
        chain.advance(WARMUP)
        found |= _kappas(rng, model, controlled, chain)
        begin = time.perf_counter()
        with blas_threads(1):
            draws = chain.advance(STEPS)
        found["seconds"] = time.perf_counter() - begin
        found["rows"], found["acceptance"] = float(draws.n_used.mean()), float(draws.accepted.mean())
        found |= _agreement(model, draws.theta, *_nuts(model, mode))
    except (BadInput, ArithmeticError, np.linalg.LinAlgError) as error:
        found["failure"] = str(error)
    return found


def _tuned(chain: Chain) -> float:
    """Make the steps shorter if independent ones are seldom accepted; β of the proposal."""
    given: Any = chain.proposal
    if chain.advance(TRIAL).accepted.mean() >= ACCEPTED:
        return 1.0
    share = {}
    for beta in BETAS:
        chain.use(replace(given, beta=beta))
        share[beta] = beta**2 * float(chain.advance(TRIAL).accepted.mean())
    best = max(share, key=lambda beta: share[beta])
    chain.use(replace(given, beta=best))
    chain.advance(SEARCH)
    return best


def _kappas(rng: np.random.Generator, model: Any, controlled: Controlled, chain: Chain) -> dict[str, float]:
    """Mean κ of moves that the chain proposes, some steps apart."""
    plain: list[float] = []
    left: list[float] = []
    for _ in range(PAIRS):
        theta = chain.theta.copy()
        new = chain.proposal.propose(rng, theta).theta
        for which, kept in ((model, plain), (controlled, left)):
            sigma = moments(compare(which, theta, new))[1]
            kept.append(which.n_data * sigma / math.sqrt(which.n_data - 1.0))
        chain.advance(10)
    return {"plain": float(np.mean(plain)), "controlled": float(np.mean(left))}


def _nuts(model: JaxModel, mode: Any) -> tuple[Any, float]:
    """Draws of NumPyro's NUTS of the same density."""
    import jax
    from numpyro.infer import MCMC
    from numpyro.infer import NUTS as Sampler

    rows, functions = model._jax.tree.unflatten(model._tree, model._leaves), model._functions

    def potential(theta: Any) -> Any:
        return -functions.log_prior(theta) - jax.numpy.sum(functions.values(theta, rows))

    with jax.enable_x64(True):
        sampler = MCMC(
            Sampler(potential_fn=potential, max_tree_depth=8),
            num_warmup=NUTS[0],
            num_samples=NUTS[1],
            progress_bar=False,
        )
        begin = time.perf_counter()
        sampler.run(jax.random.key(1), init_params=jax.numpy.asarray(mode))
        return np.asarray(sampler.get_samples()), time.perf_counter() - begin


def _effective(draws: Any) -> Any:
    from arviz_stats import base

    stats: Any = base.array_stats  # type: ignore[attr-defined]
    return np.array([float(stats.ess(column[None], chain_axis=0, draw_axis=1, method="mean")) for column in draws.T])


def _agreement(model: JaxModel, mine: Any, theirs: Any, seconds: float) -> dict[str, Any]:
    """The largest difference of means in sds, its standard error there, and sds."""
    sd, ess = theirs.std(axis=0), np.array([_effective(mine), _effective(theirs)])
    off = (mine.mean(axis=0) - theirs.mean(axis=0)) / sd
    error = np.sqrt((1.0 / ess).sum(axis=0))
    worst = int(np.argmax(np.abs(off)))
    surprising = int(np.argmax(np.abs(off) / error))
    return {
        "off": float(off[worst]), "off_error": float(error[worst]), "worst": model.names[worst],
        "largest_z": float(np.abs(off / error)[surprising]), "sd_ratio": float(np.median(mine.std(axis=0) / sd)),
        "min_ess": float(ess[0].min()), "nuts_min_ess": float(ess[1].min()), "nuts_seconds": seconds,
    }  # fmt: skip


def table(results: list[dict[str, Any]]) -> list[str]:
    """The results as Markdown."""
    lines = [
        "| model | from | D | κ plain → controlled | gain | rows per step | acceptance | farthest from NUTS, sd |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        begin = f"| {one['kind']} | {one['origin']} "
        if "off" not in one:
            lines.append(f"{begin}| {one.get('dimension', '')} | fails: {one.get('failure', 'unknown')} | | | | |")
            continue
        gain = one["plain"] / one["controlled"] if one["controlled"] > 0.0 else math.inf
        lines.append(
            f"{begin}| {one['dimension']} | {one['plain']:.3g} → {one['controlled']:.2g} | {gain:,.0f} "
            f"| {one['rows']:,.0f} ({one['heavy']} heavy) | {one['acceptance']:.2f}{_step(one)} "
            f"| {one['off']:+.2f} ± {one['off_error']:.2f} ({one['worst']}) |"
        )
    return lines


def _step(one: dict[str, Any]) -> str:
    return "" if one.get("beta", 1.0) == 1.0 else f" (β = {one['beta']:g})"


def report() -> list[str]:
    """All models; about a minute each."""
    return ["## Twelve models that we did not write", "", *table([measured(case) for case in CASES]), ""]


if __name__ == "__main__":
    wanted, results = set(sys.argv[1:]), []
    for each in CASES:
        if not wanted or each.name in wanted:
            results.append(measured(each))
            print(json.dumps(results[-1]), flush=True)
    print("\n".join(table(results)))
