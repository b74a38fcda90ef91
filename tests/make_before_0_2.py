"""Writes `tests/data/before_0_2`: files and digests as version 0.1.0 makes them. Run it with that version only.

    python -m tests.make_before_0_2

Every later version must read these files, resume these runs, and compute the same: `test_same_draws.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np

from samplers import SamplerConfig, run_config
from tests.commands import austerity, finished
from tests.digests import digest, machine
from tests.same_draws import CASES, N_DATA, OLD, labelled, mixture, results, trial

RUN = "[run]\ndraws = 350\nchains = 1\nseed = 5\ncheckpoint_seconds = 0.0\n"
SEQUENTIAL = f'[test]\nkind = "sequential"\nn_data = {N_DATA}\nm = 100\nepsilon = 0.05\n'
EXACT = '[test]\nkind = "exact"\n'
ROWS, TABLE = '[data]\npath = "../labelled.npz"\n', '[data]\npath = "../labelled.csv"\n'
PLAIN = '[model]\nkind = "logistic"\nprior_precision = 1.0\ncontrol = 0\n'
CONTROL = '[model]\nkind = "logistic"\nprior_precision = 1.0\ncontrol = 2\n'
WALK = '[proposal]\nkind = "random-walk"\n'
CONFIGS = {
    "walk_sequential": (SEQUENTIAL, ROWS, PLAIN, WALK, RUN.replace("chains = 1", "chains = 2")),
    "walk_growth": (SEQUENTIAL, "alpha = 0.8\ngrowth = 1.5\n", ROWS, CONTROL.replace("2", "1"), WALK, RUN),
    "walk_bounds": (
        SEQUENTIAL.replace("m = 100", "m = 250"),
        "lower = [-2.0, -1.6, -1.3]\nupper = [2.2, 1.7, 1.4]\n",
        *(ROWS, PLAIN, WALK, RUN),
    ),
    "exact": (EXACT, ROWS, PLAIN, WALK, RUN),
    "exact_barker_hot": (
        EXACT,
        TABLE + 'label = "yes"\ncolumns = ["a", "b", "c"]\nintercept = true\nstandardise = true\n',
        *(PLAIN, WALK, RUN + 'rule = "barker"\ntemperature = 2.0\nstart = [0.0, 0.5, 0.0, 0.0]\n'),
    ),
    "barker": ('[test]\nkind = "barker"\nm = 50\n', ROWS, PLAIN, WALK, RUN),
    "concentration": ('[test]\nkind = "concentration"\nm = 50\ndelta = 0.1\n', ROWS, PLAIN, WALK, RUN),
    "control_proxy": (SEQUENTIAL, ROWS, CONTROL, '[proposal]\nkind = "proxy"\nbeta = 0.8\n', RUN),
    "mapped": (SEQUENTIAL, '[data]\npath = "../x.npy"\nlabels = "../y.npy"\n', CONTROL, WALK, RUN),
    "slice": (SEQUENTIAL, ROWS, PLAIN, '[proposal]\nkind = "slice"\n', RUN),
    "jump": (
        SEQUENTIAL,
        ROWS,
        '[model]\nkind = "rj-logistic"\nrate = 0.1\n[proposal]\nkind = "jumps"\nsd_update = 0.1\nsd_birth = 0.3\n',
        RUN,
    ),
    "lasso_langevin": (
        SEQUENTIAL,
        TABLE + 'label = "size"\ncolumns = ["a", "b"]\n',
        '[model]\nkind = "lasso"\npenalty = 50.0\n[proposal]\nkind = "langevin"\nstep = 3e-4\nbatch = 100\n',
        RUN,
    ),
    "mixture": (
        SEQUENTIAL,
        '[data]\npath = "../column.parquet"\n[model]\nkind = "mixture"\n',
        '[proposal]\nkind = "random-walk"\nscale = 0.3\n',
        RUN + "temperature = 10.0\n",
    ),
    "ica": (
        SEQUENTIAL,
        '[data]\npath = "../x.npy"\n[model]\nkind = "ica"\n[proposal]\nkind = "stiefel"\nscale = 0.05\n',
        RUN,
    ),
    "adaptive": (SEQUENTIAL, ROWS, PLAIN, '[proposal]\nkind = "adaptive"\nscale = 0.3\n', RUN, "warmup = 300\n"),
    "recentre": (
        *(SEQUENTIAL, ROWS, CONTROL, "recentre = true\n", '[proposal]\nkind = "proxy"\nbeta = 0.3\n'),
        RUN.replace("350", "100") + "temperature = 20.0\nwarmup = 1400\nstart = [4.0, -4.0, 4.0]\n",
    ),
    "redesign": (
        *(SEQUENTIAL, ROWS, PLAIN, WALK, RUN.replace("350", "100") + "warmup = 600\n"),
        "[redesign]\ntolerance = 0.05\nevery = 180\npairs = 30\nshare = 0.5\nm_low = 50\n",
    ),
    "schedule": (
        *(SEQUENTIAL, ROWS, PLAIN, WALK, RUN + "warmup = 50\n"),
        "[schedule]\nsteps = [100, 150]\nepsilon = [0.2, 0.0]\nm = [50, 100]\nweights = [0.2, 0.3, 0.5]\n",
    ),
}
BLOCKS = {"recentre": 5, "redesign": 2, "schedule": 2}  # saved before the kill; one otherwise
DIE = "--die"


def write_data() -> None:
    """What the configs are about."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    x, y = labelled()
    x = x.astype(np.float32)
    np.savez_compressed(OLD / "labelled.npz", x=x, y=y)
    np.save(OLD / "x.npy", x)
    np.save(OLD / "y.npy", y)
    size = x @ [0.5, 0.0, -0.2] + np.random.default_rng(2).normal(0.0, 0.6, N_DATA)
    rows = np.column_stack([x, size, y])
    np.savetxt(OLD / "labelled.csv", rows, "%.4g", ",", header="a,b,c,size,yes", comments="")
    pq.write_table(pa.table({"x": mixture()[0].x.astype(np.float32)}), OLD / "column.parquet")


def write_files() -> None:
    """Trial runs, designs, and a config as the commands write them."""
    for ending in ("csv", "parquet", "npz"):
        trial().save(OLD / f"trial.{ending}")
    designs = OLD / "designs"
    designs.mkdir()
    source = OLD / "trial.csv"
    for name in ("plain.toml", "plain.json"):
        done("design", source, "--tolerance", 0.05, "--criterion", "fixed-m", "--quiet", "--output", designs / name)
    done("design", source, "--tolerance", 0.02, "--quiet", "--output", designs / "wang_tsiatis.toml")
    done("design", source, "--tolerance", 0.02, "--growth", 1.5, "--quiet", "--output", designs / "growth.toml")
    done("boundary", source, "--tolerance", 0.05, "--m", 4000, "--quiet", "--output", designs / "explicit.toml")
    done(
        *("boundary", source, "--tolerance", 0.05, "--m", 5000, "--asymmetric", "--quiet"),
        *("--output", designs / "asymmetric.toml"),
    )
    config = SamplerConfig.from_toml((OLD / "runs" / "redesign.toml").read_text())
    (OLD / "exported.toml").write_text(config.to_toml())
    exported = ("--config-output", OLD / "built_in.toml", "--output", OLD / "built_in_trial.csv")
    done("trial", "e6", "--pairs", 5, "--every", 1, "--quiet", *exported)


def done(*arguments: object) -> None:
    """A command that must succeed."""
    result = finished(austerity(*arguments))
    assert result.returncode == 0, result.stderr


def write_runs() -> Iterator[str]:
    """A config and a run of each kind, killed on the way."""
    (OLD / "runs").mkdir()
    for name, parts in CONFIGS.items():
        (OLD / "runs" / f"{name}.toml").write_text("".join(parts))
        command = [sys.executable, "-m", "tests.make_before_0_2", DIE, name]
        assert subprocess.run(command).returncode == -signal.SIGKILL, name
        for lock in (OLD / "runs" / name).rglob("lock"):
            lock.write_text("")  # names a process and its machine
        yield name


def die(name: str) -> None:
    """Run a config, and kill this process while some steps are not saved."""
    left = iter(range(BLOCKS.get(name, 1), -1, -1))

    def kill(_: object) -> None:
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    run_config(SamplerConfig.load(OLD / "runs" / f"{name}.toml"), OLD / "runs" / name, workers=1, progress=kill)


def write_digests(scratch: Path) -> None:
    """Digests of all cases, and of the runs had nobody killed them."""
    found = {}
    for name in CONFIGS:
        config = OLD / "runs" / f"{name}.toml"
        done("run", config, "--output", scratch / name, "--quiet")
        tree = run_config(SamplerConfig.load(config), scratch / name, resume=True)
        found[f"run {name}"] = digest(lambda tree=tree: results(tree))
    shutil.copy(scratch / "redesign" / "results.nc", OLD / "results.nc")
    found |= {name: digest(case) for name, case in CASES.items()}  # some of them read the files
    cases = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in found.items())
    head = f'"version": "{version("austerity")}", "machine": "{machine()}"'
    (OLD / "digests.json").write_text(f'{{{head}, "cases": {{\n{cases}\n}}}}\n')


def main() -> None:
    assert version("austerity") == "0.1.0", "these are files of version 0.1.0"
    for name in ("runs", "designs"):
        shutil.rmtree(OLD / name, ignore_errors=True)
    scratch = OLD / "scratch"
    write_data()
    for name in write_runs():
        print(name)
    write_files()
    try:
        write_digests(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    die(sys.argv[2]) if sys.argv[1:2] == [DIE] else main()
