"""`austerity budget`: the library's numbers, its files, its exit codes."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from app.cli.main import main
from designer import Cost, Quantity, TrialRun, anytime_schedule, time_options, time_schedule
from designer.further.budget.epsilon import best_option

COST, QUANTITY = Cost(1e-6, 1e-7, 0.0), Quantity(100.0, 0.3)
KNOBS = "--seconds 0.5 --cost 1e-6,1e-7,0 --autocorrelation 100 --sensitivity 0.3 --m 100"


@pytest.fixture
def trial(tmp_path):
    made = TrialRun.at_stationarity(5000, 0.9, 20, np.random.default_rng(1))
    made.to_csv(tmp_path / "trial.csv")
    return made, str(tmp_path / "trial.csv")


def test_json_is_the_librarys(trial, capsys):
    run, path = trial
    assert main(["budget", path, *KNOBS.split(), "--json"]) == 0
    found, known = json.loads(capsys.readouterr().out), time_options(run, COST, QUANTITY, m=[100])
    best, plan = best_option(known, 0.5), time_schedule(known, 0.5)
    assert found["best"]["epsilon"] == best.epsilon
    assert found["best"]["risk"] == pytest.approx(best.risk(0.5))
    assert found["schedule"]["risk"] == pytest.approx(plan.risk)
    assert [phase["steps"] for phase in found["schedule"]["phases"]] == [phase.steps for phase in plan.phases]


def test_text_and_files(trial, capsys, tmp_path):
    run, path = trial
    output, table = tmp_path / "schedule.toml", tmp_path / "tests.csv"
    assert main(["budget", path, *KNOBS.split(), "--anytime", "--output", str(output), "--table", str(table)]) == 0
    known = time_options(run, COST, QUANTITY, m=[100])
    plan = anytime_schedule(known, 0.5)
    assert f"schedule: risk {plan.risk:.4g}" in capsys.readouterr().out
    assert "[test]" in output.read_text()
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [float(row["risk"]) for row in rows] == pytest.approx([option.risk(0.5) for option in known])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("--seconds 0.5", "--seconds -1", "seconds = -1"),
        ("1e-6,1e-7,0", "1e-6,1e-7", "must be three"),
        ("--m 100", "--m 9000", "m = 9000"),
        ("--autocorrelation 100", "--autocorrelation 0", "autocorrelation = 0"),
        ("--m 100", "--m 100 --dimension 1", "dimension = 1"),
        ("--m 100", "--m 100 --output x.json", "must end in .toml"),
    ],
)
def test_problems_are_one_line(trial, capsys, old, new, message):
    assert main(["budget", trial[1], *KNOBS.replace(old, new).split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.fixture
def config(tmp_path):
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((5000, 2)), y=rng.random(5000) < 0.5)
    path = tmp_path / "config.toml"
    path.write_text(
        '[test]\nkind = "exact"\n[data]\npath = "data.npz"\n[run]\nwarmup = 50\n[proposal]\nkind = "proxy"\n'
    )
    return str(path)


def test_what_is_needed_is_measured(trial, config, capsys):
    """Of the user's own chain; and what is answered follows from what was measured."""
    assert (
        main(["budget", trial[1], "--seconds", "0.5", "--m", "100", "--measure", config, "--steps", "800", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    measured = found["measured"]
    quantity = Quantity(measured["autocorrelation"], measured["sensitivity"])
    known = time_options(trial[0], Cost(**measured["cost"]), quantity, m=[100], exact_seconds=measured["exact_seconds"])
    assert found["best"]["risk"] == pytest.approx(best_option(known, 0.5).risk(0.5))


def test_what_is_given_goes_before_what_is_measured(trial, config, capsys):
    arguments = ["budget", trial[1], *KNOBS.split(), "--measure", config, "--steps", "200", "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"]["risk"] == pytest.approx(
        best_option(time_options(trial[0], COST, QUANTITY, m=[100]), 0.5).risk(0.5)
    )
    assert main(arguments[:-1]) == 0
    assert capsys.readouterr().out.startswith("measured: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "cost, autocorrelation, sensitivity: give --cost and --autocorrelation and --sensitivity, or --measure"),
        (["--cost", "1e-6,1e-7,0", "--autocorrelation", "9"], "sensitivity: give --sensitivity, or --measure"),
        (["--measure", "none.toml"], "none.toml"),
    ],
)
def test_what_is_missing_is_told(trial, capsys, options, message):
    assert main(["budget", trial[1], "--seconds", "0.5", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_config_of_other_data_is_refused(trial, config, capsys, tmp_path):
    other = TrialRun.at_stationarity(6000, 0.9, 20, np.random.default_rng(1))
    other.to_csv(tmp_path / "other.csv")
    assert main(["budget", str(tmp_path / "other.csv"), "--seconds", "1", "--measure", config, "--steps", "100"]) == 2
    assert "N = 5,000, but the trial run has N = 6,000" in capsys.readouterr().err
