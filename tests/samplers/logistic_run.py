"""A folder with logistic data and a config that reads them, for tests of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def write_logistic_run(where: Path, config: str, n_data: int, slopes: Sequence[float]) -> Path:
    """Write `data.npz`, drawn with these slopes, and `config.toml`; return the folder."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((n_data, len(slopes)))
    np.savez(where / "data.npz", x=x, y=rng.random(n_data) < 1.0 / (1.0 + np.exp(-x @ np.array(slopes))))
    (where / "config.toml").write_text(config)
    return where
