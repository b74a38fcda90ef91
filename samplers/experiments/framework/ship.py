"""Ship a finished full run with the package: python -m samplers.experiments.framework.ship DIR [DIR ...]

The dashboard and docs/experiments.md show these results. Numbers are rounded and long curves are thinned, to keep the
files small. If the run computed a ground truth, that is stored too: means, standard errors, the seed, and a digest of
the parts it was made from.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import write_whole
from samplers.experiments import NAMES
from samplers.experiments.framework.report import Report, Series
from samplers.experiments.framework.running import SECONDS, Values, stored
from samplers.experiments.problems.exact_vs_sequential import TRUTH, estimate

STORED = Path(__file__).parents[1] / "stored"
SHIPPED = "full", "paper"  # sizes
DIGITS = 6  # significant ones
MOST_BYTES = 300_000  # of a report
MOST_POINTS, FEWEST_POINTS = 2000, 50  # of a curve: the limit at first, and when it is lowered


def ship(run: str | Path, into: Path = STORED) -> Path:
    """Round and thin the results of a finished run of size full or paper; returns the new folder."""
    described, report = stored(run)
    name = described.get("name")
    if name not in NAMES:
        raise BadInput(f"{run}: {name!r} is not an experiment; must be one of {', '.join(NAMES)}")
    if described.get("size") not in SHIPPED:
        raise BadInput(f"{run}: size {described.get('size')!r}: only full runs can be shipped")
    folder = into / str(name)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "experiment.json", json.dumps(rounded(described), indent=1, ensure_ascii=False) + "\n")
    write_whole(folder / "report.json", compact(report))
    if (truths := _truth_parts(Path(run))) and (truth := ground_truth(truths)):
        write_whole(folder / "truth.npz", packed(truth | {"seed": described["settings"]["seed"]}))
    return folder


def ground_truth(parts: Sequence[Values]) -> dict[str, Any]:
    """Means, standard errors and effective draws of long exact chains, or the counts of one.

    The digest covers what the seed determines, not times: the parts have the same digest when computed again.
    """
    digest = hashlib.sha256()
    for part in parts:
        for name in sorted(set(part) - {SECONDS, "seconds", "identity"}):
            digest.update(name.encode() + np.ascontiguousarray(part[name]).tobytes())
    known: dict[str, Any] = {"digest": digest.hexdigest()}
    if all("blocks" in part for part in parts):
        truth = estimate(parts)
        return {"mean": truth.mean, "se": truth.se.astype(np.float32), "effective": truth.effective} | known
    return {name: part[name] for part in parts[:1] for name in ("counts",) if name in part} | known


def packed(arrays: Mapping[str, Any]) -> bytes:
    """The arrays as the bytes of a compressed NPZ file."""
    buffer, plain = io.BytesIO(), dict[str, Any]((name, np.asarray(value)) for name, value in arrays.items())
    np.savez_compressed(buffer, **plain)
    return buffer.getvalue()


def _truth_parts(run: Path) -> list[Values]:
    parts: list[Values] = []
    for file in sorted((run / "parts").glob(f"{TRUTH}*.npz")):
        with np.load(file, allow_pickle=False) as arrays:
            parts.append({name: arrays[name] for name in arrays.files})
    return parts


def compact(report: Report) -> str:
    """The report as JSON of at most MOST_BYTES, if thinning its curves suffices for that."""
    points = MOST_POINTS
    while True:
        document = rounded(json.loads(thinned(report, points).to_json()))
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n"
        if len(text.encode()) <= MOST_BYTES or points <= FEWEST_POINTS:
            return text
        points //= 2


def thinned(report: Report, points: int) -> Report:
    """The report with at most `points` points of every curve, including the first and the last."""
    panels = [panel._replace(series=[_thinned(series, points) for series in panel.series]) for panel in report.panels]
    return report._replace(panels=panels)


def _thinned(series: Series, points: int) -> Series:
    if len(series.x) <= points:
        return series
    places = np.linspace(0, len(series.x) - 1, points).round().astype(int).tolist()

    def some(values: Any) -> Any:
        return None if values is None else [values[k] for k in places]

    low, high = some(series.low), some(series.high)
    return series._replace(x=some(series.x), y=some(series.y), low=low, high=high)


def rounded(value: Any) -> Any:
    """The same document with DIGITS significant digits.

    Examples
    --------
    >>> rounded({"a": [0.123456789, 12345678, "text", None], "b": 98765432.1})
    {'a': [0.123457, 12345678, 'text', None], 'b': 98765400.0}
    """
    if isinstance(value, Mapping):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [rounded(entry) for entry in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) and math.isfinite(value) else value


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns 0, or 2 after an error message for the first folder without a finished full run."""
    if not arguments:
        print((__doc__ or "").splitlines()[0], file=sys.stderr)
        return 2
    for argument in arguments:
        try:
            folder = ship(argument)
        except BadInput as error:
            print(error, file=sys.stderr)
            return 2
        print(f"{folder.name}: {(folder / 'report.json').stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
