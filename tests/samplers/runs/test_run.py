"""Configs at work: from TOML to saved chains; stopped and resumed (`test_faults_kills` kills them)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from designer import BadInput, Design, TrialRun
from samplers.adapt.random_walk import Adaptation
from samplers.chains.draws import ChainStopped
from samplers.config.config import SamplerConfig
from samplers.models.logistic import Logistic
from samplers.runs import checksummed_file
from samplers.runs.run import audit_config, build, collect_pairs, run_config, warmed_up
from samplers.runs.store import Store
from tests.samplers.logistic_run import write_logistic_run

N_DATA = 2000
REAL_WRITE, REAL_PROPOSAL = checksummed_file.write, Adaptation.proposal

CONFIG = f"""
[test]
kind = "sequential"
n_data = {N_DATA}
m = 200
epsilon = 0.02

[model]
kind = "logistic"
prior_precision = 1.0

[data]
path = "data.npz"

[proposal]
kind = "proxy"

[run]
draws = 600
warmup = 100
chains = 2
seed = 5
checkpoint_seconds = 0.0
"""


@pytest.fixture
def folder(tmp_path):
    return write_logistic_run(tmp_path, CONFIG, N_DATA, [0.5, -0.5, 0.2])


def test_a_run_gives_the_posterior_and_its_statistics(folder):
    config = SamplerConfig.load(folder / "config.toml")
    results = run_config(config, folder / "out")
    theta = results["posterior/theta"]
    assert theta.dims[:2] == ("chain", "draw")
    assert theta.shape == (2, 600, 3)
    assert Design.from_toml(results.attrs["design"]) == config.test
    parts = build(config)
    sd = np.sqrt(np.diag(np.linalg.inv(parts.model.posterior_precision())))
    assert np.all(np.abs(theta.values.mean(axis=(0, 1)) - parts.start) < 0.3 * sd)
    assert results["sample_stats/n_used"].values.min() >= 200


def test_resuming_gives_the_draws_of_an_uninterrupted_run(folder):
    config = SamplerConfig.load(folder / "config.toml")
    whole = run_config(config, folder / "whole")["posterior/theta"].values
    seen = []
    stop = {"progress": seen.append, "cancelled": lambda: bool(seen) and seen[-1].done >= 300}
    run_config(config, folder / "parts", workers=1, **stop)
    assert Store(folder / "parts").chain(0).latest().step < 700
    resumed = run_config(config, folder / "parts", resume=True)["posterior/theta"].values
    np.testing.assert_array_equal(resumed, whole)


def test_a_longer_run_begins_with_the_shorter_one(folder):
    short = run_config(SamplerConfig.load(folder / "config.toml", draws=300), folder / "out")["posterior/theta"].values
    longer = SamplerConfig.load(folder / "config.toml", draws=600)
    both = run_config(longer, folder / "out", resume=True)["posterior/theta"].values
    np.testing.assert_array_equal(both[:, :300], short)
    assert both.shape[1] == 600


def test_what_there_was_is_saved_when_a_likelihood_is_not_finite(folder, monkeypatch):
    """One bad row among 2000, read late: every step before it is saved, and its datum named."""
    config = SamplerConfig.load(folder / "config.toml", chains=1, checkpoint_seconds=1000.0)
    good = build(config)
    rows = good.model.model.rows.copy()
    rows[7] = np.nan
    bad = Logistic(rows, 1.0)
    broken = replace(good.model, model=bad, proxies=replace(good.model.proxies, model=bad))
    monkeypatch.setattr("samplers.runs.run.build", lambda config: good._replace(model=broken))
    with pytest.raises(ChainStopped, match="datum 7") as stopped:
        run_config(config, folder / "out")
    saved = Store(folder / "out").chain(0)
    assert saved.latest().step == stopped.value.step > 0
    assert saved.draws()["theta"].shape[0] == stopped.value.step


def test_resuming_on_other_data_is_refused_and_from_another_place_is_not(folder, monkeypatch):
    config = SamplerConfig.load(folder / "config.toml", draws=50)
    run_config(config, folder / "out")
    monkeypatch.chdir(folder)
    run_config(SamplerConfig.load("config.toml", draws=60), "out", resume=True)
    with np.load(folder / "data.npz") as data:
        x, y = data["x"], data["y"]
    np.savez(folder / "data.npz", x=x, y=~y)
    with pytest.raises(BadInput, match="another run"):
        run_config(SamplerConfig.load("config.toml", draws=70), "out", resume=True)


def test_more_chains_can_be_added_and_fewer_draws_asked_for(folder):
    two = run_config(SamplerConfig.load(folder / "config.toml", draws=60), folder / "out")["posterior/theta"].values
    config = SamplerConfig.load(folder / "config.toml", draws=40, chains=3)
    three = run_config(config, folder / "out", resume=True)["posterior/theta"].values
    assert three.shape == (3, 40, 3)
    np.testing.assert_array_equal(three[:2], two[:, :40])


def test_cancelling_in_warmup_says_so(folder):
    with pytest.raises(BadInput, match="no draws after warm-up yet"):
        run_config(SamplerConfig.load(folder / "config.toml"), folder / "out", cancelled=lambda: True)


def test_trials_and_audits_begin_after_warmup_and_its_adaptation(folder):
    text = CONFIG.replace('kind = "proxy"', 'kind = "adaptive"').replace("warmup = 100", "warmup = 1500")
    (folder / "config.toml").write_text(text)
    config = SamplerConfig.load(folder / "config.toml")
    chain = warmed_up(config, build(config))
    assert chain.steps == 1500
    assert not np.allclose(chain.proposal.factor, build(config).proposal.factor)
    assert audit_config(config, 200, 2).pairs == 100


def test_a_trial_run_of_a_config_is_what_the_calculator_takes(folder):
    config = SamplerConfig.load(folder / "config.toml", exact=True)
    trial = collect_pairs(config, pairs=20, every=5)
    assert isinstance(trial, TrialRun)
    assert len(trial) == 20
    assert trial.n_data == N_DATA
    assert trial.kappa.max() < 1.0  # control variates


def test_a_trial_run_makes_no_more_steps_than_its_proposal_needs(folder):
    def steps(kind):
        told = []
        (folder / "config.toml").write_text(CONFIG.replace('kind = "proxy"', f'kind = "{kind}"'))
        config = SamplerConfig.load(folder / "config.toml", exact=True)
        assert len(collect_pairs(config, 20, progress=lambda done, total: told.append(total))) == 20
        return told[-1]

    assert steps("proxy") == 100 + 20
    assert steps("random-walk") == 100 + 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("epsilon = 0.02", "epsilon = 0.7"), "test.epsilon = 0.7: must lie in [1e-16, 0.5]"),
        (("m = 200", "m = 200\nmm = 3"), "test.mm: unknown"),
        (("draws = 600", "draws = 0"), "run.draws = 0: must be greater than or equal to 1"),
        (("draws = 600", "draws = true"), "run.draws = True: must be a number"),
        (("chains = 2", 'chains = "two"'), "run.chains = 'two'"),
        (("seed = 5", "sed = 5"), "run.sed: unknown"),
        (('kind = "proxy"', 'kind = "magic"'), "proposal.kind = 'magic'"),
        (('path = "data.npz"', ""), "data.path: missing"),
        (("[data]", "[date]"), "date: unknown"),
        (("prior_precision = 1.0", "prior_precision = -1"), "model.prior_precision = -1"),
        (('kind = "sequential"', 'kind = "exact"'), "test.epsilon: unknown; allowed: kind"),
        (('kind = "proxy"', 'kind = "proxy"\nscale = 2.0'), "proposal.scale: unknown; allowed: kind, beta"),
        (("[test]", "[test"), "broken TOML"),
    ],
)
def test_every_problem_is_told_with_its_path_in_the_file(folder, change, message):
    (folder / "config.toml").write_text(CONFIG.replace(*change))
    with pytest.raises(BadInput) as problem:
        SamplerConfig.load(folder / "config.toml")
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


def test_problems_with_the_data_are_told_before_sampling(folder):
    def refused(text: str) -> str:
        (folder / "config.toml").write_text(text)
        with pytest.raises(BadInput) as problem:
            run_config(SamplerConfig.load(folder / "config.toml"), folder / "out")
        assert not (folder / "out").exists()
        return str(problem.value)

    assert "test.n_data: the test was designed for n_data = 999, the data have 2,000 rows" in refused(
        CONFIG.replace(f"n_data = {N_DATA}", "n_data = 999")
    )
    assert "nowhere.npz: no such file" in refused(CONFIG.replace("data.npz", "nowhere.npz"))
    assert "has no array label" in refused(CONFIG.replace('path = "data.npz"', 'path = "data.npz"\nlabel = "label"'))
    (folder / "broken.npz").write_bytes(b"PK nonsense")
    assert "cannot be read" in refused(CONFIG.replace("data.npz", "broken.npz"))


def test_a_directory_is_not_overwritten_by_accident(folder):
    config = SamplerConfig.load(folder / "config.toml", draws=50)
    run_config(config, folder / "out")
    with pytest.raises(BadInput, match="holds a run already; continue it with --resume"):
        run_config(config, folder / "out")
    with pytest.raises(BadInput, match="holds another run"):
        run_config(SamplerConfig.load(folder / "config.toml", seed=6), folder / "out", resume=True)


def test_tables_with_named_columns_can_be_read(folder):
    import pyarrow as pa
    from pyarrow import csv, parquet

    with np.load(folder / "data.npz") as data:
        columns = {f"x{k}": data["x"][:, k] for k in range(3)} | {"won": data["y"].astype(int)}
    csv.write_csv(pa.table(columns), folder / "data.csv")
    parquet.write_table(pa.table(columns), folder / "data.parquet")
    rows = []
    for name in ("data.csv", "data.parquet"):
        text = CONFIG.replace('path = "data.npz"', f'path = "{name}"\nlabel = "won"')
        (folder / "config.toml").write_text(text)
        rows.append(build(SamplerConfig.load(folder / "config.toml")).model.model.rows)
    (folder / "config.toml").write_text(CONFIG)
    expected = build(SamplerConfig.load(folder / "config.toml")).model.model.rows
    for found in rows:
        np.testing.assert_allclose(found, expected)


class Exhausted:
    """A proposal, or a test, that finds no memory at its `limit`-th call."""

    def __init__(self, part, limit: int) -> None:
        self.part, self.left = part, limit

    def propose(self, rng, theta):
        return self._counted(self.part.propose(rng, theta))

    def decide(self, rng, comparison):
        return self._counted(self.part.decide(rng, comparison))

    def _counted(self, answer):
        self.left -= 1
        if not self.left:
            raise MemoryError("no room")
        return answer


@pytest.mark.parametrize("broken_disk", [False, True])
def test_what_there_was_is_saved_at_any_error_and_can_be_resumed(folder, monkeypatch, broken_disk):
    config = SamplerConfig.load(folder / "config.toml", chains=1, checkpoint_seconds=1000.0)
    good = build(config)
    broken = good._replace(proposal=Exhausted(good.proposal, 400))
    with monkeypatch.context() as patched:
        patched.setattr("samplers.runs.run.build", lambda config: broken)
        if broken_disk:
            patched.setattr("samplers.runs.checksummed_file.write", _full_disk)
        with pytest.raises(MemoryError, match="no room") as caught:
            run_config(config, folder / "out")
    if broken_disk:
        assert "and the last steps could not be saved: the disk is full" in caught.value.__notes__[0]
        return
    assert Store(folder / "out").chain(0).latest().step == 256  # blocks end at 100, the warmup, 256, 512
    whole = run_config(config, folder / "whole")["posterior/theta"].values
    resumed = run_config(config, folder / "out", resume=True)["posterior/theta"].values
    np.testing.assert_allclose(resumed, whole, rtol=1e-12)  # the fused steps round otherwise


def _full_disk(path, header, content):
    if path.name != "run.bin":
        raise OSError("the disk is full")
    return REAL_WRITE(path, header, content)


def _no_factor_after_two_blocks(adaptation):
    if adaptation.count == 512:
        raise BadInput("no factor")
    return REAL_PROPOSAL(adaptation)


def test_an_error_in_learning_leaves_the_last_whole_block(folder, monkeypatch):
    text = CONFIG.replace('kind = "proxy"', 'kind = "adaptive"').replace("warmup = 100", "warmup = 700")
    (folder / "config.toml").write_text(text)
    config = SamplerConfig.load(folder / "config.toml", chains=1, checkpoint_seconds=1000.0)
    whole = run_config(config, folder / "whole")["posterior/theta"].values
    with monkeypatch.context() as patched:
        patched.setattr(Adaptation, "proposal", _no_factor_after_two_blocks)
        with pytest.raises(BadInput, match="no factor"):
            run_config(config, folder / "out")
    assert Store(folder / "out").chain(0).latest().step == 256
    np.testing.assert_array_equal(run_config(config, folder / "out", resume=True)["posterior/theta"].values, whole)


@pytest.mark.parametrize("bad", [0, -5, 2.5, "10", None])
def test_numbers_of_trials_and_audits_are_checked_at_once(folder, bad):
    config = SamplerConfig.load(folder / "config.toml")
    for call in (
        lambda: collect_pairs(config, bad),
        lambda: collect_pairs(config, 5, 0 if bad is None else bad),  # None: as the proposal allows
        lambda: audit_config(config, 0 if bad is None else bad, 1),  # None: as many as it takes
        lambda: audit_config(config, 10, bad),
        lambda: audit_config(config, passes=bad),
    ):
        with pytest.raises(BadInput, match=r"^(pairs|every|steps|passes)\b"):
            call()
