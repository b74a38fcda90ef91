"""Clusters that fail, and workers that are not like the others: the same draws, or one line that says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from designer.core.errors import BadInput
from samplers.cluster.client import Cluster
from samplers.config.config import SamplerConfig
from samplers.runs.run import run_config
from samplers.runs.store import Store
from tests.commands import austerity, wait_for, with_mounts
from tests.samplers.cluster.dask_cluster import PATIENCE, DaskCluster, Host, eventually

pytestmark = pytest.mark.xdist_group("cluster")
ENDLESS = 10**8  # draws: such a run goes on until it is stopped
CONFIG = """
[test]
kind = "sequential"
n_data = 3000
m = 500
epsilon = 0.02
[model]
prior_precision = 1.0
[data]
path = "x.npy"
labels = "y.npy"
[proposal]
kind = "random-walk"
[run]
warmup = 100
chains = 2
seed = 5
checkpoint_seconds = 0.05
"""
# a worker with this in its path says what the test wants about its software: it has no other one
PRETENCE = """
import platform
from pathlib import Path

usual, told = platform.python_version, Path(__file__).with_name("python")
platform.python_version = lambda: told.read_text() if told.exists() else usual()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng, place = np.random.default_rng(3), tmp_path_factory.mktemp("data")
    x = rng.standard_normal((3000, 5))
    np.save(place / "x.npy", x)
    np.save(place / "y.npy", (rng.random(3000) < 1.0 / (1.0 + np.exp(-x[:, 0]))).astype(np.int8))
    (place / "config.toml").write_text(CONFIG)
    return place


@pytest.fixture(scope="module")
def pretence(tmp_path_factory):
    place = tmp_path_factory.mktemp("pretence")
    (place / "sitecustomize.py").write_text(PRETENCE)
    return place


@pytest.fixture(scope="module")
def dask(tmp_path_factory, pretence):
    """With two workers, one of which does not outlive the first test that needs both."""
    pytest.importorskip("distributed")
    path = os.pathsep.join(filter(None, [str(pretence), os.environ.get("PYTHONPATH")]))
    cluster = DaskCluster(tmp_path_factory.mktemp("dask"), PYTHONPATH=path)
    for _ in range(2):
        cluster.add_worker(1)
    yield cluster
    cluster.close()


def pretend(place: Path, name: str, version: str) -> Path:
    """From now on the workers have this version of a package, or of Python."""
    if name == "python":
        (place / name).write_text(version)
        return place / name
    made = place / f"{name}-{version}.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return made


def stop_pretending(made: Path) -> None:
    made.unlink() if made.is_file() else shutil.rmtree(made)


def saved_twice(output: Path) -> bool:
    """Every chain has saved more than once."""
    return all(len(list(output.glob(f"chain-{number:04}/draws-*.bin"))) > 1 for number in range(2))


def longest(output: Path) -> int:
    """Steps of the longest chain."""
    saved = [Store(output).chain(number).latest() for number in Store(output).chains()]
    return max(checkpoint.step for checkpoint in saved if checkpoint)


@pytest.mark.parametrize("name", ["python", "austerity", "numpy", "numba"])
def test_other_software_is_refused_before_anything_starts(dask, pretence, refuses, name):
    made = pretend(pretence, name, "9.8.7")
    try:
        told = "has python 9.8, the caller has 3." if name == "python" else f"has {name} 9.8.7, the caller has "
        refuses(lambda: Cluster(dask.address), "worker tcp://", told, "install the same versions everywhere")
    finally:
        stop_pretending(made)


def test_other_software_that_comes_later_is_refused_by_the_task(dask, pretence, folder, tmp_path, refuses):
    """The worker of the chain is killed, and the one that takes over is not what it was when the run began."""
    config, made = SamplerConfig.load(folder / "config.toml", draws=ENDLESS, chains=1), []
    until = time.monotonic() + PATIENCE
    with Cluster(dask.address) as cluster:
        cluster.client.wait_for_workers(2, timeout=60)
        processes = cluster.client.run(os.getpid)

        def replace_the_worker() -> bool:  # asked a few times a second whether to stop
            if not made and len(list(tmp_path.glob("chain-0000/draws-*.bin"))) > 1:
                made.append(pretend(pretence, "numpy", "9.8.7"))
                dask.kill(next(processes[worker] for worker, keys in cluster.client.processing().items() if keys))
            return time.monotonic() > until

        told = "has numpy 9.8.7, the caller has "
        refuses(lambda: cluster.run_config(config, tmp_path, cancelled=replace_the_worker), "worker tcp://", told)
        stop_pretending(made[0])
        steps = longest(tmp_path)
        config = SamplerConfig.load(folder / "config.toml", draws=steps + 300, chains=1)
        there = cluster.run_config(config, tmp_path, resume=True)
    here = run_config(config, tmp_path / "here")
    assert steps > 0 and there["posterior/theta"].values.tobytes() == here["posterior/theta"].values.tobytes()


def test_a_worker_with_other_data_or_none_is_refused_before_anything_starts(dask, folder, tmp_path, refuses):
    """A worker that sees other files at the same paths, as on a machine with a disk of its own."""
    for name in ("mine", "empty"):
        (tmp_path / name).mkdir()
    y = np.load(folder / "y.npy")
    np.save(tmp_path / "mine" / "x.npy", np.load(folder / "x.npy"))
    np.save(tmp_path / "other.npy", 1 - y)
    script = 'mount --bind "$1" "$2" && mount --bind "$3" "$4" && shift 4 && exec "$@"'
    mounts = tmp_path / "other.npy", folder / "y.npy", tmp_path / "empty", tmp_path / "mine"
    stranger = dask.add_worker(1, Host(within=tuple(with_mounts(script, *mounts))))
    config = SamplerConfig.load(folder / "config.toml", draws=50)
    try:
        with Cluster(dask.address) as cluster:
            cluster.client.wait_for_workers(2, timeout=180)
            told = (
                f"{folder / 'y.npy'} has 3,128 bytes (digest ",
                "on worker tcp://",
                "every worker needs the same data",
            )
            refuses(lambda: cluster.run_config(config, tmp_path / "out"), "worker tcp://", *told)
            lost = config.data.model_copy(update={"path": str(tmp_path / "mine" / "x.npy")})
            told = str(tmp_path / "mine" / "x.npy"), "no such file; every worker needs the data at this path"
            without = config.model_copy(update={"data": lost})
            refuses(lambda: cluster.run_config(without, tmp_path / "out"), "worker tcp://", *told)
        assert not Store(tmp_path / "out").begun
    finally:
        stranger.kill()
        stranger.wait()


def test_a_killed_scheduler_ends_the_command_in_a_line_and_the_run_goes_on_elsewhere(dask, folder, tmp_path):
    """On this machine, and on another cluster."""
    output = tmp_path / "out"
    dask.add_worker(1)
    eventually(lambda: dask.said("scheduler").count("Register worker") == len(dask.workers))
    options = ("--draws", ENDLESS, "--quiet", "--output", output, "--cluster", dask.address)
    with subprocess.Popen(
        austerity("run", folder / "config.toml", *options), stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: saved_twice(output), process)
        dask.scheduler.kill()
        _, said = process.communicate(timeout=180)
    assert process.returncode == 2
    told = "the connection was lost; progress is saved, continue with --resume, here or on another cluster"
    assert said == f"austerity: cluster: {dask.address}: {told}\n"
    eventually(lambda: all(worker.poll() is not None for worker in dask.workers))  # they have saved and gone
    (output / "cluster.marker.0a1b2c3d").touch()  # of a caller that was killed, too
    shutil.copytree(output, tmp_path / "copy")
    config = SamplerConfig.load(folder / "config.toml", draws=longest(output) + 300)
    whole = run_config(config, tmp_path / "whole")["posterior/theta"].values.tobytes()
    assert run_config(config, output, resume=True)["posterior/theta"].values.tobytes() == whole
    (tmp_path / "dask").mkdir()
    another = DaskCluster(tmp_path / "dask")
    try:
        another.add_worker(1)
        with Cluster(another.address) as cluster:
            there = cluster.run_config(config, tmp_path / "copy", resume=True)
    finally:
        another.close()
    assert there["posterior/theta"].values.tobytes() == whole
    assert list((tmp_path / "copy").glob("cluster.marker.*")) == []


def test_a_killed_scheduler_ends_a_trial_run_which_has_saved_nothing(folder, tmp_path):
    """There is nothing to resume, and the line does not say so."""
    pytest.importorskip("distributed")
    (tmp_path / "dask").mkdir()
    cluster = DaskCluster(tmp_path / "dask")
    try:
        cluster.add_worker(1)
        eventually(lambda: "Register worker" in cluster.said("scheduler"))
        config = SamplerConfig.load(folder / "config.toml", draws=ENDLESS, chains=1)
        with Cluster(cluster.address) as connection:
            told = "the connection was lost; nothing was saved, start it again, here or on another cluster"
            with pytest.raises(BadInput) as refused:
                connection.collect_pairs(config, 10**6, progress=lambda done, total: cluster.scheduler.kill())
        assert str(refused.value) == f"cluster: {cluster.address}: {told}"
    finally:
        cluster.close()
