"""Published models that we did not write: do they work, what do control variates gain, do chains agree with NUTS?

`python -m benchmarks twelve --from FOLDER` measures all of them with the published files in FOLDER, and
`python -m benchmarks.models.twelve FOLDER NAME ...` some. docs/twelve_models.md has the results.
"""

from __future__ import annotations

import json
import math
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models.cases import CASES, Case
from benchmarks.models.published import executed, missing
from designer.core.errors import BadInput
from samplers import Controlled, find_mode, from_numpyro, from_pymc, sample
from samplers.chains.chain import compare
from samplers.models.moments import moments

PAIRS = 10
DRAWS = 1000  # of each of four chains
NUTS_WARMUP, NUTS_BLOCK, NUTS_SECONDS, NUTS_DRAWS = 300, 250, 30.0, 1000
DEPTH = 8  # of NUTS's trees


def measured(case: Case, folder: Path) -> dict[str, Any]:
    """What happens to a model; a refusal is a result."""
    found: dict[str, Any] = {"name": case.name, "kind": case.kind, "tool": case.tool}
    made = case.make(partial(executed, case.source, folder), np.random.default_rng(1))
    try:
        model = from_numpyro(made[0], *made[1]) if case.tool == "NumPyro" else from_pymc(made)
        found |= {"dimension": model.dimension, "rows": model.n_data}
        usual = sample(model, draws=DRAWS, progress=False)
        found["usual"] = usual.method
        result = sample(model, draws=DRAWS, laplace="never", progress=False) if usual.spec is None else usual
    except (BadInput, ArithmeticError, np.linalg.LinAlgError) as error:
        return found | {"failure": str(error)}
    stats = result.posterior["sample_stats"]
    found |= {"method": result.method, "claim": result.claim.status, "sentence": result.claim.sentence}
    found |= {"usual_claim": usual.claim.status, "warnings": list(result.warnings)}
    found |= {"per_step": _mean(stats, "n_used"), "acceptance": _mean(stats, "accepted")}
    found |= _kappas(model, result)
    theirs, seconds = _nuts(case, made)
    mine = {str(name): values.values for name, values in result.posterior["posterior"].data_vars.items()}
    return found | _agreement(mine, theirs) | {"nuts_seconds": seconds}


def _mean(stats: Any, name: str) -> float:
    return float(np.mean(np.asarray(stats[name].values, dtype=np.float64)))


def _kappas(model: Any, result: Any) -> dict[str, float]:
    """Mean κ of moves that the chain proposes from states that it visited, without and with control variates."""
    rng, spec = np.random.default_rng(3), result.spec
    mode = find_mode(model)
    controlled = Controlled.around(model, mode, heavy="auto")
    states = result.theta.reshape(-1, result.theta.shape[-1])
    kept: dict[str, list[float]] = {"plain": [], "controlled": []}
    for state in states[rng.choice(len(states), PAIRS, replace=False)]:
        new = spec.proposal.propose(rng, state).theta
        for name, which in (("plain", model), ("controlled", controlled)):
            sigma = moments(compare(which, state, new))[1]
            kept[name].append(which.n_data * sigma / math.sqrt(which.n_data - 1.0))
    return {name: float(np.mean(values)) for name, values in kept.items()} | {"heavy": float(controlled.n_heavy)}


# --- NUTS -------------------------------------------------------------------------------------------------------------


def _nuts(case: Case, made: Any) -> tuple[dict[str, Any], float]:
    """Draws of NumPyro's NUTS of the same model, by name, as its own tool computes it; and the seconds for them."""
    import jax
    from numpyro.infer import MCMC, NUTS

    with jax.enable_x64(True):
        if case.tool == "NumPyro":
            kernel, arguments, start, unpack = NUTS(made[0], max_tree_depth=DEPTH), made[1], None, None
        else:
            potential, start, unpack = _pymc_density(made)
            kernel, arguments = NUTS(potential_fn=potential, max_tree_depth=DEPTH), ()
        begin = time.perf_counter()
        sampler = MCMC(kernel, num_warmup=NUTS_WARMUP, num_samples=NUTS_BLOCK, progress_bar=False)
        sampler.run(jax.random.key(1), *arguments, init_params=start)
        parts = [sampler.get_samples()]
        while time.perf_counter() - begin < NUTS_SECONDS and len(parts) * NUTS_BLOCK < NUTS_DRAWS:
            sampler.post_warmup_state = sampler.last_state
            sampler.run(sampler.post_warmup_state.rng_key, *arguments)
            parts.append(sampler.get_samples())
        draws = jax.tree.map(lambda *each: np.concatenate([np.asarray(one) for one in each]), *parts)
        seconds = time.perf_counter() - begin
        return (dict(draws) if unpack is None else unpack(draws)), seconds


def _pymc_density(model: Any) -> tuple[Any, Any, Any]:
    """PyMC's own log density as JAX computes it, a start, and its variables as functions of the values."""
    import jax
    from pymc.sampling.jax import get_jaxified_graph, get_jaxified_logp

    log_density, values = get_jaxified_logp(model), list(model.value_vars)
    first = model.initial_point()
    start = [np.asarray(first[value.name], dtype=np.float64) for value in values]
    wanted = [each for each in model.unobserved_value_vars if each not in values] + [
        each for each in values if model.rvs_to_transforms.get(model.values_to_rvs[each]) is None
    ]
    computed = get_jaxified_graph(inputs=values, outputs=wanted)

    def unpack(draws: Any) -> dict[str, Any]:
        found = jax.vmap(lambda each: computed(*each))(draws)
        return {str(one.name): np.asarray(each) for one, each in zip(wanted, found, strict=True)}

    return (lambda each: -log_density(each)), start, unpack


# --- agreement --------------------------------------------------------------------------------------------------------


def _ess(draws: Any) -> float:
    from arviz_stats import base

    stats: Any = base.array_stats  # type: ignore[attr-defined]
    return float(stats.ess(draws, chain_axis=0, draw_axis=1, method="mean"))


def _moments(draws: Any) -> tuple[float, float, float, float, float]:
    """Mean, sd, their standard errors (relative, for the sd), and effective draws of one number, (chains, draws)."""
    mean, sd, ess = float(draws.mean()), float(draws.std()), _ess(draws)
    square = ((draws - mean) / sd) ** 2
    spread = math.sqrt(max(float((square**2).mean()) - 1.0, 0.0) / _ess(square))
    return mean, sd, sd / math.sqrt(ess), 0.5 * spread, ess


def _agreement(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """The farthest mean, in sds, and sd, relative, with their standard errors; over all numbers that both have."""
    means, sds, names, least = [], [], [], [math.inf, math.inf]
    for name in mine.keys() & theirs.keys():
        ours, other = mine[name].reshape(*mine[name].shape[:2], -1), theirs[name].reshape(1, len(theirs[name]), -1)
        for k in range(ours.shape[2]):
            if not (np.ptp(ours[:, :, k]) > 0.0 and np.ptp(other[:, :, k]) > 0.0):
                continue  # a constant, as in a Cholesky factor
            a, b = _moments(ours[:, :, k]), _moments(other[:, :, k])
            means.append(((a[0] - b[0]) / b[1], math.hypot(a[2], b[2]) / b[1]))
            sds.append((a[1] / b[1] - 1.0, math.hypot(a[3], b[3]) * a[1] / b[1]))
            names.append(name if ours.shape[2] == 1 else f"{name}[{k}]")
            least = [min(least[0], a[4]), min(least[1], b[4])]
    found: dict[str, Any] = {"compared": len(names), "min_ess": least[0], "nuts_min_ess": least[1]}
    for what, pairs in (("mean", means), ("sd", sds)):
        off, error = np.array(pairs).T
        worst = int(np.argmax(np.abs(off)))
        found |= {what: float(off[worst]), f"{what}_error": float(error[worst]), f"{what}_of": names[worst]}
        found[f"{what}_z"] = float(np.max(np.abs(off) / error))
    return found


# --- tables -----------------------------------------------------------------------------------------------------------


def table(results: list[dict[str, Any]]) -> list[str]:
    """The results as Markdown."""
    lines = [
        "| model | D | κ plain → controlled | gain | test | rows per step | farthest mean, sd | farthest sd, relative "
        "| largest z | effective draws | claim |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        begin = f"| {one['kind']} ({one['name']}) | {one.get('dimension', '')} "
        if "failure" in one:
            lines.append(f"{begin}| fails: {one['failure'].removeprefix('model: ')} | | | | | | | | |")
            continue
        gain = one["plain"] / one["controlled"] if one["controlled"] > 0.0 else math.inf
        lines.append(
            f"{begin}| {one['plain']:.3g} → {one['controlled']:.2g} | {gain:,.0f} | {one['method']} "
            f"| {one['per_step']:,.0f} | {one['mean']:+.2f} ± {one['mean_error']:.2f} ({one['mean_of']}) "
            f"| {one['sd']:+.2f} ± {one['sd_error']:.2f} ({one['sd_of']}) "
            f"| {max(one['mean_z'], one['sd_z']):.1f} of {2 * one['compared']} "
            f"| {one['min_ess']:,.0f}, NUTS {one['nuts_min_ess']:,.0f} | {one['claim']}{_usual(one)} |"
        )
    return lines


def _usual(one: dict[str, Any]) -> str:
    return "" if one["usual"] == one["method"] else f"; without a chain ({one['usual']}): {one['usual_claim']}"


def sources() -> list[str]:
    """Where the models were published."""
    lines = ["| model | file | commit | taken | SHA-256 |", "|---|---|---|---|---|"]
    for case in CASES:
        each = case.source
        what = ", ".join(f"`{name}`" for name in each.functions) or f"{len(each.cells)} cells"
        url = f"https://github.com/{each.repository}/blob/{each.commit}/{each.path}"
        lines.append(f"| {case.name} | [{each.place}]({url}) | {each.commit[:8]} | {what} | {each.sha256[:12]} |")
    return lines


def report(folder: str | None, names: tuple[str, ...] = ()) -> list[str]:
    """All models, or some; a few minutes each."""
    chosen = [case for case in CASES if not names or case.name in names]
    absent = missing([case.source for case in chosen], Path(folder or ""))
    if folder is None or absent:
        where = "a folder (--from FOLDER)" if folder is None else folder
        raise BadInput(f"twelve: needs published files in {where}: {'; '.join(absent)}")
    results = []
    for case in chosen:
        results.append(measured(case, Path(folder)))
        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    return ["## Twelve models that we did not write", "", *table(results), ""]


if __name__ == "__main__":
    print("\n".join(report(sys.argv[1], tuple(sys.argv[2:]))))
