"""Schedules: the same draws as by hand, in one go or resumed; configs; weighted means."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.cli.main import main
from designer import BadInput, Cost, Design, Quantity, TrialRun, time_options, time_schedule
from samplers.adapt.phases import Phases, schedule_text, scheduled_mean, weighted_mean
from samplers.chains.chain import Chain
from samplers.config.config import SamplerConfig
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk
from samplers.runs.results import from_netcdf
from samplers.runs.run import audit_config, run_config
from tests.commands import killed_after_a_checkpoint
from tests.samplers.logistic_run import write_logistic_run

N_DATA = 1000
CONFIG = """
[test]
kind = "exact"
[schedule]
steps = [150, 100]
epsilon = [0.2, 0.05]
m = [50, 100]
weights = [0.1, 0.3, 0.6]
[model]
prior_precision = 1.0
control = 0
[data]
path = "data.npz"
[proposal]
kind = "random-walk"
[run]
draws = 400
warmup = 60
chains = 2
seed = 7
checkpoint_seconds = 0.0
"""


@pytest.fixture
def folder(tmp_path):
    return write_logistic_run(tmp_path, CONFIG, N_DATA, [0.5, -0.5])


def chain(seed: int = 1) -> Chain:
    x = np.random.default_rng(0).standard_normal((N_DATA, 2))
    model = Logistic.from_data(x, x[:, 0] > 0.3, prior_precision=1.0)
    return Chain(model, RandomWalk.isotropic(0.1, 2), ExactTest(), np.zeros(2), np.random.default_rng(seed))


def test_phases_make_the_draws_of_their_tests():
    cheap = SequentialTest.from_design(Design(N_DATA, 50, 0.2))
    phases, followed, by_hand = Phases.of([(70, cheap)], ExactTest(), warmup=10), chain(), chain()
    parts = [phases.advance(followed, steps).theta for steps in (30, 60, 40)]
    by_hand.use_test(cheap)
    want = [by_hand.advance(80).theta]
    by_hand.use_test(ExactTest())
    want.append(by_hand.advance(50).theta)
    np.testing.assert_array_equal(np.concatenate(parts), np.concatenate(want))


def test_a_run_follows_its_schedule_and_resumes(folder):
    config = SamplerConfig.load(folder / "config.toml")
    whole = run_config(config, folder / "whole")
    run_config(SamplerConfig.load(folder / "config.toml", draws=120), folder / "parts")
    resumed = run_config(config, folder / "parts", resume=True)
    theta = whole["posterior/theta"].values
    np.testing.assert_array_equal(resumed["posterior/theta"].values, theta)
    used = whole["sample_stats/n_used"].values
    assert used[:, :150].min() == 50
    assert used[:, 150:250].min() == 100
    assert np.all(used[:, 250:] == N_DATA)
    parts = [theta[:, :150], theta[:, 150:250], theta[:, 250:]]
    want = sum(w * part.mean(axis=(0, 1)) for w, part in zip((0.1, 0.3, 0.6), parts, strict=True))
    found = scheduled_mean(whole)
    assert found.value == pytest.approx(want)
    by_chain = sum(w * part.mean(axis=1) for w, part in zip((0.1, 0.3, 0.6), parts, strict=True))
    assert found.se == pytest.approx(np.abs(by_chain[0] - by_chain[1]) / 2.0)


def test_a_config_reads_back_and_its_digest_knows_the_schedule():
    config = SamplerConfig.from_toml(CONFIG)
    assert SamplerConfig.from_toml(config.to_toml()) == config
    plain = config.model_copy(update={"schedule": None})
    assert plain.digest != config.digest
    assert SamplerConfig.from_toml(CONFIG.replace("[150, 100]", "[150, 101]")).digest != config.digest
    assert SamplerConfig.from_toml(CONFIG.replace("0.1, 0.3, 0.6", "0.2, 0.3, 0.5")).digest == config.digest


def test_weights_can_be_changed_afterwards(folder):
    first = run_config(SamplerConfig.load(folder / "config.toml"), folder / "out")
    (folder / "config.toml").write_text(CONFIG.replace("0.1, 0.3, 0.6", "0.0, 0.0, 1.0"))
    again = run_config(SamplerConfig.load(folder / "config.toml"), folder / "out", resume=True)
    theta = first["posterior/theta"].values
    np.testing.assert_array_equal(again["posterior/theta"].values, theta)
    assert scheduled_mean(again).value == pytest.approx(theta[:, 250:].mean(axis=(0, 1)))


def test_a_killed_run_goes_on_as_if_nothing_had_been(folder):
    config = SamplerConfig.load(folder / "config.toml")
    whole = run_config(config, folder / "whole")
    where = folder / "killed"
    killed_after_a_checkpoint(where, folder / "config.toml")
    again = run_config(config, where, resume=True)
    np.testing.assert_array_equal(again["posterior/theta"].values, whole["posterior/theta"].values)


def test_the_command_shows_the_weighted_means(folder, capsys):
    """Also when there are none: the run is not lost."""
    call = ["run", str(folder / "config.toml"), "--output", str(folder / "out"), "--quiet"]
    assert main([*call, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    found = scheduled_mean(from_netcdf(folder / "out" / "results.nc"))
    assert [row["mean"] for row in shown["scheduled_mean"]] == found.value.tolist()
    assert [row["se"] for row in shown["scheduled_mean"]] == found.se.tolist()
    assert main([*call, "--resume"]) == 0
    assert f"theta[0] {found.value[0]:.4g} ± {found.se[0]:.2g}" in capsys.readouterr().out
    (folder / "config.toml").write_text(CONFIG.replace("weights = [0.1, 0.3, 0.6]\n", ""))
    assert main([*call, "--resume"]) == 0
    assert "all phases of the schedule alike (schedule.weights: missing" in capsys.readouterr().out


def test_an_audit_is_of_one_design(folder):
    with pytest.raises(BadInput, match="schedule: an audit is of one design"):
        audit_config(SamplerConfig.load(folder / "config.toml"), 10, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("m = [50, 100]", "m = [50]", "schedule: m has 1 entries, steps has 2"),
        ("weights = [0.1, 0.3, 0.6]", "weights = [0.5, 0.5]", "schedule: weights has 2 entries; must be 3"),
        ("epsilon = [0.2, 0.05]", "epsilon = [0.2, 0.7]", r"schedule.epsilon.1 = 0.7"),
        ("steps = [150, 100]", "steps = []", "schedule.steps"),
        ("weights = [0.1, 0.3, 0.6]", "weights = [0.0, 0.0, 0.0]", "one of them must be positive"),
    ],
)
def test_what_does_not_fit_is_refused(old, new, message):
    with pytest.raises(BadInput, match=message):
        SamplerConfig.from_toml(CONFIG.replace(old, new))


def test_a_batch_larger_than_the_data_is_refused(folder):
    (folder / "config.toml").write_text(CONFIG.replace("m = [50, 100]", "m = [50, 5000]"))
    with pytest.raises(BadInput, match=r"schedule.m = 5,000: the data have 1,000 rows"):
        run_config(SamplerConfig.load(folder / "config.toml"), folder / "out")
    assert not (folder / "out").exists()


def test_a_plan_is_written_as_a_config():
    trial = TrialRun.at_stationarity(N_DATA, 0.9, 30, np.random.default_rng(1))
    known = time_options(trial, Cost(per_datum=1e-6), Quantity(100.0, 0.5), m=[50], epsilons=[0.1, 0.3])
    plans = [time_schedule(known, seconds) for seconds in np.geomspace(0.01, 1e4, 25)]
    plan = max(plans, key=lambda plan: len(plan.phases))
    assert len(plan.phases) == 2
    rest = CONFIG[CONFIG.index("[model]") :]
    config = SamplerConfig.from_toml(schedule_text(plan, N_DATA) + rest)
    assert config.schedule is not None
    assert config.schedule.steps == (plan.phases[0].steps,)
    assert config.schedule.epsilon == (plan.phases[0].option.epsilon,)
    assert config.schedule.weights == pytest.approx(plan.weights.tolist(), abs=1e-5)


def test_weighted_means_of_what_there_is():
    values = np.arange(6.0).reshape(3, 2)
    assert weighted_mean(values, [1], [0.5, 0.5]) == pytest.approx([1.5, 2.5])
    assert weighted_mean(values[:1], [1, 2], [0.2, 0.3, 0.5]) == pytest.approx([0.0, 1.0])
    with pytest.raises(BadInput, match="weights: those of the phases so far are all 0"):
        weighted_mean(values[:1], [1], [0.0, 1.0])
