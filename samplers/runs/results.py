"""The results of a run for ArviZ: a DataTree of draws and statistics per step, its netCDF file, its summary.

xarray and ArviZ are imported where they are used: a command that only samples should not wait for them.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import replacing, shorten
from samplers.data import memory
from samplers.runs.monitor import DIFFERS
from samplers.runs.store import Array, Arrays

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

STATISTICS = ("n_used", "n_looks", "accepted")  # per step, about the test rather than the parameters
TAILS = (0.05, 0.95)
OVERHEAD = 2**16  # of a file, beyond its numbers
_SEAL = b"\nsha256 of what is before this line: "


def collect(
    chains: Sequence[Arrays],
    attributes: Mapping[str, str | int | float] | None = None,
    statistics: Collection[str] = STATISTICS,
    names: Sequence[str] | None = None,
    numbers: Sequence[int] | None = None,
) -> DataTree:
    """The draws of several chains as a DataTree with the groups `posterior` and `sample_stats`.

    Parameters
    ----------
    chains
        One dict per chain, as `ChainStore.draws` gives it: arrays by name, the first axis of each is the step. Chains
        of different lengths are cut to the shortest, and the attribute `note` of the tree says so.
    attributes
        Of the tree: config digest, version, design as TOML text.
    statistics
        Names that belong to `sample_stats`; all others are parameters.
    names
        Of the entries of θ: coordinates of the dimension `parameter`.
    numbers
        Of the chains: coordinates of the dimension `chain`, by default 0, 1, ...

    Returns
    -------
    DataTree
        Of xarray, with one dataset per group.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chains = [{"theta": rng.normal(size=(n, 2)), "n_used": np.full(n, 500)} for n in (100, 80)]
    >>> tree = collect(chains, {"digest": "abc"})
    >>> tree["posterior/theta"].dims, tree["posterior/theta"].shape, tree.attrs["note"]
    (('chain', 'draw', 'theta_dim_0'), (2, 80, 2), 'chains of 80 to 100 draws, cut to 80')
    """
    import arviz_base

    lengths = [_length(number, chain) for number, chain in enumerate(chains)]
    shortest = min(lengths, default=0)
    if shortest == 0:
        raise BadInput("chains: no draws" if not lengths else f"chain {lengths.index(0)}: no draws")
    stacked = {name: _stack(name, chains, shortest) for name in chains[0]}
    groups = {
        "posterior": {name: values for name, values in stacked.items() if name not in statistics},
        "sample_stats": {name: values for name, values in stacked.items() if name in statistics},
    }
    given = {name: group for name, group in groups.items() if group}
    named = _named(names, groups["posterior"])
    if numbers is not None:
        named["coords"] = {"chain": list(numbers)} | named.get("coords", {})
    tree = arviz_base.from_dict(given, check_conventions=False, **named)
    for group in tree.children.values():
        group.attrs.pop("created_at", None)  # the same run makes the same file, whenever
    tree.attrs |= dict(attributes or {})
    if shortest < max(lengths):
        tree.attrs["note"] = f"chains of {shortest:,} to {max(lengths):,} draws, cut to {shortest:,}"
    return tree


def collect_run(chains: Mapping[int, Arrays], meta: Mapping[str, Any]) -> DataTree:
    """The draws of the chains of a run, by their numbers; facts about the run (strings and numbers) as attributes.

    For reversible jumps also which coefficients are active.
    """
    attributes = {name: value for name, value in meta.items() if isinstance(value, (str, int, float))}
    if meta.get("model") == "rj-logistic":
        chains = {number: {**chain, "active": chain["theta"] != 0.0} for number, chain in chains.items()}
    return collect(list(chains.values()), attributes, names=meta.get("names"), numbers=list(chains))


def _named(names: Sequence[str] | None, posterior: Mapping[str, Array]) -> dict[str, Any]:
    """Coordinates and dimensions of the arrays with one entry per name."""
    if names is None:
        return {}
    fitting = [name for name, values in posterior.items() if values.shape[2:] == (len(names),)]
    return {"coords": {"parameter": list(names)}, "dims": {name: ["parameter"] for name in fitting}}


def _length(number: int, chain: Arrays) -> int:
    """The number of draws, the same for every array of the chain."""
    lengths = {values.shape[0] if values.ndim else -1 for values in chain.values()}
    if len(lengths) > 1 or -1 in lengths:
        raise BadInput(f"chain {number}: its arrays have different numbers of draws")
    return lengths.pop() if lengths else 0


def _stack(name: str, chains: Sequence[Arrays], draws: int) -> Array:
    """One array (chain, draw, ...) of what every chain calls `name`."""
    for number, chain in enumerate(chains):
        if {*chain} != {*chains[0]}:
            raise BadInput(
                f"chain {number}: has {shorten(sorted(chain), 200)}, chain 0 {shorten(sorted(chains[0]), 200)}"
            )
        if chain[name].shape[1:] != chains[0][name].shape[1:]:
            raise BadInput(
                f"chain {number}: {name} has shape {chain[name].shape}, but {chains[0][name].shape} in chain 0"
            )
    return np.stack([chain[name][:draws] for chain in chains])


# --- netCDF -----------------------------------------------------------------------------------------------------------


def to_netcdf(results: DataTree, path: str | os.PathLike[str]) -> None:
    """Write a netCDF file that any HDF5 tool reads; it appears whole or not at all.

    Its last line is a checksum, which the format allows and other readers ignore.

    Parameters
    ----------
    results
        As returned by `collect` or `run_config`.
    path
        Of the file; an old one is replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_netcdf(collect([{"x": np.zeros(10)}]), f"{folder}/results.nc")
    ...     from_netcdf(f"{folder}/results.nc")["posterior/x"].shape
    (1, 10)
    """
    with replacing(path, durable=True) as temporary:
        _make_sure_of_room(temporary, _bytes_of(results))
        try:
            results.to_netcdf(temporary, engine="h5netcdf")
        except RuntimeError as error:  # how HDF5 reports a full disk
            raise OSError(shorten(error, 200)) from None
        with open(temporary, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with open(temporary, "ab") as file:
            file.write(_SEAL + digest.encode() + b"\n")


def _bytes_of(tree: DataTree) -> int:
    return sum(variable.nbytes for node in tree.subtree for variable in node.variables.values())


def _make_sure_of_room(path: Path, size: int) -> None:
    """Raise an OSError now if there is no room for this many bytes: HDF5 may crash on a full disk."""
    if not hasattr(os, "posix_fallocate"):
        return
    with open(path, "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size + OVERHEAD)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # a file system that cannot tell
                raise
        os.fsync(file.fileno())  # some tell only now


def from_netcdf(path: str | os.PathLike[str]) -> DataTree:
    """The results in a netCDF file, all in memory.

    The checksum is compared before anything else is done: HDF5 may take altered numbers for good ones, or hang. A file
    without one, from another tool, is read as it is.

    Parameters
    ----------
    path
        Of the file.

    Returns
    -------
    DataTree
        With the groups `posterior` and `sample_stats`.

    Raises
    ------
    BadInput
        If the file is damaged, no netCDF file, or more than half the memory holds.
    OSError
        If it is not there, or cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_netcdf(collect([{"x": np.zeros(10)}], {"digest": "abc"}), f"{folder}/results.nc")
    ...     from_netcdf(f"{folder}/results.nc").attrs["digest"]
    'abc'
    """
    import h5py
    import xarray

    if (size := os.stat(path).st_size) > memory.MAX_BYTES:
        raise BadInput(f"{path}: {size:,} bytes, more than the limit of {memory.MAX_BYTES:,}")
    _check_seal(Path(path), size)
    try:
        with h5py.File(path, "r") as raw:  # xarray's engine puts a trace on standard error if it fails at this
            raw.attrs.get("_nc3_strict")
            _refuse_large_chunks(path, raw)
        with closing(xarray.open_datatree(path, engine="h5netcdf")) as tree:
            memory.refuse(f"{path}: unpacks to", _bytes_of(tree))  # compressed, it may be anything
            tree.encoding["source"] = os.path.realpath(path)
            return tree.load()
    except BadInput:
        raise
    except Exception as error:  # libraries raise many kinds of errors on a broken file
        raise BadInput(f"{path}: is not a netCDF file of results ({shorten(error, 200)})") from None


def _refuse_large_chunks(path: str | os.PathLike[str], raw: Any) -> None:
    """Refuse large chunks: HDF5 unpacks a whole chunk, however little of it is needed."""

    def check(name: str, item: Any) -> None:
        if chunks := getattr(item, "chunks", None):
            size = math.prod(chunks) * item.dtype.itemsize
            memory.refuse(f"{path}: a chunk of {shorten(name)} unpacks to", size)

    raw.visititems(check)


def _check_seal(path: Path, size: int) -> None:
    sha, left = hashlib.sha256(), size - len(_SEAL) - 65
    with open(path, "rb") as file:
        file.seek(max(left, 0))
        seal = file.read()
        if not seal.startswith(_SEAL):
            return
        file.seek(0)
        while left > 0 and (piece := file.read(min(left, 2**20))):
            sha.update(piece)
            left -= len(piece)
    if seal != _SEAL + sha.hexdigest().encode() + b"\n":
        raise BadInput(f"{path}: truncated or altered, its checksum is wrong")


# --- summary ----------------------------------------------------------------------------------------------------------


MIXED = 1.01  # R-hat of chains that agree (Vehtari et al. 2021)
ENOUGH = 100  # effective draws of each chain for R-hat and ESS to be trusted (the same)


class ParameterSummary(NamedTuple):
    """One parameter: moments, standard error of the mean, effective draws, R-hat; nan where unknown."""

    name: str
    mean: float
    sd: float
    mcse: float
    ess_bulk: float
    ess_tail: float
    r_hat: float


class PosteriorSummary(NamedTuple):
    """One row per parameter, the numbers of chains and draws, and how the run differs from its design's prediction."""

    rows: tuple[ParameterSummary, ...]
    chains: int
    draws: int
    note: str = ""
    differs: str = ""

    def worst(self, count: int) -> PosteriorSummary:
        """The parameters with the fewest effective draws, if there are more than this many."""
        if len(self.rows) <= count:
            return self
        ranked = sorted(self.rows, key=lambda row: math.inf if math.isnan(row.ess_bulk) else row.ess_bulk)
        note = f"the {count} parameters of {len(self.rows):,} with the fewest effective draws"
        return self._replace(rows=tuple(ranked[:count]), note=f"{note}; {self.note}" if self.note else note)

    @property
    def remarks(self) -> list[str]:
        """What to know before using the table: not as predicted, chains that disagree or are short."""
        apart = sum(row.r_hat > MIXED for row in self.rows)
        few = sum(row.ess_bulk < ENOUGH * self.chains for row in self.rows)
        return [
            *([f"warning: {self.differs}"] * bool(self.differs)),
            *([f"r_hat above {MIXED:g} for {apart:,} of {len(self.rows):,} parameters: run longer"] * bool(apart)),
            *(
                [f"fewer than {ENOUGH} effective draws per chain for {few:,} of {len(self.rows):,} parameters"]
                * bool(few)
            ),
        ]

    def text(self) -> str:
        """The table as text."""
        cells = [list(ParameterSummary._fields)]
        cells += [
            [row.name, *(f"{x:.4g}" for x in row[1:4]), *(f"{x:.0f}" for x in row[4:6]), f"{row.r_hat:.3f}"]
            for row in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in cells]
        chains = f"{self.chains} chain{'s' if self.chains > 1 else ''} of {self.draws:,} draws"
        return "\n".join([*lines, f"{chains}; {self.note}" if self.note else chains])


class Steps(NamedTuple):
    """Averages over all steps: acceptance rate, data read per step, and data use (None if N is unknown).

    These are data that the test reads, and `always_data` heavy rows that every step reads; a Langevin proposal reads
    `gradient_data` more in every step.
    """

    acceptance: float
    data_per_step: float
    usage: float | None
    gradient_data: int = 0
    always_data: int = 0


def steps(results: DataTree) -> Steps:
    """Averages over all steps."""
    stats = results["sample_stats"]
    used = float(stats["n_used"].mean())
    most = results.attrs.get("data_per_step", results.attrs.get("n_data"))  # the same, unless a step is many decisions
    usage = None if most is None else used / int(most)
    more = (int(results.attrs.get(name, 0)) for name in ("gradient_batch", "n_always"))
    return Steps(float(stats["accepted"].mean()), used, usage, *more)


def summary(results: DataTree) -> PosteriorSummary:
    """Mean, sd, MCSE, bulk and tail ESS and R-hat (rank-normalised, split) of every parameter.

    Parameters
    ----------
    results
        As returned by `collect`, `run_config` or `from_netcdf`.

    Returns
    -------
    PosteriorSummary
        One row per parameter; `text()` is a printed table, `remarks` say what to know before using it.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(2.0, 3.0, size=(4, 1000))
    >>> print(summary(collect([{"x": chain} for chain in draws])).text())
    name  mean    sd     mcse  ess_bulk  ess_tail  r_hat
    x     1.97  3.01  0.04735      4039      3404  1.002
    4 chains of 1,000 draws
    """
    posterior = results["posterior"]
    rows = [row for name, values in posterior.data_vars.items() for row in _rows(str(name), values)]
    sizes = posterior.sizes
    notes = (str(results.attrs.get(name, "")) for name in ("note", DIFFERS))
    return PosteriorSummary(tuple(rows), sizes["chain"], sizes["draw"], *notes)


def _rows(name: str, values: DataArray) -> list[ParameterSummary]:
    """The rows of an array (chain, draw, ...): one per entry of the rest, called by its coordinates."""
    from arviz_stats import base

    stats: Any = base.array_stats  # type: ignore[attr-defined]
    x: Any = np.asarray(values.values, dtype=np.float64)
    axes = {"chain_axis": 0, "draw_axis": 1}
    with np.errstate(divide="ignore", invalid="ignore"):  # a parameter that never moves has no R-hat
        columns = np.broadcast_arrays(
            x.mean((0, 1)),
            x.std((0, 1), ddof=1) if x.shape[0] * x.shape[1] > 1 else np.nan,
            stats.mcse(x, **axes),
            stats.ess(x, **axes),
            stats.ess(x, method="tail", prob=TAILS, **axes),
            stats.rhat(x, **axes),
        )
    labels = product(*(values[dimension].values.tolist() for dimension in values.dims[2:]))
    places = product(*map(range, x.shape[2:]))
    return [
        ParameterSummary(_entry(name, label), *(float(column[place]) for column in columns))
        for label, place in zip(labels, places, strict=True)
    ]


def _entry(name: str, label: tuple[Any, ...]) -> str:
    return f"{name}[{', '.join(map(str, label))}]" if label else name
