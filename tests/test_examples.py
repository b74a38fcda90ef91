"""The bundled examples work, and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from designer import TrialRun, search
from designer.pairs.diagnostics import summarise

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_trial_runs_give_designs():
    usage = {}
    for name in ("logistic", "control_variate", "unmixing", "ica_scale"):
        trial = TrialRun.load(EXAMPLES / f"{name}_trial.csv")
        assert len(trial) == 200
        found = search(trial, 0.02)
        assert found.error <= 0.02
        usage[name] = found.usage
    assert usage["control_variate"] < 0.01 < 0.3 < usage["logistic"]


def test_control_variates_leave_the_acceptance_as_it_is():
    plain, controlled = (TrialRun.load(EXAMPLES / f"{name}_trial.csv") for name in ("logistic", "control_variate"))
    assert controlled.log_acceptance == pytest.approx(plain.log_acceptance, abs=1e-8)
    assert controlled.kappa.max() < 0.01 * plain.kappa.min()
    assert 0.15 < summarise(plain).probability.mean < 0.35  # the optimal random walk


def test_the_users_own_model(capsys):
    module = runpy.run_path(str(EXAMPLES / "poisson_regression.py"))
    found = module["main"](n_data=5000, steps=300)
    assert found["walk"] < 0.2 < found["own"]
    assert found["acceptance"] > 0.8
    assert "as predicted" in capsys.readouterr().out
