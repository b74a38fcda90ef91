"""The engine and others on the same curves, with accuracy and time: rpact, gsdesign, SciPy's normal cdf."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from benchmarks.engine.alternatives import characteristics_by_cdf, characteristics_one_by_one
from benchmarks.engine.fifty_digits import MOST_LOOKS, exact_curves
from benchmarks.peers import PYTHON
from benchmarks.timing import best_ms
from designer import Design, characteristics
from designer.core.arrays import Floats
from designer.rule.boundary import threshold
from designer.rule.plan import as_plan

PEERS = Path(__file__).parents[1] / "peers"
MU_STD = np.linspace(0.0, 10.0, 50)
EPSILON, BATCH = 0.05, 500
LOOKS = (5, 10, 20, 50, 100, 1000)
TIMEOUT = 300.0  # seconds for one peer on one curve
ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
MISSING = "not installed: {}; `make peers` installs it"
FINER = 80  # the most grid points that gsDesign, whose grids gsdesign has, allows


class Case(NamedTuple):
    """A design with constant bounds, and the standardised means at which it is computed."""

    design: Design
    mu_std: Floats

    @property
    def g(self) -> float:
        return threshold(self.design.epsilon)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the input of a peer: fraction, information and bound of each interim look; and the means."""
        pi = as_plan(self.design).schedule.pi[:-1]
        table = np.column_stack([pi, pi / (1.0 - pi), np.full(pi.size, self.g)])
        looks, means = folder / "looks.csv", folder / "means.csv"
        np.savetxt(looks, table, delimiter=",", header="pi,t,bound", comments="", fmt="%.17g")
        np.savetxt(means, self.mu_std, header="mu_std", comments="", fmt="%.17g")
        return looks, means


class PeerCurves(NamedTuple):
    """Error and data use as an engine computes them, and its processor time in seconds; or the problem it had."""

    error: Floats = np.empty(0)
    usage: Floats = np.empty(0)
    seconds: float = np.nan
    version: str = ""
    problem: str = ""


class EngineFigures(NamedTuple):
    """One engine at one number of looks; `problem` says why there are no figures."""

    looks: int
    name: str
    ms: float = np.nan
    error_off: float = np.nan
    usage_off: float = np.nan
    means: int = 0
    times: float = 1.0
    remark: str = ""
    problem: str = ""

    @property
    def exploded(self) -> bool:
        """Whether a probability is off by more than 1, or is not a number."""
        return not self.problem and not (self.error_off <= 1.0 and self.usage_off <= 1.0)

    def row(self) -> str:
        """Of the table."""
        start = f"| {self.looks:,} | {self.name} |"
        if self.problem:
            return f"{start} | | | | | {self.problem} |"
        figures = f"{self.ms:,.1f} | {self.times:,.0f} × | {self.error_off:.0e} | {self.usage_off:.0e}"
        return f"{start} {figures} | {self.means} | {self.remark} |"


class Peer(NamedTuple):
    """Another engine, and at how many means it runs for each number of looks; numbers that take too long are absent."""

    name: str
    ask: Callable[[Case], PeerCurves]
    means: dict[int, int]


def ask_rpact(case: Case, program: str = "Rscript") -> PeerCurves:
    """R's rpact, by its function for arbitrary bounds."""
    return _run([program, str(PEERS / "rpact.R")], case, missing="R with rpact")


def ask_gsdesign(case: Case, r: int, python: Path = PYTHON) -> PeerCurves:
    """PyPI's gsdesign: the recursion of R's gsDesign, with r grid points."""
    return _run([str(python), str(PEERS / "gsdesign_grids.py")], case, str(r), missing="gsdesign")


def ask_scipy(case: Case, abseps: float) -> PeerCurves:
    """SciPy's multivariate normal cdf, in this process; timed once, because it is slow."""
    start = time.process_time()
    error, usage = characteristics_by_cdf(case.design.n_data, case.design.m, case.g, case.mu_std, abseps)
    return PeerCurves(error, usage, time.process_time() - start, scipy.__version__)


def _run(command: list[str], case: Case, *options: str, missing: str) -> PeerCurves:
    """Run a peer in a process of its own, which times itself."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.csv"
        command = [*command, *map(str, case.write(Path(folder))), str(result), *options]
        environment = os.environ | ONE_CORE
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT)
        except FileNotFoundError:
            return PeerCurves(problem=MISSING.format(missing))
        except subprocess.TimeoutExpired:
            return PeerCurves(problem=f"not finished after {TIMEOUT:g} s")
        if done.returncode != 0:
            return PeerCurves(problem=_reason(done.stderr, missing))
        error, usage = np.loadtxt(result, delimiter=",", skiprows=1, ndmin=2).T
        seconds, version = done.stdout.split()
        return PeerCurves(error, usage, float(seconds), version)


def _reason(stderr: str, missing: str) -> str:
    if "there is no package called" in stderr or "ModuleNotFoundError" in stderr:
        return MISSING.format(missing)
    return f"refused: {(stderr.strip().splitlines() or ['no message'])[-1][:120]}"


def peers() -> list[Peer]:
    """All peers, with the numbers of means they can do in reasonable time."""
    every = dict.fromkeys(LOOKS, MU_STD.size)
    fewer = every | {20: 10, 50: 5, 100: 3, 1000: 2}
    return [
        Peer("rpact", ask_rpact, every),
        Peer("gsdesign, r = 18 (its default)", lambda case: ask_gsdesign(case, 18), every | {100: 10, 1000: 5}),
        Peer(f"gsdesign, r = {FINER}", lambda case: ask_gsdesign(case, FINER), fewer),
        Peer("SciPy, abseps = 1e-5 (its default)", lambda case: ask_scipy(case, 1e-5), {5: 50, 10: 5}),
        Peer("SciPy, abseps = 1e-3", lambda case: ask_scipy(case, 1e-3), {5: 50, 10: 10, 20: 5, 50: 1}),
    ]


def report(looks: tuple[int, ...] = LOOKS, asked: list[Peer] | None = None) -> list[str]:
    """The section of RESULTS.md."""
    lines = [line for j in looks for line in _lines(j, peers() if asked is None else asked)]
    problems = sorted({line.problem for line in lines if line.problem.startswith("not installed")})
    return [
        f"## Engine and others: a curve of {MU_STD.size} standardised means in [0, 10], one core",
        "",
        f"Error and data use with ε = {EPSILON:g}, constant bounds, batches of {BATCH}: the same interim looks,",
        "information t = π / (1 − π) and drift μ_std for all. `off` is the largest difference from one recursion",
        "per mean, which shares no code with the engine (`benchmarks/engine/alternatives.py`). At",
        f"{MOST_LOOKS} looks that recursion differs by {_off_digits():.0e} from 50-digit arithmetic. Times exclude",
        "start-up; they are the best of several runs (SciPy: of one), for the others processor time. Where fewer means",
        "were computed, times are scaled to all. rpact's function for given bounds and gsdesign's recursion take one",
        "drift at a time; SciPy's cdf is called twice for each look and mean.",
        "",
        "| looks | engine | ms | times ours | error off | data use off | means | remarks |",
        "|---|---|---|---|---|---|---|---|",
        *(line.row() for line in lines),
        "",
        *(f"- {problem[0].upper()}{problem[1:]}." for problem in problems),
        *(f"- {sentence}" for sentence in _exploded(lines)),
        "- gsdesign provides only the grids and the recursion of R's gsDesign; the sum over the exits is ours.",
        "  Its grid is centred at the drift: once the drift is outside the bounds, one point of weight 1 remains.",
        "- SciPy's `multivariate_normal.cdf` calls `scipy.stats._qmvnt` (quasi Monte Carlo), so that is not listed.",
        "",
    ]


def _exploded(lines: list[EngineFigures]) -> list[str]:
    """The peers whose recursion is unstable."""
    names = [f"{line.name} at {line.looks:,} looks" for line in lines if line.exploded]
    return [f"The recursion explodes, and returns without an error: {'; '.join(names)}."] if names else []


@lru_cache(maxsize=1)
def _off_digits() -> float:
    """How far the reference is from 50-digit arithmetic, at a few means."""
    design, few = Design(MOST_LOOKS * BATCH, BATCH, EPSILON), np.array([0.0, 1.0, 3.0])
    exact = np.array([exact_curves(design, float(mu)) for mu in few]).T
    return float(np.abs(_reference(Case(design, few)) - exact).max())


def _reference(case: Case) -> Floats:
    return np.array(characteristics_one_by_one(case.design.n_data, case.design.m, case.g, case.mu_std))


def _lines(looks: int, asked: list[Peer]) -> list[EngineFigures]:
    """Our engine and the others at so many looks."""
    case = Case(Design(looks * BATCH, BATCH, EPSILON), MU_STD)
    ms = best_ms(lambda: characteristics(case.design, MU_STD))
    curve, reference = characteristics(case.design, MU_STD), _reference(case)
    ours = PeerCurves(curve.error, curve.usage, 1e-3 * ms)
    lines = [_line(looks, "ours", ours, reference)._replace(remark=f"own estimate {curve.estimate:.0e}")]
    for peer in asked:
        if looks in peer.means:
            some = np.linspace(0, MU_STD.size - 1, peer.means[looks]).astype(int)
            line = _line(looks, peer.name, peer.ask(Case(case.design, MU_STD[some])), reference[:, some])
            lines.append(line._replace(times=line.ms / ms))
        else:
            lines.append(EngineFigures(looks, peer.name, problem="not tried: too slow"))
    return lines


def _line(looks: int, name: str, answer: PeerCurves, reference: Floats) -> EngineFigures:
    """The figures of an engine beside the reference."""
    if answer.problem:
        return EngineFigures(looks, name, problem=answer.problem)
    error, usage = (np.abs(one - other).max() for one, other in zip(answer[:2], reference, strict=True))
    ms = 1e3 * answer.seconds * MU_STD.size / answer.error.size
    return EngineFigures(looks, name, ms, float(error), float(usage), answer.error.size, remark=answer.version)


if __name__ == "__main__":
    print("\n".join(report()))
