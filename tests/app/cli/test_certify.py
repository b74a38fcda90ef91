"""`austerity certify`: the library's certificate of a config or of a saved run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from samplers import SamplerConfig, certify, run_config

CONFIG = """
[test]
kind = "sequential"
n_data = 1000
m = 100
epsilon = 0.1
[data]
path = "data.npz"
[model]
prior_precision = 1.0
[run]
warmup = 50
draws = 60
chains = 2
"""


@pytest.fixture
def config(tmp_path):
    rng = np.random.default_rng(3)
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((1000, 2)), y=rng.random(1000) < 0.5)
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path / "config.toml"


def test_json_and_text_are_the_library_s(run, config, tmp_path):
    found = certify(SamplerConfig.load(config), 200, wish=0.1)
    code, out, _ = run(f"certify {config} --passes 200 --wish 0.1 --json")
    data = json.loads(out)
    assert code == 0
    assert data["outcome"] == found.outcome == "certified"
    assert data["bias"] == found.bias.tolist() and data["names"] == list(found.names)
    code, out, _ = run(f"certify {config} --passes 200 --wish 0.1")
    lines = out.splitlines()
    assert lines[0] == found.sentence and len(lines) == 4
    assert f"{found.bias[0]:+.3f} ± {found.bias_se[0]:.3f}" in out


def test_a_saved_run_is_certified_from_its_directory(run, config, tmp_path):
    run_config(SamplerConfig.load(config), tmp_path / "out")
    code, out, _ = run(f"certify {tmp_path}/out --passes 200 --json")
    assert code == 0 and json.loads(out)["outcome"] == "certified"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nowhere", "nowhere: no such directory or config"),
        ("{folder} --design nowhere.toml", "design: the run in a directory has its own test"),
        ("{folder}", "does not say which config"),
        ("{config} --passes 5", "passes = 5"),
        ("{config} --wish 0", "wish = 0"),
    ],
)
def test_bad_input_is_one_line(refused, config, tmp_path, command, message):
    refused(f"certify {command.format(config=config, folder=tmp_path)}", message)
