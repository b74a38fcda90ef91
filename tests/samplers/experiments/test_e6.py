"""E6 at a tiny size: tests read a part of the data and keep the variables that exact jumps keep."""

import numpy as np
import pytest

from samplers.chains.jump_chain import JumpChain
from samplers.decide.exact import ExactTest
from samplers.experiments import experiment
from samplers.experiments.framework.data_sets import choices, on_data_set
from samplers.experiments.framework.running import run_experiment
from samplers.experiments.problems.inclusion import inclusion_error, inclusion_of
from samplers.experiments.problems.model_jumps import ModelJumps, Models
from samplers.experiments.studies.e6 import ALL, GOOD, MIXES, ONE, Counting
from samplers.models.rj_logistic import RJLogistic


def test_finding():
    done = run_experiment(experiment("e6"), "tiny")
    checks = done.report.checks
    assert checks[MIXES] and checks["data use falls with ε"] and len(checks) == 10
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["exact"][5] == 1.0
    assert 0.05 <= rows["ε = 0.1"][5] < rows["ε = 0.01"][5] < 0.5
    assert all(0.0 <= row[10] < 0.2 for row in rows.values())
    columns = done.report.tables[0].columns
    spent = {name: row[columns.index("likelihood evaluations")] for name, row in rows.items()}
    assert spent["exact"] == 2 * 5000 * rows["exact"][1]
    assert spent["ε = 0.1"] == pytest.approx(2 * 5000 * rows["ε = 0.1"][1] * rows["ε = 0.1"][5])
    truth = dict(zip(done.report.tables[1].columns, done.report.tables[1].rows[0], strict=True))
    assert truth["jumps accepted"] > 0.3 and truth["samples in total"] == 450  # blind jumps: a few per cent
    undecided = done.report.tables[4]
    assert undecided.columns[:4] == ["variable (0: the constant)", "entries and exits in the truth", "truth", "± s.e."]
    assert undecided.rows and all(len(row) == len(undecided.columns) == 12 for row in undecided.rows)
    drawn = done.report.panels[0].series[0]
    for row in undecided.rows:
        assert any(0.01 < p < 0.99 for p in row[2::2]) and all(se > 0.0 for se in row[3::2])
        assert row[2] == pytest.approx(drawn.y[row[0]]) and drawn.high[row[0]] - row[2] == pytest.approx(2.0 * row[3])
    others = set(range(len(drawn.y))) - {row[0] for row in undecided.rows}
    assert all(not 0.01 < drawn.y[k] < 0.99 for k in others)
    starts = done.report.tables[2].rows
    assert [row[0] for row in starts] == [ONE, ALL, ONE, ALL, GOOD]
    fitting = [row[3] for row in starts[2:]]
    assert max(fitting) - min(fitting) < 8.0 < starts[1][3] - starts[0][3]  # blind chains do not meet in that time


def test_jumps_that_fit_have_the_posterior_of_blind_ones():
    """On three columns, of which one matters, one may matter and one does not: inclusion and means agree."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((300, 3))
    model = RJLogistic.from_data(x, rng.logistic(size=300) < x @ [1.0, 0.3, 0.0], rate=0.5, sd_update=0.2, sd_birth=0.4)
    blind = JumpChain(model, ExactTest(), np.array([1.0, 0.0, 0.0]), np.random.default_rng(1)).advance(40_000).theta
    fitting = ModelJumps(Models(model), np.array([0.0, 0.0, 0.5]), np.random.default_rng(2))
    fitting.warm_up(20, lambda: False)
    draws = fitting.advance(6000).theta
    assert fitting.changed / fitting.tried > 0.2 and fitting.steps == 6000
    for values in (lambda theta: theta, lambda theta: theta != 0.0):
        one, other = (values(theta).reshape(20, -1, 3).mean(axis=1) for theta in (blind, draws))
        se = np.sqrt(one.var(axis=0, ddof=1) / 20 + other.var(axis=0, ddof=1) / 20)
        assert np.all(np.abs(one.mean(axis=0) - other.mean(axis=0)) < 4.0 * se + 1e-9)
    inclusion = (draws != 0.0).mean(axis=0)
    assert inclusion[0] == 1.0 and 0.05 < inclusion[1] < 0.95  # something to compare


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
