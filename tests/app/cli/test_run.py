"""`austerity run` and its neighbours: what is refused before anything is touched, and what is said at the end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from app.cli.commands.sampling import run as run_command
from designer import Design
from designer.rule.design import Predicted

CONFIG = """
[test]
kind = "sequential"
n_data = 500
m = 100
epsilon = 0.05
[data]
path = "table.csv"
intercept = true
[model]
prior_precision = 1.0
[run]
draws = 200
chains = 2
"""
REDESIGN = """
[test]
kind = "sequential"
n_data = 500
m = 250
epsilon = 1e-6
[data]
path = "table.csv"
[model]
prior_precision = 1.0
control = 0
[proposal]
kind = "random-walk"
[run]
draws = 500
chains = 1
[redesign]
tolerance = 0.05
every = 400
until = 400
pairs = 40
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((500, 9))
    header = ",".join([*(f"c{k}" for k in range(9)), "y"])
    table = np.column_stack([x, rng.random(500) < 0.5])
    np.savetxt(tmp_path / "table.csv", table, delimiter=",", header=header, comments="")
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path


def test_the_end_of_a_run_says_what_matters(run, folder):
    code, out, err = run("run", folder / "config.toml", "--output", folder / "out")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split() == ["name", "mean", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat"]
    assert "r_hat above 1.01 for " in out  # 200 draws are few
    assert not any(line.startswith("theta[") for line in lines[9:])  # the worst eight of ten parameters
    assert all(line.startswith("theta[") for line in lines[1:9])
    assert lines[9] == "2 chains of 200 draws; the 8 parameters of 10 with the fewest effective draws"
    assert "acceptance 0." in lines[-2]
    assert "data per step (" in lines[-2]
    assert "400 steps in " in lines[-2]
    assert lines[-1] == f"written to {folder / 'out' / 'results.nc'}"
    fewest = [int(line.split()[4]) for line in lines[1:9]]
    assert fewest == sorted(fewest)
    code, out, _ = run("run", folder / "config.toml", "--output", folder / "out", "--resume", "--json")
    found = json.loads(out)
    assert code == 0
    assert [row["name"] for row in found["summary"]][:2] == ["theta[intercept]", "theta[c0]"]
    assert len(found["summary"]) == 10
    assert found["seconds"] == 0.0
    assert (
        "the run was already complete" in run("run", folder / "config.toml", "--output", folder / "out", "--resume")[1]
    )


def test_a_run_says_which_proposal_was_chosen_if_there_was_a_choice(run, folder):
    ordinary = run("run", folder / "config.toml", "--output", folder / "out")[1]
    assert "proxy proposals" not in ordinary
    table = np.loadtxt(folder / "table.csv", delimiter=",", skiprows=1)
    table[:, 8] = np.arange(500) < 4  # a level of four rows, all ones
    table[:4, 9] = 1.0
    header = ",".join([*(f"c{k}" for k in range(9)), "y"])
    np.savetxt(folder / "table.csv", table, delimiter=",", header=header, comments="")
    (folder / "config.toml").write_text(CONFIG.replace("prior_precision = 1.0", "prior_precision = 0.1\nheavy = 0"))
    code, out, err = run("run", folder / "config.toml", "--output", folder / "rare")
    assert (code, err) == (0, "")
    said = next(line for line in out.splitlines() if line.startswith("proxy proposals: "))
    assert "with profile corrections in " in said and said.endswith(" for: normal")


def test_what_is_there_is_not_touched(run, folder):
    target = folder / "used"
    target.mkdir()
    (target / "thesis.tex").write_text("mine")
    before = sorted(folder.rglob("*"))
    for output, options, message in [
        (target, [], "is not empty; a run needs a directory of its own"),
        (folder / "table.csv", [], "is a file; must be a directory"),
        (folder / "nowhere", ["--resume"], "no such directory; leave out --resume"),
        (target, ["--resume"], "holds no run; leave out --resume"),
    ]:
        code, out, err = run("run", folder / "config.toml", "--output", output, *options)
        assert (code, out) == (2, "")
        assert err.startswith(f"austerity: {output}: {message}")
        assert err.count("\n") == 1
        assert sorted(folder.rglob("*")) == before


def test_a_run_without_memory_says_that_it_can_go_on(run, folder, monkeypatch):
    assert run("run", folder / "config.toml", "--output", folder / "out")[0] == 0

    def full(_):
        raise MemoryError

    monkeypatch.setattr(run_command, "run", full)
    code, _, err = run("run", folder / "config.toml", "--output", folder / "out", "--draws", "300", "--resume")
    assert (code, err) == (2, "austerity: not enough memory. Progress is saved; continue with --resume.\n")
    code, _, err = run("run", folder / "config.toml", "--output", folder / "other")
    assert (code, err) == (2, "austerity: not enough memory\n")


def test_a_second_run_in_the_same_place_needs_resume(run, folder):
    assert run("run", folder / "config.toml", "--output", folder / "out")[0] == 0
    files = {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*")}
    code, _, err = run("run", folder / "config.toml", "--output", folder / "out")
    assert code == 2
    assert "holds a run already; continue it with --resume" in err
    assert {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*")} == files


def test_a_design_as_json_can_be_run(run, folder):
    target = folder / "design.JSON"
    options = ["--n-data", 500, "--acceptance", 0.5, "--tolerance", 0.05, "--m-low", 50, "--quiet"]
    assert run("design", *options, "--output", target)[0] == 0
    design = Design.from_json(target.read_text())
    assert design.n_data == 500
    code, out, _ = run("run", folder / "config.toml", "--design", target, "--output", folder / "out", "--json")
    assert code == 0
    assert json.loads(out)["data_per_step"] >= design.m


def test_a_file_with_strata_is_refused_by_its_name(run, folder):
    strata = Path(__file__).parents[2] / "data" / "strata.toml"
    refusal = (
        "test: strata (several designs, chosen by κ) were removed in 0.2.0; "
        "choose a single design with `austerity design`\n"
    )
    for command in (("run", folder / "config.toml", "--output", folder / "out"), ("evaluate", "--mu-std", 1)):
        assert run(*command, "--design", strata) == (2, "", f"austerity: {strata}: {refusal}")
    assert not (folder / "out").exists()


def test_a_run_tells_of_its_designs(run, folder):
    (folder / "redesign.toml").write_text(REDESIGN)
    code, out, err = run("run", folder / "redesign.toml", "--output", folder / "designed", "--quiet")
    assert (code, err) == (0, "")
    assert "chain 0: searched once, changed its design once" in out
    assert "step 400: changed to m = " in out
    code, out, _ = run("run", folder / "redesign.toml", "--output", folder / "designed", "--resume", "--json")
    ((change,),) = json.loads(out)["redesign"]
    assert (code, change["step"], change["changed"]) == (0, 400, True)


def test_problems_with_the_table_name_line_and_column(run, folder):
    text = (folder / "table.csv").read_text().splitlines()
    text[7] = "oops" + text[7][text[7].index(",") :]
    (folder / "table.csv").write_text("\n".join(text))
    code, _, err = run("run", folder / "config.toml", "--output", folder / "out")
    assert code == 2
    assert f"data.path: {folder / 'table.csv'}: line 8, column 'c0': 'oops' is not a number" in err
    assert not (folder / "out").exists()


def test_a_run_that_is_not_as_predicted_says_so_while_it_runs_and_at_the_end(folder, run):
    notes = Predicted(acceptance=0.1, acceptance_band=(0.08, 0.12), mean_usage=0.3, usage_band=(0.1, 1.0))
    Design(500, 100, 0.05, predicted=notes).save(folder / "design.toml")
    words = "run", folder / "config.toml", "--design", folder / "design.toml", "--draws", 1200, "--output"
    code, out, err = run(*words, folder / "out")
    assert code == 0
    assert err.startswith("warning: not as the design predicts") and err.count("\n") == 1
    assert "\nwarning: not as the design predicts after 2,400 decisions: acceptance " in out
    assert "(predicted 0.1)" in out
    code, out, err = run(*words, folder / "again", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["remarks"][0].startswith("warning: not as the design predicts")


def test_built_in_chains_are_run_by_name(run, refused, tmp_path, monkeypatch):
    """As for `trial`: with the exact test, or with a design."""
    from app.cli import options
    from samplers.config.built_in import CHAINS
    from samplers.runs import run as runs

    assert ", ".join(CHAINS) == options.BUILT_IN_NAMES
    seen = []

    def stop(config, *_, **__):
        seen.append(config)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "run_config", stop)
    for name in CHAINS:
        run("run", name, "--output", tmp_path / name, "--draws", 50, "--chains", 1, "--seed", 3)
        assert seen[-1].test is None
        assert (seen[-1].run.draws, seen[-1].run.chains, seen[-1].run.seed) == (50, 1, 3)
    (tmp_path / "design.toml").write_text(Design(12_214, 500, 0.05).to_toml())
    run("run", "e3-proxy", "--design", tmp_path / "design.toml", "--output", tmp_path / "out")
    assert (seen[-1].test, seen[-1].proposal.kind) == (Design(12_214, 500, 0.05), "proxy")
    refused("run e33", "e33: no such file, and not a built-in chain (e3, ")
    refused(f"run {tmp_path / 'design.toml'} --data here --output out", "--data is for the built-in chains")
    assert "built-in chain: e3, e3-control" in " ".join(run("run", "--help")[1].split())


def test_a_built_in_chain_runs_to_its_end(run, tmp_path):
    code, out, err = run("run", "control", "--output", tmp_path / "out", "--draws", 20, "--chains", 1, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["remarks"][0].startswith("exact test: every step reads all data")
