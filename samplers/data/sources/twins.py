"""Synthetic twins: data of the same shape and similar character as a data set whose files are missing.

Each has its own fixed seed, so that runs repeat; `rows` limits training and test rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit

from designer.core.arrays import Floats
from samplers.data.sources import audio, census, flights
from samplers.data.sources.source import Source, limited, source, standardised

Twin = Callable[[int | None], Source]
SPECTRUM_SCALE, SPECTRUM_SHIFT, SPECTRUM_POWER = 33.0, 2.0, 1.45  # variances of the scores of MNIST's 7s and 9s


def generator(name: str) -> np.random.Generator:
    """The random generator of one twin."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def components(name: str, train: int, test: int, intercept: float, strength: float) -> Twin:
    """Like MNIST's principal components: 50 normal scores of decaying scale, and logistic labels.

    The logit is normal with mean `intercept` and sd `strength`. They set the share of ones and the error rate of the
    best classifier (about 0.55/strength for balanced labels).
    """

    def make(rows: int | None) -> Source:
        rng = generator(name)
        order = np.arange(1, 51)
        scale = np.sqrt(SPECTRUM_SCALE * (order + SPECTRUM_SHIFT) ** -SPECTRUM_POWER)
        direction = rng.normal(size=50) * order**-0.5
        theta = strength * direction / np.linalg.norm(direction) / scale
        x, x_test = (rng.normal(size=(n, 50)) * scale for n in sizes(rows, train, test))
        y, y_test = (rng.random(part.shape[0]) < expit(intercept + part @ theta) for part in (x, x_test))
        names = [f"pc{number}" for number in order]
        extra = {"pca_explained_variance": scale**2, "theta": theta}
        return source(x, y, x_test, y_test, names, "", real=False, extra=extra)

    return make


def tall_logistic(rows: int | None) -> Source:
    """The data of the bundled trial runs (`examples/make_trials.py`): an intercept, nine normal columns, 0 or 1."""
    rng = np.random.default_rng(20140621)
    x = rng.standard_normal((100_000, 10))
    x[:, 0] = 1.0
    truth = rng.normal(0.0, 0.5, 10)
    y = rng.random(100_000) < expit(x @ truth)
    names = ["intercept", *(f"x{number}" for number in range(1, 10))]
    made = source(x, y, np.empty((0, 10)), np.empty(0), names, "", real=False, extra={"theta": truth})
    return limited(made, rows)


def strokes(rows: int | None) -> Source:
    """Like MNIST's 1s and 7s: 28 x 28 images of one slanted stroke, or of two strokes; y = 1 for 7.

    Centre, slant, length and width of the pen vary between images.
    """
    rng = generator("mnist17")
    y, y_test = ((rng.random(n) < 6_265 / 13_007).astype(np.float64) for n in sizes(rows, 13_007, 2_163))
    names = [f"row{place // 28}_col{place % 28}" for place in range(784)]
    return source(_drawn(rng, y), y, _drawn(rng, y_test), y_test, names, "", real=False)


def _drawn(rng: np.random.Generator, seven: Floats) -> Floats:
    """Images (n, 784): a 7 where `seven` is 1, else a 1."""
    n = seven.size
    column, row = np.meshgrid(np.arange(28.0), np.arange(28.0))
    middle_x, middle_y = 14.0 + rng.normal(size=n), 14.0 + rng.normal(size=n)
    slant, half = rng.normal(0.25, 0.25, n) + 0.1 * seven, rng.normal(9.0, 0.7, n)
    width = rng.uniform(0.9, 1.8, n)
    top_x = middle_x + slant * half
    foot = top_x, middle_y - half, middle_x - slant * half, middle_y + half
    bar = top_x - rng.normal(9.0, 1.0, n), middle_y - half, top_x, middle_y - half
    images = np.empty((n, 784))
    for i in range(n):
        away = _distance(column, row, *(ends[i] for ends in foot))
        if seven[i]:
            away = np.minimum(away, _distance(column, row, *(ends[i] for ends in bar)))
        images[i] = np.clip(1.5 - away / width[i], 0.0, 1.0).ravel()
    return np.round(images * 255.0) / 255.0


def _distance(x: Floats, y: Floats, x1: float, y1: float, x2: float, y2: float) -> Floats:
    """Distance of every pixel from the segment between two points."""
    dx, dy = x2 - x1, y2 - y1
    along = np.clip(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy), 0.0, 1.0)
    return np.hypot(x - x1 - along * dx, y - y1 - along * dy)


def sounds(rows: int | None) -> Source:
    """Like the audio: coloured noise of drifting loudness, with excess kurtoses 1.8, 0.6, 4.0 and 2.4."""
    noise = _noise(rows, np.array([1.82, 0.63, 3.98, 2.36]))
    names = tuple(f"noise{number}" for number in range(1, 5))
    return limited(audio.mixed(noise, audio.mixing_matrix(), names, real=False), rows)


def sounds_and_gaussians(rows: int | None) -> Source:
    """Like the music and the noise of the audio, with the Gaussian sources themselves."""
    noise = _noise(rows, np.array([1.82, 2.36]))
    mixed = audio.with_gaussians(noise, audio.mixing_matrix(), ("noise1", "noise2"), real=False)
    return limited(mixed, rows)


def _noise(rows: int | None, excess: Floats) -> Floats:
    """Coloured noise of drifting loudness with these excess kurtoses, a row each."""
    from scipy.signal import lfilter

    rng, count = generator("audio"), excess.size
    n = audio.MAX_SAMPLES if rows is None else min(max(rows, 2), audio.MAX_SAMPLES)  # one sample has no loudness
    spread = np.sqrt(np.log1p(excess / 3.0) / 4.0)  # of log loudness: E s^4 / (E s^2)^2 = exp(4 spread^2)
    lag = 0.98
    drift = lfilter([np.sqrt(1.0 - lag**2)], [1.0, -lag], rng.normal(size=(count, n)), axis=1)
    noise = lfilter([1.0], [1.0, -0.7], rng.normal(size=(count, n)), axis=1)
    loud: Floats = noise * np.exp(spread[:, None] * drift)
    return loud


def people(rows: int | None) -> Source:
    """Like the census: ten numeric columns, some mostly zero, forty dummies of rare categories, 8.6% ones."""
    rng = generator("census")
    shares = np.exp(rng.uniform(np.log(0.005), np.log(0.3), 40))
    theta = rng.normal(size=50) * np.where(rng.random(50) < 0.5, 0.5, 0.05)

    def rows_of(n: int) -> Floats:
        numbers = rng.normal(size=(n, 4)) @ (np.eye(4) + 0.3)
        money = np.where(rng.random((n, 4)) < 0.08, rng.normal(7.0, 1.0, (n, 4)), 0.0)
        halves = rng.random((n, 2)) < 0.5
        return np.column_stack([numbers, money, halves, rng.random((n, 40)) < shares])

    x, x_test = (rows_of(n) for n in sizes(rows, 143_531, 72_043))
    return _labelled(rng, _unlabelled(x, x_test, census.column_names()), -4.2, theta)


def particles(rows: int | None) -> Source:
    """Like MiniBooNE: 50 correlated, heavy-tailed columns, of which half carry the signal; 28% ones."""
    rng = generator("miniboone")
    loadings = rng.normal(size=(10, 50)) * 0.8
    theta = rng.normal(size=50) * np.where(rng.random(50) < 0.5, 0.6, 0.0)
    x, x_test = (
        np.sinh(0.4 * (rng.normal(size=(n, 10)) @ loadings + rng.normal(size=(n, 50))))
        for n in sizes(rows, 104_052, 26_013)
    )
    return _labelled(rng, _unlabelled(x, x_test, [f"pid{number}" for number in range(1, 51)]), -1.9, theta)


def departures(rows: int | None) -> Source:
    """Like the flights: 25 covariates that explain a tenth of the variance of a delay with a long right tail."""
    rng = generator("flights")
    beta = rng.normal(size=25) * 2.8
    x, x_test = (
        np.column_stack([rng.normal(size=(n, 10)), rng.random((n, 15)) < 0.15]) for n in sizes(rows, 293_152, 32_572)
    )
    data = _unlabelled(x, x_test, flights.COLUMNS)

    def delays(x: Floats) -> Floats:
        n = x.shape[0]
        trouble = np.where(rng.random(n) < 0.3, rng.lognormal(3.4, 0.95, n), 0.0)
        return np.round(x @ beta - 9.0 + 14.0 * rng.normal(size=n) + trouble)

    return data._replace(y=delays(data.x), y_test=delays(data.x_test))


def songs(rows: int | None) -> Source:
    """Like YearPredictionMSD: 90 covariates that explain a quarter of the variance of the year, which is skewed."""
    rng = generator("year-prediction")
    mixing = np.eye(90) + 0.05 * rng.normal(size=(90, 90))
    beta = rng.normal(size=90) * 0.55

    def rows_of(n: int) -> Floats:
        loudness = np.sqrt(rng.chisquare(8.0, size=(n, 1)) / 8.0)  # one for all columns: Student's t, jointly
        return (rng.normal(size=(n, 90)) @ mixing) / loudness

    x, x_test = (rows_of(n) for n in sizes(rows, 463_715, 51_630))
    data = _unlabelled(x, x_test, [f"timbre{number}" for number in range(1, 91)])

    def years(x: Floats) -> Floats:
        early = rng.gamma(1.2, 8.0, x.shape[0])
        return np.clip(np.round(2008.0 + x @ beta - early), 1922.0, 2011.0)

    return data._replace(y=years(data.x), y_test=years(data.x_test))


def sizes(rows: int | None, train: int, test: int) -> tuple[int, int]:
    """Numbers of training and test rows."""
    return (train, test) if rows is None else (min(rows, train), min(rows, test))


def _unlabelled(x: Floats, x_test: Floats, columns: Sequence[str]) -> Source:
    """Standardised columns, without responses yet."""
    data = standardised(x, np.empty(x.shape[0]), x_test, np.empty(x_test.shape[0]), columns)
    return data._replace(real=False)


def _labelled(rng: np.random.Generator, data: Source, intercept: float, theta: Floats) -> Source:
    """Draw labels by logistic regression on the columns; `extra` holds θ as "theta"."""
    y, y_test = (rng.random(x.shape[0]) < expit(intercept + x @ theta) for x in (data.x, data.x_test))
    extra = {**data.extra, "theta": theta}
    return data._replace(y=y.astype(np.float64), y_test=y_test.astype(np.float64), extra=extra)
