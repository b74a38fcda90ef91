"""`austerity laplace`, and its verdict beside a trial run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from samplers import SamplerConfig, from_netcdf, laplace_config, laplace_verdict
from samplers.runs import laplace


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config with 3,000 data, of which half or (`few.npz`) ten are ones."""
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(3000), rng.standard_normal(3000)])
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(3000) < 1 / (1 + np.exp(-x @ [0.0, 0.3])))
    np.savez(tmp_path / "few.npz", x=x, y=np.arange(3000) < 10)
    path = tmp_path / "config.toml"
    path.write_text('[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n[run]\ndraws = 50\nchains = 2\n')
    return path


def test_the_verdict_is_the_library_s_and_the_draws_are_written(run, config, tmp_path):
    code, out, _ = run(f"laplace {config} --output {tmp_path}/out --json")
    data = json.loads(out)
    judged = laplace_config(SamplerConfig.load(config, exact=True))
    assert code == 0
    assert data["method"] == "laplace"
    assert data["sentence"] == judged.verdict.sentence
    assert data["mean_error"] == judged.verdict.mean_error.tolist()
    stored = from_netcdf(data["results"])
    np.testing.assert_array_equal(stored["posterior/theta"], judged.results["posterior/theta"])
    assert stored["posterior/theta"].shape == (2, 50, 2)
    assert stored.attrs["laplace"] == data["sentence"]
    lines = run(f"laplace {config} --seed 4 --draws 50")[1].splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("no need to sample: Laplace is within ")


def test_importance_sampling_writes_as_many_draws_as_are_effective(run, config, tmp_path):
    config.write_text(config.read_text().replace("data.npz", "few.npz"))
    code, out, _ = run(f"laplace {config} --output {tmp_path}/out")
    assert code == 0
    assert out.startswith("Laplace + importance sampling is enough: Laplace is off by ")
    stored = from_netcdf(tmp_path / "out" / "results.nc")
    assert stored["posterior/theta"].sizes["chain"] == 1
    assert 500 < stored["posterior/theta"].sizes["draw"] < 3000
    assert "as many draws as are effective" in out


def test_a_posterior_that_needs_a_chain_writes_nothing(run, config, tmp_path):
    """A level with one row has a posterior that is half prior, half likelihood: its weights are too uneven."""
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(400), *(np.arange(400) == row for row in range(24))])
    np.savez(tmp_path / "data.npz", x=x, y=np.arange(400) % 2)
    config.write_text(config.read_text().replace("prior_precision = 1.0", "prior_precision = 0.001"))
    code, out, _ = run(f"laplace {config} --output {tmp_path}/out --seed {int(rng.integers(100))}")
    assert code == 0
    assert out.startswith("sample: ")
    assert "nothing written" in out
    assert not (tmp_path / "out").exists()


def test_weighted_draws_are_judged_again_before_they_are_returned(config, tmp_path, monkeypatch):
    """The first draws may miss the tail that makes the weights too uneven; then the many draws say so."""
    x = np.column_stack([np.ones(400), *(np.arange(400) == row for row in range(24))])
    np.savez(tmp_path / "data.npz", x=x, y=np.arange(400) % 2)
    config.write_text(config.read_text().replace("prior_precision = 1.0", "prior_precision = 0.001"))

    def hopeful(*given):
        return laplace_verdict(*given)._replace(method="importance")

    monkeypatch.setattr(laplace, "laplace_verdict", hopeful)
    judged = laplace_config(SamplerConfig.load(config, exact=True))
    assert judged.verdict.method == "sample"
    assert judged.results is None


def test_a_trial_run_with_control_variates_says_whether_to_sample(run, config, tmp_path):
    command = f"trial {config} --pairs 20 --output {tmp_path}/trial.csv"
    assert json.loads(run(command + " --json")[1])["laplace"]["method"] == "laplace"
    assert "no need to sample: " in run(command)[1]
    config.write_text(config.read_text().replace("[run]", 'control = 0\n[proposal]\nkind = "random-walk"\n[run]'))
    assert json.loads(run(command + " --json")[1])["laplace"] is None


def test_compare_shows_draws_without_a_chain(run, config, tmp_path):
    run(f"trial {config} --pairs 20 --output {tmp_path}/trial.csv")
    command = f"compare {tmp_path}/trial.csv --config {config}"
    lines = run(command)[1].splitlines()
    verdict = json.loads(run(command + " --json")[1])["laplace"]
    laplace, weighted = verdict["alternatives"].values()
    assert laplace == {"evaluations": 0.0, "error": verdict["upper"]}
    assert 3000 < weighted["evaluations"] < 6000  # a row for every draw, of which most are effective
    assert f"Laplace{' ' * 34}0  off by at most {verdict['upper']:.2g} sd" in lines
    assert lines[-1] == verdict["sentence"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nowhere.toml", "nowhere.toml"),
        ("{config} --wish 0", "wish = 0.0: must lie in (0, 10]"),
        ("{config} --draws 5", "draws = 5: must be"),
        ("{config} --output {config}", "is a file; must be a directory"),
    ],
)
def test_bad_input_is_one_line(refused, config, command, message):
    refused(f"laplace {command.format(config=config)}", message)


def test_other_models_are_refused(refused, config, tmp_path):
    np.savez(tmp_path / "data.npz", x=np.random.default_rng(1).standard_normal((100, 2)))
    config.write_text('[data]\npath = "data.npz"\n[model]\nkind = "ica"\n[proposal]\nkind = "stiefel"\nscale = 0.1\n')
    refused(f"laplace {config}", "model.kind = 'ica': the Laplace approximation needs a model with a linear predictor")
