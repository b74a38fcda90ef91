"""Four mixed sources: four sounds, or as in K14 §6.2 music, noise and two Gaussian sources drawn by a fixed seed.

Sounds come from .wav files or from a prepared .npz file.
"""

from __future__ import annotations

import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.data.sources.files import MAX_BYTES, Files, arrays, finite, reading
from samplers.data.sources.source import Source, source

SOURCES = 4
MIXING_SEED = 20140101
GAUSSIAN_SEED = 20140102
MAX_SAMPLES = 1_950_000  # as in K14 §6.2


def mixing_matrix() -> Floats:
    """The fixed mixing matrix, with standard normal entries."""
    return np.random.default_rng(MIXING_SEED).standard_normal((SOURCES, SOURCES))


def wav_files(folder: Path) -> Files | None:
    """The first four .wav files by name; None if there are none, BadInput if there are fewer than four."""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".wav" and path.is_file())
    if files and len(files) < SOURCES:
        raise BadInput(f"{folder}: has {len(files)} .wav files; {SOURCES} are needed to mix")
    return tuple(files[:SOURCES]) or None


def two_wav_files(folder: Path) -> Files | None:
    """The first .wav files named music… and noise…, or else the first two by name; None if there is none."""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".wav" and path.is_file())
    if len(files) == 1:
        raise BadInput(f"{folder}: has one .wav file; two are needed to mix with two Gaussian sources")
    return tuple(files[k] for k in _music_and_noise([file.stem for file in files])) if files else None


def _music_and_noise(names: Sequence[str]) -> tuple[int, int]:
    """The places of the first names that begin with music and noise; the first two if there are none."""
    found = [
        next((k for k, name in enumerate(names) if name.lower().startswith(kind)), None) for kind in ("music", "noise")
    ]
    return (0, 1) if found[0] is None or found[1] is None else (found[0], found[1])


def gaussians(samples: int) -> Floats:
    """Two independent standard normal sources (2, samples), always the same ones."""
    return np.random.default_rng(GAUSSIAN_SEED).standard_normal((2, samples))


def with_gaussians(sounds: npt.NDArray[Any], matrix: Floats, names: Sequence[str], *, real: bool = True) -> Source:
    """Rows (n, 4) of two mixed sounds and two Gaussian sources."""
    both = np.vstack([_standard(sounds), gaussians(sounds.shape[1])])
    return mixed(both, matrix, (*names, "gaussian1", "gaussian2"), real=real)


def mixed(sounds: npt.NDArray[Any], matrix: Floats, names: tuple[str, ...], *, real: bool = True) -> Source:
    """Rows (n, 4) of mixed sounds: `sounds` (4, n), each scaled to mean 0 and sd 1, times the matrix. No response."""
    standard = _standard(sounds)
    none, no_rows = np.empty(0), np.empty((0, SOURCES))
    extra = {"mixing": matrix, "names": names}
    columns = [f"mixture{number}" for number in range(1, SOURCES + 1)]
    return source((matrix @ standard).T, none, no_rows, none, columns, "", real=real, extra=extra)


def _standard(sounds: npt.NDArray[Any]) -> Floats:
    """Each sound scaled to mean 0 and sd 1."""
    standard = sounds.astype(np.float64)
    standard -= standard.mean(axis=1, keepdims=True)
    standard /= standard.std(axis=1, keepdims=True)
    return standard


def from_wav(files: Files) -> Source:
    """Four .wav files of 8 or 16 bits: the first channel of each, cut to the shortest length."""
    return mixed(_sounds(files), mixing_matrix(), tuple(file.stem for file in files))


def from_two_wav(files: Files) -> Source:
    """Two .wav files, likewise, with two Gaussian sources."""
    return with_gaussians(_sounds(files), mixing_matrix(), [file.stem for file in files])


def _sounds(files: Files) -> npt.NDArray[Any]:
    sounds = [_sound(file) for file in files]
    length = min(sound.size for sound in sounds)
    cut = [sound[:length] for sound in sounds]
    for file, sound in zip(files, cut, strict=True):
        if length < 2 or np.ptp(sound) == 0:
            raise BadInput(f"{file}: is silent in its first {length:,} samples, the length of the shortest file")
    return np.array(cut)


def _sound(file: Path) -> npt.NDArray[Any]:
    with reading(file):
        try:
            with wave.open(str(file), "rb") as stream:
                width, channels = stream.getsampwidth(), stream.getnchannels()
                if width not in (1, 2):
                    raise BadInput(f"has {8 * width} bits per sample; must have 8 or 16")
                content = stream.readframes(min(stream.getnframes(), MAX_SAMPLES, MAX_BYTES // (width * channels)))
        except wave.Error as error:
            raise BadInput(f"not a .wav file: {error}") from None
        content = content[: len(content) // (width * channels) * width * channels]
        kind = "u1" if width == 1 else "<i2"
        return np.frombuffer(content, dtype=kind).reshape(-1, channels)[:, 0].astype(np.int32)


def prepared(files: Files) -> Source:
    """From an .npz file with `sources` (4, n), the mixing matrix `A` (4, 4) and optionally `names`."""
    return mixed(*_stored(files))


def prepared_with_gaussians(files: Files) -> Source:
    """From such a file: its first sources named music… and noise…, or else its first two, and two Gaussian ones."""
    sounds, matrix, names = _stored(files)
    places = _music_and_noise(names)
    return with_gaussians(sounds[list(places)], matrix, [names[k] for k in places])


def _stored(files: Files) -> tuple[npt.NDArray[Any], Floats, tuple[str, ...]]:
    stored = arrays(files[0], "sources", "A")
    sounds, matrix = stored["sources"], stored["A"]
    numeric = sounds.dtype.kind in "fiu" and matrix.dtype.kind == "f"
    if not numeric or sounds.ndim != 2 or sounds.shape[0] != SOURCES or matrix.shape != (SOURCES, SOURCES):
        raise BadInput(f"{files[0]}: sources {sounds.shape} and A {matrix.shape}: must be (4, n) and (4, 4)")
    finite(files[0], sounds, matrix)
    if sounds.shape[1] < 2 or np.any(np.ptp(sounds, axis=1) == 0):
        raise BadInput(f"{files[0]}: one of the sources is silent")
    return sounds, matrix, tuple(str(name) for name in stored.get("names", range(1, SOURCES + 1)))
