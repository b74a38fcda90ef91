"""A look at a run, while it goes or afterwards: promised against measured."""

from __future__ import annotations

import os
import socket

import numpy as np
import pytest

from designer import Design
from designer.rule.design import Predicted
from samplers import Logistic, RandomWalk, SamplerConfig, run, run_config
from samplers.runs.results import to_netcdf
from samplers.runs.store import Checkpoint, Store
from samplers.runs.watch import drift, history, promises, summary_so_far, traces, watch, watch_file, watch_results

N, WARMUP, DRAWS = 2_000, 50, 400
TEST = Design(N, 400, 0.05)


def predicted(acceptance: float, usage: float) -> Design:
    bands = {"acceptance_band": (acceptance - 0.02, acceptance + 0.02), "usage_band": (0.9 * usage, 1.1 * usage)}
    return TEST.model_copy(
        update={"predicted": Predicted(mean_abs_delta=0.01, mean_usage=usage, acceptance=acceptance, **bands)}
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, 2))
    file = tmp_path_factory.mktemp("data") / "data.npz"
    np.savez(file, x=x, y=rng.random(N) < 1 / (1 + np.exp(-x[:, 0])))
    return file


def config(data, design=TEST, more=""):
    run_table = f"[run]\ndraws = {DRAWS}\nwarmup = {WARMUP}\nchains = 2\n"
    text = f'[data]\npath = "{data}"\n[model]\ncontrol = 0\n[proposal]\nkind = "random-walk"\n{run_table}{more}'
    return SamplerConfig.from_toml(text, design)


@pytest.fixture(scope="module")
def done(data, tmp_path_factory):
    """A run without promises, its directory and its results."""
    directory = tmp_path_factory.mktemp("runs") / "plain"
    return directory, run_config(config(data), directory)


def test_what_is_measured_is_what_the_chains_did(done):
    directory, results = done
    seen, stats = watch(directory), results["sample_stats"]
    assert dict(seen.steps) == {0: WARMUP + DRAWS, 1: WARMUP + DRAWS}
    assert (seen.kept, seen.planned, seen.share, seen.left_out) == (DRAWS, (WARMUP + DRAWS, 2), 1.0, False)
    assert seen.names == ["theta[0]", "theta[1]"]
    rows = {row.quantity: row for row in promises(seen)}
    assert rows["acceptance"].measured == pytest.approx(float(stats["accepted"].mean()))
    assert rows["data use"].measured == pytest.approx(float(stats["n_used"].mean()) / N)
    assert rows["looks per step"].measured == pytest.approx(float(stats["n_looks"].mean()))
    assert {row.verdict for row in promises(seen)[:3]} == {"no promise"}
    assert rows["wrong decisions"].verdict == "not measured"
    went = history(seen, 4)
    assert went.step.tolist() == [WARMUP + DRAWS * k / 4 for k in (1, 2, 3, 4)]
    assert went.acceptance.mean() == pytest.approx(rows["acceptance"].measured)
    assert went.usage.mean() == pytest.approx(rows["data use"].measured)
    chains = traces(seen, 1, 100)
    assert [trace.chain for trace in chains] == [0, 1]
    np.testing.assert_array_equal(chains[1].value, results["posterior/theta"].values[1, ::4, 1])
    assert (chains[1].step[0], chains[1].step.size) == (WARMUP + 1, 100)
    mean = float(results["posterior/theta"].values[:, :, 0].mean())
    assert summary_so_far(seen).rows[0].mean == pytest.approx(mean)


def test_results_say_the_same_as_the_directory(done, tmp_path):
    directory, results = done
    to_netcdf(results, tmp_path / "copy.nc")
    for seen in (watch_results(results), watch_file((tmp_path / "copy.nc").read_bytes())):
        assert promises(seen) == promises(watch(directory))
        assert dict(seen.steps) == dict(watch(directory).steps)
        assert seen.design == TEST


def test_a_file_of_something_else_is_refused(refuses):
    refuses(lambda: watch_file(b"nothing"), "results.nc: is not a netCDF file")


@pytest.mark.parametrize(
    ("off", "verdicts", "words"),
    [
        ((0.0, 1.0), ["as promised"] * 3, ""),
        ((0.3, 1.0), ["differs", "as promised", "as promised"], "not as the design predicts"),
        ((0.0, 0.4), ["as promised", "differs", "differs"], "not as the design predicts"),
    ],
)
def test_promises_are_judged(done, off, verdicts, words):
    directory, _ = done
    plain = promises(watch(directory))
    design = predicted(plain[0].measured - off[0], plain[1].measured * off[1])
    seen = watch(directory)
    seen = seen._replace(facts={**seen.facts, "design": design.to_toml()})
    rows = promises(seen)
    assert [row.verdict for row in rows[:3]] == verdicts
    assert drift(seen)[:26] == words
    assert rows[2].promised == pytest.approx(rows[1].promised * N / TEST.m)  # looks: the data use in other units
    assert rows[3].promised == 0.01


def test_missing_promises_are_explained(done, data, tmp_path):
    directory, _ = done
    assert "The prediction is missing" in watch(directory).no_promise
    exact = config(data, None, '[test]\nkind = "exact"\n')
    run_config(exact.model_copy(update={"run": exact.run.model_copy(update={"draws": 20})}), tmp_path / "exact")
    assert "this run has another test" in watch(tmp_path / "exact").no_promise
    seen = watch(directory)
    changing = seen._replace(facts={**seen.facts, "design": predicted(0.3, 0.5).to_toml()})
    assert changing.no_promise is None
    changing = changing._replace(facts={**changing.facts, "config": {"redesign.tolerance": 0.05}})
    assert "changes on the way ([redesign])" in changing.no_promise
    many = seen._replace(facts={**seen.facts, "design": predicted(0.3, 0.5).to_toml(), "proposal_class": "Slice"})
    assert "many decisions" in many.no_promise


def test_a_run_in_its_warm_up(tmp_path):
    store = Store(tmp_path)
    store.describe({"digest": "a", "warmup": 100, "n_data": N})
    with store.chain(0) as chain:
        part = {"theta": np.zeros((30, 1)), "accepted": np.ones(30, dtype=bool)}
        part |= {"n_used": np.full(30, 5), "n_looks": np.ones(30, dtype=int)}
        chain.save(Checkpoint(30, {}, {}), part)
        seen = watch(tmp_path)
        assert seen.process == os.getpid()
    assert (dict(seen.steps), dict(seen.draws), seen.kept) == ({0: 30}, {}, 0)
    assert [row.verdict for row in promises(seen)] == ["too early", "too early", "too early", "not measured"]
    assert history(seen).step.size == 0
    assert summary_so_far(seen) is None


def test_a_process_that_has_ended_is_not_named(tmp_path):
    store = Store(tmp_path)
    store.describe({"digest": "a"})
    (tmp_path / "chain-0000").mkdir()
    for holder in (f"process 4194305 on {socket.gethostname()}", f"process {os.getpid()} on elsewhere", "\x00\xff"):
        (tmp_path / "chain-0000" / "lock").write_text(holder)
        assert watch(tmp_path).process is None


def test_long_runs_are_judged_by_their_newest_draws(tmp_path):
    store = Store(tmp_path)
    store.describe({"digest": "a", "warmup": 10, "n_data": N})
    everything = np.arange(60.0)[:, None]
    with store.chain(0) as chain:
        for start in (0, 20, 40):
            theta = everything[start : start + 20]
            counts = {"accepted": np.ones(20, dtype=bool), "n_used": np.full(20, 5), "n_looks": np.ones(20, dtype=int)}
            chain.save(Checkpoint(start + 20, {}, {}), {"theta": theta, **counts})
        (tmp_path / "chain-0000" / "draws-000000000000-000000000020.bin").write_bytes(b"damaged")
        seen = watch(tmp_path, most=25)
        assert seen.draws[0]["theta"][:, 0].tolist() == list(range(35, 60))
        assert (seen.steps[0], seen.left_out) == (60, True)
        assert traces(seen, 0)[0].step.tolist() == list(range(36, 61))


def test_nothing_yet(refuses, tmp_path):
    refuses(lambda: watch(tmp_path), "holds no run yet")
    refuses(lambda: watch(tmp_path / "nowhere"), "holds no run yet")


def test_runs_from_python_have_no_config(tmp_path):
    rng = np.random.default_rng(1)
    model = Logistic.from_data(rng.standard_normal((100, 1)), rng.random(100) < 0.5, prior_precision=1.0)
    parts = RandomWalk.isotropic(0.2, 1), Design(100, 20, 0.05)
    run(model, *parts, start=[0.0], draws=40, chains=1, output=tmp_path)
    seen = watch(tmp_path)
    assert (seen.config, seen.planned, seen.share) == (None, None, 1.0)
