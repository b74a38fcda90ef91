"""On a cluster everything comes out as it does here, bit for bit, also when a worker is killed half-way."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.cli.main import main
from designer import Grid, TrialRun, frontier, search
from designer.core.errors import Busy
from samplers.cluster.client import Cluster, _Tally
from samplers.cluster.tasks import ChainProgress
from samplers.config.config import SamplerConfig
from samplers.experiments import experiment
from samplers.experiments.framework.running import SECONDS, run_experiment
from samplers.runs.run import collect_pairs, run_config
from samplers.runs.store import Store
from tests.commands import austerity
from tests.samplers.cluster.dask_cluster import DaskCluster, eventually
from tests.signals import heed_interrupts

pytestmark = pytest.mark.xdist_group("cluster")
N_DATA, DIMENSION = 12_000, 50  # of this size, the mode depends on the number of BLAS threads
CONFIG = f"""
[test]
kind = "sequential"
n_data = {N_DATA}
m = 500
epsilon = 0.02
[model]
kind = "logistic"
prior_precision = 1.0
[data]
path = "x.npy"
labels = "y.npy"
[proposal]
kind = "random-walk"
[run]
draws = 600
warmup = 100
chains = 3
seed = 5
checkpoint_seconds = 0.05
"""


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    pytest.importorskip("distributed")
    cluster = DaskCluster(tmp_path_factory.mktemp("dask"))
    yield cluster
    cluster.close()


@pytest.fixture
def cluster(dask):
    """With two living workers, which began with different numbers of BLAS threads."""
    dead = [worker for worker in dask.workers if worker.poll() is not None]
    for number in range(2 + len(dead) - len(dask.workers)):
        dask.add_worker(blas_threads=1 + number)
    with Cluster(dask.address) as connected:
        connected.client.wait_for_workers(2, timeout=60)
        yield connected


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng, place = np.random.default_rng(3), tmp_path_factory.mktemp("data")
    x = rng.standard_normal((N_DATA, DIMENSION))
    np.save(place / "x.npy", x)
    np.save(place / "y.npy", (rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-0.2 * x.sum(axis=1)))).astype(np.int8))
    (place / "config.toml").write_text(CONFIG)
    return place


@pytest.fixture(scope="module")
def whole(folder):
    """A run on this machine."""
    return run_config(SamplerConfig.load(folder / "config.toml"), folder / "whole")


def same(results, others) -> None:
    assert results.attrs == others.attrs
    for name in ("posterior/theta", "sample_stats/accepted", "sample_stats/n_used"):
        assert results[name].values.tobytes() == others[name].values.tobytes()


def test_chains_are_those_of_this_machine_and_data_do_not_travel(cluster, folder, whole, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)  # a relative path, which the workers read from elsewhere
    submit, sizes, heard = cluster.client.submit, [], []

    def weighed(*arguments, **options):
        sizes.append(len(pickle.dumps(arguments)))
        return submit(*arguments, **options)

    monkeypatch.setattr(cluster.client, "submit", weighed)
    config = SamplerConfig.load("config.toml")
    same(cluster.run_config(config, tmp_path / "out", progress=heard.append), whole)
    assert len(sizes) == 3 and max(sizes) < 5000  # the data have 4.8 MB
    assert heard[0].done == 0
    assert (heard[-1].done, heard[-1].total) == (2100, 2100)
    assert 0 < heard[-1].acceptance < 1 and 0 < heard[-1].usage < 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "chain-0000",
        "chain-0001",
        "chain-0002",
        "lock",
        "results.nc",
        "run.bin",
        "run.lock",
    ]


def test_columns_of_a_parquet_file_are_read_by_the_workers(cluster, folder, tmp_path):
    """By its path, and into their own memory: no row travels, and the draws are those of this machine."""
    x, y = np.load(folder / "x.npy")[:3000, :5], np.load(folder / "y.npy")[:3000]
    columns = {f"x{k}": x[:, k] for k in range(5)}
    parquet.write_table(pa.table(columns | {"label": y}), folder / "rows.parquet")
    text = CONFIG.replace('path = "x.npy"\nlabels = "y.npy"', f'path = "{folder}/rows.parquet"\nlabel = "label"')
    config = SamplerConfig.from_toml(text.replace(f"n_data = {N_DATA}", "n_data = 3000"), draws=200, chains=2)
    same(cluster.run_config(config, tmp_path / "there"), run_config(config, tmp_path / "here"))


def test_progress_is_added_up_of_two_threads():
    """As it comes: messages in Dask's thread, results in the caller's."""
    heard, chains = [], 400
    tally = _Tally(10 * chains, heard.append)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as threads:
            halves = [range(first, chains, 2) for first in range(2)]
            done = [
                threads.submit(lambda part: [tally.add(ChainProgress(k, 0, 10, 1, 100, 1000)) for k in part], half)
                for half in halves
            ]
            for future in done:
                future.result()
    finally:
        sys.setswitchinterval(usual)
    assert [progress.done for progress in heard] == [10 * (k + 1) for k in range(chains)]


def segments(directory: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in directory.glob("chain-*/draws-*.bin")}


def test_a_killed_worker_loses_nothing(cluster, dask, folder, tmp_path):
    config, out = SamplerConfig.load(folder / "config.toml", draws=4000, chains=2), tmp_path / "out"
    local = run_config(config, tmp_path / "local")
    killed: list[int] = []
    kept: dict[Path, int] = {}
    living = cluster.client.run(os.getpid)

    def kill_one(progress):
        begun = len({path.parent for path in segments(out)}) == 2
        if begun and progress.done > 800 and not killed:
            kept.update(segments(out))
            killed.append(next(iter(living.values())))
            dask.kill(killed[0])

    same(cluster.run_config(config, out, progress=kill_one), local)
    assert len(killed) == 1 and len(cluster.client.scheduler_info()["workers"]) == 1
    newest = {max(path for path in kept if path.parent == chain) for chain in {path.parent for path in kept}}
    survived = set(kept) - newest  # of which the last may have had no checkpoint yet
    assert survived and {path: segments(out).get(path) for path in survived} == {path: kept[path] for path in survived}


def test_a_cancelled_run_is_saved_and_goes_on_here_or_there(cluster, folder, whole, tmp_path):
    config, seen = SamplerConfig.load(folder / "config.toml"), []
    cluster.run_config(config, tmp_path, progress=seen.append, cancelled=lambda: bool(seen) and seen[-1].done > 600)
    saved = [Store(tmp_path).chain(number).latest() for number in Store(tmp_path).chains()]
    steps = sum(checkpoint.step for checkpoint in saved if checkpoint)  # the last chain may just have begun
    assert 600 < steps < 2100
    same(cluster.run_config(config, tmp_path, resume=True), whole)
    same(run_config(config, tmp_path, resume=True), whole)


def test_an_interrupted_command_frees_its_chains(cluster, dask, folder, tmp_path):
    """Ctrl-C: the workers save and stop, and the run goes on from there."""
    config, store = SamplerConfig.load(folder / "config.toml", draws=40_000), Store(tmp_path / "out")
    options = ("--draws", 40_000, "--quiet", "--output", store.directory, "--cluster", dask.address)
    command = austerity("run", folder / "config.toml", *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts) as process:
        eventually(lambda: store.chains() and store.chain(store.chains()[0]).latest() is not None)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "interrupted. Progress is saved; continue with --resume." in said

    def free() -> bool:
        try:
            for number in store.chains():
                with store.chain(number):
                    pass
        except Busy:
            return False
        return True

    eventually(free)
    first = store.chains()[0]
    draws = store.chain(first).draws()["theta"]
    assert 100 <= len(draws) < 40_100
    short = config.model_copy(update={"run": config.run.model_copy(update={"draws": 10})})
    local = run_config(short, tmp_path / "local")["posterior/theta"].values[first]
    assert draws[100:110].tobytes() == local[: len(draws) - 100].tobytes()


def test_a_trial_run(cluster, folder):
    config, told = SamplerConfig.load(folder / "config.toml", exact=True), []
    here = collect_pairs(config, 10, 2)
    there = cluster.collect_pairs(config, 10, 2, progress=lambda *numbers: told.append(numbers))
    assert there.digest == here.digest
    assert here.mu.tobytes() == there.mu.tobytes() and here.sigma.tobytes() == there.sigma.tobytes()
    assert told and all(total == 120 for _, total in told)


def test_an_experiment(cluster, tmp_path):
    found, told = experiment("e2"), []
    here = run_experiment(found, "tiny", tmp_path / "here")
    there = run_experiment(
        found, "tiny", tmp_path / "there", mapper=cluster.parts, progress=lambda share, note: told.append(share)
    )
    assert there.report.finding == here.report.finding
    assert told[-1] == pytest.approx(1.0)
    files = sorted(path.name for path in (tmp_path / "here" / "parts").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "there" / "parts").iterdir())
    for name in files:
        with np.load(tmp_path / "here" / "parts" / name) as a, np.load(tmp_path / "there" / "parts" / name) as b:
            assert a.files == b.files and str(a["identity"]) == str(b["identity"])
            for key in set(a.files) - {SECONDS}:
                assert a[key].tobytes() == b[key].tobytes(), (name, key)


def same_arrays(here, there):
    """Bit for bit; both may be None."""
    assert (here is None) == (there is None)
    for one, other in zip(here or (), there or (), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_searches(cluster):
    trial = TrialRun.at_stationarity(100_000, 0.5, 60, np.random.default_rng(1), 0.3)
    grid = Grid(m=(500, 2000), epsilon=(0.01, 0.05), alpha=(0.5, 1.0))
    for options in ({}, {"criterion": "worst-case"}, {"grid": grid}):
        here, there = (search(trial, 0.02, **options, mapper=mapper) for mapper in (None, cluster.map))
        same_arrays(here.evaluated, there.evaluated)
        same_arrays(here.acceptance, there.acceptance)
        assert here._replace(evaluated=None, acceptance=None) == there._replace(evaluated=None, acceptance=None)
    points = [frontier(trial, [0.02, 0.05], criteria=["fixed-m"], mapper=mapper) for mapper in (None, cluster.map)]
    assert points[0] == points[1]


def test_what_a_worker_cannot_do_is_told_in_a_line(cluster, dask, folder, tmp_path, refuses):
    refuses(lambda: cluster._check(str(tmp_path / "nowhere" / "marker")), "worker tcp://", "all workers share")
    away = SamplerConfig.from_toml(CONFIG.replace("x.npy", "/no/such/x.npy"))
    for _ in range(2):  # the first has begun nothing that would be in the way of the second
        refuses(lambda: cluster.run_config(away, tmp_path / "out"), "worker tcp://", "/no/such/x.npy: no such file")
    refuses(lambda: Cluster("tcp://127.0.0.1:9"), "no scheduler answers", "tcp://host:8786")
    refuses(lambda: Cluster("nonsense://x"), "no scheduler answers")


def test_the_commands(cluster, dask, folder, tmp_path, capsys):
    config, names = str(folder / "config.toml"), ("here", "there")
    for name, more in zip(names, ([], ["--cluster", dask.address]), strict=True):
        place = tmp_path / name
        assert main(["run", config, "--draws", "50", "--output", str(place), *more]) == 0
        assert (
            main(["trial", config, "--pairs", "30", "--every", "2", "--output", str(place / "trial.csv"), *more]) == 0
        )
        made = ["design", str(place / "trial.csv"), "--tolerance", "0.05", "--output", str(place / "design.toml")]
        assert main([*made, *more]) == 0
        table = ["frontier", str(place / "trial.csv"), "--tolerances", "0.05", "--output", str(place / "frontier.csv")]
        assert main([*table, *more]) == 0
    for file in ("trial.csv", "design.toml", "frontier.csv"):
        assert (tmp_path / "here" / file).read_bytes() == (tmp_path / "there" / file).read_bytes()
    draws = [Store(tmp_path / name).chain(2).draws()["theta"] for name in names]
    assert draws[0].tobytes() == draws[1].tobytes()
    capsys.readouterr()
    assert main(["run", config, "--output", str(tmp_path / "none"), "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "none").exists()
