"""Download the files of a data set into the data folder, if the user asks for it."""

from __future__ import annotations

import http.client
import urllib.request
from pathlib import Path

from designer.core.errors import BadInput
from designer.core.files import shorten, write_whole
from samplers.data.sources.files import at_most

TIMEOUT = 10.0  # seconds without a byte
MAX_DOWNLOAD = 2**29

_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
MNIST = tuple(
    _MNIST + name
    for name in (
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    )
)
MINIBOONE = (_UCI + "00199/MiniBooNE_PID.txt",)
YEAR_PREDICTION = (_UCI + "00203/YearPredictionMSD.txt.zip",)
CENSUS = tuple(_UCI + f"census-income-mld/census-income.{part}.gz" for part in ("data", "test"))


def fetch(addresses: tuple[str, ...], folder: Path) -> str | None:
    """Download files into a folder; None, or one line that says why that failed.

    Existing files are not downloaded again. A file is written completely or not at all.
    """
    for address in addresses:
        file = folder / address.rsplit("/", 1)[1]
        if file.is_file():
            continue
        try:
            # the addresses above, https only
            with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:  # nosec B310
                write_whole(file, at_most(answer, MAX_DOWNLOAD))
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = str(error) if isinstance(error, BadInput) else shorten(getattr(error, "reason", error), 80)
            return f"{address} could not be downloaded: {reason or type(error).__name__}"
    return None
