"""`austerity audit`: the library's audit of a config's chain."""

from __future__ import annotations

import json

import numpy as np
import pytest

from samplers import SamplerConfig, audit_config

CONFIG = """
[test]
kind = "sequential"
n_data = 2000
m = 200
epsilon = 0.1
[data]
path = "data.npz"
[model]
prior_precision = 1.0
[run]
seed = 4
"""


@pytest.fixture
def config(tmp_path):
    rng = np.random.default_rng(3)
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((2000, 2)), y=rng.random(2000) < 0.5)
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path / "config.toml"


def test_json_and_text_are_the_library_s(run, config):
    audit = audit_config(SamplerConfig.load(config, seed=5), 300, 3)
    code, out, _ = run(f"audit {config} --steps 300 --every 3 --seed 5 --json")
    data = json.loads(out)
    assert code == 0
    assert (data["pairs"], data["agrees"]) == (100, audit.agrees)
    assert data["wrong"] == audit.wrong._asdict()
    assert data["usage"] == audit.usage._asdict()
    assert run(f"audit {config} --steps 300 --every 3 --seed 5") == (0, f"{audit.sentence}\n", "")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nowhere.toml", "nowhere.toml: cannot be read"),
        ("{config} --design nowhere.toml", "nowhere.toml: cannot be read"),
        ("{config} --steps 0", "steps = 0"),
        ("{config} --every 0", "every = 0"),
    ],
)
def test_bad_input_is_one_line(refused, config, command, message):
    refused(f"audit {command.format(config=config)}", message)
