"""`austerity delta`: the acceptance error of every pair, with and without the correction for skewness."""

from __future__ import annotations

import json

import numpy as np
import pytest

from designer import Design, TrialRun, acceptance


def test_json_has_every_pair(run, tmp_path):
    trial = TrialRun(5000, [-1e-4, 2e-4], [0.02, 0.01], [0.1, -0.2])
    trial.to_csv(tmp_path / "t.csv")
    code, out, _ = run(f"delta {tmp_path}/t.csv --m 300 --epsilon 0.05 --rule barker --json")
    data, step = json.loads(out), acceptance(Design(5000, 300, 0.05), trial, "barker")
    assert code == 0
    assert data["delta"] == pytest.approx(step.delta.tolist(), rel=1e-12)
    assert data["mean_usage"] == pytest.approx(step.mean_usage)
    assert data["log_acceptance"] == pytest.approx(trial.log_acceptance.tolist())
    assert set(data) >= {"kappa", "probability", "usage", "mean_abs_delta"}


def test_text(run, example):
    step = acceptance(Design(100_000, 500, 0.05), TrialRun.load(example), skew=True)
    code, out, _ = run(f"delta {example} --m 500 --epsilon 0.05")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "200 pairs, N = 100,000, m = 500, ε = 0.05, α = 0.5"
    assert lines[1].split() == ["mean", "|Δ|", f"{step.mean_abs_delta:.6f}"]
    assert lines[2].split() == ["largest", "|Δ|", f"{step.max_abs_delta:.6f}"]
    assert lines[3].split()[-1] == f"{step.mean_usage:.4%}"
    assert lines[4].split(maxsplit=1) == ["source", "normal theory with skewness"]
    normal = acceptance(Design(100_000, 500, 0.05), TrialRun.load(example))
    lines = run(f"delta {example} --m 500 --epsilon 0.05 --normal")[1].splitlines()
    assert lines[1].split() == ["mean", "|Δ|", f"{normal.mean_abs_delta:.6f}"]
    assert lines[4].split(maxsplit=1) == ["source", "normal theory"]


def test_skewness_stands_beside_the_gaussian_numbers(run, tmp_path):
    rng = np.random.default_rng(1)
    trial = TrialRun(20_000, 1e-4 * rng.standard_normal(20), np.full(20, 0.02), skew=np.full(20, 2.0))
    trial.to_csv(tmp_path / "t.csv")
    design = Design(20_000, 500, 0.05)
    skewed, gaussian = acceptance(design, trial, skew=True), acceptance(design, trial)
    command = f"delta {tmp_path}/t.csv --m 500 --epsilon 0.05 --skew"
    data = json.loads(run(command, "--json")[1])
    assert data["mean_abs_delta"] == pytest.approx(skewed.mean_abs_delta)
    assert data["gaussian"]["mean_abs_delta"] == pytest.approx(gaussian.mean_abs_delta)
    assert skewed.mean_abs_delta != pytest.approx(gaussian.mean_abs_delta)
    lines = run(command)[1].splitlines()
    assert lines[1].split() == ["with", "skewness", "without"]
    assert lines[2].split()[-2:] == [f"{skewed.mean_abs_delta:.4f}", f"{gaussian.mean_abs_delta:.4f}"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nowhere.csv --m 10 --epsilon 0.1", "nowhere.csv"),
        ("{example} --n-data 7 --m 10 --epsilon 0.1", "7"),
        ("{example} --m 10 --epsilon 0.1 --rule x", "rule = 'x'"),
        ("{example} --m 10", "required: --epsilon (or --design FILE)"),
    ],
)
def test_bad_input_is_one_line(refused, example, command, message):
    refused(f"delta {command.format(example=example)}", message)


def test_a_bad_trial_run_is_refused_line_by_line(run, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("# n_data: 100\nmu,sigma\n0.1,0.2\n0.1,-1\nx,0.3\n")
    code, out, err = run(f"delta {bad} --m 10 --epsilon 0.1")
    assert code == 2
    assert out == ""
    assert all(line.startswith("austerity: ") for line in err.splitlines())
    assert "line 4" in err
    assert "line 5" in err
