"""Gibbs chains and uncorrected Langevin dynamics as configs: the experiments' own draws, saved and resumed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer import Design
from designer.core.errors import BadInput, NumericalFailure
from samplers import (
    AlwaysAccept,
    Chain,
    DenseMRF,
    ExactTest,
    Logistic,
    RandomWalk,
    SamplerConfig,
    SequentialTest,
    ValuedMRF,
    run_config,
)
from samplers.chains import gibbs, gibbs_values
from samplers.chains.parallel import streams
from samplers.config.assemble import build
from samplers.data.sources import load
from samplers.decide import Comparison
from samplers.experiments.studies import e11
from samplers.experiments.studies.e7 import Uncorrected
from samplers.experiments.studies.e8 import Settings
from samplers.experiments.studies.e11 import ANALYTIC, BARKER, SEQUENTIAL
from samplers.models.lasso import Lasso, draw_line
from samplers.models.tempered import tempered
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


E11 = """
[data]
source = "mnist17"
rows = 300
[model]
kind = "logistic"
control = 0
[proposal]
kind = "random-walk"
scale = {}
isotropic = true
[run]
draws = 40
chains = 2
seed = 5
temperature = 1000.0
"""


@pytest.mark.parametrize("test", [BARKER, SEQUENTIAL, ANALYTIC])
def test_the_walk_of_e11_runs_from_a_file_though_its_posterior_has_no_mode(tmp_path, test):
    settings, data = e11.EXPERIMENT.sizes["tiny"], load("mnist17", None, 300)
    scale, (n_data, d) = math.sqrt(settings.variance), data.x.shape
    assert not data.x.any(axis=0).all()  # columns with nothing but 0, and a flat prior
    walk = E11.format(scale) + f"start = {[0] * d}\n"
    tests = {BARKER: '[test]\nkind = "barker"\nm = 100', ANALYTIC: '[test]\nkind = "concentration"\nm = 100'}
    design = settings.design(n_data) if test == SEQUENTIAL else None
    config = SamplerConfig.from_toml(tests.get(test, "") + walk, design)
    assert SamplerConfig.from_toml(config.to_toml()) == config
    results = run_config(config, tmp_path / "run")
    model, rule = tempered(Logistic.from_data(data.x, data.y), 1000.0), "barker" if test == BARKER else "metropolis"
    for number, rng in enumerate(streams(5, 2)):
        isotropic = RandomWalk.isotropic(scale, d)
        draws = Chain(model, isotropic, settings.test(test, n_data), np.zeros(d), rng, rule=rule).advance(40)
        assert draws.accepted.any() and not draws.accepted.all()
        np.testing.assert_array_equal(results["posterior/theta"][number], draws.theta)


def test_a_walk_that_needs_the_mode_says_that_there_is_none():
    start = f"start = {[0] * 784}\n"
    for walk in (E11.format(0.2), (E11.format(0.2) + start).replace("isotropic = true\n", "")):
        with pytest.raises(NumericalFailure, match="no mode: nothing but 0"):
            build(SamplerConfig.from_toml(walk, exact=True))
    with pytest.raises(BadInput, match=r"run\.start: has 3 numbers, the model has 784"):
        build(SamplerConfig.from_toml(E11.format(0.2) + "start = [0, 0, 0]\n", exact=True))
    with pytest.raises(BadInput, match=r"proposal\.scale: missing; isotropic"):
        SamplerConfig.from_toml(E11.replace("scale = {}\n", "") + start, exact=True)


def test_isotropic_steps_have_one_size_in_every_coefficient(tmp_path):
    """E3's walk: from the mode, which it looks for, with or without control variates, and in models with shapes."""
    rng = np.random.default_rng(1)
    table = "x,y\n" + "\n".join(
        f"{x:.3f},{n}" for x, n in zip(rng.normal(size=200), rng.poisson(2.0, 200), strict=True)
    )
    (tmp_path / "t.csv").write_text(table)
    text = (
        f'[data]\npath = "{tmp_path}/t.csv"\n[model]\nformula = "y ~ x"\nfamily = "negative-binomial"\ncontrol = {{}}\n'
    )
    text += '[proposal]\nkind = "random-walk"\nscale = 0.01\nisotropic = true\n[run]\ndraws = 5\n'
    for control in (0, 2):
        spec = build(SamplerConfig.from_toml(text.format(control), exact=True))
        np.testing.assert_array_equal(spec.proposal.factor, 0.01 * np.eye(3))
    given = build(SamplerConfig.from_toml(text.format(0) + "start = [0.5, 0, 0]\n", exact=True))
    np.testing.assert_array_equal(given.start, [0.5, 0.0, 0.0])
    np.testing.assert_array_equal(given.proposal.factor, 0.01 * np.eye(3))


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
