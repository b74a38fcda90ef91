"""A cluster of several hosts that talk by TLS: the draws are those of one machine, also when a host is cut off."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from samplers.config.config import SamplerConfig
from samplers.runs.run import run_config
from samplers.runs.store import Store
from tests.commands import austerity
from tests.samplers.cluster.dask_cluster import DaskCluster, eventually
from tests.samplers.cluster.several_hosts import Hosts, NotPermitted, certificates

pytestmark = pytest.mark.xdist_group("cluster")
CHAINS, DRAWS = 2, 20_000
CONFIG = """
[test]
kind = "sequential"
n_data = 6000
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
seed = 5
checkpoint_seconds = 0.05
"""
# a silent connection counts as dead after 12 seconds instead of 30, a silent worker after 8 instead of 300
SOON = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s", "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8s"}


@pytest.fixture
def hosts():
    pytest.importorskip("distributed")
    if shutil.which("openssl") is None:
        pytest.skip("CLUSTER OF SEVERAL HOSTS NOT TESTED: no openssl to make certificates")
    try:
        made = Hosts("scheduler", "one", "two", "caller")
    except NotPermitted as why:
        pytest.skip(f"CLUSTER OF SEVERAL HOSTS NOT TESTED: {why}")
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((6000, 20))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", (rng.random(6000) < 1.0 / (1.0 + np.exp(-x[:, 0]))).astype(np.int8))
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def dask(hosts, folder):
    cluster = DaskCluster(folder, hosts.hosts["scheduler"], "tls", **certificates(folder / "keys"), **SOON)
    yield cluster
    cluster.close()


def command(hosts, folder: Path, address: str, settings: dict[str, str]) -> subprocess.Popen[str]:
    """The run, asked for from a host of its own."""
    words = ["run", str(folder / "config.toml"), "--draws", str(DRAWS), "--chains", str(CHAINS), "--quiet"]
    words += ["--output", str(folder / "out"), "--cluster", address]
    full = [*hosts.hosts["caller"].within, *austerity(*words)]
    return subprocess.Popen(full, env=os.environ | settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def segments(directory: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in directory.glob("chain-*/draws-*.bin")}


def begun(directory: Path) -> bool:
    """Every chain has saved more than once."""
    return all(len(list(directory.glob(f"chain-{number:04}/draws-*.bin"))) > 1 for number in range(CHAINS))


def test_a_host_is_lost_and_its_chain_goes_on_elsewhere(hosts, folder, dask):
    """No connection is closed, as when a machine loses its power: the others only hear nothing any more."""
    assert dask.address.startswith("tls://10.213.7.1:")
    for threads, name in enumerate(("one", "two"), 1):
        dask.add_worker(threads, hosts.hosts[name])
    eventually(lambda: dask.said("scheduler").count("Register worker") == 2)
    here = run_config(SamplerConfig.load(folder / "config.toml", draws=DRAWS, chains=CHAINS), folder / "here")
    with command(hosts, folder, dask.address, dask.settings) as process:
        eventually(lambda: process.poll() is not None or begun(folder / "out"))
        hosts.cut("one")
        dask.workers[0].kill()
        kept = segments(folder / "out")
        _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert f"Remove worker addr: tls://{hosts.hosts['one'].address}:" in dask.said("scheduler")
    for number in range(CHAINS):
        draws = Store(folder / "out").chain(number).draws()["theta"]
        assert draws.tobytes() == here["posterior/theta"].values[number].tobytes()
    newest = {max(path for path in kept if path.parent == chain) for chain in {path.parent for path in kept}}
    survived = set(kept) - newest  # of which the last may have had no checkpoint yet
    now = segments(folder / "out")
    assert survived and all(now.get(path) == kept[path] for path in survived)


def test_who_has_no_certificate_of_the_authority_is_refused_in_a_line(hosts, folder, dask):
    missing = dask.settings | {"DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT": str(folder / "none.pem")}
    asked = {
        "needs certificates": (dask.address, {}),
        "No such file": (dask.address, missing),
        "certificate does not match": (dask.address, certificates(folder / "others")),
        "must be as tcp://host:8786 or": (dask.address.replace("tls", "tcp"), {}),
    }
    for words, (address, settings) in asked.items():
        with command(hosts, folder, address, settings) as process:
            _, said = process.communicate(timeout=180)
        assert process.returncode == 2, said
        assert len(said.splitlines()) == 1 and words in said, said
        assert not (folder / "out").exists()
