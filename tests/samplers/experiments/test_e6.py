"""E6 at a tiny size: tests read a part of the data and keep the variables that exact jumps keep."""

import numpy as np
import pytest

from samplers.decide.exact import ExactTest
from samplers.experiments import experiment
from samplers.experiments.framework.data_sets import choices, on_data_set
from samplers.experiments.framework.running import run_experiment
from samplers.experiments.studies.e6 import Counting, inclusion_error, inclusion_of
from samplers.models.rj_logistic import RJLogistic


def test_finding():
    done = run_experiment(experiment("e6"), "tiny")
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["exact"][5] == 1.0
    assert 0.05 <= rows["ε = 0.1"][5] < rows["ε = 0.01"][5] < 0.5
    assert all(abs(row[8] - rows["exact"][8]) < 2.0 for row in rows.values())
    assert all(0.0 <= row[9] < 0.2 for row in rows.values())
    assert rows["ε = 0.01"][7] < 4.0 and rows["ε = 0.01"][6] < rows["ε = 0.1"][6]  # larger ε differ more
    columns = done.report.tables[0].columns
    spent = {name: row[columns.index("likelihood evaluations")] for name, row in rows.items()}
    assert spent["exact"] == 2 * 5000 * rows["exact"][1]
    assert spent["ε = 0.1"] == pytest.approx(2 * 5000 * rows["ε = 0.1"][1] * rows["ε = 0.1"][5])


def part(blocks):
    blocks = np.array(blocks, dtype=float)
    return {"blocks": blocks, "means": blocks.mean(axis=0)[None], "sd": blocks.std(axis=0)}


def chains(count, seed, shift=0.0, second=1.0):
    """Chains of 40 blocks: a variable that comes and goes, another that is always in or out, and a third that moves."""
    rng = np.random.default_rng(seed)
    noise = 0.5 + 0.05 * rng.standard_normal((2, count, 40))
    return [part(np.column_stack([noise[0, k], np.full(40, second), noise[1, k] + shift])) for k in range(count)]


def test_one_variable_that_differs_is_seen():
    """Of three variables one agrees within its noise, one never moves, one is off: the mean would hide it."""
    truth = chains(4, 1)
    same, other, gone = (inclusion_of(chains(4, 2, *how), truth, 3) for how in ((0.0, 1.0), (0.4, 1.0), (0.0, 0.0)))
    assert same.furthest < 4.0 and same.largest < 0.1 and same.moved == 2
    assert other.furthest > 4.0 and other.largest == pytest.approx(0.4, abs=0.1)
    assert gone.furthest > 4.0 and gone.largest == 1.0  # in all four chains against none of four
    assert inclusion_of(chains(1, 2, 0.0, 0.0), truth, 3).furthest < 4.0  # one chain that lost it may have had bad luck


def test_errors_of_slow_variables():
    """In or out for four blocks at a time; coming and going within every block; in all the time; changing once."""
    rng = np.random.default_rng(4)
    slow = np.repeat(rng.random((100, 1)) < 0.5, 4, axis=0).astype(float)
    fast = 0.5 + 0.1 * rng.standard_normal((400, 1))
    once = (np.arange(400) >= 200).astype(float)
    error = inclusion_error([part(np.column_stack([slow, fast, np.ones(400), once]))], 4)
    changes = np.count_nonzero(np.diff(slow[:, 0]))
    assert error[0] == pytest.approx(0.5 / np.sqrt(1 + changes), rel=0.05)
    assert error[1] == pytest.approx(0.5 / np.sqrt(401.0), rel=0.05)
    assert error[2] == pytest.approx(np.sqrt(0.75 * 0.25))
    assert error[3] == pytest.approx(np.sqrt(0.25 / 2.0))


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
