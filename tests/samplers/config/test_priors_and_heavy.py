"""`[model]` of a logistic regression: priors by column, heavy rows, and posteriors that do not exist."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design, search
from designer.core.errors import NumericalFailure
from samplers.config.config import SamplerConfig
from samplers.runs.monitor import Expected
from samplers.runs.results import steps
from samplers.runs.run import audit_config, build, collect_pairs, run_config
from samplers.runs.store import Store
from tests.cases import CASES

EXACT = '[test]\nkind = "exact"\n'
RUN = "[run]\ndraws = 200\nchains = 2\nwarmup = 20\n"
NAMES = ["age", "dose", "level"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(3)
    x, y, _ = CASES["rare-levels"].data()
    np.savez(where / "rare.npz", x=x, y=y)
    np.save(where / "rare.npy", x)
    np.save(where / "labels.npy", y.astype(np.int8))
    x = np.column_stack([rng.standard_normal((300, 2)), np.arange(300) < 12])
    y = np.where(x[:, 2] > 0, True, rng.random(300) < 0.4)
    np.savez(where / "named.npz", x=x, y=y, columns=NAMES)
    np.savez(where / "unnamed.npz", x=x, y=y)
    return where


def config(folder, model, data="named.npz", test=EXACT, more="", **run):
    text = f'{test}[data]\npath = "{folder / data}"\n{more}[model]\n{model}\n{RUN}'
    return SamplerConfig.from_toml(text, **run)


# --- priors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        ("prior_precision = 2", [2.0, 2.0, 2.0, 2.0]),
        ("prior_precision = 2.0\nprior_intercept = false", [0.0, 2.0, 2.0, 2.0]),
        ("prior_precision = [0, 1, 2, 3]", [0.0, 1.0, 2.0, 3.0]),
        ("prior_precision = {level = 4.0, others = 1.0}", [1.0, 1.0, 1.0, 4.0]),
        ("prior_intercept = false\nprior_precision = {level = 4.0, age = 1.0, dose = 0.5}", [0.0, 1.0, 0.5, 4.0]),
        ("prior_precision = {level = 4.0, others = 0}\nprior_intercept = false", [0.0, 0.0, 0.0, 4.0]),
    ],
)
def test_priors_by_coefficient(folder, prior, expected):
    asked = config(folder, prior, more="intercept = true\n")
    assert build(asked).model.model.precisions.tolist() == expected
    assert SamplerConfig.from_toml(asked.to_toml()) == asked


def test_priors_that_do_not_fit(folder, refuses):
    for prior, *words in (
        ("prior_precision = [1, 2]", "has 2 entries", "3 coefficients"),
        ("prior_precision = {height = 1.0}", "prior_precision.height", "age, dose, level"),
        ("prior_precision = {age = 1.0}", "names 1 of 3 columns", "others", "dose"),
        ("prior_precision = -1.0", "prior_precision = -1.0", "from 0 on"),
        ("prior_precision = [1.0, true, 2.0]", "from 0 on"),
        ("prior_precision = {}", "must not be empty"),
        ('prior_precision = "flat"', "'flat'", "from 0 on"),
        ("prior_intercept = false", "data.intercept = true", "name the column"),
        ("prior_intercept = 0", "prior_intercept = 0"),
    ):
        refuses(lambda prior=prior: build(config(folder, prior)), *words)
    refuses(lambda: build(config(folder, "prior_precision = {age = 1.0}", "unnamed.npz")), "no names", "list")


def test_a_flat_prior_names_the_column_that_it_does_not_hold(folder):
    with pytest.raises(NumericalFailure) as caught:
        build(config(folder, "control = 2"))
    message = str(caught.value)
    assert "model.prior_precision = 0: no mode: the data are separable by column level: all 12 rows" in message
    assert "\n" not in message
    assert np.all(np.isfinite(build(config(folder, "prior_precision = {level = 1.0, others = 0.0}")).start))


# --- heavy rows -------------------------------------------------------------------------------------------------------


def test_trial_design_run_and_audit_agree_on_the_heavy_rows(folder, tmp_path):
    asked = config(folder, "prior_precision = 1.0", "rare.npz")
    spec = build(asked)
    heavy, n = spec.model.n_heavy, spec.model.n_rows
    assert heavy > 0 and spec.notes["heavy"] == spec.model.split.sentence
    assert f"always reads the {heavy:,} heaviest of 5,000 rows" in spec.notes["heavy"]
    trial = collect_pairs(asked, 20)
    assert (trial.n_data, trial.notes["n_heavy"], trial.notes["heavy"]) == (n - heavy, heavy, spec.notes["heavy"])
    design = search(trial, 0.05).best
    designed = config(folder, "prior_precision = 1.0", "rare.npz", design.to_toml())
    results = run_config(designed, tmp_path / "out")
    used = results["sample_stats/n_used"].values
    assert used.min() == heavy + design.m
    assert (results.attrs["n_data"], results.attrs["n_always"], results.attrs["heavy"]) == (
        n - heavy, heavy, spec.notes["heavy"],
    )  # fmt: skip
    total = steps(results)
    assert total.usage == pytest.approx(used.mean() / n)
    assert total.always_data == heavy
    assert audit_config(designed, 100, 2).usage.value < 0.9 * used.mean() / n  # of the rest, without the heavy rows
    expected = Expected.of_run(Store(tmp_path / "out").meta())
    assert (expected.n_data, expected.n_always) == (n - heavy, heavy)


def test_a_design_for_all_rows_is_refused(folder, refuses):
    whole = Design(5000, 50, 0.3).to_toml()
    asked = config(folder, "prior_precision = 1.0", "rare.npz", whole)
    refuses(lambda: build(asked), "test.n_data", "5,000", "4,500 rows besides 500 heavy rows", "repeat the trial run")
    assert build(config(folder, "prior_precision = 1.0\nheavy = 0", "rare.npz", whole)).model.n_heavy == 0
    rest = Design(4900, 50, 0.3).to_toml()
    assert build(config(folder, "prior_precision = 1.0\nheavy = 100", "rare.npz", rest)).model.n_heavy == 100
    refuses(lambda: build(config(folder, "prior_precision = 1.0\nheavy = 0", "rare.npz", rest)), "4,900", "5,000")


def test_a_mapped_file_has_the_same_heavy_rows_and_posterior(folder, tmp_path):
    more = f'labels = "{folder / "labels.npy"}"\n'
    mapped = config(folder, "prior_precision = 1.0", "rare.npy", more=more)
    folded = config(folder, "prior_precision = 1.0", "rare.npz")
    one, other = build(mapped), build(folded)
    assert np.array_equal(one.model.heavy, other.model.heavy) and one.model.anchor is None
    draws = [run_config(each, tmp_path / str(k))["posterior/theta"].values for k, each in enumerate((mapped, folded))]
    np.testing.assert_allclose(*draws, rtol=1e-6, atol=1e-9)


def test_digests_tell_heavy_rows_apart_and_older_runs_stay_valid(folder):
    plain, rare = "prior_precision = 1.0", "rare.npz"
    usual, none, some = (
        build(config(folder, f"{plain}\n{heavy}", rare)) for heavy in ('heavy = "auto"', "heavy = 0", "heavy = 7")
    )
    assert len({usual.digest, none.digest, some.digest}) == 3
    assert usual.digest == build(config(folder, plain, rare)).digest
    assert "model.heavy" not in usual.entries and some.entries["model.heavy"] == 7


def test_heavy_rows_that_cannot_be(folder, refuses):
    for model, *words in (
        ("heavy = -1", "heavy = -1", '"auto"'),
        ('heavy = "all"', "heavy = 'all'"),
        ("heavy = true", "heavy = True"),
        ("heavy = 5\ncontrol = 0", "model.heavy = 5", "control variates"),
        ("heavy = 299\nprior_precision = 1.0", "model.heavy = 299", "300 rows"),
    ):
        refuses(lambda model=model: build(config(folder, model)), *words)
    assert build(config(folder, "prior_precision = 1.0\ncontrol = 1", "rare.npz")).model.n_heavy == 0
    barker = config(folder, "prior_precision = 1.0", "rare.npz", '[test]\nkind = "barker"\nm = 4600\n')
    refuses(lambda: build(barker), "test.m = 4,600", "4,500 rows")
