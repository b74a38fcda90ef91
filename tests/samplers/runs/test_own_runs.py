"""Runs from Python: bad arguments, directories that hold something else, chains of one's own, names, cancelling."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput
from samplers import (
    Comparison,
    Decision,
    DenseMRF,
    ExactTest,
    Logistic,
    RandomWalk,
    SamplerConfig,
    SteppedChain,
    from_netcdf,
    run,
    run_chains,
    run_config,
)
from samplers.runs.results import steps

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((200, 2)), RNG.random(200) < 0.5
MODEL, WALK = Logistic.from_data(X, Y, prior_precision=1.0), RandomWalk.isotropic(0.1, 2)
OPTIONS = {"start": [0.0, 0.0], "draws": 30, "chains": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": "abc"}, "start: must be a list of numbers"),
        ({"start": [[1], [2, 3]]}, "start: must be a list of numbers"),
        ({"start": None}, "start: must be a list of finite numbers"),
        ({"start": [[0.0, 0.0]]}, "start: must be a list of finite numbers"),
        ({"model": None}, "model: NoneType has no n_data"),
        ({"model": X}, "model: ndarray has no n_data"),
        ({"proposal": "walk"}, "proposal: str has no propose"),
        ({"test": None}, "test: NoneType has no decide"),
        ({"test": "exact"}, "test: str has no decide"),
        ({"rule": "foo"}, "rule"),
        ({"names": "ab"}, "names: must be a list of strings"),
        ({"names": [1, 2]}, "names: must be a list of strings"),
        ({"names": ["a", "a"]}, "names: must be distinct"),
        ({"names": ["a"]}, "names: 1 given for 2 parameters"),
    ],
)
@pytest.mark.parametrize("saved", [True, False])
def test_bad_arguments_are_refused_in_one_line(change, message, saved, tmp_path):
    parts = {"model": MODEL, "proposal": WALK, "test": ExactTest(), **OPTIONS, **change}
    with pytest.raises(BadInput, match=message) as refused:
        run(**parts, output=tmp_path / "run" if saved else None)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def config(tmp_path):
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    text = f'[test]\nkind = "exact"\n[data]\npath = "{tmp_path}/data.npz"\n[run]\ndraws = 30\nwarmup = 5\nchains = 2'
    return SamplerConfig.from_toml(text)


def test_resuming_does_not_write_among_other_files(tmp_path):
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear")
    file.write_text("x")
    for where, message in ((folder, "holds no run but other files"), (file, "is a file")):
        with pytest.raises(BadInput, match=message):
            run(MODEL, WALK, ExactTest(), **OPTIONS, output=where, resume=True)
        with pytest.raises(BadInput, match=message):
            run_config(config(tmp_path), where, resume=True)
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]


def test_a_run_is_resumed_the_way_it_was_started(tmp_path):
    run_config(config(tmp_path), tmp_path / "config")
    run(MODEL, WALK, ExactTest(), **OPTIONS, output=tmp_path / "python")
    with pytest.raises(BadInput, match=r"started from a config \(.*\), not from Python"):
        run(MODEL, WALK, ExactTest(), **OPTIONS, output=tmp_path / "config", resume=True)
    with pytest.raises(BadInput, match=r"started from Python \(samplers.run\), not from a config"):
        run_config(config(tmp_path), tmp_path / "python", resume=True)


def test_a_run_cancelled_in_warmup_has_no_draws_and_is_resumed(tmp_path):
    seen = []
    stop = {"progress": seen.append, "cancelled": lambda: bool(seen)}
    for output in (None, tmp_path):
        seen.clear()
        draws = run(MODEL, WALK, ExactTest(), **OPTIONS, warmup=2000, output=output, **stop)
        assert [part.theta.shape for part in draws] == [(0, 2)] * 2
    assert not (tmp_path / "results.nc").exists()
    field = DenseMRF.random(np.random.default_rng(1), dimension=12)
    parts = {"start": np.zeros(12), "draws": 10, "chains": 1, "cancelled": lambda: True}
    types = {run(field, None, ExactTest(), **parts, output=output)[0].theta.dtype for output in (None, tmp_path / "g")}
    assert types == {np.dtype(np.int8)}
    resumed = run(MODEL, WALK, ExactTest(), **OPTIONS, warmup=2000, output=tmp_path, resume=True)
    np.testing.assert_array_equal(resumed[1].theta, run(MODEL, WALK, ExactTest(), **OPTIONS, warmup=2000)[1].theta)


def test_names_given_on_resuming_are_used(tmp_path):
    run(MODEL, WALK, ExactTest(), **OPTIONS, output=tmp_path)
    for names in (["a", "b"], ["c", "d"]):
        run(MODEL, WALK, ExactTest(), **OPTIONS, output=tmp_path, resume=True, names=names)
        assert from_netcdf(tmp_path / "results.nc")["posterior"].parameter.values.tolist() == names


def test_results_have_the_number_of_data_and_the_data_of_a_step(tmp_path):
    field = DenseMRF.random(np.random.default_rng(1), dimension=12)
    run(field, None, ExactTest(), start=np.zeros(12), draws=10, chains=1, output=tmp_path)
    results = from_netcdf(tmp_path / "results.nc")
    assert results.attrs["n_data"] == field.n_data
    assert results.attrs["data_per_step"] == 12 * field.n_data
    assert steps(results).usage == 1.0
    results.attrs |= {"n_data": 12 * field.n_data}  # as before 0.2
    del results.attrs["data_per_step"]
    assert steps(results).usage == 1.0


class Sign(SteppedChain):
    """A chain of one's own: x moves by ±1 and is accepted with probability exp(-change of rate x²)."""

    n_data = 3

    def __init__(self, rng, rate=0.1):
        self.rng, self.theta, self.rate = rng, np.zeros(1), rate

    def _question(self, theta, new):
        return Comparison(3, lambda indices: np.full(indices.size, self.rate / 3) * float(theta @ theta - new @ new))

    def probes(self, rng):
        yield self._question(self.theta, self.theta + 1.0)

    def step(self, rng, theta):
        new = theta + rng.choice([-1.0, 1.0])
        accept = ExactTest().decide(rng, self._question(theta, new)).accept
        return (new if accept else theta), Decision(accept, 3, 1)


def test_a_chain_of_ones_own_is_saved_and_resumed(tmp_path):
    whole = run_chains(Sign, draws=400, warmup=10, chains=2, seed=3)
    options = {"warmup": 10, "chains": 2, "seed": 3, "output": tmp_path, "checkpoint_seconds": 0.0}
    run_chains(Sign, draws=70, **options)
    resumed = run_chains(Sign, draws=400, resume=True, names=["x"], **options)
    for one, other in zip(whole, resumed, strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)
        np.testing.assert_array_equal(one.accepted, other.accepted)
    assert 0.1 < whole[0].accepted.mean() < 1.0
    results = from_netcdf(tmp_path / "results.nc")
    assert results["posterior/theta"].shape == (2, 400, 1)
    assert (results.attrs["model"], results.attrs["n_data"]) == ("Sign", 3)
    with pytest.raises(BadInput, match=r"holds another run .*fingerprint of the model"):
        run_chains(lambda rng: Sign(rng, rate=0.2), draws=400, resume=True, **options)
    with pytest.raises(BadInput, match="holds another run"):
        run_chains(type("Other", (Sign,), {}), draws=400, resume=True, **options)


def test_a_chain_of_ones_own_that_cannot_be_saved_or_seeded_is_refused(tmp_path):
    class Unknown(Sign):
        probes = SteppedChain.probes

    class Parts(Sign):
        n_data = SteppedChain.n_data

    assert run_chains(Unknown, draws=5, chains=1)[0].theta.shape == (5, 1)
    with pytest.raises(BadInput, match="Unknown has no probes"):
        run_chains(Unknown, draws=5, output=tmp_path / "run")
    with pytest.raises(BadInput, match="Parts: must have a model or define n_data"):
        run_chains(Parts, draws=5)
    with pytest.raises(BadInput, match="make: must return a chain that uses the random numbers"):
        run_chains(lambda rng: Sign(np.random.default_rng(1)), draws=5)
    assert not (tmp_path / "run").exists()
