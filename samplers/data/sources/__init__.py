"""The papers' data sets: from files in their own formats, or a synthetic twin that says it is one.

`load` looks in a folder for the files of a data set; `describe` tells which. Without them a twin of the same shape
stands in, and `Source.origin` and `Source.real` say so. Nothing is ever unpickled, and nothing is fetched from the
network unless the caller asks for it.
"""

from __future__ import annotations

import os
from pathlib import Path

from designer.core.errors import BadInput, integer
from designer.rule.looks import MAX_N_DATA
from samplers.data.sources.catalogue import DATA_SETS, DataSet, Format
from samplers.data.sources.download import fetch
from samplers.data.sources.files import Files, mark
from samplers.data.sources.source import Source, limited

__all__ = ["NAMES", "Source", "cache_folder", "describe", "fingerprint", "load", "obtain", "twin"]

NAMES = tuple(DATA_SETS)


def load(name: str, folder: str | Path | None, rows: int | None = None, *, download: bool = False) -> Source:
    """A data set from the files in `folder`, or its synthetic twin if they are not there.

    Parameters
    ----------
    name
        One of `NAMES`.
    folder
        Where the files are looked for; None for the twin (or an installed package that carries the data).
    rows
        At most so many training rows and so many test rows: a fixed random subset (see `source.limited`).
    download
        Fetch missing files into `folder` where the data set has an address; if that fails, `origin` says why.

    Returns
    -------
    Source
        Rows, responses, and where they come from.

    Examples
    --------
    >>> data = load("mnist79", None, rows=100)
    >>> data.x.shape, data.real
    ((100, 50), False)
    >>> data.origin
    'synthetic twin of MNIST, 7 against 9, 50 principal components; 100 rows'
    """
    data_set = _data_set(name)
    rows = None if rows is None else integer("rows", rows, 1, MAX_N_DATA)
    place = _folder(folder)
    found, failure = _find(data_set, place), ""
    if found is None and download:
        failure = _fetched(data_set, place) or ""
        found = _find(data_set, place)
    if found is None:
        return _twin(data_set, rows, failure)
    kind, files = found
    origin = f"{data_set.what}; {data_set.credit}; from {', '.join(file.name for file in files)}"
    return limited(data_set.finish(kind.read(files))._replace(origin=origin), rows)


def twin(name: str, rows: int | None = None) -> Source:
    """The synthetic twin of a data set, whatever files are there.

    Parameters
    ----------
    name
        One of `NAMES`.
    rows
        At most so many; by default as many as the real one has.

    Returns
    -------
    Source
        With `real` False.

    Examples
    --------
    >>> twin("miniboone", rows=10).x.shape
    (10, 50)
    """
    return _twin(_data_set(name), None if rows is None else integer("rows", rows, 1, MAX_N_DATA), "")


def fingerprint(name: str, folder: str | Path | None) -> str:
    """A text that changes when what `load` would return does; cheap, the files are not read through.

    Parameters
    ----------
    name, folder
        As for `load`.

    Returns
    -------
    str
        Names, sizes and times of the files.

    Examples
    --------
    >>> fingerprint("year-prediction", None)
    'year-prediction: synthetic'
    """
    found = _find(_data_set(name), _folder(folder))
    return f"{name}: synthetic" if found is None else f"{name}: {', '.join(mark(file) for file in found[1])}"


def describe(name: str) -> str:
    """What the data set is, its size, whom to credit, and the files that are looked for.

    Parameters
    ----------
    name
        One of `NAMES`.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> describe("miniboone").split("; ")[:2]
    ['MiniBooNE particle identification, signal against background', '130,065 x 50']
    """
    data_set = _data_set(name)
    return f"{data_set.what}; {data_set.size}; {data_set.credit}; looks for {data_set.looks_for}"


def cache_folder() -> Path:
    """Where fetched files are kept if the user names no folder: austerity in XDG_CACHE_HOME, by default ~/.cache.

    Returns
    -------
    Path
        It need not be there yet.

    Examples
    --------
    >>> cache_folder().name
    'austerity'
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "austerity"


def obtain(name: str, folder: str | Path) -> str:
    """See that the files of a data set are in a folder: fetch them if they are not.

    Parameters
    ----------
    name
        One of `NAMES`.
    folder
        Where the files are, or shall be.

    Returns
    -------
    str
        A line: they were there, were fetched, or have no address and must be put there by hand.

    Raises
    ------
    BadInput
        One line, if they could not be fetched.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     obtain("audio", folder)
    'audio: has no address to fetch it from; looks for ica_audio_8k.npz or any four .wav files'
    """
    data_set, place = _data_set(name), _folder(folder)
    if _find(data_set, place) is not None:
        return f"{name}: found"
    if not data_set.addresses:
        return f"{name}: has no address to fetch it from; looks for {data_set.looks_for}"
    failure = _fetched(data_set, place)
    if failure is not None:
        raise BadInput(f"{name}: {failure}")
    return f"{name}: fetched into {place}"


def _data_set(name: str) -> DataSet:
    if name not in DATA_SETS:
        raise BadInput(f"data set {name!r}: must be one of {', '.join(NAMES)}")
    return DATA_SETS[name]


def _folder(folder: str | Path | None) -> Path | None:
    place = None if folder is None else Path(folder)
    if place is not None and not place.is_dir():
        raise BadInput(f"data: {place}: no such directory")
    return place


def _find(data_set: DataSet, folder: Path | None) -> tuple[Format, Files] | None:
    """The first of the formats whose files are there."""
    for kind in data_set.formats:
        files = None if folder is None else kind.locate(folder)
        files = kind.installed() if files is None else files
        if files is not None:
            return kind, files
    return None


def _fetched(data_set: DataSet, folder: Path | None) -> str | None:
    """Try the network; None, or why there is nothing from there."""
    if not data_set.addresses:
        return "there is no address to fetch it from"
    if folder is None:
        return "no folder was given to fetch it into"
    return fetch(data_set.addresses, folder)


def _twin(data_set: DataSet, rows: int | None, failure: str) -> Source:
    made = data_set.finish(data_set.twin(rows))
    origin = f"synthetic twin of {data_set.what}; {made.x.shape[0]:,} rows"
    return made._replace(origin=f"{origin}; {failure}" if failure else origin, real=False)
