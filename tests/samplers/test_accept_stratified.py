"""The real test in strata against its predictions, and against the sequential test."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput, Design, TrialRun
from designer.further.strata_records import Stratified
from samplers.accept import Comparison, ExactTest, SequentialTest
from samplers.accept.stratified import StratifiedTest
from samplers.config import SamplerConfig
from samplers.runner import audit_config, run_config

N = 4000
STRATA = Stratified(200, (1.2,), (Design(N, 200, 0.15, 0.8), Design(N, 400, 0.03, 0.6)))


def population(a, kappa, seed=0):
    """Gaussian l_i with the moments of a pair."""
    values = np.random.default_rng(seed).standard_normal(N)
    values = (values - values.mean()) / values.std()
    return values * kappa * (N - 1) ** 0.5 / N + a / N


def test_one_stratum_is_the_sequential_test():
    question = Comparison(N, population(-0.3, 1.0).take)
    design = STRATA.designs[0]
    one, plain = StratifiedTest(Stratified(200, (), (design,))), SequentialTest.from_design(design)
    for seed in range(40):
        rngs = np.random.default_rng(seed), np.random.default_rng(seed)
        assert one.decide(rngs[0], question) == plain.decide(rngs[1], question)
        assert rngs[0].random() == rngs[1].random()


def test_far_from_the_edge_it_is_the_stratum_s_test():
    for kappa, design in ((0.3, STRATA.designs[0]), (4.0, STRATA.designs[1])):
        question = Comparison(N, population(-0.3, kappa).take)
        plain = SequentialTest.from_design(design)
        for seed in range(40):
            rngs = np.random.default_rng(seed), np.random.default_rng(seed)
            assert StratifiedTest(STRATA).decide(rngs[0], question) == plain.decide(rngs[1], question)


@pytest.mark.parametrize(("a", "kappa"), [(-0.7, 1.2), (0.5, 1.15), (0.2, 1.3)])
def test_predictions_hold_where_pairs_are_misjudged(a, kappa):
    """Delta against the exact decision with the same u; near the edge both strata are met."""
    repeats, question = 1500, Comparison(N, population(a, kappa).take)
    change, used = np.empty(repeats), np.empty(repeats)
    for k in range(repeats):
        found = StratifiedTest(STRATA).decide(np.random.default_rng(k), question)
        exact = ExactTest().decide(np.random.default_rng(k), question)
        change[k], used[k] = float(found.accept) - float(exact.accept), found.n_used / N
    trial = TrialRun(N, [a / N], [kappa * (N - 1) ** 0.5 / N])
    assert 0.02 < STRATA.memberships(trial.kappa)[0, 0] < 0.98
    predicted = STRATA.acceptance(trial)
    for values, value in ((change, predicted.delta), (np.abs(change), predicted.wrong), (used, predicted.usage)):
        se = np.hypot(values.std() / repeats**0.5, 1.0 / repeats)
        assert abs(values.mean() - value[0]) < 4.0 * se


def test_questions_it_cannot_answer():
    with pytest.raises(BadInput, match="designed for n_data = 4,000"):
        StratifiedTest(STRATA).decide(np.random.default_rng(1), Comparison(N + 1, np.zeros(N + 1).take))
    forced = StratifiedTest(STRATA).decide(np.random.default_rng(1), Comparison(N, np.zeros(N).take, -np.inf))
    assert forced == (True, 0, 0)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((N, 3))
    y = rng.random(N) < 1.0 / (1.0 + np.exp(-x @ np.array([0.5, -0.5, 0.2])))
    np.savez(tmp_path / "data.npz", x=x, y=y)
    run = "[run]\ndraws = 500\nwarmup = 50\nchains = 2\nseed = 5\ncheckpoint_seconds = 0.0\n"
    rest = '[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\ncontrol = 0\n[proposal]\nkind = "random-walk"\n'
    (tmp_path / "config.toml").write_text(STRATA.to_toml() + rest + run)
    return tmp_path


def test_a_config_runs_and_resumes(folder):
    config = SamplerConfig.load(folder / "config.toml")
    assert config.test == STRATA
    assert SamplerConfig.from_toml(config.to_toml()) == config
    whole = run_config(config, folder / "whole")
    assert Stratified.from_toml(whole.attrs["design"]) == STRATA
    assert whole["sample_stats/n_used"].values.min() >= STRATA.first
    calls = iter([False] * 3 + [True] * 10_000)
    run_config(config, folder / "parts", cancelled=lambda: next(calls))
    again = run_config(config, folder / "parts", resume=True)
    assert np.array_equal(whole["posterior/theta"], again["posterior/theta"])


def test_configs_that_cannot_be(folder):
    text = (folder / "config.toml").read_text()
    with pytest.raises(BadInput, match=r"test.kind = 'stratified': proposal.kind = 'slice'"):
        SamplerConfig.from_toml(text.replace('kind = "random-walk"', 'kind = "slice"'))
    with pytest.raises(BadInput, match="only a sequential test"):
        audit_config(SamplerConfig.load(folder / "config.toml"), 10, 1)
    other = Stratified(200, (), (Design(N + 1, 200, 0.1),))
    with pytest.raises(BadInput, match=r"test.n_data = 4,001: the data have 4,000 rows"):
        run_config(SamplerConfig.load(folder / "config.toml", other), folder / "out")
