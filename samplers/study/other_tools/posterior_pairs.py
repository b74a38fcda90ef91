"""Trial runs from a posterior that another tool has sampled: PyMC, Stan, NumPyro, anything that ArviZ reads.

It needs the group `log_likelihood` with one value per chain, draw and datum. Two draws θ, θ' give
lᵢ = log_lik[θ', i] - log_lik[θ, i], whose mean, standard deviation and skewness are a pair for the calculator.
Files are read a block of data at a time, once (twice for `nearest`), so that memory stays bounded.

Draws are not proposals: `docs/pymc_stan_numpyro.md` says which pairs stand for whose proposals, and what rescaling
does.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real, shown
from designer.core.files import shorten
from designer.pairs.stationary import log_acceptance_at, scale_to
from designer.pairs.trial_run import TrialRun
from designer.rule.looks import MAX_N_DATA
from samplers.data.memory import MAX_BYTES
from samplers.models.moments import Sums

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

Kind: TypeAlias = Literal["successive", "random", "nearest"]
KINDS: tuple[Kind, ...] = get_args(Kind)
GROUP, PRIOR, SAMPLE = "log_likelihood", "log_prior", ("chain", "draw")
BLOCK_VALUES = 2**22  # read at once: 32 MB
MOST_CHUNK = 2**28  # bytes that HDF5 unpacks at once, whatever is asked of them
MOST_COUNT = 100_000
MOST_DRAWS = 10**7  # of all chains: a datum's values are held together
NEIGHBOURS, LOOKED_AT = 1000, 2000  # draws among which, and data on which, nearest ones are sought
SCALES = 1e-6, 1e6
READING: dict[str, Any] = {  # raw values: decode no dates, load no coordinates
    "engine": "h5netcdf",
    "decode_times": False,
    "create_default_indexes": False,
    "phony_dims": "sort",  # of HDF5 files that are no netCDF, which are refused for their dimensions
}
MISFIT = 2.0  # κ² against the spread of A: beyond this factor the relation of the two is in doubt
HOW = (
    "PyMC: pm.compute_log_likelihood; NumPyro: arviz.from_numpyro(mcmc, log_likelihood=True); Stan: log_lik in "
    "generated quantities"
)


class PosteriorPairs(NamedTuple):
    """A trial run from the draws of another tool.

    Attributes
    ----------
    trial
        For the calculator.
    scale
        Factor by which its steps were stretched; 1 if they were not.
    remarks
        What to know before using it.

    Examples
    --------
    >>> PosteriorPairs(TrialRun(300, [0.0], [0.1]), 1.0, []).scale
    1.0
    """

    trial: TrialRun
    scale: float
    remarks: list[str]


def trial_from_posterior(
    rng: np.random.Generator,
    source: Any,
    kind: Kind = "successive",
    count: int = 200,
    *,
    scale: float | None = None,
    acceptance: float | None = None,
    variables: Sequence[str] | None = None,
    most_bytes: int = MAX_BYTES,
) -> PosteriorPairs:
    """A trial run from the pointwise log-likelihoods of a posterior.

    Parameters
    ----------
    rng
        Chooses random pairs, and draws A when steps are rescaled.
    source
        A netCDF file by its path or as a binary file object; an xarray DataTree or an ArviZ InferenceData with the
        group `log_likelihood`; or that group alone, as a Dataset.
    kind
        successive: a draw and the next one of its chain, evenly spread. random: any two draws. nearest: a draw and the
        one with the smallest κ from it, among at most 1,000 draws.
    count
        How many pairs, if there are that many (at most 1,000 nearest ones).
    scale, acceptance
        Stretch all steps by this factor, or by the one that gives this mean acceptance: κ is multiplied by it, A is
        drawn from N(-κ²/2, κ²) and the log ratio is 0. By default pairs are left as the draws have them.
    variables
        Observed variables to use; all of the group by default, their data one after the other.
    most_bytes
        Refuse more bytes of log-likelihoods than that, unpacked.

    Returns
    -------
    PosteriorPairs
        The trial run, and what to know about it (docs/pymc_stan_numpyro.md).

    Examples
    --------
    >>> import xarray
    >>> values = np.random.default_rng(0).normal(size=(2, 50, 300))
    >>> group = xarray.Dataset({"y": (("chain", "draw", "obs"), values)})
    >>> result = trial_from_posterior(np.random.default_rng(1), group, count=10)
    >>> result.trial.n_data, len(result.trial)
    (300, 10)
    """
    if kind not in KINDS:
        raise BadInput(f"pairs = {shown(kind)}: must be {', '.join(KINDS)}")
    if scale is not None and acceptance is not None:
        raise BadInput("give a scale or an acceptance, not both")
    count = integer("count", count, 1, MOST_COUNT)
    with _opened(source) as (likelihood, prior):
        table = _Table.of(likelihood, variables, most_bytes)
        first, second = _chosen(rng, table, kind, count)
        mu, sigma, skew = _moments(table, first, second)
        log_prior = None if prior is None else _totals(prior, table, most_bytes)
    moved = sigma > 0.0
    if not moved.any():
        raise BadInput(f"{GROUP}: the draws of each pair are equal; there is nothing to test")
    log_ratio = np.zeros(mu.size) if log_prior is None else log_prior[first] - log_prior[second]
    trial = TrialRun(table.n_data, mu[moved], sigma[moved], log_ratio[moved], skew[moved])
    remarks = _remarks(trial, int((~moved).sum()), kind, with_prior=log_prior is not None)
    if scale is None and acceptance is None:
        return PosteriorPairs(trial, 1.0, [*remarks, *_not_proposals(trial)])
    factor = scale_to(trial.kappa, acceptance) if acceptance is not None else real("scale", scale, *SCALES)
    remark = f"steps times {factor:.4g}, A drawn from N(-κ²/2, κ²)"
    return PosteriorPairs(rescaled(rng, trial, factor), factor, [*remarks, remark])


def rescaled(rng: np.random.Generator, trial: TrialRun, scale: float) -> TrialRun:
    """The pairs with steps `scale` times as long, as a random walk at stationarity proposes them.

    To first order lᵢ is linear in the step: σ is multiplied by `scale`, the skewness stays. A of the draws does
    not tell that of proposals and is redrawn from N(-κ²/2, κ²), with log ratio 0.
    """
    scale = real("scale", scale, *SCALES)
    log_acceptance = log_acceptance_at(rng, scale * trial.kappa)
    return TrialRun(trial.n_data, log_acceptance / trial.n_data, scale * trial.sigma, 0.0, trial.skew)


# --- which pairs ------------------------------------------------------------------------------------------------------


def _chosen(rng: np.random.Generator, table: _Table, kind: Kind, count: int) -> tuple[Ints, Ints]:
    """Indices of θ and θ' among all draws of all chains."""
    chains, draws, total = table.chains, table.draws, table.chains * table.draws
    if total < 2 or (kind == "successive" and draws < 2):
        raise BadInput(f"{GROUP}: {chains} chains of {draws} draws have no two to compare")
    if kind == "successive":
        starts = np.arange(total).reshape(chains, draws)[:, :-1].ravel()
        first = starts[np.unique(np.linspace(0, starts.size - 1, count).round().astype(np.int64))]
        return first, first + 1
    if kind == "random":
        first = rng.integers(0, total, count)
        return first, (first + rng.integers(1, total, count)) % total
    return _nearest(rng, table, count)


def _nearest(rng: np.random.Generator, table: _Table, count: int) -> tuple[Ints, Ints]:
    """Some draws, each with the one at the smallest positive κ, estimated from some of the data."""
    total = table.chains * table.draws
    chosen = np.sort(rng.permutation(total)[:NEIGHBOURS])
    every, passed, some = max(1, table.n_data // LOOKED_AT), 0, []
    for block in table.blocks():
        some.append(block[chosen, -passed % every :: every])
        passed += block.shape[1]
    values = np.concatenate(some, axis=1)
    values -= values.mean(axis=0)  # cancels in differences, and saves digits
    values -= values.mean(axis=1)[:, None]
    first, second = np.arange(min(count, chosen.size)), np.empty(min(count, chosen.size), dtype=np.int64)
    squares = np.einsum("ij,ij->i", values, values)
    for start in range(0, first.size, 256):
        rows = first[start : start + 256]
        distance = squares[rows, None] + squares - 2.0 * values[rows] @ values.T
        distance[distance <= 1e-12 * (squares[rows, None] + squares)] = np.inf  # itself, and its repetitions
        second[rows] = distance.argmin(axis=1)
    return chosen[first], chosen[second]


def _moments(table: _Table, first: Ints, second: Ints) -> tuple[Floats, Floats, Floats]:
    """Mean, standard deviation and skewness of the lᵢ of each pair, in one pass."""
    sums = Sums.none()
    rows = max(1, BLOCK_VALUES // first.size)
    for block in table.blocks():
        for start in range(0, block.shape[1], rows):
            part = block[:, start : start + rows]
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                sums = sums.joined(Sums.of(part[second] - part[first]))
    with np.errstate(over="ignore", invalid="ignore"):
        mean, sigma, skew = sums.moments()
    if not np.all(np.isfinite([mean, sigma, skew])):
        raise BadInput(f"{GROUP}: values are too large for their squares and cubes to be summed")
    return mean, sigma, skew


# --- what to know -----------------------------------------------------------------------------------------------------


def _remarks(trial: TrialRun, equal: int, kind: Kind, *, with_prior: bool) -> list[str]:
    remarks = [] if with_prior else [f"no group {PRIOR}: the log ratio is taken as 0, as for a flat prior"]
    if equal:
        remarks.append(f"{equal:,} pair{'s' * (equal > 1)} of equal draws (rejected steps) left out")
    fit = _fit(trial) if kind == "random" and len(trial) >= 50 else 1.0
    if not 1.0 / MISFIT <= fit <= MISFIT:
        remarks.append(
            f"κ² is {fit:.2g} times what the spread of the log posterior says: the model does not fit the data, or "
            "the prior matters; A ~ N(-κ²/2, κ²) is in doubt"
        )
    return remarks


def _fit(trial: TrialRun) -> float:
    """mean κ² / (2 var A) of independent draws: 1 for a normal posterior of a model that fits the data.

    A is half the difference of two chi² with D degrees of freedom, of variance D; κ² is twice one, of mean 2 D.
    """
    spread = float(trial.log_acceptance.var())
    return float((trial.kappa**2).mean()) / (2.0 * spread) if spread > 0.0 else float("inf")


def _not_proposals(trial: TrialRun) -> list[str]:
    """Warn if the pairs do not look like proposals: A of two draws is above 0 as often as below."""
    mean, expected = float(trial.log_acceptance.mean()), -0.5 * float((trial.kappa**2).mean())
    if expected > -0.02 or mean < 0.5 * expected:
        return []
    return [
        f"draws are not proposals: mean A is {mean:.3g}, a random walk with this κ has about {expected:.3g}; rescale "
        "them to the acceptance rate of your chain"
    ]


# --- reading ----------------------------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """Checked log-likelihoods: arrays (chain, draw, ...) with N data together."""

    arrays: list[DataArray]
    chains: int
    draws: int
    n_data: int

    @classmethod
    def of(cls, group: Dataset, variables: Sequence[str] | None, most_bytes: int) -> _Table:
        names = [str(name) for name in group.data_vars]
        chosen = names if variables is None else list(dict.fromkeys(variables))
        for name in chosen:
            if name not in names:
                raise BadInput(f"{GROUP}: has no variable {shown(name)}, only {shorten(', '.join(names), 200)}")
        if not chosen:
            raise BadInput(f"{GROUP}: holds no variable")
        arrays = [_checked(name, group[name]) for name in chosen]
        shapes = {array.shape[:2] for array in arrays}
        if len(shapes) > 1:
            raise BadInput(f"{GROUP}: its variables have different numbers of chains and draws")
        if (size := 8 * sum(array.size for array in arrays)) > most_bytes:
            raise BadInput(f"{GROUP}: {size:,} bytes of numbers, more than the limit of {most_bytes:,}")
        chains, draws = shapes.pop()
        if chains * draws > MOST_DRAWS:
            raise BadInput(f"{GROUP}: {chains * draws:,} draws, more than {MOST_DRAWS:,}")
        n_data = sum(array.size for array in arrays) // (chains * draws)
        return cls(arrays, chains, draws, integer("number of data", n_data, 2, MAX_N_DATA))

    def blocks(self) -> Iterator[Floats]:
        """All values, some data at a time: (draws of all chains, data), in the same order every time."""
        for array in self.arrays:
            for block in _pieces(array):
                if not np.all(np.isfinite(block)):
                    raise BadInput(f"{GROUP}: {shorten(array.name)} has values that are not finite")
                yield block


def _pieces(array: DataArray) -> Iterator[Floats]:
    """The values of an array (chain, draw, ...) as (draws of all chains, some of the rest), as many as fit in a block.

    Cut along the longest dimension of the rest, and what is still too large along the next.
    """
    rest = [dimension for dimension in array.dims[2:] if array.sizes[dimension] > 1]
    if array.size <= BLOCK_VALUES or not rest:
        yield np.asarray(array.values, dtype=np.float64).reshape(array.shape[0] * array.shape[1], -1)
        return
    along = max(rest, key=lambda dimension: array.sizes[dimension])
    width = max(1, BLOCK_VALUES * array.sizes[along] // array.size)
    for start in range(0, array.sizes[along], width):
        yield from _pieces(array.isel({along: slice(start, start + width)}))


def _checked(name: str, array: DataArray) -> DataArray:
    """With chain and draw first, at least one more dimension, and numbers."""
    if not set(SAMPLE) <= set(array.dims):
        raise BadInput(f"{GROUP}: {shorten(name)} has dimensions {shorten(array.dims, 100)}, not chain, draw and data")
    if array.ndim == 2:
        raise BadInput(f"{GROUP}: {shorten(name)} has one value per draw; one per draw and datum is needed")
    if array.dtype.kind not in "fiu" or array.size == 0:
        raise BadInput(f"{GROUP}: {shorten(name)} holds {array.dtype} of shape {array.shape}, not numbers")
    return array.transpose(*SAMPLE, ...)


def _totals(prior: Dataset, table: _Table, most_bytes: int) -> Floats:
    """Log prior density of each draw: the sum over all variables of the group."""
    total = np.zeros(table.chains * table.draws)
    if (size := 8 * sum(array.size for array in prior.data_vars.values())) > most_bytes:
        raise BadInput(f"{PRIOR}: {size:,} bytes of numbers, more than the limit of {most_bytes:,}")
    for name, array in prior.data_vars.items():
        if not set(SAMPLE) <= set(array.dims) or array.dtype.kind not in "fiu":
            raise BadInput(f"{PRIOR}: {shorten(name)} has no chains and draws of numbers")
        values = array.transpose(*SAMPLE, ...)
        if values.shape[:2] != (table.chains, table.draws):
            raise BadInput(f"{PRIOR}: {shorten(name)} has other chains and draws than {GROUP}")
        for block in _pieces(values):
            total += block.sum(axis=1)
    if not np.all(np.isfinite(total)):
        raise BadInput(f"{PRIOR}: has values that are not finite")
    return total


@contextmanager
def _opened(source: Any) -> Iterator[tuple[Dataset, Dataset | None]]:
    """The group `log_likelihood` and, if there is one, `log_prior` of any supported source."""
    import xarray

    if isinstance(source, xarray.Dataset):
        yield source, None
    elif isinstance(source, (str, os.PathLike, io.IOBase)):
        with _file(source) as groups:
            yield groups
    elif hasattr(source, "__contains__") and hasattr(source, "__getitem__"):
        if GROUP not in source:
            raise BadInput(f"the posterior has no group {GROUP} ({HOW})")
        yield _dataset(source[GROUP]), _dataset(source[PRIOR]) if PRIOR in source else None
    else:
        raise BadInput(f"a {type(source).__name__} holds no posterior: give a netCDF file, a DataTree or InferenceData")


def _dataset(group: Any) -> Dataset:
    """A group of a DataTree is a tree again, one of InferenceData a Dataset."""
    dataset = group.to_dataset() if hasattr(group, "to_dataset") else group
    if not hasattr(dataset, "data_vars"):
        raise BadInput(f"{GROUP}: a {type(dataset).__name__} is not a group of a posterior")
    return cast("Dataset", dataset)


@contextmanager
def _file(source: str | os.PathLike[str] | io.IOBase) -> Iterator[tuple[Dataset, Dataset | None]]:
    """The groups of a netCDF file, not yet read; any error of the libraries becomes BadInput."""
    import h5py
    import xarray

    name = shorten(source, 200) if isinstance(source, (str, os.PathLike)) else "the file"
    opened: list[Dataset] = []
    try:
        with h5py.File(source, "r") as file:
            names = [*file]  # names only: to ask `in` of it would follow a link
            groups = [group for group in (GROUP, PRIOR) if group in names]
            for group in groups:
                _check_storage(file, group)
        if GROUP not in groups:
            raise BadInput(f"{name}: has no group {GROUP} ({HOW})")
        for group in groups:
            opened.append(xarray.open_dataset(_again(source), group=group, **READING))
        yield opened[0], opened[1] if PRIOR in groups else None
    except BadInput as error:
        raise error if str(error).startswith(name) else BadInput(f"{name}: {error}") from None
    except FileNotFoundError:
        raise BadInput(f"{name}: no such file") from None
    except (IsADirectoryError, PermissionError) as error:
        raise BadInput(f"{name}: cannot be read ({os.strerror(error.errno or 0)})") from None
    except Exception as error:  # libraries raise many kinds of errors on a broken file
        raise BadInput(f"{name}: is not a netCDF file that can be read ({shorten(error, 200)})") from None
    finally:
        for group_opened in opened:
            group_opened.close()


def _check_storage(file: Any, group: str) -> None:
    """Refuse links to other files of this machine, and chunks too large for memory."""
    import h5py

    def is_link(place: Any, name: str) -> bool:
        return type(place.get(name, getlink=True)) is not h5py.HardLink

    outside = is_link(file, group)
    if not outside:
        if not isinstance(file[group], h5py.Group):
            raise BadInput(f"{group}: is not a group")
        outside = any(is_link(file[group], name) for name in file[group])
    stores = [] if outside else [item for item in file[group].values() if isinstance(item, h5py.Dataset)]
    if outside or any(store.external or store.is_virtual for store in stores):
        raise BadInput(f"group {group} refers to other files, which are not read")
    for store in stores:
        if store.chunks is not None and math.prod(store.chunks) * store.dtype.itemsize > MOST_CHUNK:
            raise BadInput(f"{group}: {shorten(store.name)} is stored in chunks of more than {MOST_CHUNK:,} bytes")


def _again(source: Any) -> Any:
    """A file object from its beginning; a path as it is."""
    if isinstance(source, io.IOBase):
        source.seek(0)
    return source
