"""Two tables of the UCI repository in their original text formats: MiniBooNE and YearPredictionMSD."""

from __future__ import annotations

import warnings

import numpy as np

from designer.core.errors import BadInput
from samplers.data.sources.files import Files, finite, reading, unpacked
from samplers.data.sources.source import Source, standardised

MINIBOONE_COLUMNS, MINIBOONE_SEED, MISSING = 50, 20140622, -999.0
YEAR_COLUMNS, YEAR_TEST_SHARE = 90, 51_630 / 515_345


def miniboone(files: Files) -> Source:
    """MiniBooNE_PID.txt: a line with the numbers of signal and background events, then 50 numbers per event.

    y = 1 for signal. Events whose 50 values are all missing are left out. A fixed permutation gives 80% for training
    (K14 §6.3 does not specify one). Standardised, no constant column.
    """
    with reading(files[0]), unpacked(files[0]) as stream, warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy only warns of an empty table
        counts = [int(count) for count in stream.readline().split()]
        try:
            x = np.loadtxt(stream, dtype=np.float64, ndmin=2)
        except UserWarning:
            raise BadInput("has no events") from None
        if len(counts) != 2 or min(counts) < 1 or x.shape != (sum(counts), MINIBOONE_COLUMNS):
            raise BadInput(f"announces {counts} events of {MINIBOONE_COLUMNS} values but holds a table {x.shape}")
        finite(files[0], x)
        known = ~np.all(x == MISSING, axis=1)
        if np.count_nonzero(known) < 2:
            raise BadInput("fewer than 2 events have values")
    y = np.repeat([1.0, 0.0], counts)
    x, y = x[known], y[known]
    order = np.random.default_rng(MINIBOONE_SEED).permutation(y.size)
    train, test = np.sort(order[: y.size * 4 // 5]), np.sort(order[y.size * 4 // 5 :])
    names = [f"pid{number}" for number in range(1, MINIBOONE_COLUMNS + 1)]
    return standardised(x[train], y[train], x[test], y[test], names)


def year_prediction(files: Files) -> Source:
    """YearPredictionMSD.txt: the year of a song and 90 features of its timbre, comma-separated.

    The split is that of the data set (no artist on both sides): the last 51,630 of 515,345 rows, or the same share of
    a shorter file, are for testing. Features are standardised, y is the year; no constant column.
    """
    import pyarrow as pa
    from pyarrow import csv

    names = ["year", *(f"timbre{number}" for number in range(1, YEAR_COLUMNS + 1))]
    with reading(files[0]), unpacked(files[0]) as stream:
        options = csv.ReadOptions(column_names=names)
        types = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()))
        table = csv.read_csv(stream, read_options=options, convert_options=types)
        numbers = np.column_stack([table.column(name).to_numpy() for name in names])
        finite(files[0], numbers)
    train = numbers.shape[0] - round(numbers.shape[0] * YEAR_TEST_SHARE)
    x, y = numbers[:, 1:], numbers[:, 0]
    return standardised(x[:train], y[:train], x[train:], y[train:], names[1:])
