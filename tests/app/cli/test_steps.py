"""`austerity steps`: the library's numbers, its words, its exit codes."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from app.cli.main import main
from designer import Design, Space, TrialRun, best_step


@pytest.fixture
def trial(tmp_path):
    made = TrialRun.at_stationarity(5000, 0.4, 30, np.random.default_rng(1))
    made.to_csv(tmp_path / "trial.csv")
    return made, tmp_path / "trial.csv"


def test_json_is_the_librarys(trial, capsys):
    run, path = trial
    assert main(["steps", str(path), "--tolerance", "0.05", "--scales", "0.5,1", "--m-low", "300", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    want = best_step(run, 0.05, [0.5, 1.0], space=Space(300))
    assert found["feasible"] and found["sentence"] == want.sentence
    assert [row["scale"] for row in found["rows"]] == [row.scale for row in want.rows]
    assert found["best"]["m"] == want.best.design.m
    assert found["best"]["efficiency"] == pytest.approx(want.best.efficiency)
    assert found["exact"]["scale"] == want.exact.scale


def test_text_and_files(trial, capsys, tmp_path):
    _, path = trial
    design, table = tmp_path / "d.toml", tmp_path / "t.csv"
    text = f"steps {path} --tolerance 0.05 --scales 1 --hold step --cost 100,2,1 --output {design} --table {table}"
    assert main(text.split()) == 0
    out = capsys.readouterr().out
    assert "steps 1 times the trial run's" in out and "within 5% of the best" in out
    (row,) = csv.DictReader(table.read_text().splitlines())
    assert Design.from_toml(design.read_text()).m == int(row["m"])


def test_another_trial_run_is_used_where_it_is_nearer(trial, capsys, tmp_path):
    other = TrialRun.at_stationarity(5000, 0.1, 30, np.random.default_rng(2))
    other.to_csv(tmp_path / "double.csv")
    text = f"steps {trial[1]} --tolerance 0.1 --scales 2 --at 2={tmp_path}/double.csv --json"
    assert main(text.split()) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["kappa"] == pytest.approx(float(np.median(other.kappa)))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--hold bias", "hold = 'bias'"),
        ("--cost 1,2", "--cost: '1,2' has 2 numbers"),
        ("--at 2:file.csv", "must be SCALE=TRIAL.csv"),
        ("--scales 0", "scales = 0"),
        ("--at 1=examples/logistic_trial.csv", "step size 1 already has a trial run"),
        ("--output d.txt", "must end in .toml or .json"),
        ("--output /no/such/place.toml", "there is no directory"),
    ],
)
def test_bad_input_is_one_line(trial, capsys, more, message):
    assert main(f"steps {trial[1]} --tolerance 0.05 {more}".split()) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1 and message in captured.err


def test_no_test_is_an_answer(capsys, tmp_path):
    """Pairs with a kappa this large are never decided early with so small an error."""
    path = tmp_path / "hard.csv"
    TrialRun(5000, [-2e-4, 1e-4], [1.0, 1.0]).to_csv(path)
    assert main(f"steps {path} --tolerance 1e-6 --scales 1 --m-low 20 --m-high 20 --confidence 0.5 --json".split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["feasible"]
    assert found["best"] is None and found["rows"][0]["efficiency"] is None and found["exact"]["scale"] == 1.0
