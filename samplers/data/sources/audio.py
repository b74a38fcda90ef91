"""Four mixed sounds: from any four .wav files, or from a prepared .npz file."""

from __future__ import annotations

import wave
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


def mixed(sounds: npt.NDArray[Any], matrix: Floats, names: tuple[str, ...], *, real: bool = True) -> Source:
    """Rows (n, 4) of mixed sounds: `sounds` (4, n), each scaled to mean 0 and sd 1, times the matrix. No response."""
    standard = sounds.astype(np.float64)
    standard -= standard.mean(axis=1, keepdims=True)
    standard /= standard.std(axis=1, keepdims=True)
    none, no_rows = np.empty(0), np.empty((0, SOURCES))
    extra = {"mixing": matrix, "names": names}
    columns = [f"mixture{number}" for number in range(1, SOURCES + 1)]
    return source((matrix @ standard).T, none, no_rows, none, columns, "", real=real, extra=extra)


def from_wav(files: Files) -> Source:
    """Four .wav files of 8 or 16 bits: the first channel of each, cut to the shortest length."""
    sounds = [_sound(file) for file in files]
    length = min(sound.size for sound in sounds)
    cut = [sound[:length] for sound in sounds]
    for file, sound in zip(files, cut, strict=True):
        if length < 2 or np.ptp(sound) == 0:
            raise BadInput(f"{file}: is silent in its first {length:,} samples, the length of the shortest file")
    return mixed(np.array(cut), mixing_matrix(), tuple(file.stem for file in files))


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
    stored = arrays(files[0], "sources", "A")
    sounds, matrix = stored["sources"], stored["A"]
    numeric = sounds.dtype.kind in "fiu" and matrix.dtype.kind == "f"
    if not numeric or sounds.ndim != 2 or sounds.shape[0] != SOURCES or matrix.shape != (SOURCES, SOURCES):
        raise BadInput(f"{files[0]}: sources {sounds.shape} and A {matrix.shape}: must be (4, n) and (4, 4)")
    finite(files[0], sounds, matrix)
    if sounds.shape[1] < 2 or np.any(np.ptp(sounds, axis=1) == 0):
        raise BadInput(f"{files[0]}: one of the sources is silent")
    return mixed(sounds, matrix, tuple(str(name) for name in stored.get("names", range(1, SOURCES + 1))))
