"""`run` with parts at hand in Python: saved, killed and resumed with the same draws; other runs are refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import arviz_base
import numpy as np
import pytest

from designer import BadInput, Design
from samplers import (
    ChainStopped,
    ConcentrationTest,
    DenseMRF,
    ExactTest,
    Lasso,
    Logistic,
    RandomWalk,
    RJLogistic,
    SequentialTest,
    Slice,
    ValuedMRF,
    from_netcdf,
    run,
)
from samplers.runs.identity import digest_of
from samplers.runs.store import Store
from tests.commands import finished, wait_for

ROOT = Path(__file__).parents[3]
N_DATA = 1000
X = np.random.default_rng(5).normal(0.3, 1.0, N_DATA)
DESIGN, WALK = Design(N_DATA, 100, 0.05), RandomWalk.isotropic(0.06, 1)
OPTIONS = {"start": [0.3], "draws": 600, "warmup": 50, "chains": 2, "seed": 3, "checkpoint_seconds": 0.0}


class Mean:
    """A model of one's own: normal data with an unknown mean."""

    def __init__(self, x=X):
        self.x, self.n_data = x, x.size

    def log_prior(self, theta):
        return float(-0.5 * theta @ theta)

    def terms(self, theta, theta_new, indices):
        return (theta_new - theta) * (self.x[indices] - 0.5 * (theta_new + theta))


class Heavier(Mean):
    """The same with another prior."""

    def log_prior(self, theta):
        return float(-0.25 * theta @ theta)


def same(chains, others):
    assert len(chains) == len(others)
    for one, other in zip(chains, others, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)


def until(steps):
    """Options that cancel a run after about this many steps."""
    seen = []
    return {"progress": seen.append, "cancelled": lambda: bool(seen) and seen[-1].done >= steps}


def first(chains, draws):
    return [chain.first(draws) for chain in chains]


def test_a_saved_run_makes_the_draws_of_one_in_memory_and_writes_its_results(tmp_path):
    saved = run(Mean(), WALK, DESIGN, output=tmp_path / "run", names=["mu"], **OPTIONS)
    same(saved, run(Mean(), WALK, SequentialTest.from_design(DESIGN), **OPTIONS))
    results = from_netcdf(tmp_path / "run" / "results.nc")
    assert results["posterior/theta"].shape == (2, 600, 1)
    assert results["posterior"].parameter.values.tolist() == ["mu"]
    np.testing.assert_array_equal(results["posterior/theta"].values[1], saved[1].theta)
    np.testing.assert_array_equal(results["sample_stats/n_used"].values[0], saved[0].n_used)
    assert Design.from_toml(results.attrs["design"]) == DESIGN
    assert (results.attrs["model"], results.attrs["n_data"]) == ("Mean", N_DATA)
    assert arviz_base.extract(results).shape == (1, 1200)


def test_a_cancelled_run_is_resumed_and_may_become_longer(tmp_path):
    whole = run(Mean(), WALK, DESIGN, **{**OPTIONS, "draws": 900})
    part = run(Mean(), WALK, DESIGN, output=tmp_path, workers=1, **until(300), **OPTIONS)
    assert 0 < part[0].theta.shape[0] < 600
    longer = run(Mean(), WALK, DESIGN, output=tmp_path, resume=True, **{**OPTIONS, "draws": 900})
    same(longer, whole)
    more = run(Mean(), WALK, DESIGN, output=tmp_path, resume=True, **{**OPTIONS, "draws": 100, "chains": 3})
    same(more[:2], first(whole, 100))
    assert from_netcdf(tmp_path / "results.nc")["posterior/theta"].shape == (3, 100, 1)


SCRIPT = '''
import sys
import numpy as np
from designer import Design
from samplers import RandomWalk, run


class Poisson:
    """y_i ~ Poisson(exp(x_i theta)); not a model that comes with the package."""

    n_data = 2000

    def __init__(self):
        rng = np.random.default_rng(1)
        self.x = rng.standard_normal((self.n_data, 2))
        self.y = rng.poisson(np.exp(self.x @ [0.3, -0.2]))

    def log_prior(self, theta):
        return float(-0.5 * theta @ theta)

    def terms(self, theta, theta_new, indices):
        x = self.x[indices]
        old, new = x @ theta, x @ theta_new
        return self.y[indices] * (new - old) - np.exp(new) + np.exp(old)


walk, design = RandomWalk.isotropic(0.02, 2), Design(2000, 200, 0.05)
options = {"output": sys.argv[1], "resume": sys.argv[2] == "resume", "checkpoint_seconds": 0.0}
chains = run(Poisson(), walk, design, start=[0.3, -0.2], draws=4000, warmup=100, chains=2, seed=8, **options)
print(chains[0].theta.shape)
'''


def test_a_users_script_that_was_killed_continues_with_the_same_draws(tmp_path):
    script = tmp_path / "poisson.py"
    script.write_text(SCRIPT)

    def command(folder, resume):
        return [sys.executable, str(script), str(tmp_path / folder), resume]

    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    whole = finished(command("whole", "new"), env=environment)
    assert whole.stdout == "(4000, 2)\n", whole.stderr
    process = subprocess.Popen(
        command("killed", "new"), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    store = Store(tmp_path / "killed")
    wait_for(lambda: [chain for chain in store.chains() if any(store.chain(chain).directory.glob("state-*"))], process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "results.nc").exists()
    resumed = finished(command("killed", "resume"), env=environment)
    assert resumed.stdout == "(4000, 2)\n", resumed.stderr
    results = [from_netcdf(tmp_path / name / "results.nc") for name in ("whole", "killed")]
    for name in ("posterior/theta", "sample_stats/n_used", "sample_stats/accepted"):
        np.testing.assert_array_equal(*(found[name].values for found in results))
    script.write_text(SCRIPT.replace("[0.3, -0.2]))", "[0.3, -0.1]))"))
    refused = finished(command("killed", "resume"), env=environment)
    assert refused.returncode == 1
    assert "holds another run (model." in refused.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    run(Mean(), WALK, DESIGN, output=folder, **{**OPTIONS, "draws": 20})
    return folder


CHANGED = X.copy()
CHANGED[-1] += 0.01


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"model": Mean(CHANGED)}, ["model.x was 1,000 (digest ", "is 1,000 (digest "]),
        ({"model": Heavier()}, ["fingerprint of the model", "model was Mean, is Heavier"]),
        ({"proposal": RandomWalk.isotropic(0.07, 1)}, ["proposal.factor was [[0.06]], is [[0.07]]"]),
        ({"test": Design(N_DATA, 100, 0.04)}, ["test.epsilon was 0.05, is 0.04"]),
        ({"test": ExactTest()}, ["test was not given, is ExactTest"]),
        ({"start": [0.2]}, ["start was [0.3], is [0.2]"]),
        ({"seed": 4}, ["seed was 3, is 4"]),
        ({"warmup": 51}, ["warmup was 50, is 51"]),
        ({"rule": "barker"}, ["rule was metropolis, is barker"]),
        ({"fuse": False}, ["compiled was True, is False"]),
    ],
)
def test_another_run_is_refused_and_what_differs_is_named(folder, change, names):
    parts = {"model": Mean(), "proposal": WALK, "test": DESIGN, **OPTIONS, "draws": 20, **change}
    before = (folder / "results.nc").read_bytes()
    with pytest.raises(BadInput, match="holds another run") as refused:
        run(**parts, output=folder, resume=True)
    assert all(name in str(refused.value) for name in names), refused.value
    assert "\n" not in str(refused.value)
    assert (folder / "results.nc").read_bytes() == before


def test_a_directory_in_use_is_not_overwritten(folder):
    with pytest.raises(BadInput, match=r"holds a run already; continue it with --resume \(resume=True\)"):
        run(Mean(), WALK, DESIGN, output=folder, **OPTIONS)
    with pytest.raises(BadInput, match="resume: needs the directory of a run"):
        run(Mean(), WALK, DESIGN, resume=True, **OPTIONS)


def data():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((500, 2))
    return x, rng.random(500) < 1.0 / (1.0 + np.exp(-x[:, 0]))


FIELD = DenseMRF.random(np.random.default_rng(1), dimension=12)
VALUED = ValuedMRF.random(np.random.default_rng(1), dimension=8, n_values=3)
LOGISTIC = Logistic.from_data(*data(), prior_precision=1.0)
KINDS = {
    "compiled": (LOGISTIC, RandomWalk.isotropic(0.1, 2), SequentialTest.from_design(Design(500, 50, 0.05)), [1.0, 0.0]),
    "concentration": (LOGISTIC, RandomWalk.isotropic(0.1, 2), ConcentrationTest(50, 0.05), [1.0, 0.0]),
    "lasso": (
        Lasso.from_data(data()[0], data()[0] @ [1.0, 0.0], penalty=1.0), RandomWalk.isotropic(0.1, 2), ExactTest(),
        [1.0, 0.0],
    ),
    "slice": (LOGISTIC, Slice.isotropic(0.1, 2), Design(500, 50, 0.05), [1.0, 0.0]),
    "jumps": (RJLogistic.from_data(*data(), rate=0.1), None, Design(500, 50, 0.05), [1.0, 0.0]),
    "gibbs": (FIELD, None, Design(FIELD.n_data, 20, 0.05), np.zeros(12)),
    "values": (VALUED, None, ExactTest(), np.zeros(8)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_any_chain_is_saved_and_resumed(kind, tmp_path):
    *parts, start = KINDS[kind]
    options = {"start": start, "draws": 300, "chains": 2, "checkpoint_seconds": 0.0}
    whole = run(*parts, **options)
    run(*parts, output=tmp_path, **{**options, "draws": 70})
    resumed = run(*parts, output=tmp_path, resume=True, **options)
    same(resumed, whole)
    results = from_netcdf(tmp_path / "results.nc")
    np.testing.assert_array_equal(results["posterior/theta"].values[0], whole[0].theta)
    assert ("active" in results["posterior"]) == (kind == "jumps")


def test_a_model_that_cannot_propose_needs_a_proposal():
    with pytest.raises(BadInput, match="proposal: missing; a Mean does not propose states itself"):
        run(Mean(), None, DESIGN, **OPTIONS)


def test_the_steps_before_a_likelihood_that_is_not_finite_are_saved(tmp_path):
    class Cliff(Mean):
        def terms(self, theta, theta_new, indices):
            values = super().terms(theta, theta_new, indices)
            return np.where((indices == 7) & (theta_new[0] > 0.33), np.nan, values)

    with pytest.raises(ChainStopped, match="datum 7") as stopped:
        run(Cliff(), WALK, ExactTest(), output=tmp_path, **{**OPTIONS, "chains": 1})
    assert Store(tmp_path).chain(0).latest().step == stopped.value.step > 0


def test_names_are_one_for_each_parameter(tmp_path):
    with pytest.raises(BadInput, match="names: 2 given for 1 parameters"):
        run(Mean(), WALK, DESIGN, names=["a", "b"], **OPTIONS)


def test_digests_tell_what_an_object_holds():
    class Walk:
        def __init__(self, scale):
            self.scale = np.array([scale])

    assert digest_of(Walk(0.1)) == digest_of(Walk(0.1))
    assert (
        len({digest_of(part) for part in (Walk(0.1), Walk(0.2), RandomWalk.isotropic(0.1, 1), None, 0.1, "0.1")}) == 6
    )
    large = np.zeros(3 * 2**20)
    assert digest_of(large) != digest_of(large[:-1])
