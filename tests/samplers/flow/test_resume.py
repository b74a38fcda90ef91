"""Flows that are killed go on where they were: finished steps are not repeated, and the draws are the same."""

import json
import shutil
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
        *("steps", "run", "trial.parquet", "design.toml", "decisions.json", "audit.json", "results.nc", "report.html"),
        "lock",
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

    with pytest.raises(
        BadInput, match=r"another model or other data \(model\..* was 1,500 .*\(digest \w+\), is 1,500 "
    ):
        resume(2)
    told = r"other arguments: tolerance was 0.05 and is 0.04, seed was 0 and is 1; resume with the same"
    with pytest.raises(BadInput, match=told):
        resume(tolerance=0.04, seed=1)
    with pytest.raises(BadInput, match="holds results already"):
        au.sample(model(), **SEQUENTIAL, output=whole.output, progress=False)


def test_a_changed_file_and_a_changed_design_are_named(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "data.npz"
    x, y = rng.standard_normal((1500, 2)), (rng.random(1500) < 0.4).astype(int)
    np.savez(path, x=x, y=y)
    text = f'[data]\npath = "{path}"\n[model]\nprior_precision = 1.0\n'
    (tmp_path / "config.toml").write_text(text)

    def go(m=300, **more):
        options = {"draws": 20, "chains": 1, "audit": 0, "laplace": "never", "progress": False}
        design = au.Design(1500, m, 0.02)
        au.sample(tmp_path / "config.toml", design=design, output=tmp_path / "out", **options, **more)

    go()
    with pytest.raises(BadInput, match=r"begun with other arguments: design\.m was 300 and is 400; resume"):
        go(400, resume=True)
    np.savez(path, x=x, y=1 - y)
    with pytest.raises(BadInput, match=rf"other data \(labels of {path} was 1,500 \(digest \w+\), is 1,500 \(digest"):
        go(resume=True)


def test_one_process_at_a_time_and_nothing_half_written_is_left(tmp_path):
    options = {"posterior_error": 0.2, "draws": 20, "output": tmp_path / "out", "progress": False}
    with Place(tmp_path / "out").held(), pytest.raises(BadInput, match=r"is being written by another run \(process "):
        au.sample(model(), **options)
    left = [tmp_path / "out" / name for name in (".report.html.0a1b2c3d.tmp", "steps/.mode.bin.0a1b2c3d.tmp")]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["lock"]  # which is no reason to refuse
    au.sample(model(), **options)
    for path in left:
        path.write_bytes(b"half")
    au.sample(model(), **options, resume=True)
    assert not any(path.exists() for path in left)


def test_another_audit_is_made_when_it_is_asked_for(whole, tmp_path):
    shutil.copytree(whole.output, tmp_path / "copy")
    options = {"output": tmp_path / "copy", "resume": True, "progress": False}
    fewer = au.sample(model(), **(SEQUENTIAL | {"audit": 20}), **options)
    assert fewer.audit.pairs < whole.audit.pairs and np.array_equal(fewer.theta, whole.theta)
    fresh = au.sample(model(), **(SEQUENTIAL | {"audit": 20, "draws": 300}), output=tmp_path / "new", progress=False)
    longer = au.sample(model(), **(SEQUENTIAL | {"audit": 20, "draws": 300}), **options)
    assert repr(longer.audit) == repr(fresh.audit)  # of the steps after the last draw
    one = au.sample(model(), **SEQUENTIAL, certify=100, **options).certificate
    other = au.sample(model(), **SEQUENTIAL, certify=120, **options).certificate
    assert one.passes < other.passes


@pytest.mark.parametrize("error", [0.2, 0.02], ids=["laplace", "importance"])
def test_draws_of_laplace_are_as_many_as_are_asked_for(tmp_path, error, capsys):
    options = {"posterior_error": error, "laplace": "always", "output": tmp_path}
    au.sample(model(), draws=50, **options, progress=False)
    more = au.sample(model(), draws=90, chains=2, **options, resume=True)
    assert "laplace: made again, since draws was 50 and is 90, chains was 4 and is 2" in capsys.readouterr().err
    assert more.theta.shape == (2, 90, 2)
    assert np.array_equal(more.theta, au.sample(model(), **options | {"output": None}, draws=90, chains=2).theta)
    again = au.sample(model(), draws=90, chains=2, **options, resume=True)
    assert "need I sample? no" in capsys.readouterr().err.replace(":", "") and np.array_equal(again.theta, more.theta)


def test_a_refused_call_leaves_nothing(tmp_path):
    options = {"output": tmp_path / "out", "progress": False, "draws": 20}
    with pytest.raises(BadInput, match="is for n_data = 7"):  # after mode, Laplace and proposal
        au.sample(model(), design=au.Design(7, 5, 0.1), **options)
    with pytest.raises(BadInput, match="workers = 0"):
        au.sample(model(), workers=0, **options)
    assert not list((tmp_path / "out").iterdir())
    assert au.sample(model(), posterior_error=0.2, **options).theta.shape == (4, 20, 2)
    with pytest.raises(BadInput, match="was begun with"):
        au.sample(model(), posterior_error=0.3, **options, resume=True)
    assert au.sample(model(), posterior_error=0.2, **options, resume=True).theta.shape == (4, 20, 2)


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


@pytest.mark.parametrize("unfinished", [False, True], ids=["after the design", "before the design"])
def test_an_altered_trial_run_is_made_again(whole, tmp_path, unfinished, capsys):
    """A number in it that is another one would lead to another design."""
    shutil.copytree(whole.output, tmp_path / "copy")
    path = tmp_path / "copy" / "trial.parquet"
    usual = path.read_bytes()
    path.write_bytes(usual[:200] + bytes([usual[200] ^ 1]) + usual[201:])
    if unfinished:
        (tmp_path / "copy" / "steps" / "test.bin").unlink()
    again = au.sample(model(), **SEQUENTIAL, output=tmp_path / "copy", resume=True)
    assert "trial: made again, since trial.parquet was " in capsys.readouterr().err
    assert path.read_bytes() == usual
    assert np.array_equal(again.theta, whole.theta) and again.design == whole.design


def test_an_interrupt_says_how_to_go_on(tmp_path, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("samplers.flow.sample.laplace_draws", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        au.sample(model(), output=tmp_path / "out", progress=False)
    assert "resume=True" in caught.value.__notes__[0]
    assert Place(tmp_path / "out").load("mode") is not None
