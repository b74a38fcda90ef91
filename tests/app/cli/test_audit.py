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
    audit = audit_config(SamplerConfig.load(config, seed=5), 100, 3, tolerance=0.2)
    code, out, _ = run(f"audit {config} --steps 100 --every 3 --seed 5 --tolerance 0.2 --json")
    data = json.loads(out)
    assert code == 0
    assert (data["pairs"], data["agrees"], data["verdict"], data["source"]) == (33, True, "within", "tolerance")
    for name in ("wrong", "delta", "usage", "error"):
        assert data[name] == getattr(audit, name)._asdict()
    assert (data["detectable"], data["power"], data["upper"]) == (audit.detectable, audit.power, audit.upper)
    lines = f"{audit.sentence}\n{audit.details}\n"
    assert run(f"audit {config} --steps 100 --every 3 --seed 5 --tolerance 0.2") == (0, lines, "")


def test_without_steps_it_goes_on_until_it_knows(run, config):
    text = config.read_text().replace("prior_precision", "control = 0\nprior_precision").replace("m = 200", "m = 50")
    config.write_text(f'{text}[proposal]\nkind = "random-walk"\n')
    code, out, _ = run(f"audit {config} --passes 120 --every 2 --tolerance 0.001 --json")
    data = json.loads(out)
    assert code == 0
    assert data["verdict"] == "beyond" and data["agrees"] is False
    assert 40 <= data["pairs"] <= 120


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nowhere.toml", "nowhere.toml: cannot be read: No such file or directory"),
        ("{config} --design nowhere.toml", "nowhere.toml: cannot be read"),
        ("{config} --steps 0", "steps = 0"),
        ("{config} --every 0", "every = 0"),
        ("{config} --passes 0", "passes = 0"),
        ("{config} --tolerance 0", "tolerance = 0"),
    ],
)
def test_bad_input_is_one_line(refused, config, command, message):
    refused(f"audit {command.format(config=config)}", message)
