"""Data for the models: from files in the formats people have."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designer.errors import BadInput
from designer.schedule import Floats

MAX_BYTES = 2**36


def load_labelled(path: str | Path, label: str = "y") -> tuple[Floats, Floats]:
    """Covariates (N, D) and labels (N,) of a file.

    .npz holds arrays x and `label`; .csv and .parquet a column `label`, all other columns are covariates.
    """
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"data.path: {file}: no such file")
    if file.stat().st_size > MAX_BYTES:
        raise BadInput(f"data.path: {file}: larger than {MAX_BYTES:,} bytes")
    suffix = file.suffix.lower()
    readers = {".npz": _npz, ".csv": _table, ".parquet": _table}
    if suffix not in readers:
        raise BadInput(f"data.path: {file}: must end in {', '.join(readers)}")
    try:
        return readers[suffix](file, label)
    except BadInput:
        raise
    except Exception as error:  # of whatever kind the parsers throw at a broken file
        raise BadInput(f"data.path: {file}: cannot be read: {str(error)[:100]}") from None


def _npz(file: Path, label: str) -> tuple[Floats, Floats]:
    with np.load(file, allow_pickle=False) as arrays:
        missing = {"x", label} - set(arrays.files)
        if missing:
            raise BadInput(f"data.path: {file}: has no array {sorted(missing)[0]}; it has {', '.join(arrays.files)}")
        return arrays["x"].astype(np.float64), arrays[label].astype(np.float64)


def _table(file: Path, label: str) -> tuple[Floats, Floats]:
    import pyarrow as pa

    if file.suffix.lower() == ".csv":
        from pyarrow import csv

        table = csv.read_csv(file)
    else:
        from pyarrow import parquet

        table = parquet.read_table(file)
    if label not in table.column_names:
        raise BadInput(f"data.label = {label!r}: no such column; there are {', '.join(table.column_names)[:200]}")
    columns = [name for name in table.column_names if name != label]
    numbers = [table.column(name).cast(pa.float64()).to_numpy() for name in [*columns, label]]
    return np.column_stack(numbers[:-1]), numbers[-1]
