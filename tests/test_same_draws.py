"""What version 0.1.0 computed is computed still, and what it wrote is read: `data/before_0_2` has its files.

Decisions and counts must be the same. Real numbers must agree to nine digits, because the last ones depend on processor
and BLAS; on the machine that made the digests (or one like it, with the same numpy, scipy and numba), to the last bit.
Since 0.1.0 the engine sums in another order (DIGITS), and a search stops at another ε of four digits (SEARCHED).
"""

from __future__ import annotations

import json
import shutil
import tomllib

import numpy as np
import pytest

import designer as d
import samplers as s
from tests.commands import austerity, finished
from tests.digests import Case, digest, machine
from tests.same_draws import (
    CASES,
    OLD,
    RUNS,
    chain,
    columns,
    config,
    draws,
    logistic,
    results,
    sequential,
    trial,
)

BEFORE = json.loads((OLD / "digests.json").read_text())
SAME_MACHINE = BEFORE["machine"] == machine()
DIGITS = {
    *("one test", "one step", "posterior error", "time budget"),
    *("observe", "austerity trial"),  # pairs are made of the log-likelihoods that the exact decision has computed
    *("audit", "audit of slice updates", "trial run and audit of a config"),
    *(f"austerity {name}" for name in ("evaluate", "delta", "summary", "compare", "budget", "audit")),
}
SEARCHED = {  # and how near the numbers are: cost and error are flat about the best bounds
    "optimal boundary": 1e-2,
    **dict.fromkeys(["search", "bootstrap, folds, summary, frontier", "best step", "austerity design"], 3e-3),
    "run redesign": 3e-3,
}


def check(name: str, case: Case) -> None:
    """Compare a case with its digests."""
    old, new = BEFORE["cases"][name], digest(case)
    searched, bits = name in SEARCHED, SAME_MACHINE and name not in DIGITS | SEARCHED.keys()
    skipped = {".evaluated", "digest"} if searched else set() if bits else {".digest"}  # digests are of all bits
    for part, code in old["exact"].items():
        assert part in skipped or new["exact"][part] == code, part
    for part, numbers in old["real"].items():
        for of in ("mean", "last"):
            rtol = SEARCHED.get(name, 1e-9)
            np.testing.assert_allclose(new["real"][part][of], numbers[of], rtol=rtol, atol=1e-11, err_msg=part)
        assert not bits or new["real"][part]["bytes"] == numbers["bytes"], part


def test_all_that_was_computed_before_is_compared():
    assert BEFORE["version"] == "0.1.0"
    assert BEFORE["cases"].keys() == {*CASES, *(f"run {name}" for name in RUNS)}
    assert len(RUNS) == 18


@pytest.mark.parametrize("name", CASES)
def test_the_same_is_computed(name):
    check(name, CASES[name])


def test_another_seed_is_noticed():
    def case(seed: int) -> Case:
        fast, slow = (chain(logistic(), sequential(), fuse=fuse, seed=seed).advance(200) for fuse in (True, False))
        return lambda: {**draws(fast, "fused "), **draws(slow, "protocol ")}

    check("logistic, sequential", case(7))
    with pytest.raises(AssertionError):
        check("logistic, sequential", case(8))


@pytest.mark.parametrize("name", RUNS)
def test_a_run_makes_the_same_draws(name, tmp_path):
    given = config(name)
    if name == "redesign":  # by the pairs at hand, as then
        point = given.redesign.model_copy(update={"confidence": 0.5})
        given = given.model_copy(update={"redesign": point})
    check(f"run {name}", lambda: results(s.run_config(given, tmp_path / "run")))


@pytest.mark.parametrize("name", RUNS)
def test_an_old_run_is_resumed_to_the_same_draws(name, tmp_path):
    run = shutil.copytree(OLD / "runs" / name, tmp_path / "run")
    old = {path.name: path.read_bytes() for path in run.glob("chain-0000/draws-*.bin")}
    tree = s.run_config(config(name), run, resume=True)
    if name != "redesign":  # new designs hold at the upper end of their band
        check(f"run {name}", lambda: results(tree))
    now = {path.name: path.read_bytes() for path in run.glob("chain-0000/draws-*.bin")}
    assert old and now.keys() > old.keys()
    assert {part: now[part] for part in old} == old  # not begun anew


def test_the_command_resumes_an_old_run(tmp_path):
    run = shutil.copytree(OLD / "runs" / "walk_sequential", tmp_path / "run")
    source = OLD / "runs" / "walk_sequential.toml"
    done = finished(austerity("run", source, "--resume", "--quiet", "--output", run))
    assert done.returncode == 0, done.stderr
    check("run walk_sequential", lambda: results(s.from_netcdf(run / "results.nc")))


def test_old_results_are_read():
    check("run redesign", lambda: results(s.from_netcdf(OLD / "results.nc")))


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_old_trial_runs_are_read_and_written_as_before(ending, tmp_path):
    found = d.TrialRun.load(OLD / f"trial.{ending}")
    assert found == trial()
    trial().save(tmp_path / f"trial.{ending}")
    assert d.TrialRun.load(tmp_path / f"trial.{ending}") == found
    if ending == "csv":  # the others name the versions of their libraries
        assert (tmp_path / "trial.csv").read_bytes() == (OLD / "trial.csv").read_bytes()


@pytest.mark.parametrize("path", sorted((OLD / "designs").iterdir()), ids=lambda path: path.name)
def test_old_designs_are_read_written_and_evaluated_as_before(path):
    read, write, parse = (
        (d.Design.from_toml, d.Design.to_toml, tomllib.loads)
        if path.suffix == ".toml"
        else (d.Design.from_json, d.Design.to_json, json.loads)
    )
    design = read(path.read_text())
    assert parse(write(design)) == parse(path.read_text())
    found, worst = d.acceptance(design, trial()), d.worst_case(design)
    assert design.provenance.trial == trial().digest
    assert found.mean_abs_delta == pytest.approx(design.predicted.mean_abs_delta, rel=1e-8)
    assert found.mean_usage == pytest.approx(design.predicted.mean_usage, rel=1e-8)
    assert worst.error[0] == pytest.approx(design.predicted.worst_error, rel=1e-8)
    known = {"explicit": design.explicit, "grows": design.growth > 1.0, "slanted": design.alpha > 0.5}
    wanted = {"asymmetric": {"explicit"}, "explicit": {"explicit"}, "growth": {"grows", "slanted"}, "plain": set()}
    assert {name for name, holds in known.items() if holds} == wanted.get(path.stem, {"slanted"})


@pytest.mark.parametrize("name", ["exported", "built_in", *(f"runs/{name}" for name in RUNS)])
def test_old_configs_are_read_and_written_as_before(name):
    text = (OLD / f"{name}.toml").read_text()
    found = s.SamplerConfig.from_toml(text)
    written = found.to_toml()
    assert s.SamplerConfig.from_toml(written) == found
    given, known = tomllib.loads(text), tomllib.loads(written)
    for table, entries in given.items():
        assert known[table] if table == "format" else {key: known[table][key] for key in entries} == entries
    if "/" not in name:  # written by 0.1.0, with all that was absent
        assert known == given


def test_the_trial_run_of_a_built_in_chain_is_read():
    found = columns(d.TrialRun.load(OLD / "built_in_trial.csv"))
    assert found["n_data"] == 143_531
    assert {name: values.shape for name, values in found.items() if name != "n_data"} == dict.fromkeys(
        ("mu", "sigma", "log_ratio", "skew"), (5,)
    )
