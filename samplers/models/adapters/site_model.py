"""A model of named sites, from functions of their unconstrained values: NumPyro's and PyMC's models end here.

The program for some rows is compared with the model's own: each row's term, their sum with the prior, and gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.models.adapters.jax_model import JaxModel
from samplers.models.adapters.parts import Part, padded_size
from samplers.models.adapters.row_program import RowProgram
from samplers.models.adapters.row_union import RowUnion

CHECKS, NEAR = 3, 0.3  # states at which the programs are compared, and how far from the start
TOLERANCE = 1e-8
SAMPLE = 50  # rows
TRIES = 100  # starts
BESIDE, ROUGH = 1e-7, 1e-3  # how far from the start the gradient is compared with that of the start, and how well
CHUNK = 256  # draws unpacked at once

Function = Callable[..., Any]


class Sites(NamedTuple):
    """The parameters: parts by name and unconstrained shape, names of all numbers, and two possible starts."""

    parts: Sequence[Part]
    names: tuple[str, ...]
    starts: Sequence[Any]
    others: Sequence[Any]


def site_model(
    jax: Any,
    sites: Sites,
    sets: Sequence[Function],
    log_prior: Function,
    density: Function,
    quantities: Function,
    tool: str,
) -> JaxModel:
    """The model, if it is what the tool says.

    Parameters
    ----------
    jax
        The package.
    sites
        The parameters.
    sets, log_prior
        Functions of the unconstrained sites: log p of each row of each set of data, and everything else, with the
        Jacobians. Rows of several sets are one after another.
    density
        The tool's own log density.
    quantities
        What users ask for, by name.
    tool
        Its name.
    """
    sizes = [math.prod(shape) for _, shape in sites.parts]
    ends = np.cumsum(sizes)

    def likelihood(*leaves: Any) -> Any:
        return jax.numpy.concatenate([each(*leaves) for each in sets])

    def leaves_of(theta: Any) -> list[Any]:
        pieces = zip(sites.parts, ends, sizes, strict=True)
        return [theta[end - size : end].reshape(shape) for (_, shape), end, size in pieces]

    start = _start(jax, sites, lambda *leaves: log_prior(*leaves) + jax.numpy.sum(likelihood(*leaves)))
    names = [name for name, _ in sites.parts]
    programs = [RowProgram(jax, each, leaves_of(start), names) for each in sets]
    program = programs[0] if len(programs) == 1 else RowUnion(jax, programs)

    def batch(theta: Any, rows: Any) -> Any:
        return program(leaves_of(theta), rows)

    def prior(theta: Any) -> Any:
        return log_prior(*leaves_of(theta))

    def whole(theta: Any) -> Any:
        return likelihood(*leaves_of(theta))

    _compare(jax, program, batch, prior, whole, lambda theta: density(*leaves_of(theta)), start, tool)
    alone = [np.arange(e - n, e) for k, (e, n) in enumerate(zip(ends, sizes, strict=True)) if k not in program.used]
    unpack_some = jax.jit(jax.vmap(lambda theta: quantities(*leaves_of(theta))))

    def unpacked(draws: Floats) -> dict[str, Any]:
        found = []
        for first in range(0, len(draws), CHUNK):
            some = draws[first : first + CHUNK]
            padded = np.concatenate([some, np.repeat(some[:1], padded_size(len(some)) - len(some), axis=0)])
            found.append({name: np.asarray(value)[: len(some)] for name, value in unpack_some(padded).items()})
        return {name: np.concatenate([each[name] for each in found]) for name in found[0]}

    places = np.concatenate([np.empty(0, dtype=np.int64), *alone])
    return JaxModel(batch, prior, tuple(program.data), start, sites.parts, sites.names, places, unpacked)


def _start(jax: Any, sites: Sites, density: Function) -> Floats:
    """Zeros, or else near a draw of the prior, or near 0: where density and gradient are finite.

    Zeros are left if the gradient jumps there: max(x, 0) and |x| have one that is not that of the density beside.
    """
    rng = np.random.default_rng(0)
    value_and_slope = jax.jit(jax.value_and_grad(lambda leaves: density(*leaves)))
    for k in range(TRIES):
        centre = sites.starts if k % 2 == 0 else sites.others
        spread = 0.0 if k < 2 else min(2.0, 0.1 * k)
        leaves = [np.asarray(each) + spread * rng.uniform(-1.0, 1.0, np.shape(each)) for each in centre]
        value, slope = value_and_slope(leaves)
        if math.isfinite(value) and all(np.all(np.isfinite(each)) for each in jax.tree.leaves(slope)):
            beside = value_and_slope([leaf + BESIDE for leaf in leaves])[1]
            if k == 0 and not _same(_flat(slope), _flat(beside), ROUGH):
                continue
            return _flat(leaves)
    raise BadInput(f"model: log density or gradient was not finite at any of {TRIES} starts")


def _flat(leaves: Sequence[Any]) -> Floats:
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


def _compare(
    jax: Any,
    program: RowProgram | RowUnion,
    batch: Function,
    prior: Function,
    whole: Function,
    density: Function,
    start: Floats,
    tool: str,
) -> None:
    """Check that rows, their sum and gradients are those of the model, or refuse it."""
    rng, met = np.random.default_rng(1), 0
    some = np.sort(rng.choice(program.n_rows, min(SAMPLE, program.n_rows), replace=False))
    rows = [each[some] for each in program.data]

    def of_rows(theta: Any) -> Any:
        terms = batch(theta, rows)
        return jax.numpy.sum(terms), terms

    def of_all(theta: Any) -> Any:
        terms = whole(theta)
        return jax.numpy.sum(terms[some]), terms

    def everything(theta: Any) -> Any:
        (_, mine), slope = jax.value_and_grad(of_rows, has_aux=True)(theta)
        (_, theirs), expected = jax.value_and_grad(of_all, has_aux=True)(theta)
        return mine, theirs, slope, expected, prior(theta), density(theta)

    compiled = jax.jit(everything)
    for k in range(20 * CHECKS):
        theta = start + (NEAR * rng.standard_normal(start.size) if k else 0.0)
        mine, theirs, slope, expected, log_prior, own = (np.asarray(each) for each in compiled(theta))
        if not (np.all(np.isfinite(theirs)) and np.isfinite(log_prior)):
            continue
        total = float(log_prior + theirs.sum())
        if not abs(total - own) <= TOLERANCE * (1.0 + np.abs(theirs).sum()):
            raise BadInput(
                f"model: the likelihood does not factorise over rows: prior and rows sum to {total:.10g}, and {tool} "
                f"says {own:.10g}"
            )
        if not (_same(mine, theirs[some], TOLERANCE) and (_same(slope, expected, 1e-6))):
            raise BadInput("model: the terms of single rows are not those of all rows together; please report this")
        met += 1
        if met == CHECKS:
            return
    raise BadInput("model: the log density is not finite near the start")


def _same(mine: Floats, theirs: Floats, tolerance: float) -> bool:
    """Whether they agree, where the tool's own numbers are finite."""
    finite = np.isfinite(theirs)
    scale = tolerance * (1.0 + np.abs(theirs[finite]).max(initial=0.0))
    return bool(np.allclose(mine[finite], theirs[finite], rtol=tolerance, atol=scale))
