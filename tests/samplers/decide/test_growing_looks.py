"""Growing looks (K16 section 2.1): the schedule, the test, fused chains, configs, the command and IRLS use the same."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from app.cli.main import main
from designer import BadInput, Design, Schedule
from samplers.chains.chain import Chain
from samplers.config.config import SamplerConfig
from samplers.decide import Comparison, SequentialTest
from samplers.fit import LAD, irls
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk
from samplers.runs.run import run_config

N, M, GROWTH = 3000, 100, 1.5
LOOKS = {100, 150, 225, 338, 507, 761, 1142, 1713, 2570, 3000}  # each 1.5 times the last, rounded up
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 2))
Y = RNG.random(N) < 1 / (1 + np.exp(-X @ [0.5, -0.3]))


def test_intervals_grow_from_look_to_look():
    n = Schedule.geometric(N, M, GROWTH).n
    assert set(n.tolist()) == LOOKS
    steps = np.diff(n)[:-1]  # the last one ends with the data
    assert np.all(np.diff(steps) > 0)


def test_the_test_stops_at_these_looks_only():
    test = SequentialTest.from_design(Design(N, M, 0.05, growth=GROWTH))
    values = RNG.normal(0.0, 0.02, N)
    used = {test.decide(np.random.default_rng(seed), Comparison(N, values.take)).n_used for seed in range(200)}
    assert used <= LOOKS and len(used) > 4


def test_fused_chains_make_the_same_decisions():
    model = Logistic.from_data(X, Y, prior_precision=1.0)
    test = SequentialTest.from_design(Design(N, M, 0.05, growth=GROWTH))
    draws = [
        Chain(model, RandomWalk.isotropic(0.05, 2), test, np.zeros(2), np.random.default_rng(1), fuse=fuse).advance(200)
        for fuse in (True, False)
    ]
    assert np.array_equal(draws[0].n_used, draws[1].n_used)
    assert draws[0].theta == pytest.approx(draws[1].theta)
    assert set(draws[0].n_used.tolist()) <= LOOKS


def test_a_config_and_the_command_know_growth(tmp_path, capsys):
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    text = f"""
[test]
kind = "sequential"
n_data = {N}
m = {M}
epsilon = 0.05
growth = {GROWTH}
[data]
path = "{tmp_path}/data.npz"
[model]
prior_precision = 1.0
control = 0
[proposal]
kind = "random-walk"
[run]
chains = 1
draws = 200
"""
    results = run_config(SamplerConfig.from_toml(text), tmp_path / "out")
    assert set(results["sample_stats"]["n_used"].values.ravel().tolist()) <= LOOKS
    assert main(f"evaluate --n-data {N} --m {M} --epsilon 0.05 --growth {GROWTH} --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["looks"] == len(LOOKS)


def test_irls_looks_less_often():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20_000, 4))
    y = x @ [1.0, 2.0, 3.0, 0.0] + rng.standard_normal(20_000)
    fits = {
        growth: irls(np.random.default_rng(1), x, y, LAD(), growth=growth, tolerance=1e-3, increment=20)
        for growth in (1.0, 2.0)
    }
    looks = {growth: int(fit.trace.looks.sum()) for growth, fit in fits.items()}
    assert looks[2.0] < looks[1.0]
    assert np.abs(fits[2.0].theta - [1.0, 2.0, 3.0, 0.0]).max() < 0.1
    rows = fits[2.0].trace
    first = math.ceil(max(20, 40))
    assert int(rows.n[0]) in {first * 2**k for k in range(12)} | {20_000}


def test_a_growth_too_close_to_one_is_refused():
    with pytest.raises(BadInput, match=r"growth = 1\.01"):
        irls(np.random.default_rng(1), np.ones((10, 1)), np.ones(10), LAD(), growth=1.01)
