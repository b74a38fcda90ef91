"""Data that do not fit into memory: `python -m benchmarks.samplers.tall [--rows 1e8] [--seconds 10] [--folder DIR]`.

One file of float32 rows is made in a temporary directory; the smaller data sets are its first rows. Each N is measured
in a process of its own, which maps the file. The mode and the proxies need a few passes over all rows, in blocks; a
step then reads only what its test asks for. Memory is the process's own (RssAnon): pages of a mapped file belong to the
system, which takes them back when it needs them. A last process shows this: a control group, if one can be made, gives
it less memory than the size of the file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from designer import BadInput, Design
from samplers.chains.chain import Chain
from samplers.chains.draws import Draws
from samplers.chains.parallel import streams
from samplers.data.memory import CONTROL_GROUPS
from samplers.decide._permutation import MOST_DENSE
from samplers.decide.sequential import SequentialTest
from samplers.models import Model
from samplers.models.arrays import blocks
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk

DIMENSION, PRIOR_PRECISION = 4, 1.0
BATCH, EPSILON = 500, 0.01
ROWS, SECONDS = 10**8, 10.0
MOST_PLAIN = 10**6  # rows; without control variates a step beyond takes long
FEW = 64  # steps between looks at the clock
SCARCE = 512  # megabytes for the last process
TIMEOUT = 900.0  # seconds for it
SPARE = 1.1  # of the disk, for what else is written there


class TallFigures(NamedTuple):
    """One N: seconds for mode and proxies, the cost of a step with and without them, and the peak of its own memory."""

    n_data: int
    setup: float
    steps_per_s: float
    cpu_us: float  # processor time per step: without waiting for the disk or for other programs
    data_per_step: float
    acceptance: float
    plain_steps_per_s: float | None
    plain_data_per_step: float | None
    own_megabytes: float
    file_megabytes: float


# --- the file ---------------------------------------------------------------------------------------------------------


def make(folder: Path, rows: int) -> None:
    """Write standard normal covariates and labels, block by block."""
    needed, free = int(SPARE * rows * (4 * DIMENSION + 1)), shutil.disk_usage(folder).free
    if needed > free:
        raise BadInput(f"{folder}: {free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB needed; give another --folder")
    rng = np.random.default_rng(0)
    truth = rng.normal(0.0, 0.5, DIMENSION)
    with open(folder / "x.npy", "wb") as x_file, open(folder / "y.npy", "wb") as y_file:
        _header(x_file, (rows, DIMENSION), "<f4")
        _header(y_file, (rows,), "|i1")
        for block in blocks(rows):
            x = rng.standard_normal((block.stop - block.start, DIMENSION), dtype=np.float32)
            x_file.write(x.tobytes())
            y_file.write((rng.random(len(x)) < 1.0 / (1.0 + np.exp(-(x @ truth)))).astype(np.int8).tobytes())


def _header(file: BinaryIO, shape: tuple[int, ...], kind: str) -> None:
    np.lib.format.write_array_header_2_0(file, {"shape": shape, "fortran_order": False, "descr": kind})


def mapped(folder: Path, n_data: int) -> Logistic:
    """The regression on the first rows of the file, mapped into memory."""
    x: npt.NDArray[np.float32] = np.load(folder / "x.npy", mmap_mode="r")
    return Logistic.mapped(x[:n_data], np.load(folder / "y.npy", mmap_mode="r")[:n_data], PRIOR_PRECISION)


# --- one N, in a process of its own -----------------------------------------------------------------------------------


class OwnMemory:
    """The peak of this process's own memory within the block, in megabytes (RssAnon on Linux)."""

    def __init__(self) -> None:
        self.most, self._over = 0.0, threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> OwnMemory:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._over.wait(0.01):
            self.most = max(self.most, own_megabytes())


def own_megabytes() -> float:
    """Memory of this process that belongs to no file."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def measure(folder: Path, n_data: int, seconds: float) -> TallFigures:
    """Set up and sample, on the first rows of the file."""
    compiled(mapped(folder, MOST_DENSE + 1 if n_data > MOST_DENSE else 1000))
    with OwnMemory() as memory:
        start = time.perf_counter()
        model = mapped(folder, n_data)
        controlled = Controlled.around(model, find_mode(model))
        setup = time.perf_counter() - start
        controls = _sampled(controlled, controlled, seconds)
        plain = _sampled(model, controlled, seconds) if n_data <= MOST_PLAIN else None
    size = n_data * (4 * DIMENSION + 1) / 1e6
    without = (None, None) if plain is None else (plain.steps_per_s, plain.data_per_step)
    return TallFigures(n_data, setup, *controls, *without, memory.most, size)


def compiled(model: Logistic) -> None:
    """Compile on few data of the same kind, so that compilation does not count in memory and times."""
    controlled = Controlled.around(model, find_mode(model))
    for target in (controlled, *([model] if model.n_data <= MOST_PLAIN else [])):
        _sampled(target, controlled, 0.0)


class ChainCosts(NamedTuple):
    """What the steps of a chain cost."""

    steps_per_s: float
    cpu_us: float
    data_per_step: float
    acceptance: float


def _sampled(model: Model, controlled: Controlled, seconds: float) -> ChainCosts:
    """One chain from the mode."""
    walk = RandomWalk.with_covariance(np.linalg.inv(controlled.posterior_precision()))
    test = SequentialTest.from_design(Design(model.n_data, min(BATCH, model.n_data), EPSILON))
    chain = Chain(model, walk, test, controlled.centre, streams(1, 1)[0])
    chain.advance(FEW)
    parts: list[Draws] = []
    start, begun = time.perf_counter(), time.thread_time()
    while not parts or time.perf_counter() - start < seconds:
        parts.append(chain.advance(FEW))
    draws, elapsed, cpu = Draws.joined(parts), time.perf_counter() - start, time.thread_time() - begun
    steps, used, accepted = draws.accepted.size, float(draws.n_used.mean()), float(draws.accepted.mean())
    return ChainCosts(steps / elapsed, 1e6 * cpu / steps, used, accepted)


# --- all of them ------------------------------------------------------------------------------------------------------


def table(every: list[TallFigures]) -> list[str]:
    """The figures as lines of a Markdown table."""
    lines = [
        "| N | file, MB | own memory, MB | mode and proxies, s | steps/s | CPU µs/step | data/step | acceptance | "
        "without proxies: steps/s | data/step |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in every:
        plain = "| | |"
        if one.plain_steps_per_s is not None:
            plain = f"| {one.plain_steps_per_s:,.0f} | {one.plain_data_per_step:,.0f} |"
        own = f"{one.file_megabytes:,.1f} | {one.own_megabytes:,.0f} | {one.setup:,.2f}"
        steps = f"{one.steps_per_s:,.0f} | {one.cpu_us:,.0f} | {one.data_per_step:,.0f} | {one.acceptance:.2f}"
        lines.append(f"| {one.n_data:,} | {own} | {steps} {plain}")
    return lines


@contextmanager
def confined(megabytes: int) -> Iterator[list[str] | None]:
    """A prefix for a command that limits its memory; None if we have no right to do that."""
    old = (CONTROL_GROUPS / "memory").is_dir()
    group = (CONTROL_GROUPS / "memory" if old else CONTROL_GROUPS) / f"austerity-{os.getpid()}"
    try:
        group.mkdir()
        limit = group / ("memory.limit_in_bytes" if old else "memory.max")
        limit.write_text(str(megabytes * 2**20), encoding="ascii")
    except OSError:
        yield None
    else:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        with suppress(OSError):
            group.rmdir()


def evict(folder: Path) -> None:
    """Drop the files from the page cache: pages already in memory would not count for the process."""
    for file in folder.glob("*.npy"):
        with open(file, "rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _apart(folder: Path, n_data: int, seconds: float, before: list[str] | None = None) -> TallFigures:
    """Run `measure` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.samplers.tall", "--one", str(n_data), "--seconds", str(seconds)]
    whole = [*(before or []), *command, "--folder", str(folder)]
    done = subprocess.run(whole, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    return TallFigures(**json.loads(done.stdout))


def _in_little_memory(folder: Path, n_data: int, seconds: float) -> list[str]:
    """The same with less memory than the size of the file."""
    with confined(SCARCE) as before:
        if before is None:
            return [f"A process with {SCARCE} MB of memory was not measured: no right to make control groups."]
        evict(folder)
        limited = _apart(folder, n_data, seconds, before)
    return [
        f"With {SCARCE} MB of memory for the process and its pages of the file, enforced by the system:",
        "",
        *table([limited]),
    ]


def report(rows: int = ROWS, seconds: float = SECONDS, folder: str | None = None) -> list[str]:
    """Make the file, and measure at 10^4, 10^5, ... of its rows."""
    sizes = [10**k for k in range(4, 13) if 10**k <= rows]
    with tempfile.TemporaryDirectory(dir=folder, prefix="austerity-tall-") as place:
        make(Path(place), max(sizes))
        figures = [_apart(Path(place), n_data, seconds) for n_data in sizes]
        scarce = _in_little_memory(Path(place), max(sizes), seconds)
    return [
        "## Data larger than memory",
        "",
        f"Logistic regression on memory-mapped float32 rows, D = {DIMENSION}; random walk, sequential test with "
        f"m = {BATCH} and ε = {EPSILON:g}, with and without second-order control variates; one chain.",
        "Own memory is the largest RssAnon: the memory of the process without pages of the file.",
        "",
        *table(figures),
        "",
        *scarce,
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Sampling from a memory-mapped file.")
    parser.add_argument("--rows", type=float, default=ROWS, help="of the largest data set (default: 1e8)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of sampling at each N (default: %(default)s)")
    parser.add_argument("--folder", help="where the file is made (default: the system's temporary directory)")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(Path(options.folder), options.one, options.seconds)._asdict()))
        return
    print("\n".join(report(int(options.rows), options.seconds, options.folder)))


if __name__ == "__main__":
    main()
