"""`austerity trial`: the pairs of an exact chain; and the whole loop that begins with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from designer import TrialRun
from samplers import SamplerConfig, collect_pairs


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config without a test, and its data."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3000, 2))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(3000) < 1 / (1 + np.exp(-x @ [0.5, -1.0])))
    path = tmp_path / "config.toml"
    path.write_text('[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n[proposal]\nkind = "random-walk"\n')
    return path


def test_the_pairs_are_the_library_s(run, config, tmp_path):
    command = f"trial {config} --pairs 20 --every 3 --seed 9 --output {tmp_path}/trial.npz"
    code, out, _ = run(command, f"--config-output {tmp_path}/whole.toml --json")
    trial = collect_pairs(SamplerConfig.load(config, exact=True, seed=9), 20, 3)
    assert code == 0
    assert TrialRun.load(tmp_path / "trial.npz") == trial
    assert json.loads(out)["digest"] == trial.digest
    assert SamplerConfig.from_toml((tmp_path / "whole.toml").read_text()).run.seed == 9
    lines = run(command)[1].splitlines()
    assert lines[0].startswith("20 pairs, N = 3,000: acceptance ")
    assert lines[-1] == f"written to {tmp_path}/trial.npz"


def test_the_whole_loop_on_the_command_line(run, config, tmp_path):
    """Data -> trial run -> design -> audit -> chains -> results."""
    code, out, _ = run(f"trial {config} --pairs 40 --output {tmp_path}/trial.csv --json")
    assert code == 0
    assert json.loads(out)["n_data"] == 3000
    code, out, _ = run(f"design {tmp_path}/trial.csv --tolerance 0.05 --output {tmp_path}/design.toml --json")
    assert json.loads(out)["feasible"] is True
    code, out, _ = run(f"audit {config} --design {tmp_path}/design.toml --steps 400 --every 2 --json")
    audited = json.loads(out)
    assert code == 0
    assert audited["agrees"] is True
    assert audited["pairs"] == 200
    assert audited["usage"]["value"] == pytest.approx(
        audited["usage"]["predicted"], abs=5 * audited["usage"]["se"] + 1e-9
    )
    one = f"run {config} --design {tmp_path}/design.toml --output {tmp_path}/one --draws 50 --chains 1 --json"
    assert json.loads(run(one)[1])["summary"][0]["r_hat"] is None  # one chain has none
    command = f"run {config} --design {tmp_path}/design.toml --output {tmp_path}/out --draws 300 --chains 2"
    code, out, err = run(command + " --json")
    data = json.loads(out)
    assert code == 0
    assert err == ""
    assert data["chains"] == 2
    assert data["draws"] == 300
    assert [row["name"] for row in data["summary"]] == ["theta[0]", "theta[1]"]
    assert 0.1 < data["acceptance"] < 0.9
    assert Path(data["results"]).is_file()
    code, out, err = run(command)
    assert code == 2
    assert "--resume" in err
    code, out, _ = run(command + " --resume")
    assert code == 0
    assert "2 chains of 300 draws" in out
    assert "data per step" in out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nowhere.toml --output t.csv", "nowhere.toml: cannot be read: No such file or directory"),
        ("e5 --output t.csv", "not a built-in chain (e3, e3-control, e3-proxy, e4, e6, logistic, control, ica)"),
        ("{config} --data here --output t.csv", "--data is for the built-in chains"),
        ("{config} --pairs 0 --output t.csv", "pairs = 0: must be a whole number from 1 to 1,000,000"),
        ("{config} --output /nowhere/t.csv", "there is no directory /nowhere"),
        ("{config}", "required: -o/--output"),
    ],
)
def test_bad_input_is_one_line(refused, config, command, message):
    refused(f"trial {command.format(config=config)}", message)
