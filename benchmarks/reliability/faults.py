"""Kills and damaged files: `python -m benchmarks.reliability.faults [--kills 100] [--damages 200] [--seed 0]`.

`austerity run` is a process of its own, killed (kill -9) at random moments, resumed and killed again until it is done.
Then its draws and its results.nc are compared, bit for bit, with those of an undisturbed run. `damage` alters files.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.reliability import damage
from benchmarks.reliability.preloaded import Preloaded, here
from samplers.runs.store import DamagedFile, Store

N_DATA = 2000
TIMEOUT = 300.0  # seconds that one command may take
MOST_KILLS = 6  # of one run, before it may finish
USUAL = 5  # one command in so many is started as users do, with all its imports

SEQUENTIAL = f'[test]\nkind = "sequential"\nn_data = {N_DATA}\nm = 200\nepsilon = 0.02\n'
REST = """[model]
prior_precision = 1.0
control = {control}
[data]
path = "data.npz"
[proposal]
kind = "{proposal}"
[run]
draws = {draws}
warmup = {warmup}
chains = 3
seed = 5
checkpoint_seconds = 0.01
"""
CASES = {
    "fused": SEQUENTIAL + REST.format(control=2, proposal="proxy", draws=9000, warmup=100),
    "protocol": '[test]\nkind = "concentration"\n'
    + REST.format(control=0, proposal="adaptive", draws=1500, warmup=600),
    "redesign": SEQUENTIAL.replace("m = 200\nepsilon = 0.02", "m = 1000\nepsilon = 1e-6")
    + REST.format(control=0, proposal="random-walk", draws=3000, warmup=1100)
    + "[redesign]\ntolerance = 0.05\nevery = 400\npairs = 40\n",
    "schedule": SEQUENTIAL
    + REST.format(control=0, proposal="adaptive", draws=6000, warmup=600)
    + "[schedule]\nsteps = [1500, 1500]\nepsilon = [0.2, 0.05]\nm = [100, 200]\n",
    "slice": SEQUENTIAL + REST.format(control=2, proposal="slice", draws=1500, warmup=100),
}
MOMENTS = ("any", "begin", "checkpoint", "results")


def report(kills: int = 100, damages: int = 200, seed: int = 0) -> list[str]:
    """The section of RESULTS.md."""
    begin, processors = time.monotonic(), _processor_seconds()

    def progress(line: str) -> None:
        print(f"[{time.monotonic() - begin:,.0f} s] {line}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = disturb(folder, kills, seed, progress=progress, usual=USUAL)
        harmed = damage.damage_all(folder, damage.subjects_in(folder, list(CASES)), damages, seed, progress)
    return [
        f"## kill -9, {sum(result.kills.values()):,} times",
        "",
        "`austerity run` of "
        + ", ".join(f"{name} ({count:,} runs)" for name, count in sorted(result.finished.items()))
        + ", each with three chains that save continually; killed, resumed with `--resume`, killed again, until done.",
        "",
        "| killed | times |",
        "|---|---|",
        *(f"| {phase[2:]} | {count:,} |" for phase, count in sorted(result.kills.items())),
        "",
        f"Resumed {result.resumes:,} times; refused {result.refused:,}; damaged files read {result.damaged:,}; runs "
        f"whose draws or results.nc differed from those of the undisturbed run: {result.different:,}.",
        "",
        f"## One file of a run damaged, {harmed.trials:,} times",
        "",
        "The same runs with two chains, done or half-way, and `austerity sample`; one random file of the directory "
        + ", ".join(f"{how} ({count:,})" for how, count in sorted(harmed.damages.items()))
        + "; then `--resume`.",
        "",
        *harmed.table(),
        "",
        f"Results that differed from those of the undisturbed run: {harmed.different:,}; messages that were not one "
        f"clear line per file, or advice that did not help: {harmed.unclear:,}.",
        "",
        f"This took {time.monotonic() - begin:,.0f} s, {_processor_seconds() - processors:,.0f} s of processor time.",
        "",
    ]


def _processor_seconds() -> float:
    """Of this process and of all that it has waited for."""
    return sum(os.times()[:4])


@dataclass
class KillResult:
    """Kills by the phase they hit, finished runs by case, and counts of what must not happen."""

    kills: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    refused: int = 0
    damaged: int = 0
    different: int = 0


class CompleteRun(NamedTuple):
    """An undisturbed run: its files, the draws of its chains, and its duration in seconds, with and without imports."""

    files: dict[str, bytes]
    draws: list[dict[str, bytes]]
    seconds: float
    preloaded: float


def disturb(
    folder: Path,
    kills: int,
    seed: int,
    cases: Sequence[str] = tuple(CASES),
    moments: Sequence[str] = MOMENTS,
    progress: Callable[[str], None] = lambda line: None,
    usual: int = 1,
) -> KillResult:
    """Kill runs of these cases in turn, `kills` times in total; one command in `usual` is started as users do."""
    chance, result, complete = random.Random(seed), KillResult(), {}
    make_data(folder)
    for case in cases:
        (folder / f"{case}.toml").write_text(CASES[case])
    when = _in_turn(moments)
    while (left := kills - sum(result.kills.values())) > 0:
        case = cases[sum(result.finished.values()) % len(cases)]
        config = folder / f"{case}.toml"
        if case not in complete:
            complete[case] = undisturbed(config, folder / f"{case}-complete", usual)
        most = min(left, chance.randint(1, MOST_KILLS))
        _disturbed(
            config, folder / f"{case}-{result.finished[case]}", complete[case], most, when, chance, result, usual
        )
        result.finished[case] += 1
        progress(f"{case}: {sum(result.kills.values()):,} of {kills:,} kills")
    return result


def make_data(folder: Path) -> None:
    """Write a small regression as data.npz."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((N_DATA, 3))
    y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ np.array([0.5, -0.5, 0.2])))
    np.savez(folder / "data.npz", x=x, y=y)


def undisturbed(config: Path, output: Path, usual: int = 1) -> CompleteRun:
    """Run a config without disturbing it: the command as users start it, and again as most are started here."""
    if usual > 1:
        here(["run", str(config), "--output", str(output.with_name(f"{output.name}-here")), "--json"])  # loads it all
    seconds = []
    for place, as_users in ((output, True), (output.with_name(f"{output.name}-again"), usual == 1)):
        begin = time.monotonic()
        process = started(config, place, usual=as_users)
        _, errors = process.communicate(timeout=TIMEOUT)
        if process.returncode:
            raise RuntimeError(f"{config}: exit code {process.returncode}: {errors}")
        seconds.append(time.monotonic() - begin)
    draws = [_bytes(output, number) for number in Store(output).chains()]
    return CompleteRun(_results(output), draws, *seconds)


def started(config: Path, output: Path, *more: str, usual: bool = True) -> subprocess.Popen[str] | Preloaded:
    """Start the command in a process group of its own: as users do, or from what is loaded here already."""
    words = ["run", str(config), "--output", str(output), "--json", *more]
    if not usual:
        return Preloaded(words)
    command = [sys.executable, "-P", "-m", "app.cli", *words]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _in_turn(moments: Sequence[str]) -> Iterator[str]:
    while True:
        yield from moments


def _disturbed(
    config: Path,
    output: Path,
    complete: CompleteRun,
    most: int,
    when: Iterator[str],
    chance: random.Random,
    result: KillResult,
    share: int,
) -> None:
    """Kill one run up to `most` times, then let it finish; check the files on disk every time."""
    killed = 0
    while True:
        resumes = output.exists()
        result.resumes += resumes
        before, usual = _names(output), chance.randrange(share) == 0
        process = started(config, output, *(["--resume"] if resumes else []), usual=usual)
        seconds = complete.seconds if usual else complete.preloaded
        if killed < most and _killed(process, output, next(when), seconds, chance):
            killed += 1
            result.kills[_phase(output, before)] += 1
            _look(output, complete, result)
            continue
        _, errors = process.communicate(timeout=TIMEOUT)
        result.refused += process.returncode != 0
        result.damaged += "not used" in errors
        if process.returncode != 0:
            print(f"{config.stem}: {errors}", file=sys.stderr)
        result.different += _results(output) != complete.files
        _look(output, complete, result)
        return


def _killed(
    process: subprocess.Popen[str] | Preloaded, output: Path, moment: str, seconds: float, chance: random.Random
) -> bool:
    """Kill the whole group at a moment of this kind; returns whether the command was still running."""
    begin, wait, saves = time.monotonic(), chance.uniform(0.0, seconds), chance.randint(1, 40)
    first, resumed, old = len(list(output.glob("chain-*/draws-*.bin"))), output.exists(), {*output.glob(".*.tmp")}

    def reached() -> bool:
        if moment == "begin" and not resumed:
            return output.exists()
        if moment == "checkpoint":
            enough = len(list(output.glob("chain-*/draws-*.bin"))) >= first + saves
            return enough and any(output.glob("chain-*/.*.tmp"))
        if moment == "results":
            return bool({*output.glob(".*.tmp")} - old) and any(output.glob("chain-*"))
        return time.monotonic() - begin >= wait

    while process.poll() is None and not reached():
        if time.monotonic() - begin > TIMEOUT:
            raise TimeoutError(f"{output}: no moment to kill within {TIMEOUT:g} s")
        time.sleep(0.001)
    if moment == "results":
        time.sleep(chance.uniform(0.0, 0.03))
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def _names(output: Path) -> set[str]:
    return {str(path.relative_to(output)) for path in output.rglob("*")}


def _phase(output: Path, before: set[str]) -> str:
    """The phase that a kill hit, judged by the files that are new since the command was started."""
    names = _names(output)
    new = names - before
    half = [name for name in new if name.endswith(".tmp")]
    if not output.exists():
        return "1 before anything was written"
    if "run.bin" not in names:
        return "3 while the directory was made"
    if not new:
        return "2 before a resumed run had written anything"
    if any(name.startswith(".") for name in half) and any(name.startswith("chain-") for name in names):
        return "7 while results were written"
    if half:
        return "6 while a checkpoint was written"
    if not any("state-" in name for name in names):
        return "4 before the first checkpoint"
    return "8 after results.nc was there" if "results.nc" in new else "5 between checkpoints"


def _look(output: Path, complete: CompleteRun, result: KillResult) -> None:
    """Check that the saved files are undamaged and are the beginning of the undisturbed run."""
    for number in Store(output).chains():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", DamagedFile)
                draws = _bytes(output, number)
        except DamagedFile:
            result.damaged += 1
            continue
        result.different += not all(complete.draws[number][name].startswith(values) for name, values in draws.items())


def _bytes(output: Path, number: int) -> dict[str, bytes]:
    return {name: values.tobytes() for name, values in Store(output).chain(number).draws().items()}


def _results(output: Path) -> dict[str, bytes]:
    """The result files of a run, by name."""
    paths = [output / name for name in ("results.nc", "redesign.csv")]
    return {path.name: path.read_bytes() for path in paths if path.exists()}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability.faults", description="kill -9 at random moments, and damaged files."
    )
    parser.add_argument("--kills", type=int, default=100, help="number of kills (default: %(default)s)")
    parser.add_argument("--damages", type=int, default=200, help="number of damaged files (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments (default: %(default)s)")
    given = parser.parse_args()
    print("\n".join(report(given.kills, given.damages, given.seed)))


if __name__ == "__main__":
    main()
