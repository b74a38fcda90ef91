"""`[model] kind = "glm"`: from a table and a formula to draws with names, saved, resumed, audited and judged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from designer import search
from designer.core.errors import BadInput
from samplers import SamplerConfig, audit_config, config_from_table, laplace_config, run_config
from samplers.config.assemble import build
from samplers.runs.laplace import trial_with_verdict
from samplers.study.certify import certify


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, rng, n = tmp_path_factory.mktemp("tables"), np.random.default_rng(1), 6000
    table = pd.DataFrame({"age": rng.normal(40.0, 10.0, n), "region": rng.choice(["east", "north", "west"], n)})
    table["time"] = rng.uniform(0.2, 2.0, n)
    table["agent"] = rng.integers(0, 12, n)
    effect = 0.3 * rng.standard_normal(12)[table["agent"]]
    rate = table["time"] * np.exp(-1.0 + 0.02 * table["age"] + 0.3 * (table["region"] == "west") + effect)
    table["claims"] = rng.poisson(rate)
    table["any"] = np.where(table["claims"] > 0, "yes", "no")
    table.to_parquet(place / "policies.parquet", row_group_size=1000)
    table.to_csv(place / "policies.csv", index=False)
    table.loc[7, "age"] = np.nan
    table.to_csv(place / "gaps.csv", index=False)
    return place


FORMULA = "claims ~ scale(age) + region + offset(log(time))"
NAMES = ("intercept", "scale(age)", "region[T.north]", "region[T.west]")


def config(folder, model: str = "", rest: str = "", path: str = "policies.parquet", formula: str = FORMULA):
    head = f'[test]\nkind = "exact"\n[data]\npath = "{folder / path}"\n[model]\nkind = "glm"\nformula = "{formula}"\n'
    return SamplerConfig.from_toml(f"{head}{model}\n{rest}")


POISSON = 'family = "poisson"'
SHORT = "[run]\ndraws = 60\nwarmup = 5\nchains = 2"


def test_from_a_table_to_an_audited_run(folder, tmp_path):
    asked = config(folder, POISSON, SHORT)
    trial, verdict = trial_with_verdict(asked, 40)
    assert verdict is not None and verdict.method == "laplace"
    design = search(trial, 0.05, confidence=0.5).best
    designed = asked.model_copy(update={"test": design})
    results = run_config(designed, tmp_path / "run")
    assert tuple(results["posterior"]["parameter"].to_numpy()) == NAMES
    spec = build(asked)
    sd = np.sqrt(np.diag(np.linalg.inv(spec.model.posterior_precision())))
    theta = results["posterior"]["theta"].to_numpy().reshape(-1, 4)
    assert np.all(np.abs(theta.mean(axis=0) - spec.start) < 5.0 * sd / np.sqrt(60.0))
    np.testing.assert_allclose(theta.std(axis=0), sd, rtol=0.4)
    more = designed.model_copy(update={"run": designed.run.model_copy(update={"draws": 80})})
    resumed = run_config(more, tmp_path / "run", resume=True)
    assert np.array_equal(resumed["posterior"]["theta"][:, :60], results["posterior"]["theta"])
    assert audit_config(designed, 50, 5).usage.value < 0.9
    assert tuple(laplace_config(asked).results["posterior"]["parameter"].to_numpy()) == NAMES
    assert certify(tmp_path / "run", passes=100).names == NAMES


def test_a_run_on_other_data_or_with_another_formula_is_not_resumed(folder, tmp_path, refuses):
    asked = config(folder, POISSON, SHORT)
    assert build(config(folder, POISSON, SHORT, "policies.csv")).digest == build(asked).digest
    others = [
        config(folder, POISSON, SHORT, formula=FORMULA.replace("scale(age)", "age")),
        config(folder, f"{POISSON}\nprior = 2.5", SHORT),
        config(folder, f"{POISSON}\nmissing = 'drop'", SHORT, "gaps.csv"),
        config(folder, f"{POISSON}\nweights = 'time'", SHORT),
        config(folder, POISSON, SHORT, formula=FORMULA.replace("log(time)", "time")),
    ]
    digests = [build(other).digest for other in others]
    assert len({build(asked).digest, *digests}) == 6
    run_config(asked, tmp_path / "run")
    refuses(lambda: run_config(others[1], tmp_path / "run", resume=True), "model.prior")


def test_rows_left_out_are_noted_in_the_results(folder, refuses):
    refuses(lambda: build(config(folder, POISSON, path="gaps.csv")), "1 of 6,000 rows have no value", "line 9")
    spec = build(config(folder, f"{POISSON}\nmissing = 'drop'", path="gaps.csv"))
    assert spec.model.n_data == 5999
    assert "1 of 6,000 rows" in spec.notes["table"] and "left out" in spec.notes["table"]


def test_a_binary_response_in_words_and_other_proposals(folder):
    formula = "any ~ age + region"
    for kind in ("random-walk", "slice", "adaptive"):
        rest = f"[proposal]\nkind = '{kind}'\n[run]\nwarmup = 5"
        spec = build(config(folder, "positive = 'yes'", rest, formula=formula))
        assert spec.chain(np.random.default_rng(1)).advance(3).theta.shape == (3, 4)
    logistic = build(
        config(folder, "positive = 'yes'\ncontrol = 0", "[proposal]\nkind = 'random-walk'", formula=formula)
    )
    assert np.array_equal(logistic.start, spec.start)


def test_group_terms_in_a_config(folder, refuses):
    formula = "claims ~ scale(age) + offset(log(time)) + (1 | agent)"
    spec = build(config(folder, POISSON, formula=formula))
    assert spec.names[:3] == ("intercept", "scale(age)", "agent[0]") and spec.names[-1] == "log scale agent"
    trial, verdict = trial_with_verdict(config(folder, POISSON, formula=formula), 20)
    assert (len(trial), verdict) == (20, None)
    draws = spec.chain(np.random.default_rng(1)).advance(20)
    assert draws.theta.shape == (20, 15)
    walk = "[proposal]\nkind = 'random-walk'"
    refuses(
        lambda: build(config(folder, POISSON, walk, formula=formula)),
        "a model with group terms takes 'proxy'",
    )


def test_classes_and_sampled_shapes_in_a_config(folder):
    spec = build(config(folder, "family = 'softmax'", formula="region ~ age"))
    assert spec.names == ("north: intercept", "north: age", "west: intercept", "west: age")
    assert spec.chain(np.random.default_rng(1)).advance(5).theta.shape == (5, 4)
    spec = build(config(folder, "family = 'negative-binomial'"))
    assert spec.names == (*NAMES, "log dispersion")


@pytest.mark.parametrize(
    ("model", "formula", "words"),
    [
        (POISSON, "claims ~ agee", ["model.formula: no column 'agee'; did you mean 'age'?"]),
        (POISSON, "claims ~ __import__('os')", ["model.formula", "'__import__' is not known"]),
        (POISSON, "age ~ region", ["response 'age' is", "family poisson needs whole numbers"]),
        (POISSON, "claims ~ age + I(2 * age)", ["say the same", "flat prior"]),
        ("family = 'negative-binomial'\nshape = {sigma = 1.0}", "claims ~ age", ["sigma = 1.0", "dispersion"]),
        (f"{POISSON}\nprior = {{aeg = 1.0}}", "claims ~ age", ["no coefficient 'aeg'"]),
        ("", "any ~ age", ["positive = 'yes' would say which one counts as 1"]),
    ],
)
def test_what_does_not_go_together_is_told_in_one_line(folder, model, formula, words, refuses):
    refuses(lambda: build(config(folder, model, formula=formula)), *words)


def test_what_is_about_the_table_names_its_file_and_no_entry(folder):
    text = (folder / "policies.csv").read_text().splitlines()
    (folder / "bad.csv").write_text("\n".join([*text, "," * text[0].count(",")]))
    for change, words in (("bad.csv", r"^\S*bad.csv: 1 of .* rows have no value"), ("no.csv", r"^\S*no.csv: no such")):
        asked = config(folder, POISSON)
        asked = asked.model_copy(update={"data": asked.data.model_copy(update={"path": folder / change})})
        with pytest.raises(BadInput, match=words):
            build(asked)


def test_a_config_from_a_table(folder, refuses):
    made = config_from_table(
        folder / "policies.csv", FORMULA, "poisson", prior=2.5, model={"heavy": 0}, proposal={"beta": 0.5}, seed=3
    )
    assert made == SamplerConfig.from_toml(made.to_toml())
    assert (made.model.heavy, made.proposal.beta, made.run.seed, made.test) == (0, 0.5, 3, None)
    assert build(made).names == NAMES
    refuses(lambda: config_from_table("t.xlsx", "y ~ x"), "data.path: t.xlsx: a formula needs a table")
    refuses(lambda: config_from_table("t.csv", "y ~ x", "normal"), "model.family = 'normal'")
    refuses(lambda: config_from_table("t.csv", "y ~ x", drwas=3), "run.drwas")
