"""Posterior files of other tools, read in a separate process.

HDF5 may loop for ever over a damaged file: it ignores signals and holds a lock that all other readers wait for. A
process can be killed all the same. It gets the path and the options as JSON, and answers with a trial run as NPZ.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import shorten
from designer.pairs.trial_run import TrialRun
from samplers.study.other_tools.posterior_pairs import PosteriorPairs, trial_from_posterior


class ReaderReply(NamedTuple):
    """What the process writes before the trial run, as one line of JSON: a problem, or the scale and remarks."""

    problem: str | None
    scale: float
    remarks: list[str]


def pairs_of_file(
    path: str | os.PathLike[str], seed: int, *, seconds: float | None = None, **options: Any
) -> PosteriorPairs:
    """`trial_from_posterior` of a netCDF file, with the random numbers of a seed.

    Parameters
    ----------
    path
        The file.
    seed
        Of the choice of pairs.
    seconds
        The longest time to wait; no limit by default.
    options
        Further arguments of `trial_from_posterior`.

    Raises
    ------
    BadInput
        As `trial_from_posterior`; also if the file takes too long, or ends the process that reads it.
    """
    question = json.dumps({"path": os.fspath(path), "seed": seed, "options": options, "seconds": seconds})
    # -P: a file samplers.py in the user's folder is not taken for this package
    command = [sys.executable, "-P", "-m", "samplers.study.other_tools.posterior_files"]
    try:
        done = subprocess.run(command, input=question.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise BadInput(f"{path}: not read within {seconds:g} s; it may be damaged or too large") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        what = said[-1] if said else f"code {done.returncode}"
        raise BadInput(f"{path}: reading it failed ({shorten(what, 100)})")
    first, _, rest = done.stdout.partition(b"\n")
    answer = ReaderReply(*json.loads(first))
    if answer.problem is not None:
        raise BadInput(answer.problem)
    return PosteriorPairs(TrialRun.from_npz(io.BytesIO(rest)), answer.scale, answer.remarks)


def main() -> None:
    """Answer one question."""
    question = json.load(sys.stdin)
    if question["seconds"] is not None and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, question["seconds"] + 1.0)  # ends it also if nobody waits any more
    try:
        result = trial_from_posterior(np.random.default_rng(question["seed"]), question["path"], **question["options"])
    except (BadInput, OSError) as problem:
        print(json.dumps(ReaderReply(str(problem), 1.0, [])))
        return
    content = io.BytesIO()
    result.trial.to_npz(content)
    sys.stdout.buffer.write(
        json.dumps(ReaderReply(None, result.scale, result.remarks)).encode() + b"\n" + content.getvalue()
    )


if __name__ == "__main__":
    main()
