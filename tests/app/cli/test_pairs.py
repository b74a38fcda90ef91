"""`austerity pairs`: from a posterior to a design."""

import json

import numpy as np
import pytest
import xarray

from app.cli.main import main
from designer import TrialRun
from samplers.study.other_tools.posterior_pairs import trial_from_posterior


@pytest.fixture
def posterior(tmp_path):
    values = 0.05 * np.random.default_rng(4).normal(size=(2, 60, 3000))
    group = xarray.Dataset({"y": (("chain", "draw", "i"), values), "z": (("chain", "draw", "j"), values[:, :, :500])})
    path = tmp_path / "posterior.nc"
    xarray.DataTree.from_dict({"log_likelihood": group}).to_netcdf(path, engine="h5netcdf")
    return str(path)


def answer(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_pairs_are_the_librarys_and_make_a_design(posterior, tmp_path, capsys):
    target = str(tmp_path / "trial.csv")
    words = [
        "pairs",
        posterior,
        "-o",
        target,
        "--pairs",
        "random",
        "--count",
        "50",
        "--acceptance",
        "0.3",
        "--seed",
        "3",
    ]
    found = answer(capsys, *words, "--variable", "y")
    made = trial_from_posterior(np.random.default_rng(3), posterior, "random", 50, acceptance=0.3, variables=["y"])
    assert TrialRun.load(target) == made.trial
    assert (found["pairs"], found["n_data"], found["scale"]) == (50, 3000, made.scale)
    assert found["remarks"][: len(made.remarks)] == made.remarks
    design = answer(capsys, "design", target, "--tolerance", "0.02")
    assert design["feasible"] and design["design"]["n_data"] == 3000


def test_text_and_the_default(posterior, tmp_path, capsys):
    assert main(["pairs", posterior, "--output", str(tmp_path / "t.npz")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("118 pairs, N = 3,500: acceptance ")
    assert lines[-1] == f"written to {tmp_path / 't.npz'}"
    assert len(TrialRun.load(tmp_path / "t.npz")) == 118


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--pairs", "some"], "must be successive, random, nearest"),
        (["--count", "0"], "count = 0"),
        (["--acceptance", "2"], "acceptance = 2.0"),
        (["--scale", "1", "--acceptance", "0.3"], "not both"),
        (["--variable", "w"], "no variable 'w'"),
        (["--seed", "-1"], "seed = -1"),
    ],
)
def test_mistakes_take_one_line(posterior, tmp_path, capsys, options, words):
    assert main(["pairs", posterior, "-o", str(tmp_path / "t.csv"), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "t.csv").exists()


def test_a_missing_file(tmp_path, capsys):
    assert main(["pairs", str(tmp_path / "no.nc"), "-o", str(tmp_path / "t.csv")]) == 2
    assert "no such file" in capsys.readouterr().err
