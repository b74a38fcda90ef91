"""Predicted rows and acceptance of the exact mini-batch test against real chains, and where they are shown."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Cost, Design, TrialRun
from designer.search.remarks import beside_exact
from samplers.chains.chain import Chain
from samplers.decide import ExactMinibatchTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import Langevin, ProxyStep, RandomWalk
from samplers.study import predict_minibatch as predict_module
from samplers.study.compare_tests import MINIBATCH, Candidates, cheapest, predict, with_control_variates
from samplers.study.predict_minibatch import best_minibatch_step, minibatch_notes, predict_minibatch


@pytest.fixture(scope="module")
def model() -> Controlled:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3000, 8))
    y = rng.random(3000) < 1.0 / (1.0 + np.exp(1.0 - x @ rng.normal(0.0, 0.5, 8)))
    plain = Logistic.from_data(x, y, prior_precision=1.0)
    return Controlled.around(plain, find_mode(plain))


def walk(model: Controlled) -> RandomWalk:
    return RandomWalk.with_covariance(np.linalg.inv(model.posterior_precision()))


@pytest.mark.parametrize(
    ("walking", "test"),
    [
        (False, ExactMinibatchTest()),
        (False, ExactMinibatchTest(chi=0.5)),
        (True, ExactMinibatchTest()),
        (False, ExactMinibatchTest(most=0.1)),  # nearly always all data
    ],
)
def test_a_chain_does_what_is_predicted(model, walking, test):
    proposal = walk(model) if walking else ProxyStep.of(model)
    found = predict_minibatch(np.random.default_rng(2), model, proposal, test, pairs=400)
    draws = Chain(model, proposal, test, model.centre, np.random.default_rng(3)).advance(8000)
    rate = draws.accepted[1000:].mean()
    assert abs(found.acceptance - rate) < 4.0 * found.acceptance_se + 0.02
    assert found.rows == pytest.approx(draws.n_used[1000:].mean(), rel=0.1)
    assert found.everything == pytest.approx(np.mean(draws.n_used == model.n_data), abs=0.05)
    assert 0.0 < found.acceptance_se < 0.03


def test_the_best_step_is_shorter_where_rows_are_many(model):
    """Rows grow with the step: the best is near 1.5 / √D where they are the whole cost, and 2.38 / √D where none is."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((1500, 40))
    plain = Logistic.from_data(x, rng.random(1500) < 1.0 / (1.0 + np.exp(1.5 - x[:, 0])), prior_precision=1.0)
    many = Controlled.around(plain, find_mode(plain))
    shorter, found = best_minibatch_step(np.random.default_rng(5), many, walk(many), pairs=600)
    usual = predict_minibatch(np.random.default_rng(6), many, walk(many), pairs=200)
    assert shorter in (0.5, 0.7)
    assert usual.rows > 3.0 * 40  # more than a step costs besides
    assert found.rows < usual.rows and found.per_draw < usual.per_draw
    assert best_minibatch_step(np.random.default_rng(5), model, walk(model), pairs=400)[0] in (0.7, 1.0, 1.4)
    assert best_minibatch_step(np.random.default_rng(5), model, ProxyStep.of(model, 0.2), pairs=30)[0] == 1.0


def test_what_a_step_is_worth_is_what_a_chain_says(model):
    """x / (2 - x) against the autocorrelation of the chain's coordinates."""
    proposal = ProxyStep.of(model, 0.6)
    found = predict_minibatch(np.random.default_rng(7), model, proposal, pairs=400)
    theta = Chain(model, proposal, ExactMinibatchTest(), model.centre, np.random.default_rng(8)).advance(30_000).theta
    away = theta - theta.mean(axis=0)
    correlation = float(np.mean((away[1:] * away[:-1]).mean(axis=0) / away.var(axis=0)))
    worth = (3.0 * 8 + found.rows) / found.per_draw
    assert worth == pytest.approx((1.0 - correlation) / (1.0 + correlation), rel=0.1)


def test_notes_travel_with_a_trial_run_and_decide_the_comparison(model, tmp_path):
    notes = minibatch_notes(np.random.default_rng(9), model, ProxyStep.of(model))
    trial = TrialRun(3000, np.full(50, -1e-4), np.full(50, 1e-3), 0.0, notes=notes)
    for ending in ("csv", "parquet", "npz"):
        trial.save(tmp_path / f"trial.{ending}")
        back = TrialRun.load(tmp_path / f"trial.{ending}")
        assert dict(back.notes) == dict(trial.notes)
    for pairs in (trial, with_control_variates(trial, 10.0)):
        rows = predict(pairs, Candidates(Design(3000, 500, 0.05)))
        row = rows[-1]
        assert (row.test, row.error, row.data) == (MINIBATCH, 0.0, notes["minibatch_rows"])
        assert row.evaluations == 2.0 * row.data
        assert row.per_move == pytest.approx(2.0 * row.data / notes["minibatch_acceptance"])
        assert "beta = " in row.note
        assert cheapest(rows, 1e-9) == row  # a few rows against thousands
    assert MINIBATCH not in [row.test for row in predict(back.subset([0]), Candidates(Design(3000, 500, 0.05)))[:-1]]
    plain = TrialRun(3000, [0.0], [1e-3])
    assert MINIBATCH not in [row.test for row in predict(plain, Candidates(Design(3000, 500, 0.05)))]


def test_heavy_rows_are_part_of_every_cost():
    """The pairs are of the rest; what every step reads besides counts once, and each test has its own number."""
    notes = {"n_heavy": 500, "minibatch_rows": 40.0, "minibatch_acceptance": 0.5, "minibatch_heavy": 100}
    bare, heavy = (TrialRun(3000, [0.0, 0.0], [1e-3, 2e-3], notes=some) for some in ({}, notes))
    without, rows = (predict(trial, Candidates(Design(3000, 500, 0.05))) for trial in (bare, heavy))
    for before, after in zip(without, rows, strict=False):
        assert (after.data, after.evaluations) == (before.data + 500, before.evaluations + 500)
        assert after.per_move == pytest.approx(before.per_move * after.evaluations / before.evaluations)
    assert (rows[-1].test, rows[-1].data, rows[-1].evaluations, rows[-1].per_move) == (MINIBATCH, 140, 180, 360)
    beside = [beside_exact(Cost(), 3000, 0.1, 1.0, trial.n_heavy) for trial in (bare, heavy)]
    assert [(one.test, one.exact) for one in beside] == [(600, 3000), (1100, 3500)]


def test_of_tests_that_cost_the_same_the_exact_one_wins():
    rows = predict(TrialRun(1000, [0.0, 0.0], [0.1, 0.2]), Candidates(Design(1000, 100, 0.05)))
    equal = [row._replace(per_move=1.0) for row in rows]
    assert cheapest(equal[::-1], 1.0).error == 0.0


def test_models_without_bounds_note_nothing(model, refuses):
    assert minibatch_notes(np.random.default_rng(1), model.model, ProxyStep.of(model)) == {}
    langevin = Langevin(model.model, 1e-3, 100)
    assert minibatch_notes(np.random.default_rng(1), model, langevin) == {}
    refuses(lambda: best_minibatch_step(np.random.default_rng(1), model, langevin), "Langevin")


def test_pairs_that_need_many_rows_do_not_cost_more_than_the_budget(model, monkeypatch):
    """Beyond it pairs are taken to accept as often as the others; their rows are still counted."""
    read = []
    plain = ExactMinibatchTest.log_ratio

    def counted(self, rng, question, bounds):
        read.append(self.mean_rows(bounds))
        return plain(self, rng, question, bounds)

    monkeypatch.setattr(ExactMinibatchTest, "log_ratio", counted)
    monkeypatch.setattr(predict_module, "MOST_PASSES", 0)
    whole = predict_minibatch(np.random.default_rng(2), model, walk(model), pairs=300)
    needed, budget = sum(read), sum(read) / 5.0
    read.clear()
    monkeypatch.setattr(predict_module, "MOST_ROWS", budget)
    part = predict_minibatch(np.random.default_rng(2), model, walk(model), pairs=300)
    assert 0.5 * budget < sum(read) <= budget < needed
    assert part.rows == pytest.approx(whole.rows, rel=0.1)
    assert part.acceptance == pytest.approx(whole.acceptance, abs=4.0 * part.acceptance_se)
    assert part.acceptance_se > 1.2 * whole.acceptance_se
