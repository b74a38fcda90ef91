"""`austerity strata`, running what it writes, and the changes that `austerity run` tells of."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.cli import main
from designer import Space, Stratified, TrialRun, stratified

N = 2000
CONFIG = """
[data]
path = "data.npz"
[model]
prior_precision = 1.0
control = 0
[proposal]
kind = "random-walk"
[run]
draws = 100
chains = 1
"""
REDESIGN = f"""
[test]
kind = "sequential"
n_data = {N}
m = 1000
epsilon = 1e-6
[redesign]
tolerance = 0.05
every = 400
until = 400
pairs = 40
"""


@pytest.fixture
def run(capsys):
    """Run a command line; returns exit code, standard output and standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where, rng = tmp_path_factory.mktemp("strata"), np.random.default_rng(1)
    x = rng.standard_normal((N, 3))
    np.savez(where / "data.npz", x=x, y=rng.random(N) < 0.5)
    (where / "config.toml").write_text(CONFIG)
    (where / "redesign.toml").write_text(CONFIG.replace("draws = 100", "draws = 500") + REDESIGN)
    trial().save(where / "trial.csv")
    return where


def trial():
    rng = np.random.default_rng(2)
    kappa = np.exp(rng.uniform(np.log(0.1), np.log(5.0), 60))
    a = rng.normal(-(kappa**2) / 2.0, kappa)
    return TrialRun(N, a / N, kappa * (N - 1) ** 0.5 / N)


def test_designs_by_kappa_are_found_written_and_run(run, folder):
    target = folder / "strata.toml"
    asked = ("strata", folder / "trial.csv", "--tolerance", 0.05, "--m-low", 100, "--m-high", 400, "-o", target)
    code, out, err = run(*asked, "--json")
    assert (code, err) == (0, "")
    data, expected = json.loads(out), stratified(trial(), 0.05, space=Space(100, 400))
    assert Stratified.from_toml(target.read_text()) == expected
    assert (data["edges"], data["gain"], data["error"]) == (list(expected.edges), expected.gain, expected.error)
    assert len(expected.designs) > 1
    assert [row["m"] for row in data["strata"]] == [design.m for design in expected.designs]
    code, out, err = run("run", folder / "config.toml", "--design", target, "--output", folder / "out", "--quiet")
    assert (code, err) == (0, "")
    code, out, _ = run(*asked)
    assert f"strata save {expected.gain:.2%} of the data" in out
    assert f"kappa is judged after {expected.first:,} data" in out


def test_mistakes_are_told_in_one_line(run, folder):
    code, out, err = run("strata", folder / "trial.csv", "--tolerance", 2)
    assert (code, out, err) == (2, "", "austerity: tolerance = 2.0: must lie in [1e-06, 1]\n")
    code, _, err = run("strata", folder / "trial.csv", "--tolerance", 0.1, "-o", folder / "x.txt")
    assert code == 2
    assert "must end in .toml or .json" in err
    (folder / "bad.toml").write_text('[test]\nkind = "stratified"\n')
    code, _, err = run("run", folder / "config.toml", "--design", folder / "bad.toml", "--output", folder / "no")
    assert code == 2
    assert "bad.toml: test.n_data: missing" in err
    assert not (folder / "no").exists()


def test_a_run_tells_of_its_designs(run, folder):
    code, out, err = run("run", folder / "redesign.toml", "--output", folder / "designed", "--quiet")
    assert (code, err) == (0, "")
    assert "chain 0: designed 1 times, changed 1 times" in out
    assert "step 400: changed to m = " in out
    arguments = ("--output", folder / "designed", "--resume", "--json")
    code, out, _ = run("run", folder / "redesign.toml", *arguments)
    ((change,),) = json.loads(out)["redesign"]
    assert (code, change["step"], change["changed"]) == (0, 400, True)
