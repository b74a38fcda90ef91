"""Gibbs chains and uncorrected Langevin dynamics as configs: the experiments' own draws, saved and resumed."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design
from designer.core.errors import BadInput
from samplers import AlwaysAccept, DenseMRF, ExactTest, SamplerConfig, SequentialTest, ValuedMRF, run_config
from samplers.chains import gibbs, gibbs_values
from samplers.chains.parallel import streams
from samplers.config.assemble import build
from samplers.decide import Comparison
from samplers.experiments.studies.e7 import Uncorrected
from samplers.experiments.studies.e8 import Settings
from samplers.models.lasso import Lasso, draw_line
from samplers.proposals import Langevin
from samplers.runs.run import audit_config, collect_pairs

RUN = "\n[run]\ndraws = 12\nchains = 2\nseed = 5\n"
SGLD = '[test]\nkind = "always"\n[data]\npath = "{}"\n[model]\nkind = "lasso"\n[proposal]\nkind = "langevin"\n'
SGLD += "step = 5e-6\nbatch = 50\n"


def field(**model):
    lines = "".join(f"{name} = {value}\n" for name, value in model.items())
    return f'[model]\nkind = "mrf"\n{lines}'


@pytest.mark.parametrize("test", ["exact", "sequential"])
def test_the_gibbs_chain_of_e8_runs_from_a_file(tmp_path, test):
    mrf = Settings(1, 1, 1, 1, 1, dimension=14, sd=0.1).field()
    np.save(tmp_path / "field.npy", mrf.log_psi)
    text = f'[data]\npath = "{tmp_path}/field.npy"\n{field()}{RUN}'
    design = Design(mrf.n_data, 30, 0.05) if test == "sequential" else None
    config = SamplerConfig.from_toml(text, design, exact=design is None)
    results = run_config(config, tmp_path / "run")
    rule = ExactTest() if design is None else SequentialTest.from_design(design)
    for number, rng in enumerate(streams(5, 2)):
        draws = gibbs.run(rng, mrf, rule, start=np.zeros(14), draws=12)
        np.testing.assert_array_equal(results["posterior/theta"][number], draws.x)
        np.testing.assert_array_equal(results["sample_stats/n_used"][number], draws.n_used)
    assert results.attrs["data_per_step"] == 14 * mrf.n_data and results.attrs["field"].endswith("terms in an update")
    longer = config.model_copy(update={"run": config.run.model_copy(update={"draws": 20})})
    again = run_config(longer, tmp_path / "run", resume=True)["posterior/theta"]
    np.testing.assert_array_equal(again[:, :12], results["posterior/theta"])
    np.testing.assert_array_equal(again, run_config(longer, tmp_path / "whole")["posterior/theta"])


def test_fields_of_several_values_and_random_fields(tmp_path):
    mrf = ValuedMRF.random(np.random.default_rng(7), 8, 3, 0.3, 0.1)
    np.savez(tmp_path / "field.npz", log_psi=mrf.log_psi)
    drawn = field(dimension=8, n_values=3, sd=0.3, field_sd=0.1, field_seed=7)
    for text in (drawn, f'[data]\npath = "{tmp_path}/field.npz"\n{field()}'):
        config = SamplerConfig.from_toml(text + RUN, exact=True)
        assert SamplerConfig.from_toml(config.to_toml()) == config
        draws = build(config).chain(streams(5, 1)[0]).advance(12)
        expected = gibbs_values.run_values(streams(5, 1)[0], mrf, ExactTest(), start=np.zeros(8), sweeps=12)
        np.testing.assert_array_equal(draws.theta, expected.x)
    plain = build(SamplerConfig.from_toml(field(dimension=8, sd=0.3, field_seed=7), exact=True)).model
    np.testing.assert_array_equal(plain.log_psi, DenseMRF.random(np.random.default_rng(7), 8, 0.3).log_psi)
    np.save(tmp_path / "two.npy", plain.log_psi.reshape(-1, 2, 2, 2))
    two = build(SamplerConfig.from_toml(f'[data]\npath = "{tmp_path}/two.npy"\n{field()}', exact=True)).model
    assert isinstance(two, DenseMRF)


def test_another_field_is_another_run(tmp_path):
    digests = {
        build(SamplerConfig.from_toml(field(dimension=8, field_seed=seed), exact=True)).digest for seed in (0, 1)
    }
    assert len(digests) == 2
    run_config(SamplerConfig.from_toml(field(dimension=8) + RUN, exact=True), tmp_path)
    with pytest.raises(BadInput, match="field_seed"):
        run_config(SamplerConfig.from_toml(field(dimension=8, field_seed=1) + RUN, exact=True), tmp_path, resume=True)


def test_other_potentials_in_the_same_file_are_another_run(tmp_path):
    config = SamplerConfig.from_toml(f'[data]\npath = "{tmp_path}/field.npy"\n{field()}{RUN}', exact=True)
    for seed in (1, 2):
        np.save(tmp_path / "field.npy", DenseMRF.random(np.random.default_rng(seed), 8, 0.1).log_psi)
        if seed == 1:
            run_config(config, tmp_path / "run")
    with pytest.raises(BadInput, match=r"potentials of .*field.npy was 56 × 8 \(digest .*\), is 56 × 8 "):
        run_config(config, tmp_path / "run", resume=True)


def test_uncorrected_langevin_dynamics_are_those_of_e7(tmp_path):
    x, y = draw_line(np.random.default_rng(1))
    np.savez(tmp_path / "line.npz", x=np.reshape(x, (-1, 1)), y=y)
    config = SamplerConfig.from_toml(SGLD.format(tmp_path / "line.npz") + RUN)
    assert SamplerConfig.from_toml(config.to_toml()) == config
    results = run_config(config, tmp_path / "run")
    model, start = Lasso.from_data(x, y), build(config).start
    chain = Uncorrected(Langevin(model, 5e-6, 50), start, streams(5, 1)[0])
    np.testing.assert_array_equal(results["posterior/theta"][0], chain.advance(12).theta)
    assert results["sample_stats/accepted"].all() and not results["sample_stats/n_used"].any()
    assert results.attrs["gradient_batch"] == 50 and "every proposal is accepted" in results.attrs["uncorrected"]
    with pytest.raises(BadInput, match="nothing to audit"):
        audit_config(config)


def test_always_accept_respects_the_prior():
    impossible = Comparison(3, np.ones(3).take, np.inf)
    assert not AlwaysAccept().decide(np.random.default_rng(1), impossible).accept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (field(), "data.path: missing; or give model.dimension"),
        (field(dimension=2), "model.dimension = 2"),
        (field(dimension=8, field_sd=0.1), "model.field_sd: is for fields of three"),
        (field(dimension=300, n_values=100), "model.dimension: .* more than"),
        ('[data]\npath = "f.csv"\n' + field(), "ends in .npy, .npz"),
        ('[data]\npath = "f.npy"\n' + field(sd=1.0), "model.sd: is for a random field"),
        ('[data]\npath = "f.npy"\n' + field(), "f.npy: no such file"),
        ('[data]\nsource = "mnist79"\n' + field(dimension=8), "data.source: does not apply"),
        (field(dimension=8) + '[proposal]\nkind = "random-walk"', "which takes 'gibbs'"),
        (field(dimension=8) + '[run]\nrule = "metropolis"', "has Barker's rule"),
        (field(dimension=8) + "[run]\ntemperature = 2.0", "scale the potentials"),
        (field(dimension=8) + "[run]\nstart = [0, 1]", "run.start: .*8"),
        (field(dimension=8, n_values=3) + '[test]\nkind = "barker"', "of 3 values takes 'sequential' or 'exact'"),
        (field(dimension=8) + '[test]\nkind = "sequential"\nn_data = 9\nm = 5\nepsilon = 0.1', "test.n_data"),
        ('[data]\npath = "d.npz"\n[test]\nkind = "always"', "needs proposal.kind = 'langevin'"),
        (field(dimension=8) + "[redesign]\ntolerance = 0.1", "redesign"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(text, message):
    with pytest.raises(BadInput, match=message) as refusal:
        build(SamplerConfig.from_toml(text if "[test]" in text else f'[test]\nkind = "exact"\n{text}'))
    assert "\n" not in str(refusal.value)


def test_gibbs_chains_have_no_pairs_to_record():
    config = SamplerConfig.from_toml(field(dimension=8), exact=True)
    with pytest.raises(BadInput, match="not one decision"):
        collect_pairs(config, 20)


@pytest.mark.parametrize("content", [b"no numbers", b""])
def test_a_broken_file_is_refused(tmp_path, content):
    (tmp_path / "field.npy").write_bytes(content)
    text = f'[data]\npath = "{tmp_path}/field.npy"\n{field()}'
    with pytest.raises(BadInput, match="cannot be read"):
        build(SamplerConfig.from_toml(text, exact=True))
    np.save(tmp_path / "field.npy", np.zeros((5, 8)))
    with pytest.raises(BadInput, match="has shape"):
        build(SamplerConfig.from_toml(text, exact=True))
    np.savez(tmp_path / "field.npz", psi=np.zeros((5, 8)))
    with pytest.raises(BadInput, match="no array log_psi"):
        build(SamplerConfig.from_toml(text.replace(".npy", ".npz"), exact=True))
