"""NumPyro's NUTS on one of the problems: `python -m benchmarks.any_model.nuts DATA.npz RESULT.npz OPTIONS`.

One chain, which uses all cores, in single precision as NumPyro does by default. It starts at the mode with the scales
of the normal approximation there as its mass matrix, where there is one: warm-up only tunes the step size.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import lax, random
from numpyro.infer import HMCECS, NUTS

CLASSES, SCALE, SHAPE_SCALE = 4, 1.0, 5.0  # classes of the softmax; prior sd of coefficients, and of logs of shapes


def coefficients(size: int, shapes: int) -> Any:
    """Coefficients, and the logs of sampled shapes after them."""
    scale = jnp.concatenate([jnp.full(size - shapes, SCALE), jnp.full(shapes, SHAPE_SCALE)])
    return numpyro.sample("theta", dist.Normal(jnp.zeros(size), scale).to_event(1))


def poisson(theta: Any, x: Any) -> Any:
    return dist.Poisson(jnp.exp(x @ theta))


def student(theta: Any, x: Any) -> Any:
    return dist.StudentT(4.0, x @ theta[:-1], jnp.exp(theta[-1]))


def negative_binomial(theta: Any, x: Any) -> Any:
    return dist.NegativeBinomial2(jnp.exp(x @ theta[:-1]), jnp.exp(-theta[-1]))


def softmax(theta: Any, x: Any) -> Any:
    eta = x @ theta.reshape(CLASSES - 1, -1).T
    return dist.Categorical(logits=jnp.concatenate([jnp.zeros((x.shape[0], 1)), eta], axis=1))


FAMILIES: dict[str, tuple[Callable[[Any, Any], Any], int]] = {  # and how many shapes are sampled
    "Poisson": (poisson, 0),
    "Student-t": (student, 1),
    "negative binomial": (negative_binomial, 1),
    "softmax": (softmax, 0),
}


def model_of(name: str, size: int, subsample: int | None) -> Callable[..., None]:
    """The model, which takes the data as arrays."""

    def plain(x: Any, y: Any) -> None:
        theta = coefficients(size, FAMILIES[name][1])
        with numpyro.plate("data", x.shape[0], subsample_size=subsample):
            rows, response = (x, y) if subsample is None else (numpyro.subsample(x, 1), numpyro.subsample(y, 0))
            numpyro.sample("y", FAMILIES[name][0](theta, rows), obs=response)

    def grouped(x: Any, y: Any, group: Any) -> None:
        beta = numpyro.sample("beta", dist.Normal(jnp.zeros(x.shape[1]), SCALE).to_event(1))
        scale = numpyro.sample("scale", dist.HalfNormal(1.0))
        effects = numpyro.sample("effects", dist.Normal(0.0, scale).expand([size - x.shape[1] - 1]).to_event(1))
        with numpyro.plate("data", x.shape[0]):
            numpyro.sample("y", dist.Bernoulli(logits=x @ beta + effects[group]), obs=y)

    return grouped if name == "hierarchical logistic" else plain


def main() -> None:
    source, target, text = sys.argv[1:]
    options, stored = json.loads(text), np.load(source)
    data = tuple(jnp.asarray(stored[key]) for key in ("x", "y", "group") if key in stored)
    mode, sd = stored["mode"], stored["sd"]
    name, size = options["name"], mode.size
    if name == "hierarchical logistic":
        columns = stored["x"].shape[1]
        start = {"beta": mode[:columns], "effects": mode[columns:-1], "scale": np.exp(mode[-1])}
        kernel: Any = NUTS(model_of(name, size, None), init_strategy=numpyro.infer.init_to_value(values=start))
        init_params = None
    elif options["method"] == "hmcecs":
        inner = NUTS(model_of(name, size, 100), inverse_mass_matrix=jnp.asarray(sd**2), adapt_mass_matrix=False)
        proxy = HMCECS.taylor_proxy({"theta": jnp.asarray(mode)}, degree=2)
        kernel, init_params = HMCECS(inner, num_blocks=10, proxy=proxy), {"theta": jnp.asarray(mode)}
    else:
        mass = {"inverse_mass_matrix": jnp.asarray(sd**2), "adapt_mass_matrix": False}
        kernel, init_params = NUTS(model_of(name, size, None), **mass), {"theta": jnp.asarray(mode)}
    begin = time.perf_counter()
    state = kernel.init(random.key(options["seed"]), options["warmup"], init_params, data, {})

    @jax.jit
    def block(state: Any, data: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            state = kernel.sample(state, data, {})
            return state, state.z

        return lax.scan(step, state, None, length=options["block"])

    jax.block_until_ready(block(state, data))
    compiling, begin = time.perf_counter() - begin, time.perf_counter()
    for _ in range(-(-options["warmup"] // options["block"])):
        state, _ = jax.block_until_ready(block(state, data))
    warmup, begin, parts = time.perf_counter() - begin, time.perf_counter(), []
    while time.perf_counter() - begin < options["seconds"] and len(parts) * options["block"] < options["draws"]:
        state, draws = jax.block_until_ready(block(state, data))
        parts.append(draws)
    seconds = time.perf_counter() - begin
    joined = {key: np.concatenate([np.asarray(part[key]) for part in parts]) for key in parts[0]}
    if "theta" in joined:
        theta = joined["theta"]
    else:  # `scale` is unconstrained here: its logarithm
        theta = np.hstack([joined["beta"], joined["effects"], joined["scale"][:, None]])
    np.savez(target, theta=theta, seconds=seconds, warmup=warmup, compiling=compiling)


if __name__ == "__main__":
    main()
