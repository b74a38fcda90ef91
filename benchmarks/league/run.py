"""Measure the cells of the league, each in a process and on a core of its own, and keep what is done."""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from app.league.cells import RESULTS, Cell, League, as_json, load
from benchmarks.__main__ import stamp
from benchmarks.league.methods import BY_NAME as METHODS
from benchmarks.league.posteriors import BY_NAME as POSTERIORS
from benchmarks.league.reference import Reference
from benchmarks.peers import PYTHON

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).with_name("peers")
WORK = ROOT / ".league"  # data and references: a gigabyte or two
SETUP = 120.0  # seconds beyond those of the draws, after which a cell is unfinished
REFERENCE = 1800.0
FEW = 5000  # data on which a method is run before it is measured


class Ended(NamedTuple):
    """How a process ended: exit code (None if it was stopped), last line of its errors, and its peak memory in MB."""

    code: int | None
    last: str
    memory: float


def run(wanted: Sequence[tuple[str, int, str]], seconds: float, lanes: int, say: Callable[[str], None]) -> None:
    """Measure what is wanted, posterior by posterior; a finished cell is kept at once."""
    places = dict.fromkeys((name, n) for name, n, _ in wanted)
    cores, lock = sorted(os.sched_getaffinity(0)), threading.Lock()
    lanes = min(lanes, len(cores))
    for number, (name, n) in enumerate(places, 1):
        say(f"{name}, N = {n:,} ({number} of {len(places)}): reference")
        folder = prepared(name, n, cores)
        todo: queue.SimpleQueue[str] = queue.SimpleQueue()
        for method in (method for place, size, method in wanted if (place, size) == (name, n)):
            todo.put(method)

        def work(core: int, name: str = name, n: int = n, folder: Path = folder, todo: Any = todo) -> None:
            while True:
                try:
                    method = todo.get_nowait()
                except queue.Empty:
                    return
                cell = measured(folder, name, n, method, seconds, core)
                with lock:
                    keep(name, n, method, cell)
                    say(f"  {method}: {words(cell)}")

        threads = [threading.Thread(target=work, args=(core,)) for core in cores[:lanes]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def keep(name: str, n: int, method: str, cell: Cell) -> None:
    """Write one more cell, with its own stamp, into the stored figures, which are in the order of the methods."""
    known = load()
    cells = {**known.cells, (name, n, method): cell._replace(measured=stamp())}
    places = [(one.name, size) for one in POSTERIORS.values() for size in one.sizes]
    order = [(*place, one) for place in places for one in METHODS]
    source = Reference.load(folder_of(name, n)).source
    references = {**known.references, (name, n): source}
    league = League(
        {key: cells[key] for key in order if key in cells},
        {place: references[place] for place in places if place in references},
        known.measured,
    )
    new = RESULTS.with_suffix(".new")
    new.write_text(as_json(league), encoding="utf-8")
    new.replace(RESULTS)


def words(cell: Cell) -> str:
    """For the progress."""
    if cell.problem:
        return cell.problem
    drawn = (
        "no draws" if math.isinf(cell.effective) else f"{cell.effective:,.0f} effective draws in {cell.seconds:.1f} s"
    )
    off = f"means off {cell.mean_error:.3f} ± {cell.mean_se:.3f}, sds {cell.sd_error:.3f} ± {cell.sd_se:.3f}"
    return f"set-up {cell.setup:.1f} s, {drawn}, {off}"


def folder_of(name: str, n: int) -> Path:
    """Where data and reference of a posterior are."""
    return WORK / f"{name.replace(' ', '-')}-{n}"


def prepared(name: str, n: int, cores: Sequence[int]) -> Path:
    """The folder with data and reference, made if it is not there."""
    folder = folder_of(name, n)
    if not (folder / "reference.npz").exists():
        command = [sys.executable, "-m", "benchmarks.league.reference", name, str(n), str(folder)]
        ended = in_process(command, REFERENCE, cores)
        if ended.code != 0:
            raise RuntimeError(f"reference of {name}, N = {n:,}: {ended.last}")
    return folder


def measured(folder: Path, name: str, n: int, method: str, seconds: float, core: int) -> Cell:
    """One cell."""
    if reason := METHODS[method].refuses(POSTERIORS[name], n):
        return Cell(problem=reason)
    script = METHODS[method].script
    result = folder / f"{method.replace(' ', '-')}.json"
    result.unlink(missing_ok=True)
    if not script:
        compiled(name, method, core)
    if script:
        if not PYTHON.exists():
            return Cell(problem="not installed: `make peers` installs it")
        command = [str(PYTHON), str(PEERS / script), str(folder), str(result), str(seconds)]
    else:
        module = [sys.executable, "-m", "benchmarks.league.ours"]
        command = [*module, str(folder), name, method, str(seconds), str(result)]
    ended = in_process(command, seconds + SETUP, [core])
    if ended.code is None:
        return Cell(problem=f"unfinished: nothing within {seconds + SETUP:g} s", memory=ended.memory)
    if ended.code != 0:
        missing = script and "ModuleNotFoundError" in ended.last
        return Cell(problem=f"{'not installed' if missing else 'failed'}: {ended.last[:150]}", memory=ended.memory)
    if script:
        judging = [sys.executable, "-m", "benchmarks.league.judge", str(folder), str(result)]
        judged = in_process(judging, REFERENCE, [core])
        if judged.code != 0:
            return Cell(problem=f"failed: {judged.last[:150]}")
    figures = json.loads(result.read_text(encoding="utf-8"))
    known = {name: math.inf if value is None else value for name, value in figures.items() if name in Cell._fields}
    return Cell(**known, memory=ended.memory)


@cache
def compiled(name: str, method: str, core: int) -> None:
    """Run a method of ours on a few data once, so that no cell compiles: a user has compiled once, too."""
    with tempfile.TemporaryDirectory() as folder:
        posterior = POSTERIORS[name]
        data = posterior.data(FEW)
        for key, values in data.items():
            np.save(Path(folder) / f"{key}.npy", values)
        size = len(Reference.load(folder_of(name, posterior.sizes[0])).mean)
        known = dict.fromkeys(("mean", "mean_se", "sd_se"), np.zeros(size)) | {"sd": np.ones(size), "source": ""}
        np.savez(Path(folder) / "reference.npz", **known)
        module = [sys.executable, "-m", "benchmarks.league.ours"]
        in_process([*module, folder, name, method, "0.2", str(Path(folder) / "result.json")], REFERENCE, [core])


def in_process(command: list[str], limit: float, cores: Sequence[int]) -> Ended:
    """Run a command on these cores, for at most so many seconds."""
    threads = {name: str(len(cores)) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    flags = {"JAX_PLATFORMS": "cpu", "PYTHONPATH": f"{ROOT}", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            env={**os.environ, **threads, **flags},
            preexec_fn=lambda: os.sched_setaffinity(0, set(cores)),
            start_new_session=True,
        )
        end, done = time.monotonic() + limit, (0, 0, None)
        try:
            while done[0] == 0 and time.monotonic() < end:
                time.sleep(0.05)
                done = os.wait4(process.pid, os.WNOHANG)
        finally:
            if done[0] == 0:
                os.killpg(process.pid, signal.SIGKILL)
                pid, _, usage = os.wait4(process.pid, 0)
                process.returncode, done = -signal.SIGKILL, (pid, None, usage)
        process.returncode = 0 if process.returncode is None else process.returncode
        output.seek(0)
        lines = output.read().decode(errors="replace").strip().splitlines()
    code = None if done[1] is None else os.waitstatus_to_exitcode(done[1])
    return Ended(code, (lines or ["no message"])[-1], done[2].ru_maxrss / 1024.0)
