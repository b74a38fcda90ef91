"""Built-in chains: their configs run as they are, and say when a twin stands in."""

import pytest

from designer.core.errors import BadInput
from designer.core.progress import Cancelled
from samplers.config.built_in import BUILT_IN, built_in, twin_notice
from samplers.config.config import SamplerConfig
from samplers.experiments.studies import e4
from samplers.runs.run import build, collect_pairs


def smaller(config, rows=3000, warmup=300):
    """The same chain on fewer rows."""
    data, run = config.data.model_copy(update={"rows": rows}), config.run.model_copy(update={"warmup": warmup})
    return config.model_copy(update={"data": data, "run": run})


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_config_survives_its_file(name):
    config = built_in(name, seed=3)
    assert SamplerConfig.from_toml(config.to_toml()) == config
    assert config.run.seed == 3


@pytest.mark.parametrize("name", BUILT_IN)
def test_pairs_can_be_collected(name):
    config, told = smaller(built_in(name)), []
    trial = collect_pairs(config, 12, 5, progress=lambda done, total: told.append((done, total)))
    assert trial.n_data == 3000
    assert trial.skew is not None and 8 <= len(trial) <= 12  # a jump that the prior forbids gives no pair
    warmup = 100 if name == "e3-proxy" else 300  # independent proposals forget their start at once
    assert told[-1] == (warmup + 60, warmup + 60)


def test_e4_has_the_sources_of_the_experiment():
    source = built_in("e4").data.source
    assert source == e4.EXPERIMENT.sizes["full"].data and e4.SOURCES[source] in BUILT_IN["e4"].about


def test_control_variates_shrink_kappa():
    plain, controlled = (collect_pairs(smaller(built_in(name)), 20, 5).kappa.mean() for name in ("e3", "e3-control"))
    assert controlled < plain / 3.0


def test_collecting_can_be_cancelled():
    with pytest.raises(Cancelled):
        collect_pairs(smaller(built_in("e3")), 20, 5, cancelled=lambda: True)


def test_names_reach_the_parameters():
    assert build(smaller(built_in("e6"))).names[0] == "intercept"


def test_a_twin_is_told(tmp_path):
    assert "twin" in twin_notice(built_in("e3"))
    assert "twin" in twin_notice(built_in("e3", str(tmp_path)))


def test_bad_names():
    with pytest.raises(BadInput, match="e3, e3-control, e3-proxy, e4, e6"):
        built_in("e99")
    text = built_in("e3").to_toml().replace("mnist79", "mnist80")
    with pytest.raises(BadInput, match=r"data\.source = 'mnist80': must be one of"):
        build(SamplerConfig.from_toml(text))
    with pytest.raises(BadInput, match=r"data\.source: cannot be given together with data\.path"):
        SamplerConfig.from_toml('[test]\nkind = "exact"\n[data]\nsource = "mnist79"\npath = "x.csv"')
    with pytest.raises(BadInput, match=r"data\.rows: does not apply with data\.path"):
        SamplerConfig.from_toml('[test]\nkind = "exact"\n[data]\nrows = 5\npath = "x.csv"')
