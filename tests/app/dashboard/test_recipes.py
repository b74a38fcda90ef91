"""Code to copy for one's own trial run: it runs as it is, and what it writes can be designed for."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

from app.dashboard.recipes import RECIPES
from designer import TrialRun
from designer.pairs.mistakes import odd_pairs
from designer.pairs.refusals import pairs_problem

NEEDS = {"NumPy": [], "JAX": ["jax"], "NumPyro": ["numpyro"], "PyMC": ["pymc"]}
SMALLER = {"10_000": "2_000", "300": "60"}  # rows and draws: the test should be quick


@pytest.fixture(autouse=True)
def _precision_as_before():
    """Recipes set JAX to double precision for their whole process, which here has other tests to run."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)


def check(folder, rows: int) -> TrialRun:
    trial = TrialRun.load(folder / "trial.csv")
    assert trial.n_data == rows
    assert 190 <= len(trial) <= 200  # equal draws make no pair
    assert (pairs_problem(trial), odd_pairs(trial)) == (None, None)
    assert 0.05 < np.minimum(1.0, np.exp(trial.log_acceptance)).mean() < 0.9
    assert trial.skew is not None
    return trial


@pytest.mark.parametrize("tool", NEEDS)
def test_python_runs_as_it_is(tool, tmp_path, monkeypatch):
    for module in NEEDS[tool]:
        pytest.importorskip(module)
    code = RECIPES[tool].code
    for old, new in SMALLER.items():
        code = code.replace(old, new)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, RECIPES[tool].file, "exec"), {"__name__": "recipe"})
    check(tmp_path, 2_000)


def test_numpy_and_jax_record_the_same_moments(tmp_path, monkeypatch):
    """Both follow the same random numbers, so they propose and record the same."""
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    found = []
    for tool in ("NumPy", "JAX"):
        exec(compile(RECIPES[tool].code.replace("10_000", "2_000"), tool, "exec"), {"__name__": "recipe"})
        found.append(TrialRun.load("trial.csv"))
    np.testing.assert_allclose(found[0].sigma[:3], found[1].sigma[:3], rtol=1e-9)
    np.testing.assert_allclose(found[0].log_ratio[:3], found[1].log_ratio[:3], atol=1e-12)


def test_stan_makes_pairs_of_its_log_likelihoods(tmp_path, monkeypatch):
    """Without Stan: a fit that returns log-likelihoods of draws near the mode."""
    code = RECIPES["Stan"].code.replace("10_000", "2_000")
    ast.parse(code)
    seen = {}

    class Fit:
        def stan_variable(self, name):
            assert name == "log_lik"
            x, y = np.array(seen["data"]["x"]), np.array(seen["data"]["y"])
            theta = [0.5, -1.0, 0.2] + 0.05 * np.random.default_rng(1).normal(size=(100, 3))
            return -np.logaddexp(0.0, np.where(y == 1, -1.0, 1.0) * (theta @ x.T))

    class Model:
        def __init__(self, stan_file):
            seen["program"] = (tmp_path / stan_file).read_text()

        def sample(self, data, **_):
            seen["data"] = data
            return Fit()

    stan = types.ModuleType("cmdstanpy")
    stan.CmdStanModel = Model
    monkeypatch.setitem(sys.modules, "cmdstanpy", stan)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "stan", "exec"), {"__name__": "recipe"})
    check(tmp_path, 2_000)
    program = seen["program"]
    assert program.count("{") == program.count("}")
    for block in ("data {", "parameters {", "model {", "generated quantities {"):
        assert block in program


def test_r_runs_as_it_is(tmp_path):
    if (rscript := shutil.which("Rscript")) is None:
        pytest.skip("NO R, ITS RECIPE NOT TESTED")
    (tmp_path / "my_trial.R").write_text(RECIPES["R"].code.replace("10000", "2000"))
    done = subprocess.run([rscript, "my_trial.R"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    check(tmp_path, 2_000)
