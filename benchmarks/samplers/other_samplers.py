"""Our samplers and other people's on the same posterior; theirs run in an environment of their own (`make peers`)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.samplers.chains import (
    BATCH,
    DIMENSION,
    EPSILON,
    LOOSER,
    PRIOR_PRECISION,
    LogisticProblem,
    ess,
    make_problem,
    measure,
)
from samplers.decide.exact import ExactTest
from samplers.experiments.peers.launch import NUTS_SCRIPT, PYTHON, environment, save_problem

PEERS = Path(__file__).parents[1] / "peers"
SMALL, LARGE = 12_214, 1_000_000
ENOUGH = 100  # effective draws, to take an ESS per second seriously
TIMEOUT = 900.0  # seconds for one peer, compilation and warm-up included


class Peer(NamedTuple):
    """The script that runs a sampler, and its options."""

    name: str
    script: Path
    options: dict[str, Any]


class SamplerFigures(NamedTuple):
    """What one sampler did; `problem` says why there are no figures."""

    name: str
    details: str = ""
    steps_per_s: float = np.nan
    ess: float = np.nan
    seconds: float = np.nan
    warmup: float = 0.0
    problem: str = ""

    @property
    def ess_per_s(self) -> float:
        return self.ess / self.seconds


def peers(n_data: int) -> list[Peer]:
    """The peers at this N, with warm-up and block sizes such that a block takes well below a second."""
    small = n_data == SMALL
    nuts = {"x64": False, "block": 50 if small else 2, "draws": 20_000}
    tuned = {**nuts, "laplace": True, "warmup": 500 if small else 60}
    ecs = {"x64": False, "block": 50, "draws": 50_000, "warmup": 200, "subsample": 100, "blocks": 10}
    walk = {"one_core": True, "block": 500 if small else 10, "draws": 10**6, "warmup": 0}
    every = [
        Peer("NumPyro NUTS, mass matrix given", NUTS_SCRIPT, tuned),
        Peer("NumPyro HMCECS, second-order proxies", PEERS / "hmcecs.py", ecs),
        Peer("BlackJAX random walk, float32", PEERS / "random_walk.py", {"x64": False, **walk}),
        Peer("BlackJAX random walk, float64", PEERS / "random_walk.py", {"x64": True, **walk}),
        Peer("PyMHSS", PEERS / "mhss.py", {"one_core": True, "draws": 10**6, "kappa": 2.38}),
    ]
    default = Peer("NumPyro NUTS, default adaptation", NUTS_SCRIPT, {**nuts, "laplace": False, "warmup": 500})
    return [default, *every] if small else every


def report(seconds: float) -> list[str]:
    """The section of RESULTS.md; each chain runs for so many seconds, NUTS at the large N ten times as long."""
    tables = [_table(n_data, seconds) for n_data in (SMALL, LARGE)]
    return [
        f"## Peers: the same logistic regression, D = {DIMENSION}, prior precision {PRIOR_PRECISION:g}",
        "",
        "All start at the mode. ESS is the smallest bulk ESS over the coordinates, computed by the same code for all;",
        "`with warm-up` includes warm-up (ours: mode and proxies); compilation is never counted. With fewer than",
        f"{ENOUGH} effective draws, the ESS is a rough figure, marked ~. `ours / theirs` compares our proxy",
        f"chain's min ESS/s with theirs; m = {BATCH}, ε = {EPSILON:g}, or {LOOSER:g} in the second column.",
        "",
        "Ours: one core, float64 (with float32 rows, sums are still in float64). NumPyro: all cores, float32, which",
        "favours it. NUTS with `mass matrix given` gets the Laplace covariance and tunes its step size only. HMCECS is",
        "approximate, as ours is; it draws 100 rows in 10 blocks, the best of four settings. BlackJAX and PyMHSS: one",
        "core. PyMHSS is exact, in float64, supports only a flat prior, and gets second-order bounds if they fit in",
        "1 GB.",
        "",
        f"| N | sampler | steps/s | min ESS/s | with warm-up | ours / theirs | ε = {LOOSER:g} | details |",
        "|---|---|---|---|---|---|---|---|",
        *(row for rows, _ in tables for row in rows),
        "",
        *(sentence for _, sentences in tables for sentence in sentences),
        "",
    ]


def _table(n_data: int, seconds: float) -> tuple[list[str], list[str]]:
    """Rows of the table, and ratios that they do not show."""
    problem = make_problem(n_data)
    ours, theirs = _ours(problem, seconds), _theirs(problem, seconds)
    _, proxy, looser, exact, exact_in_float32 = ours
    rows = [_row(n_data, line) for line in ours] + [_row(n_data, line, proxy, looser) for line in theirs]
    ratios = []
    for line in theirs:
        if line.name.startswith("BlackJAX") and not line.problem:
            our = exact_in_float32 if line.name.endswith("float32") else exact
            times = our.steps_per_s / line.steps_per_s
            ratios.append(f"- N = {n_data:,}: {our.name} makes {times:.2f} × the steps of {line.name}.")
        if line.name.startswith("NumPyro NUTS") and not line.problem:
            times = proxy.ess_per_s / line.steps_per_s
            ratios.append(f"- N = {n_data:,}: our proxy chain's min ESS is {times:,.1f} × the draws of {line.name}.")
    return rows, ratios


def _ours(problem: LogisticProblem, seconds: float) -> list[SamplerFigures]:
    chains = (
        ("ours, sequential, random walk", problem.controlled, problem.walk, problem.sequential()),
        ("ours, sequential, proxy", problem.controlled, problem.proxy, problem.sequential()),
        (
            f"ours, sequential, proxy, ε = {LOOSER:g}",
            problem.controlled,
            problem.proxy,
            problem.sequential(LOOSER),
        ),
        ("ours, exact, random walk", problem.model, problem.walk, ExactTest()),
        ("ours, exact, random walk, float32 rows", problem.in_float32, problem.walk, ExactTest()),
    )
    lines = []
    for name, *parts in chains:
        run = measure(problem, *parts, seconds)
        details = f"acceptance {run.acceptance:.2f}, {run.used / problem.model.n_data:.3%} of the data"
        lines.append(SamplerFigures(name, details, run.steps_per_s, run.ess, run.seconds, problem.setup))
    return lines


def _theirs(problem: LogisticProblem, seconds: float) -> list[SamplerFigures]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        save_problem(file, problem.model.rows, PRIOR_PRECISION, problem.mode, problem.covariance)
        return [_run(peer, file, seconds, problem) for peer in peers(problem.model.n_data)]


def _run(peer: Peer, file: Path, seconds: float, problem: LogisticProblem) -> SamplerFigures:
    if not PYTHON.exists():
        return SamplerFigures(peer.name, problem="not installed, run `make peers`")
    long = 10.0 if peer.script == NUTS_SCRIPT and problem.model.n_data == LARGE else 1.0
    options = json.dumps({"seed": 1, "seconds": long * seconds, **peer.options})
    result = file.with_name("result.json")
    command = [str(PYTHON), str(peer.script), str(file), str(result), options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return SamplerFigures(peer.name, problem=f"not finished after {TIMEOUT:g} s")
    if done.returncode != 0:
        return SamplerFigures(peer.name, problem=_reason(done.stderr))
    figures, draws = json.loads(result.read_text()), np.load(result.with_suffix(".npy"))
    steps_per_s = len(draws) / figures["seconds"]
    smallest = float(ess(draws).min())
    return SamplerFigures(
        peer.name, _details(figures, len(draws)), steps_per_s, smallest, figures["seconds"], figures["warmup"]
    )


def _reason(stderr: str) -> str:
    last = (stderr.strip().splitlines() or ["no message"])[-1]
    missing = "ModuleNotFoundError" in stderr or "are ALL installed" in stderr
    return "not installed, run `make peers`" if missing else f"failed: {last[:120]}"


def _details(figures: dict[str, Any], draws: int) -> str:
    known = [
        f"{figures['package']} {figures['version']}",
        f"{draws:,} draws",
        f"acceptance {figures['acceptance']:.2f}",
    ]
    if "gradients" in figures:
        known.append(f"{figures['gradients']:.1f} gradients per draw")
    if "order" in figures:
        known.append(f"order {figures['order']}, {figures['used']:.3%} of the data")
    return ", ".join(known)


def _row(n_data: int, line: SamplerFigures, *ours: SamplerFigures) -> str:
    if line.problem:
        return f"| {n_data:,} | {line.name} | | | | | | {line.problem} |"
    mark = "" if line.ess >= ENOUGH else "~"
    warm = line.ess / (line.seconds + line.warmup)
    ratios = " | ".join(f"{mark}{our.ess_per_s / line.ess_per_s:,.1f} ×" for our in ours) or " | "
    steps = f"{line.steps_per_s:,.0f}" if line.steps_per_s >= 100 else f"{line.steps_per_s:.1f}"
    figures = f"{steps} | {mark}{line.ess_per_s:,.2f} | {mark}{warm:,.2f}"
    return f"| {n_data:,} | {line.name} | {figures} | {ratios} | {line.details} |"
