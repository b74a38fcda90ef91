"""How much memory there is, which files exceed it, and that rows fetched from such a file are the same rows."""

from __future__ import annotations

import json
import mmap
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.samplers.tall import TallFigures, confined, evict, make
from designer import Design
from samplers.chains.chain import Chain
from samplers.compiled.build import fused_model
from samplers.compiled.fetching import ask_for
from samplers.data import memory
from samplers.decide import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.ica import ICA
from samplers.models.lasso import Lasso
from samplers.models.logistic import Logistic
from samplers.models.mixture import Mixture
from samplers.models.tempered import tempered
from samplers.proposals import RandomWalk, StiefelWalk

ROOT = Path(__file__).parents[3]
N_DATA = 3000


@pytest.fixture
def files(tmp_path):
    """Rows, their first column and labels, mapped."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N_DATA, 3))
    arrays = {"x": x, "column": x[:, 0], "pairs": x[:, :2], "y": rng.random(N_DATA) < 0.5}
    for name, values in arrays.items():
        np.save(tmp_path / name, np.ascontiguousarray(values))
    return {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in arrays}


def chains(files):
    logistic = Logistic.mapped(files["x"], files["y"], 1.0)
    controlled = Controlled.around(logistic, find_mode(logistic))
    walk = RandomWalk.isotropic(0.05, 3)
    return {
        "logistic": (logistic, walk, np.zeros(3)),
        "hot": (tempered(logistic, 2.0), walk, np.zeros(3)),
        "proxies": (controlled, walk, controlled.centre),
        "ica": (ICA.mapped(files["x"]), StiefelWalk(0.03, 3), np.eye(3).ravel()),
        "mixture": (Mixture.mapped(files["column"]), RandomWalk.isotropic(0.1, 2), np.array([0.0, 1.0])),
        "lasso": (Lasso.mapped(files["pairs"], penalty=3.0), RandomWalk.isotropic(0.02, 1), np.array([0.3])),
    }


@pytest.mark.parametrize("name", ["logistic", "hot", "proxies", "ica", "mixture", "lasso"])
def test_a_chain_on_a_file_larger_than_memory_makes_the_same_draws(files, monkeypatch, name):
    model, proposal, start = chains(files)[name]
    test = SequentialTest.from_design(Design(N_DATA, 100, 0.05))
    found = []
    for bytes_allowed in (10**12, 1000):
        monkeypatch.setattr(memory, "allowed", lambda known=bytes_allowed: known)
        data = fused_model(model)
        assert (data.model if name == "hot" else data).on_disk is (bytes_allowed == 1000)
        found.append(Chain(model, proposal, test, start, np.random.default_rng(5)).advance(100))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0].accepted.any()


def test_what_is_in_memory_is_never_too_large(files, monkeypatch):
    monkeypatch.setattr(memory, "allowed", lambda: 1)
    assert not memory.too_large(np.zeros(100))
    assert memory.too_large(files["x"]) and memory.too_large(np.asarray(files["x"])[5:].view())
    assert memory.too_large(np.zeros(100), files["y"])
    assert not memory.too_large(files["x"][:0])


def test_each_page_is_asked_for_once_if_its_rows_come_one_after_the_other(tmp_path):
    row = mmap.PAGESIZE // 16  # 8 bytes each: a page has two rows; the header of the file is 128 bytes
    rows = np.load(_saved(tmp_path, np.arange(10.0 * row).reshape(10, row)), mmap_mode="r")
    assert rows.ctypes.data % mmap.PAGESIZE == 128
    assert ask_for(rows, np.array([0])) == 1
    assert ask_for(rows, np.array([0, 0, 0])) == 1
    assert ask_for(rows, np.array([1])) == 2  # it ends in the next page
    assert ask_for(rows, np.array([4, 0, 4])) == 3
    assert ask_for(rows, np.array([9])) == 2  # the last one
    assert ask_for(rows, np.empty(0, dtype=np.int64)) == 0
    np.testing.assert_array_equal(rows.ravel(), np.arange(10.0 * row))


def _saved(folder, values):
    np.save(folder / "rows.npy", values)
    return folder / "rows.npy"


def test_the_limit_of_a_container_counts(tmp_path):
    groups, root = tmp_path / "cgroup", tmp_path / "fs"
    (root / "memory/a/b").mkdir(parents=True)
    (root / "c/d").mkdir(parents=True)
    groups.write_text("5:cpu:/x\n4:memory:/a/b\n0::/c/d\n")
    assert memory._limits(groups, root) == []
    (root / "memory/a/memory.limit_in_bytes").write_text("300\n")
    (root / "memory/a/b/memory.limit_in_bytes").write_text("500\n")
    (root / "c/d/memory.max").write_text("max\n")
    (root / "memory.max").write_text("400\n")
    assert sorted(memory._limits(groups, root)) == [300, 400, 500]
    assert memory._limits(tmp_path / "none", root) == []
    groups.write_text("nonsense\n")
    assert memory._limits(groups, root) == []
    assert 2**28 < memory.allowed() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


COMPILED = """
from pathlib import Path
from benchmarks.samplers.tall import MOST_DENSE, compiled, mapped
compiled(mapped(Path({folder!r}), MOST_DENSE + 1))
"""


def test_a_real_process_with_less_memory_than_its_file(tmp_path):
    """Some 120 MB of Python, and a file larger than what is left: the system must take pages back, and give them."""
    rows, megabytes = 8_000_000, 215

    def python(*arguments, before=()):
        whole = [*before, sys.executable, *arguments]
        return subprocess.run(whole, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True).stdout

    with confined(megabytes) as before:
        if before is None:
            pytest.skip("control groups may not be made here")
        make(tmp_path, rows)
        python("-c", COMPILED.format(folder=str(tmp_path)))  # takes more memory than there will be
        evict(tmp_path)
        faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt
        options = ("--one", str(rows), "--seconds", "0.2", "--folder", str(tmp_path))
        found = TallFigures(**json.loads(python("-m", "benchmarks.samplers.tall", *options, before=before)))
        refused = _refused_by_group()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt > faults  # it waited for the disk
    assert refused > 0  # it wanted more than there was, and pages were taken back
    assert found.file_megabytes == 136 and found.own_megabytes < 150
    assert found.data_per_step < 520


def _refused_by_group():
    """How often the processes in the control group of `confined` wanted more memory than they may have."""
    (group,) = memory.CONTROL_GROUPS.glob(f"**/austerity-{os.getpid()}")
    if (group / "memory.failcnt").exists():
        return int((group / "memory.failcnt").read_text())
    events = dict(line.split() for line in (group / "memory.events").read_text().splitlines())
    return int(events["max"])


def test_what_takes_too_much_memory_is_refused_before(monkeypatch, refuses):
    monkeypatch.setattr(memory, "allowed", lambda: 2000)
    memory.refuse("x.npz: unpacks to", 1000)
    refuses(
        lambda: memory.refuse("x.npz: unpacks to", 1001), "x.npz: unpacks to 1,001 bytes, more than 1,000, half the"
    )
    monkeypatch.setattr(memory, "MAX_BYTES", 500)
    refuses(lambda: memory.refuse("it takes", 501, "do not"), "it takes 501 bytes, more than the limit of 500; do not")
