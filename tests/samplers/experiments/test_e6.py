"""E6 at a tiny size: tests read a part of the data and keep the variables that exact jumps keep."""

import numpy as np
import pytest

from samplers.accept.exact import ExactTest
from samplers.experiments import experiment
from samplers.experiments.e6 import Counting, apart, inclusion_error
from samplers.experiments.origins import choices, on_data_set
from samplers.experiments.running import run_experiment
from samplers.models.rj_logistic import RJLogistic


def test_finding():
    done = run_experiment(experiment("e6"), "tiny")
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["exact"][5] == 1.0
    assert 0.05 <= rows["ε = 0.1"][5] < rows["ε = 0.01"][5] < 0.5
    assert all(abs(row[8] - rows["exact"][8]) < 2.0 for row in rows.values())
    assert all(0.0 <= row[9] < 0.2 for row in rows.values())


def part(blocks):
    blocks = np.array(blocks, dtype=float)
    return {"blocks": blocks, "means": blocks.mean(axis=0)[None], "sd": blocks.std(axis=0)}


def test_one_variable_that_differs_is_seen():
    """Of three variables one never moves, one agrees within its noise, one is off: the mean would hide it."""
    rng = np.random.default_rng(1)
    noise = 0.5 + 0.05 * rng.standard_normal((40, 1))
    truth = [part(np.column_stack([np.ones(40), noise, noise]))]
    same = apart([part(np.column_stack([np.ones(20), noise[:20], noise[20:]]))], truth, 3)
    other = apart([part(np.column_stack([np.ones(20), noise[:20], noise[20:] + 0.4]))], truth, 3)
    gone = apart([part(np.column_stack([np.zeros(20), noise[:20], noise[20:]]))], truth, 3)
    assert same.furthest < 4.0 and same.largest < 0.1
    assert other.furthest > 4.0 and other.largest == pytest.approx(0.4, abs=0.1)
    assert gone.furthest == pytest.approx(20.0)  # a variable that no exact chain ever dropped


def test_errors_of_slow_variables_come_from_longer_blocks():
    """A variable that stays in or out for four blocks at a time has half as many independent values as it seems."""
    rng = np.random.default_rng(4)
    slow = np.repeat(rng.random((100, 1)) < 0.5, 4, axis=0).astype(float)
    fast = (rng.random((400, 1)) < 0.5).astype(float)
    chains = [part(np.column_stack([slow, fast, np.ones(400)]))]
    error = inclusion_error(chains, 3)
    assert error[0] == pytest.approx(0.5 / 10.0, rel=0.15)
    assert error[1] == pytest.approx(0.5 / 20.0, rel=0.25)
    assert error[2] == 0.0
    assert inclusion_error([part(np.array([[0.0], [1.0]]))], 1) == pytest.approx(0.5)  # too few to take together


def test_it_runs_on_another_data_set():
    found = on_data_set(experiment("e6"), "miniboone")
    assert found.data == ("miniboone",) and experiment("e6").data == ("census",)
    assert all(settings.data == "miniboone" for settings in found.sizes.values())
    assert choices(found) == ("census", "miniboone") and choices(experiment("e7")) == ()


def test_births_and_deaths_are_counted():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((50, 4))
    model = RJLogistic.from_data(x, rng.logistic(size=50) < x[:, 0], rate=1.0, sd_birth=0.5)
    chain = Counting(model, ExactTest(), np.array([0.5, 0.0, 0.0, 0.0]), np.random.default_rng(3))
    draws = [chain.advance(steps) for steps in (7, 500, 493)]
    active = np.concatenate([np.array([[True, False, False, False]]), *(part.theta != 0.0 for part in draws)])
    assert chain.changed == np.any(active[1:] != active[:-1], axis=1).sum() > 20
    assert chain.changed < chain.tried < 800
