"""MNIST from its own idx files (LeCun, Cortes, Burges), or from prepared .npz files."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.data.sources.files import Files, at_most, named, reading, split_arrays, unpacked
from samplers.data.sources.source import Source, source

COMPONENTS = 50
PIXELS = 28 * 28
MAX_IMAGES = 10**6
IMAGES, LABELS = 0x803, 0x801  # magic numbers of idx files: unsigned bytes in three or one dimension


def _spellings(name: str, kind: str) -> tuple[str, ...]:
    """The common names of one of the four files."""
    return tuple(f"{name}{dot}{kind}{end}" for dot in "-." for end in (".gz", ""))


idx_files = named(
    _spellings("train-images", "idx3-ubyte"),
    _spellings("train-labels", "idx1-ubyte"),
    _spellings("t10k-images", "idx3-ubyte"),
    _spellings("t10k-labels", "idx1-ubyte"),
)


class Digits(NamedTuple):
    """Which digits to classify: `one` has label 1, the digits in `zero` have label 0."""

    one: int
    zero: tuple[int, ...]


def pixels(digits: Digits) -> Callable[[Files], Source]:
    """A reader of idx files: grey values from 0 to 1 of the chosen digits."""

    def read(files: Files) -> Source:
        x, y, x_test, y_test = _chosen(files, digits)
        return source(x / 255.0, y, x_test / 255.0, y_test, _pixel_names(), "")

    return read


def scores(digits: Digits) -> Callable[[Files], Source]:
    """A reader of idx files: the first 50 principal components of the chosen digits."""

    def read(files: Files) -> Source:
        x, y, x_test, y_test = _chosen(files, digits)
        return _reduced(x, y, x_test, y_test)

    return read


def _chosen(files: Files, digits: Digits) -> list[npt.NDArray[np.uint8]]:
    """Images and 0/1 labels of the chosen digits, training rows then test rows, in the order of the files."""
    parts: list[npt.NDArray[np.uint8]] = []
    for images_file, labels_file in (files[:2], files[2:]):
        images, labels = read_idx(images_file, IMAGES), read_idx(labels_file, LABELS)
        if images.shape[0] != labels.size:
            raise BadInput(f"{images_file}: has {images.shape[0]:,} images for {labels.size:,} labels")
        chosen = np.isin(labels, (digits.one, *digits.zero))
        if np.unique(labels[chosen] == digits.one).size < 2:
            raise BadInput(f"{labels_file}: must have images of {digits.one} and of one of {digits.zero}")
        parts += [images[chosen], (labels[chosen] == digits.one).astype(np.uint8)]
    return parts


def read_idx(file: Path, magic: int) -> npt.NDArray[np.uint8]:
    """The images (rows of 784 bytes) or labels of one idx file (plain or .gz)."""
    shape = (-1, PIXELS) if magic == IMAGES else (-1,)
    with reading(file), unpacked(file) as stream:
        number, count = struct.unpack(">II", stream.read(8))
        sides = struct.unpack(">II", stream.read(8)) if magic == IMAGES else (1, 1)
        if number != magic or (magic == IMAGES and sides != (28, 28)) or count > MAX_IMAGES:
            raise BadInput(f"not an idx file of {'28 x 28 images' if magic == IMAGES else 'labels'}")
        expected = count * sides[0] * sides[1]
        content = at_most(stream, expected)
        if len(content) < expected:
            raise BadInput(f"ends after {len(content):,} of {expected:,} bytes")
        return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _reduced(
    x: npt.NDArray[np.uint8], y: npt.NDArray[Any], x_test: npt.NDArray[np.uint8], y_test: npt.NDArray[Any]
) -> Source:
    """Scores on the first 50 eigenvectors of the training rows' covariance, not whitened, without an intercept.

    The sign of each eigenvector makes its largest entry positive.
    """
    train = x / 255.0
    mean = train.mean(axis=0)
    train -= mean
    covariance = train.T @ train / max(train.shape[0] - 1, 1)
    variances, vectors = eigh(covariance, subset_by_index=(PIXELS - COMPONENTS, PIXELS - 1))
    components: Floats = vectors.T[::-1]
    largest = np.take_along_axis(components, np.argmax(np.abs(components), axis=1)[:, None], axis=1)
    components = components * np.where(largest < 0.0, -1.0, 1.0)
    return source(
        train @ components.T,
        y,
        (x_test / 255.0 - mean) @ components.T,
        y_test,
        _component_names(),
        "",
        extra={
            "pca_mean": mean,
            "pca_components": components,
            "pca_explained_variance": variances[::-1],
            "pca_total_variance": float(np.trace(covariance)),
        },
    )


def prepared(width: int, scale: float = 1.0) -> Callable[[Files], Source]:
    """A reader of .npz files with X_train, y_train, X_test, y_test of `width` columns, to be divided by `scale`."""
    names = _pixel_names() if width == PIXELS else _component_names()

    def read(files: Files) -> Source:
        stored = split_arrays(files[0], width)
        extra = {name: value for name, value in stored.items() if name.startswith("pca_")}
        x, x_test = stored["X_train"] / scale, stored["X_test"] / scale
        return source(x, stored["y_train"], x_test, stored["y_test"], names, "", extra=extra)

    return read


def _component_names() -> tuple[str, ...]:
    return tuple(f"pc{number}" for number in range(1, COMPONENTS + 1))


def _pixel_names() -> tuple[str, ...]:
    return tuple(f"row{place // 28}_col{place % 28}" for place in range(PIXELS))
