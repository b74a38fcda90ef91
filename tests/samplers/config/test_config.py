"""Configs: every kind of table, exact round trips, and a path in the file for everything that is wrong."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer import BadInput, Design
from designer.rule.design import Predicted, Provenance
from samplers.config.config import SamplerConfig
from samplers.config.schema import BarkerTable, ConcentrationTable, DataTable, RJTable, RunTable

EXACT = '[test]\nkind = "exact"\n'
DATA = '[data]\npath = "d.csv"\n'


def config(text: str) -> SamplerConfig:
    return SamplerConfig.from_toml(text)


def model(kind: str, proposal: str = "", rest: str = "") -> str:
    return f'{EXACT}{DATA}[model]\nkind = "{kind}"\n{rest}{f"[proposal]{chr(10)}{proposal}" if proposal else ""}'


EVERY_KIND = {
    "sequential": "[test]\nkind = 'sequential'\nn_data = 1000\nm = 100\nepsilon = 0.05\nalpha = 0.7\n" + DATA,
    "exact": EXACT + DATA,
    "barker": "[test]\nkind = 'barker'\nm = 50\nsigma = 0.9\nskew_corrected = true\ndelta = 0.2\n" + DATA,
    "concentration": "[test]\nkind = 'concentration'\nm = 50\ndelta = 0.1\np = 1.5\ngrowth = 2.0\nreplace = true\n"
    + DATA
    + "[model]\ncontrol = 0\n",
    "exact-minibatch": "[test]\nkind = 'exact-minibatch'\nchi = 0.5\nmost = 100.0\n" + DATA,
    "logistic": model("logistic", "kind = 'random-walk'\nscale = 0.3\n", "prior_precision = 2.0\ncontrol = 0\n"),
    "logistic-langevin": model("logistic", "kind = 'langevin'\nstep = 1e-4\nbatch = 100\n"),
    "glm": model(
        "glm",
        rest="formula = 'y ~ x + C(\"a b\")'\nfamily = 'negative-binomial'\nshape = {dispersion = 2.0}\nweights = 'w'\n"
        "missing = 'drop'\nprior = {x = 2.5, others = 'flat'}\nprior_tails = 4\nheavy = 3\n",
    ),
    "glm-plain": model("glm", rest="formula = 'y ~ x'\npositive = 'yes'\nprior = 2.5\n"),
    "ica": model("ica", "kind = 'stiefel'\nscale = 0.05\n", "whiten = false\n"),
    "mixture": model("mixture", "scale = 0.1\n", "variance = 1.5\nprior_variances = [3.0, 0.1]\n"),
    "lasso": model("lasso", "kind = 'adaptive'\nscale = 0.1\n[run]\nwarmup = 10\n", "precision = 2.0\npenalty = 1.0\n"),
    "rj-logistic": model(
        "rj-logistic", "sd_update = 0.1\nsd_birth = 0.2\np_birth = 0.2\np_death = 0.3\n", "rate = 0.5\n"
    ),
    "data": EXACT
    + '[data]\npath = "a \\"b\\".csv"\nlabel = "z"\ncolumns = ["é", "b\\t"]\nintercept = true\nstandardise = true\n',
    "mapped": EXACT + '[data]\npath = "x.npy"\nlabels = "y.npy"\n',
    "run": EXACT + DATA + "[run]\nrule = 'barker'\ntemperature = 12.5\nstart = [0.1, -1e-300]\nseed = 9\n",
}


@pytest.mark.parametrize("text", EVERY_KIND.values(), ids=EVERY_KIND)
def test_every_kind_round_trips(text):
    first = config(text)
    again = config(first.to_toml())
    assert again == first
    assert again.digest == first.digest
    assert again.to_toml() == first.to_toml()


WRITTEN_BY_0_1 = json.loads((Path(__file__).parents[2] / "data" / "configs_0_1.json").read_text())


@pytest.mark.parametrize("name", WRITTEN_BY_0_1)
def test_configs_written_by_0_1_are_read_and_written_with_the_same_values(name):
    """Their digests, too, are the same: a run that 0.1.0 began can be continued."""
    text, digest = WRITTEN_BY_0_1[name]["toml"], WRITTEN_BY_0_1[name]["digest"]
    read = config(text)
    assert read.digest == digest
    assert tomllib.loads(read.to_toml()) == tomllib.loads(text)


def test_the_constructor_refuses_in_one_line(refuses):
    base = config(EXACT + DATA)
    tables = {name: getattr(base, name) for name in SamplerConfig.model_fields}
    assert SamplerConfig(**tables) == base
    refuses(
        lambda: SamplerConfig(**tables | {"model": RJTable()}),
        "proposal.kind = 'proxy': cannot be used with model.kind = 'rj",
    )
    refuses(lambda: SamplerConfig(**tables | {"tests": None}), "tests: unknown; allowed: test, data, model")


def test_a_file_is_parsed_once(tmp_path, monkeypatch):
    (tmp_path / "c.toml").write_text(EVERY_KIND["sequential"])
    texts = []
    monkeypatch.setattr(tomllib, "loads", lambda text, loads=tomllib.loads: texts.append(text) or loads(text))
    assert SamplerConfig.load(tmp_path / "c.toml").test.m == 100
    assert texts == [EVERY_KIND["sequential"]]


def test_what_was_said_is_what_is_there():
    test = config(EVERY_KIND["barker"]).test
    assert test == BarkerTable(m=50, sigma=0.9, skew_corrected=True, delta=0.2)
    test = config(EVERY_KIND["concentration"]).test
    assert test == ConcentrationTable(m=50, delta=0.1, p=1.5, growth=2.0, replace=True)
    run = config(EVERY_KIND["run"]).run
    assert run == RunTable(rule="barker", temperature=12.5, start=(0.1, -1e-300), seed=9)
    mixture = config(EVERY_KIND["mixture"])
    assert (mixture.model.variance, mixture.model.prior_variances) == (1.5, (3.0, 0.1))
    assert (mixture.proposal.kind, mixture.proposal.scale) == ("random-walk", 0.1)
    assert config(EVERY_KIND["data"]).data.columns == ("é", "b\t")


def test_a_design_keeps_its_predictions_and_provenance():
    notes = Predicted(mean_abs_delta=0.01, mean_usage=1 / 3), Provenance(version="0.1.0", tolerance=0.01, pairs=7)
    design = Design(1000, 100, 0.05, 0.75, 1.5, *notes)
    first = SamplerConfig.from_toml(DATA, design)
    text = first.to_toml()
    assert Design.from_toml(text) == design
    assert config(text) == first
    assert "[predicted]" in text
    assert "[provenance]" in text


@given(
    path=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    start=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    seed=st.integers(0, 2**63 - 1),
)
def test_texts_and_numbers_round_trip_whatever_they_are(path, start, seed):
    table = DataTable(path=path, columns=(path, "b"))
    if table.mapped:
        table = DataTable(path=path, labels=path)
    first = config(EXACT + DATA).model_copy(update={"data": table, "run": RunTable(start=tuple(start), seed=seed)})
    assert config(first.to_toml()) == first


def test_the_default_proposal_and_rule_are_the_model_s_and_the_test_s():
    assert config(EXACT + DATA).proposal.kind == "proxy"
    assert config(model("rj-logistic")).proposal.kind == "jumps"
    assert config(EXACT + DATA + "[model]\nformula = 'y ~ x'\n").model.kind == "glm"
    assert config(EXACT + DATA).rule == "metropolis"
    assert config(EVERY_KIND["barker"]).rule == "barker"
    assert config(EVERY_KIND["run"]).rule == "barker"


def test_the_digest_knows_what_the_draws_depend_on():
    base = config(EXACT + DATA)
    assert config(EXACT + DATA.replace("d.csv", "elsewhere/d.csv")).digest == base.digest
    assert SamplerConfig.from_toml(EXACT + DATA, draws=7, chains=2, checkpoint_seconds=1.0).digest == base.digest
    assert SamplerConfig.from_toml(EXACT + DATA, rule="metropolis").digest == base.digest
    others = [
        SamplerConfig.from_toml(EXACT + DATA, **{name: value})
        for name, value in {"seed": 1, "warmup": 3, "rule": "barker", "temperature": 2.0, "start": [1.0]}.items()
    ]
    others += [config(text) for name, text in EVERY_KIND.items() if name not in ("exact", "mapped")]
    digests = {other.digest for other in others}
    assert len(digests) == len(others)
    assert base.digest not in digests


def test_paths_are_relative_to_the_config(tmp_path):
    (tmp_path / "c.toml").write_text(EVERY_KIND["mapped"])
    data = SamplerConfig.load(tmp_path / "c.toml").data
    assert (data.path, data.labels) == (str(tmp_path / "x.npy"), str(tmp_path / "y.npy"))


WRONG = [
    ("[test]\nkind = 'magic'\n" + DATA, "test.kind = 'magic': must be one of sequential, exact, barker,"),
    ("[test]\nkind = 3\n" + DATA, "test.kind = 3"),
    ("[test]\nkind = 'barker'\nsigma = 3.0\n" + DATA, "test.sigma = 3.0: must be less than or equal to 1.4"),
    ("[test]\nkind = 'barker'\ndelta = 0.0\n" + DATA, "test.delta = 0.0: must be greater than 0"),
    ("[test]\nkind = 'barker'\nepsilon = 0.1\n" + DATA, "test.epsilon: unknown; allowed: kind, m, sigma, skew_corr"),
    ("[test]\nkind = 'barker'\nskew_corrected = 'yes'\n" + DATA, "test.skew_corrected = 'yes'"),
    ("[test]\nkind = 'concentration'\ngrowth = 1.01\n" + DATA, "test.growth = 1.01: must be 1 (equal batches) or"),
    ("[test]\nkind = 'concentration'\np = 1.0\n" + DATA, "test.p = 1.0: must be greater than 1"),
    ("[test]\nkind = 'concentration'\nm = 1\n" + DATA, "test.m = 1"),
    ("[test]\nkind = 'exact-minibatch'\nchi = -1\n" + DATA, "test.chi = -1"),
    (
        "[test]\nkind = 'exact-minibatch'\n" + DATA + "[model]\ncontrol = 0\n",
        "model.control = 0: test.kind = 'exact-minibatch' needs bounds on the terms",
    ),
    (
        "[test]\nkind = 'exact-minibatch'\n" + DATA + "[model]\nkind = 'lasso'\n[proposal]\nscale = 0.1\n",
        "model.kind = 'lasso': test.kind = 'exact-minibatch' needs bounds on the terms",
    ),
    (
        "[test]\nkind = 'exact-minibatch'\n" + DATA + "[proposal]\nkind = 'slice'\n",
        "test.kind = 'exact-minibatch': proposal.kind = 'slice' takes 'sequential' or 'exact'",
    ),
    (
        "[test]\nkind = 'barker'\n" + DATA + "[run]\nrule = 'metropolis'\n",
        "run.rule = 'metropolis': test.kind = 'barker'",
    ),
    ("[test]\nkind = 'concentration'\n" + DATA, "model.control = 2: test.kind = 'concentration' needs a bound"),
    ("test = 3\n" + DATA, "test = 3: must be a table"),
    (EXACT, "data.path: missing"),
    (EXACT + '[data]\npath = ""\n', "data.path = ''"),
    (EXACT + "data = 7\n", "test.data: unknown; allowed: kind"),
    (model("magic"), "model.kind = 'magic': must be one of logistic, glm, ica, mixture, lasso, rj-logistic"),
    (model("ica"), "proposal.scale: missing"),
    (model("ica", "kind = 'stiefel'\nscale = 11\n"), "proposal.scale = 11"),
    (
        model("ica", "kind = 'random-walk'\nscale = 1\n"),
        "proposal.kind = 'random-walk': cannot be used with model.kind = 'ica', which",
    ),
    (model("mixture"), "proposal.scale: missing; model.kind = 'mixture' needs the size of the steps"),
    (model("mixture", "kind = 'proxy'\n"), "proposal.kind = 'proxy': cannot be used with model.kind = 'mixture'"),
    (
        model("mixture", "kind = 'langevin'\nstep = 1\nbatch = 2\n"),
        "proposal.kind = 'langevin': cannot be used with model.kind = 'mix",
    ),
    (model("mixture", "scale = 1\n", "prior_variances = [1.0]\n"), "model.prior_variances.1: missing"),
    (model("mixture", "scale = 1\n", "prior_variances = [1.0, -2]\n"), "model.prior_variances.1 = -2"),
    (model("mixture", "scale = 1\n", "temperature = 2.0\n"), "model.temperature: unknown; allowed: kind, variance"),
    (model("lasso", "kind = 'adaptive'\n"), "proposal.scale: missing"),
    (model("lasso", "kind = 'adaptive'\nscale = 1\n"), "run.warmup = 0: the adaptive proposal needs warm-up steps"),
    (model("lasso", "kind = 'langevin'\nstep = 1\n"), "proposal.batch: missing"),
    (model("lasso", "scale = 1\n", "penalty = inf\n"), "model.penalty = inf: must be a finite number"),
    (
        model("logistic", "kind = 'stiefel'\nscale = 1\n"),
        "proposal.kind = 'stiefel': cannot be used with model.kind = 'logistic'",
    ),
    (model("logistic", "", "control = 3\n"), "model.control = 3"),
    (
        model("rj-logistic", "kind = 'proxy'\n"),
        "proposal.kind = 'proxy': cannot be used with model.kind = 'rj-logistic', which takes",
    ),
    (model("rj-logistic", "p_birth = 0.5\np_death = 0.5\n"), "proposal: p_birth + p_death must be below 1"),
    (
        model("ica", "scale = 1\n").replace("d.csv", 'd.csv"\nlabel = "y'),
        "data.label: does not apply to model.kind = 'ica'",
    ),
    (model("mixture", "scale = 1\n").replace(DATA, DATA + "intercept = true\n"), "data.intercept: does not apply"),
    (model("ica", "scale = 1\n").replace(DATA, DATA + "standardise = true\n"), "data.standardise: does not apply"),
    (EXACT + DATA + 'labels = "y.npy"\n', "data.labels: only for a path that ends in .npy"),
    (EXACT + DATA + "columns = []\n", "data.columns"),
    (EXACT + DATA + "columns = [1]\n", "data.columns.0 = 1"),
    (EXACT + '[data]\npath = "x.npy"\n', "data.labels: missing"),
    (EVERY_KIND["mapped"] + "standardise = true\n", "data.standardise: does not apply to a .npy file"),
    (EVERY_KIND["mapped"] + "intercept = true\n", "data.intercept: does not apply to a .npy file"),
    (EVERY_KIND["mapped"] + 'label = "y"\n', "data.label: does not apply to a .npy file"),
    (model("glm"), "model.formula: missing"),
    (model("glm", rest="formula = ''\n"), "model.formula = '': must not be empty"),
    (model("glm", rest="formula = 'y ~ x'\nfamily = 'normal'\n"), "model.family = 'normal': must be 'bernoulli', "),
    (model("glm", rest="formula = 'y ~ x'\nmissing = 'ignore'\n"), "model.missing = 'ignore': must be 'refuse' or"),
    (model("glm", rest="formula = 'y ~ x'\nprior = -1\n"), 'model.prior = -1: must be "flat", a standard deviation'),
    (model("glm", rest="formula = 'y ~ x'\nprior_tails = 'x'\n"), "model.prior_tails = 'x': must be \"normal\", "),
    (model("glm", rest="formula = 'y ~ x'\nshape = {sigma = 0}\n"), "model.shape.sigma = 0: must be greater than 0"),
    (model("glm", rest="formula = 'y ~ x'\n").replace(DATA, DATA + "label = 'y'\n"), "data.label: does not apply to"),
    (model("glm", rest="formula = 'y ~ x'\n").replace("d.csv", "d.npz"), "data.path: d.npz: a formula needs a table"),
    (EXACT + DATA + "[run]\ntemperature = 0\n", "run.temperature = 0: must be greater than 0"),
    (EXACT + DATA + "[run]\nrule = 'x'\n", "run.rule = 'x': must be 'metropolis' or 'barker'"),
    (EXACT + DATA + "[run]\nstart = [1.0, true]\n", "run.start.1 = True: must be a number"),
    (EXACT + DATA + "[run]\nseed = -1\n", "run.seed = -1"),
    (EXACT + DATA + "[run]\ndraws = 1.5\n", "run.draws = 1.5"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_what_is_wrong_is_told_in_one_line_with_its_path(text, message):
    with pytest.raises(BadInput) as problem:
        config(text)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


def test_strata_are_refused_unless_another_test_replaces_them(refuses):
    text = (Path(__file__).parents[2] / "data" / "strata.toml").read_text() + DATA
    refuses(lambda: config(text), "test: strata", "removed in 0.2.0", "`austerity design`")
    single = Design(12_214, 500, 0.05)
    assert SamplerConfig.from_toml(text, single).test == single
    assert SamplerConfig.from_toml(text, exact=True).test is None
