"""`austerity summary`: what the pairs look like, and whether the normal approximation fits."""

from __future__ import annotations

import json

import pytest

from designer import TrialRun


def test_json_is_the_library_s(run, example):
    trial = TrialRun.load(example)
    code, out, _ = run(f"summary {example} --json")
    data = json.loads(out)
    assert code == 0
    assert data["kappa"]["mean"] == pytest.approx(trial.kappa.mean())
    assert data["digest"] == trial.digest
    assert data["normal_approximation"]["verdict"] == "fair"  # skewness -2.6 at m = 500


def test_text(run, example):
    trial, lines = TrialRun.load(example), run(f"summary {example}")[1].splitlines()
    assert lines[0] == f"{len(trial):,} pairs, N = 100,000"
    (kappa,) = [line.split() for line in lines if line.startswith("kappa ")]
    assert kappa[1] == f"{trial.kappa.mean():.3g}"
    assert any(line.startswith("normal approximation at the most skewed pair: ") for line in lines)


def test_bad_input_is_one_line(refused):
    refused("summary nowhere.csv", "nowhere.csv")
