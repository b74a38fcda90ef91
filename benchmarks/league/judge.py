"""How far draws are from the reference: `python -m benchmarks.league.judge` for the draws of a peer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.league.reference import Reference

SURE = 3.0  # standard errors beyond which a difference is shown
FEWEST = 20  # draws, to estimate anything


def effective(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effective draws of each coordinate for its mean, and for its standard deviation."""
    from arviz_stats.base import array_stats

    sizes = [
        [array_stats.ess(column[None, :], chain_axis=0, draw_axis=1, method=kind) for column in theta.T]
        for kind in ("bulk", "sd")
    ]
    bulk, spread = (np.nan_to_num(np.array(each, dtype=float), nan=1.0).clip(1.0, len(theta)) for each in sizes)
    return bulk, spread


def judged(theta: np.ndarray, reference: Reference) -> dict[str, float]:
    """Effective draws, and the errors of means and standard deviations."""
    if len(theta) < FEWEST:
        return {"draws": len(theta), "effective": 0.0}
    bulk, spread = effective(theta)
    sd = theta.std(axis=0)
    return {
        "draws": len(theta),
        "effective": float(bulk.min()),
        **errors(theta.mean(axis=0), sd, sd / reference.sd * bulk**-0.5, (2.0 * spread) ** -0.5, reference),
    }


def errors(
    mean: np.ndarray, sd: np.ndarray, mean_se: np.ndarray, sd_se: np.ndarray, reference: Reference
) -> dict[str, float]:
    """The largest error of a mean and of an sd, its standard error, and what of it is shown: more than 3 of these."""
    found: dict[str, float] = {}
    off_mean, off_sd = (mean - reference.mean) / reference.sd, sd / reference.sd - 1.0
    for name, off, own, known in (
        ("mean", off_mean, mean_se, reference.mean_se),
        ("sd", off_sd, sd_se, reference.sd_se),
    ):
        se = np.hypot(own, known)
        worst = int(np.argmax(np.abs(off)))
        found[f"{name}_error"], found[f"{name}_se"] = float(abs(off[worst])), float(se[worst])
        found[f"{name}_shown"] = float(np.maximum(np.abs(off) - SURE * se, 0.0).max())
    return found


def main(folder: Path, result: Path) -> None:
    """Judge a peer's draws, and write all figures of its cell."""
    from benchmarks.league.reference import Reference

    figures: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    theta = np.load(result.with_suffix(".npy")).astype(np.float64)
    result.write_text(json.dumps(figures | judged(theta, Reference.load(folder))), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
