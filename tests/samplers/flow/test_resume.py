"""Flows that are killed go on where they were: finished steps are not repeated, and the draws are the same."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import austerity as au
from designer.core.errors import BadInput
from samplers.flow.place import Place

ROOT = Path(__file__).parents[3]
SEQUENTIAL = {"tolerance": 0.05, "test": "sequential", "pairs": 30, "draws": 200, "chains": 2, "audit": 40}
KILLED = """
import os, signal, sys
import numpy as np
import austerity as au
from tests.samplers.flow import test_resume
import {module} as module

def killed(*args, **kwargs):
    {first}
    os.kill(os.getpid(), signal.SIGKILL)

real = module.{name}
module.{name} = killed
au.sample(test_resume.model(), **test_resume.SEQUENTIAL, output=sys.argv[1], resume=True, progress=False)
"""


def model(seed=1):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(1500), rng.standard_normal(1500)])
    return au.Logistic.from_data(x, rng.random(1500) < 1.0 / (1.0 + np.exp(1.0 - x[:, 1])), 1.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Never stopped."""
    return au.sample(model(), **SEQUENTIAL, output=tmp_path_factory.mktemp("flow") / "whole", progress=False)


@pytest.mark.parametrize(
    ("module", "name", "first", "finished", "not_again"),
    [
        ("samplers.flow.testing", "designed", "pass", "trial", "samplers.flow.testing.observing"),
        ("samplers.runs.store", "ChainStore.save", "real(*args, **kwargs)", "test", "samplers.flow.testing.designed"),
    ],
    ids=["between trial run and design", "in the chains"],
)
def test_a_killed_flow_goes_on(tmp_path, whole, monkeypatch, module, name, first, finished, not_again):
    script = KILLED.format(module=module, name=name, first=first)
    stopped = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "out")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert stopped.returncode == -signal.SIGKILL, stopped.stderr
    assert Place(tmp_path / "out").load(finished) is not None
    assert not (tmp_path / "out" / "results.nc").exists()

    def never(*args, **kwargs):
        raise AssertionError("a finished step is repeated")

    monkeypatch.setattr(not_again, never)
    monkeypatch.setattr("samplers.flow.steps.find_mode", never)
    result = au.sample(model(), **SEQUENTIAL, output=tmp_path / "out", resume=True, progress=False)
    assert np.array_equal(result.theta, whole.theta)
    assert result.design == whole.design and repr(result.audit) == repr(whole.audit)
    assert [str(one) for one in result.decisions] == [str(one) for one in whole.decisions]


def test_everything_is_kept(whole):
    names = {path.name for path in whole.output.iterdir()}
    assert names == {
        *("steps", "run", "trial.parquet", "design.toml", "decisions.json", "audit.json", "results.nc", "report.html")
    }
    stored = json.loads((whole.output / "decisions.json").read_text())
    assert stored == [one._asdict() for one in whole.decisions]
    assert json.loads((whole.output / "audit.json").read_text())["verdict"] == whole.audit.verdict
    tree = au.from_netcdf(whole.output / "results.nc")
    assert np.array_equal(tree["posterior/theta"].values, whole.theta)
    assert au.Design.load(whole.output / "design.toml") == whole.design
    assert len(au.TrialRun.load(whole.output / "trial.parquet")) == 30


def test_a_finished_flow_is_read_again(whole):
    again = au.sample(model(), **SEQUENTIAL, output=whole.output, resume=True, progress=False)
    assert np.array_equal(again.theta, whole.theta)
    more = au.sample(model(), **(SEQUENTIAL | {"draws": 300}), output=whole.output, resume=True, progress=False)
    assert np.array_equal(more.theta[:, :200], whole.theta)


def test_another_model_or_another_wish_is_refused(whole):
    def resume(which=1, **changes):
        au.sample(model(which), **(SEQUENTIAL | changes), output=whole.output, resume=True, progress=False)

    with pytest.raises(BadInput, match="was begun with another model or other data"):
        resume(2)
    with pytest.raises(BadInput, match=r"was begun with tolerance = 0.05, not 0.04"):
        resume(tolerance=0.04)
    with pytest.raises(BadInput, match="holds results already"):
        au.sample(model(), **SEQUENTIAL, output=whole.output, progress=False)


def test_a_directory_of_other_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("")
    for resume in (False, True):
        with pytest.raises(BadInput, match="is not empty"):
            au.sample(model(), output=tmp_path, resume=resume, progress=False)


def test_a_damaged_step_is_made_again(tmp_path):
    options = {"posterior_error": 0.2, "output": tmp_path / "out", "progress": False}
    first = au.sample(model(), **options)
    path = tmp_path / "out" / "steps" / "laplace.bin"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.warns(UserWarning, match="the step is made again"):
        again = au.sample(model(), **options, resume=True)
    assert np.array_equal(first.theta, again.theta)


def test_an_interrupt_says_how_to_go_on(tmp_path, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("samplers.flow.sample.laplace_draws", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        au.sample(model(), output=tmp_path / "out", progress=False)
    assert "resume=True" in caught.value.__notes__[0]
    assert Place(tmp_path / "out").load("mode") is not None
