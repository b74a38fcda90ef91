"""What a config's chain learns in warmup survives a stop, bit for bit."""

import numpy as np
import pytest

from designer.core.errors import BadInput
from samplers.adapt.warmup import Warmup
from samplers.config.config import SamplerConfig
from samplers.runs.run import build, run_config
from samplers.runs.store import Store

CONFIG = """
[test]
kind = "sequential"
n_data = 2000
m = 200
epsilon = 0.02

[model]
prior_precision = 1.0
recentre = true

[data]
path = "data.npz"

[proposal]
kind = "{kind}"
scale = 0.05

[run]
draws = 300
warmup = 3000
chains = 1
seed = 5
checkpoint_seconds = 0.0
start = [2.0, 2.0, 2.0]
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2000, 3))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(2000) < 1.0 / (1.0 + np.exp(-x @ np.array([0.5, -0.5, 0.2]))))
    for kind in ("random-walk", "adaptive"):
        (tmp_path / f"{kind}.toml").write_text(CONFIG.format(kind=kind))
    return tmp_path


@pytest.mark.parametrize("kind", ["random-walk", "adaptive"])
def test_a_chain_that_comes_from_afar_recentres_and_resumes_exactly(folder, kind):
    config = SamplerConfig.load(folder / f"{kind}.toml")
    whole = run_config(config, folder / "whole")
    calls = iter(range(10**6))
    with pytest.raises(BadInput, match="no draws after warm-up yet"):
        run_config(config, folder / "cut", cancelled=lambda: next(calls) > 6)
    again = run_config(config, folder / "cut", resume=True)
    assert np.array_equal(again["posterior"]["theta"].values, whole["posterior"]["theta"].values)
    state = Store(folder / "whole").chain(0).latest().state
    assert kind == "adaptive" or state["recentring"]["moves"] > 0  # an adaptive walk comes home at once
    assert "centre" in state["recentring"]
    assert ("adaptation" in state) == (kind == "adaptive")


def test_nothing_is_learned_unless_asked_for(folder):
    text = (folder / "random-walk.toml").read_text().replace("recentre = true", "")
    config = SamplerConfig.from_toml(text)
    config = config.model_copy(update={"data": config.data.model_copy(update={"path": str(folder / "data.npz")})})
    assert Warmup(build(config)).state() == {}


def test_recentring_needs_a_warmup_and_control_variates():
    with pytest.raises(BadInput, match=r"model\.recentre = true: needs control variates and a warm-up"):
        SamplerConfig.from_toml(CONFIG.format(kind="random-walk").replace("warmup = 3000", ""))
    with pytest.raises(BadInput, match=r"model\.recentre = true: needs control variates and a warm-up"):
        SamplerConfig.from_toml(CONFIG.format(kind="random-walk").replace("recentre", "control = 0\nrecentre"))
