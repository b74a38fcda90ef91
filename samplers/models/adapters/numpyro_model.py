"""NumPyro models as they are: the data plate and its observed sites are found, and rows are read one by one.

The likelihood is that of the observed sites in the data plate, the largest plate with observed sites, and in further
plates with many rows, whose rows are counted after those of the first. The program that NumPyro runs for all rows is
turned into one for some rows (`samplers.models.adapters.row_program`), which is compared with NumPyro's own log density
before it is used. All other sites, observed ones too, belong to the prior, with the Jacobians of the transforms that
make their supports unconstrained.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from samplers.models.adapters.jax_model import JaxModel
from samplers.models.adapters.packages import jax_package, package
from samplers.models.adapters.parts import Part, part_names
from samplers.models.adapters.site_model import Sites, site_model

SHARE = 10  # an observed site outside the data plate with more than N / 10 numbers makes another data plate


class _Latent(NamedTuple):
    """A site to sample: its unconstrained shape, and what it is called on the unconstrained scale."""

    name: str
    shape: tuple[int, ...]
    label: str


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> JaxModel:
    """A NumPyro model with its data, unmodified, with control variates and everything that follows.

    Parameters
    ----------
    model
        A NumPyro model: a function with `numpyro.sample` statements, observed ones in a plate over the data. Observed
        sites without a plate count as well, if their distribution has a batch axis.
    args, kwargs
        Of the model: its data.

    Returns
    -------
    JaxModel
        θ are the latent sites on the unconstrained scale, with the Jacobians in the prior. Its `unpack(draws)` gives
        the sites under their names, constrained, and deterministic sites that have no value per row.

    Raises
    ------
    BadInput
        If NumPyro is not installed; with the reason, if the model has discrete latent sites, no data plate, latent
        sites in it, or a likelihood that does not factorise over its rows.

    Examples
    --------
    >>> import numpyro
    >>> import numpyro.distributions as dist
    >>> def regression(x, y):
    ...     slope = numpyro.sample("slope", dist.Normal(0.0, 10.0))
    ...     sigma = numpyro.sample("sigma", dist.HalfNormal(5.0))
    ...     with numpyro.plate("data", len(x)):
    ...         numpyro.sample("y", dist.StudentT(4.0, slope * x, sigma), obs=y)
    >>> x = np.linspace(-1.0, 1.0, 200)
    >>> model = from_numpyro(regression, x, 2.0 * x + np.random.default_rng(0).standard_normal(200))
    >>> model.n_data, model.names
    (200, ('slope', 'log sigma'))
    >>> sorted(model.unpack(np.zeros((5, 2))))
    ['sigma', 'slope']
    """
    numpyro, jax = package("numpyro", "numpyro"), jax_package()
    handlers = numpyro.handlers
    with jax.enable_x64(True):
        whole = handlers.seed(_whole_plates(jax, numpyro, model), jax.random.key(0))
        trace = _traced(handlers.trace(whole), args, kwargs)
        latents = [_latent(numpyro, name, site) for name, site in trace.items() if _is_latent(site)]
        if not latents:
            raise BadInput("model: has no latent sites to sample")
        plates = _data_plates(trace)
        for plate in plates:
            _check_local(trace, plate)
        inside = {name for plate in plates for name in plate.sites}
        sizes = {plate.size for plate in plates} | {sum(plate.size for plate in plates)}
        parts: list[Part] = [(latent.name, latent.shape) for latent in latents]

        def run(leaves: Any) -> tuple[dict[str, Any], Any]:
            """The trace of the model at unconstrained values of its sites, and the log Jacobian."""
            given = dict(zip((latent.name for latent in latents), leaves, strict=True))
            jacobians = []

            def substitute(site: dict[str, Any]) -> Any:
                if site["type"] != "sample" or site["name"] not in given:
                    return None
                transform = numpyro.distributions.biject_to(site["fn"].support)
                value = transform(given[site["name"]])
                jacobian = transform.log_abs_det_jacobian(given[site["name"]], value)
                jacobians.append(jax.numpy.sum(jacobian))
                return value

            found = handlers.trace(handlers.substitute(whole, substitute_fn=substitute)).get_trace(*args, **kwargs)
            return found, sum(jacobians)

        def likelihood(plate: _Plate, *leaves: Any) -> Any:
            found, _ = run(leaves)
            return sum(plate.rows(jax, found[name]) for name in plate.sites)

        def log_prior(*leaves: Any) -> Any:
            found, jacobian = run(leaves)
            others = [site for name, site in found.items() if site["type"] == "sample" and name not in inside]
            return jacobian + sum(jax.numpy.sum(_log_prob(site)) for site in others)

        def density(*leaves: Any) -> Any:
            given = dict(zip((latent.name for latent in latents), leaves, strict=True))
            return -numpyro.infer.util.potential_energy(whole, args, kwargs, given)

        def quantities(*leaves: Any) -> dict[str, Any]:
            found, _ = run(leaves)
            kept = {latent.name: found[latent.name]["value"] for latent in latents}
            for name, site in found.items():
                value = site.get("value")
                if site["type"] == "deterministic" and not sizes & set(np.shape(value)):
                    kept[name] = value
            return kept

        labels = part_names([(latent.label, latent.shape) for latent in latents])
        starts = [np.zeros(latent.shape) for latent in latents]
        sites = Sites(parts, labels, starts, _prior_starts(numpyro, latents, trace))
        sets = [partial(likelihood, plate) for plate in plates]
        return site_model(jax, sites, sets, log_prior, density, quantities, "NumPyro")


def _whole_plates(jax: Any, numpyro: Any, model: Callable[..., Any]) -> Any:
    """The model with all rows in every plate, also in those that subsample."""

    class Whole(numpyro.primitives.Messenger):  # type: ignore[misc]
        def process_message(self, msg: dict[str, Any]) -> None:
            size, subsample = msg["args"][:2] if msg["type"] == "plate" else (0, None)
            if subsample is not None and subsample != size:
                with jax.ensure_compile_time_eval():  # known numbers: also NumPy data can be indexed by them
                    msg["value"], msg["args"] = jax.numpy.arange(size), (size, size)

    return Whole(model)


def _traced(model: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = model.get_trace(*args, **kwargs)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        raise BadInput(f"model: fails with these arguments: {type(error).__name__}: {lines[0]}") from error
    for name, site in found.items():
        if site["type"] in ("param", "mutable"):
            raise BadInput(f"model: site {name!r} is a {site['type']} site; only sampled parameters are supported")
    return found


def _is_latent(site: dict[str, Any]) -> bool:
    return site["type"] == "sample" and not site["is_observed"]


def _log_prob(site: dict[str, Any]) -> Any:
    log_prob = site["fn"].log_prob(site["value"])
    return log_prob if site["scale"] is None else site["scale"] * log_prob


def _latent(numpyro: Any, name: str, site: dict[str, Any]) -> _Latent:
    support = site["fn"].support
    if getattr(site["fn"], "is_discrete", False) or getattr(support, "is_discrete", False):
        raise BadInput(f"model: latent site {name!r} is discrete; sum it out of the likelihood")
    transforms = numpyro.distributions.transforms
    transform = numpyro.distributions.biject_to(support)
    shape = tuple(transform.inverse_shape(np.shape(site["value"])))
    base = getattr(transform, "base_transform", transform)
    if isinstance(base, transforms.IdentityTransform):
        label = name
    elif isinstance(base, transforms.ExpTransform):
        label = f"log {name}"
    else:
        label = f"unconstrained {name}"
    return _Latent(name, shape, label)


def _prior_starts(numpyro: Any, latents: list[_Latent], trace: dict[str, Any]) -> list[Any]:
    """A draw of the prior on the unconstrained scale, in case that zeros are impossible."""
    found = []
    for latent in latents:
        site = trace[latent.name]
        found.append(np.asarray(numpyro.distributions.biject_to(site["fn"].support).inv(site["value"])))
    return found


class _Plate(NamedTuple):
    """The data plate: its name, size and observed sites; without a plate, the batch axis of one site."""

    name: str
    size: int
    sites: tuple[str, ...]
    axes: dict[str, int]  # of each site's log density, counted from the end

    def rows(self, jax: Any, site: dict[str, Any]) -> Any:
        """The log density of each row."""
        values = _log_prob(site)
        axis = values.ndim + self.axes[site["name"]]
        return jax.numpy.sum(values, axis=tuple(k for k in range(values.ndim) if k != axis))


def _data_plates(trace: dict[str, Any]) -> list[_Plate]:
    """The largest plate, and others while many numbers are observed outside."""
    left = {name: site for name, site in trace.items() if site["type"] == "sample" and site["is_observed"]}
    if not left:
        raise BadInput("model: has no observed sites; pass the data as arguments, and as `obs` to numpyro.sample")
    found = [_data_plate(left)]
    while True:
        left = {name: site for name, site in left.items() if name not in found[-1].sites and _many(site, found[0].size)}
        if not left:
            return found
        found.append(_data_plate(left))


def _many(site: dict[str, Any], size: int) -> bool:
    shape = np.shape(_log_prob(site))
    return max(shape, default=1) > 1 and math.prod(shape) * SHARE > size


def _data_plate(observed: dict[str, Any]) -> _Plate:
    shapes = {name: np.shape(_log_prob(site)) for name, site in observed.items()}
    frames = {name: {frame.name: frame for frame in site["cond_indep_stack"]} for name, site in observed.items()}
    sizes = {frame.name: frame.size for each in frames.values() for frame in each.values()}
    if sizes:
        plate = max(sizes, key=lambda name: sizes[name])
        inside = tuple(name for name in observed if plate in frames[name])
        axes = {name: frames[name][plate].dim for name in inside}
        found = _Plate(plate, sizes[plate], inside, axes)
    else:
        largest = max(shapes, key=lambda name: max(shapes[name], default=0))
        size = max(shapes[largest], default=0)
        inside = tuple(name for name, shape in shapes.items() if size in shape)
        axes = {name: max(k for k, n in enumerate(shapes[name]) if n == size) - len(shapes[name]) for name in inside}
        found = _Plate(f"the batch axis of {largest}", size, inside, axes)
    if found.size < 2:
        names = ", ".join(observed)
        raise BadInput(
            f"model: no data plate: the log density of {names} is one number, so there are no rows to sample; observe "
            'the data inside `with numpyro.plate("data", n):`'
        )
    for name in inside:
        shape = shapes[name]
        if len(shape) < -found.axes[name] or shape[found.axes[name]] != found.size:
            raise BadInput(
                f"model: site {name!r} in plate {found.name!r} has log densities of shape {shape}, not one per row"
            )
    return found


def _check_local(trace: dict[str, Any], plate: _Plate) -> None:
    for name, site in trace.items():
        if _is_latent(site) and any(frame.name == plate.name for frame in site["cond_indep_stack"]):
            raise BadInput(
                f"model: latent site {name!r} is inside the data plate {plate.name!r}: local variables are not "
                "supported; integrate them out"
            )
