"""The papers' data sets: from files in their original formats, or as labelled synthetic twins.

`load` looks in a folder for the files of a data set; `describe` names them. If they are missing, a twin of the same
shape replaces the data set, and `Source.origin` and `Source.real` say so. Nothing is ever unpickled, and nothing is
downloaded unless the caller asks for it.
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
        Where to look for the files; None for the twin (or an installed package that contains the data).
    rows
        Most training rows, and most test rows: a fixed random subset (see `source.limited`).
    download
        Download missing files into `folder` if the data set has an address; if that fails, `origin` says why.

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
    existing, failure = _find(data_set, place), ""
    if existing is None and download:
        failure = _download(data_set, place) or ""
        existing = _find(data_set, place)
    if existing is None:
        return _twin(data_set, rows, failure)
    kind, files = existing
    origin = f"{data_set.what}; {data_set.credit}; from {', '.join(file.name for file in files)}"
    return limited(data_set.finish(kind.read(files))._replace(origin=origin), rows)


def twin(name: str, rows: int | None = None) -> Source:
    """The synthetic twin of a data set, even if its files exist.

    Parameters
    ----------
    name
        One of `NAMES`.
    rows
        Most rows; by default as many as in the real data set.

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
    """A text that changes when the result of `load` would change; quick, because files are not read completely.

    Parameters
    ----------
    name, folder
        As for `load`.

    Returns
    -------
    str
        Names, sizes and digests of the files.

    Examples
    --------
    >>> fingerprint("year-prediction", None)
    'year-prediction: synthetic'
    """
    existing = _find(_data_set(name), _folder(folder))
    return f"{name}: synthetic" if existing is None else f"{name}: {', '.join(mark(file) for file in existing[1])}"


def describe(name: str) -> str:
    """The data set's content, size, credit and files.

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
    return f"{data_set.what}; {data_set.size}; {data_set.credit}; files: {data_set.looks_for}"


def cache_folder() -> Path:
    """The default folder for downloaded files: austerity in XDG_CACHE_HOME, or in ~/.cache.

    Returns
    -------
    Path
        It may not exist yet.

    Examples
    --------
    >>> cache_folder().name
    'austerity'
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "austerity"


def obtain(name: str, folder: str | Path) -> str:
    """Make sure that the files of a data set are in a folder; download them if necessary.

    Parameters
    ----------
    name
        One of `NAMES`.
    folder
        The folder of the files.

    Returns
    -------
    str
        One line: the files were found, were downloaded, or have no address and must be copied there by hand.

    Raises
    ------
    BadInput
        If they could not be downloaded.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     obtain("audio", folder)
    'audio: cannot be downloaded; needs ica_audio_8k.npz or any four .wav files'
    """
    data_set, place = _data_set(name), _folder(folder)
    if _find(data_set, place) is not None:
        return f"{name}: found"
    if not data_set.addresses:
        return f"{name}: cannot be downloaded; needs {data_set.looks_for}"
    failure = _download(data_set, place)
    if failure is not None:
        raise BadInput(f"{name}: {failure}")
    return f"{name}: downloaded into {place}"


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
    """The first format whose files exist."""
    for kind in data_set.formats:
        files = None if folder is None else kind.locate(folder)
        files = kind.installed() if files is None else files
        if files is not None:
            return kind, files
    return None


def _download(data_set: DataSet, folder: Path | None) -> str | None:
    """Download the files; None, or the reason why that failed."""
    if not data_set.addresses:
        return "it has no address for a download"
    if folder is None:
        return "no folder was given for a download"
    return fetch(data_set.addresses, folder)


def _twin(data_set: DataSet, rows: int | None, failure: str) -> Source:
    data = data_set.finish(data_set.twin(rows))
    what = "twin of" if data_set.formats else "data:"
    origin = f"synthetic {what} {data_set.what}; {data.x.shape[0]:,} rows"
    return data._replace(origin=f"{origin}; {failure}" if failure else origin, real=False)
