"""Models from formulas: modes against statsmodels' estimates, priors by column, words about collinear columns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from samplers import DataWarning, Flat, Laplace, Normal, StudentT, find_mode, glm
from samplers.data.formula.model import model_of
from samplers.data.formula.priors import prior_scales

RAND = sm.datasets.randhie.load_pandas().data.iloc[::5].reset_index(drop=True)
RAND["some"] = (RAND["mdvis"] > 1).astype(float)
RAND["time"] = 0.5 + RAND["fmde"] / 10
RAND["times"] = RAND["mdvis"] % 3.0
STAR = sm.datasets.star98.load_pandas().data
STAR["total"] = STAR["NABOVE"] + STAR["NBELOW"]
families = sm.families
CASES = [
    ("poisson", "mdvis ~ lncoins * idp + C(hlthg)", families.Poisson(), {}),
    ("bernoulli", "some ~ lncoins + poly(disea, 2)", families.Binomial(), {}),
    ("probit", "some ~ lncoins + physlm", families.Binomial(families.links.Probit()), {}),
    ("cloglog", "some ~ 0 + C(idp) + disea", families.Binomial(families.links.CLogLog()), {}),
    ("gaussian", "mdvis ~ scale(disea) + bs(lpi, df=4)", families.Gaussian(), {"sigma": 4.0}),
    ("gamma", "I(mdvis + 1) ~ lncoins + disea", families.Gamma(families.links.Log()), {"shape": 2.0}),
    ("negative-binomial", "mdvis ~ lncoins + disea", families.NegativeBinomial(alpha=0.7), {"dispersion": 0.7}),
]


@pytest.mark.parametrize(("family", "formula", "theirs", "shapes"), CASES, ids=[case[0] for case in CASES])
def test_the_mode_with_a_flat_prior_is_the_estimate_of_statsmodels(family, formula, theirs, shapes):
    model = glm(formula, RAND, family, **shapes)
    response = formula.partition("~")[0]
    y = RAND.eval(response.replace("I(", "(")).to_numpy()
    fitted = sm.GLM(y, np.asarray(model.rows), theirs).fit(tol=1e-12, maxiter=200)
    np.testing.assert_allclose(find_mode(model), fitted.params, rtol=2e-5, atol=2e-6)


def test_offsets_weights_and_trials_do_what_they_do_in_statsmodels():
    model = glm("mdvis ~ lncoins + disea + offset(log(time))", RAND, "poisson", weights="times")
    theirs = smf.glm(
        "mdvis ~ lncoins + disea",
        RAND,
        family=families.Poisson(),
        offset=np.log(RAND["time"]),
        freq_weights=RAND["times"],
    ).fit(tol=1e-12)
    np.testing.assert_allclose(find_mode(model), theirs.params, rtol=1e-6)
    model = glm("NABOVE | trials(total) ~ LOWINC + PERASIAN", STAR, "binomial")
    theirs = smf.glm("NABOVE + NBELOW ~ LOWINC + PERASIAN", STAR, family=families.Binomial()).fit(tol=1e-12)
    np.testing.assert_allclose(find_mode(model), theirs.params, rtol=1e-6)


HEALTH = np.select([RAND[f"hlth{k}"] > 0 for k in "pfg"], ["poor", "fair", "good"], "excellent")


def test_classes_of_a_softmax_and_sampled_shapes_are_those_of_statsmodels():
    table = RAND.assign(health=HEALTH)
    model = glm("health ~ lncoins + disea", table, "softmax")
    assert model.names[:4] == ("fair: intercept", "fair: lncoins", "fair: disea", "good: intercept")
    theirs = sm.MNLogit(table["health"].astype("category").cat.codes, np.asarray(model.rows)).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(find_mode(model), theirs.params.to_numpy().T.ravel(), rtol=1e-4, atol=1e-5)
    some = glm("health ~ disea", table, "softmax", prior=1.0)
    assert some.log_prior(np.array([9.0, 1.0, 9.0, 2.0, 9.0, 0.0])) == pytest.approx(-2.5 * table["disea"].var(ddof=0))
    counts = glm("mdvis ~ lncoins + disea", RAND, "negative-binomial")
    assert counts.names[-1] == "log dispersion"
    theirs = smf.negativebinomial("mdvis ~ lncoins + disea", RAND).fit(disp=0, maxiter=500, method="bfgs").params
    expected = [*theirs[:-1], np.log(theirs.iloc[-1])]
    np.testing.assert_allclose(find_mode(counts), expected, rtol=2e-3)  # the prior of log dispersion is N(0, 5²)


def test_group_terms_need_one_predictor(refuses):
    table = RAND.assign(health=HEALTH)
    need = "group terms need one predictor and known shape parameters"
    refuses(lambda: glm("mdvis ~ disea + (1 | health)", table, "negative-binomial"), need, "fix dispersion")
    refuses(lambda: glm("health ~ disea + (1 | hlthg)", table, "softmax"), need)
    assert glm("mdvis ~ disea + (1 | health)", table, "negative-binomial", dispersion=1.0).dimension == 7


def test_a_model_with_group_terms_has_their_names():
    model = glm("mdvis ~ lncoins + (1 + disea | hlthg)", RAND, "poisson")
    assert model.names[:3] == ("intercept", "lncoins", "hlthg[0]")
    assert model.dimension == 2 + 4 + 2
    assert model.names[2:] == (
        *("hlthg[0]", "hlthg[0].disea", "hlthg[1]", "hlthg[1].disea"),
        *("log scale hlthg", "log scale hlthg.disea"),
    )


# --- priors -----------------------------------------------------------------------------------------------------------

NAMES, SPREAD = ["intercept", "age", "dose"], np.array([0.0, 10.0, 0.5])


@pytest.mark.parametrize(
    ("prior", "scales"),
    [
        ("flat", [np.inf, np.inf, np.inf]),
        (2.5, [np.inf, 0.25, 5.0]),
        ({"age": 2.0}, [np.inf, 0.2, np.inf]),
        ({"age": "flat", "others": 1.0}, [np.inf, np.inf, 2.0]),
        ({"intercept": 3.0, "others": 1.0}, [3.0, 0.1, 2.0]),
    ],
)
def test_scales_of_priors(prior, scales):
    np.testing.assert_allclose(prior_scales(prior, NAMES, SPREAD), scales)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ({"aeg": 1.0}, ["no coefficient 'aeg'", "intercept, age, dose"]),
        ("normal", ["prior = 'normal'", '"flat"']),
        (True, ["prior = True"]),
        (0.0, ["prior = 0"]),
        ({"age": -1.0}, ["prior of age = -1"]),
    ],
)
def test_priors_that_are_none(prior, words, refuses):
    refuses(lambda: prior_scales(prior, NAMES, SPREAD), *words)


def test_a_prior_does_not_depend_on_the_unit_of_a_column():
    metres = pd.DataFrame({"y": RAND["some"], "x": RAND["disea"]})
    feet = metres.assign(x=metres["x"] * 3.28)
    one, other = (find_mode(glm("y ~ x", table, prior=0.05)) for table in (metres, feet))
    np.testing.assert_allclose(one, other * [1.0, 3.28], rtol=1e-6)
    flat = find_mode(glm("y ~ x", metres))
    assert abs(one[1]) < 0.9 * abs(flat[1])


@pytest.mark.parametrize("tails", ["normal", "laplace", 4.0])
def test_tails_of_priors(tails):
    model = glm("some ~ lncoins + disea", RAND, prior={"lncoins": 1.0, "others": "flat"}, prior_tails=tails)
    scale = 1.0 / RAND["lncoins"].std(ddof=0)
    kind = {"normal": Normal(scale**-2), "laplace": Laplace(scale), 4.0: StudentT(scale, 4.0)}[tails].over(1)
    theta = np.array([3.0, 0.7, -2.0])
    assert model.log_prior(theta) == pytest.approx(kind.log_prior(theta[1:2]))
    assert np.flatnonzero(model.prior.flat).tolist() == [0, 2]


def test_a_prior_object_is_in_the_units_of_the_columns(refuses):
    model = glm("some ~ lncoins + disea", RAND, prior=Normal(4.0))
    assert model.log_prior(np.array([1.0, 1.0, 0.0])) == -4.0
    assert glm("some ~ disea", RAND, prior=Flat()).log_prior(np.ones(2)) == 0.0
    refuses(lambda: glm("some ~ disea", RAND, prior=2.0, prior_tails="heavy"), "prior_tails = 'heavy'")


# --- what a reader should know ----------------------------------------------------------------------------------------


def said(formula: str, table: object, **options: object) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        glm(formula, table, **options)
    assert all(one.category is DataWarning for one in found)
    return [str(one.message) for one in found]


def test_a_few_texts_in_a_column_of_numbers_are_pointed_out(tmp_path, refuses):
    ages = [str(20 + k % 10) for k in range(40)]
    table = {"y": [0, 1] * 20, "age": [*ages[:6], "n/a", *ages[7:39], "-"], "area": ["n", "7"] * 20}
    words = (
        "age: 2 of 40 rows are no numbers ('n/a' in row 6, '-' in row 39), so the column counts as text with 12 "
        "levels; if no value is meant, leave it empty and use missing = 'drop'; if categories are meant, write C(age)"
    )
    assert said("y ~ age", table)[0] == f"table: {words}"
    lines = [f"{y},{age}" for y, age in zip(table["y"], table["age"], strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["y,age", *lines]).replace("n/a", "unknown"))
    assert "('unknown' in line 8, '-' in line 41)" in said("y ~ age", tmp_path / "t.csv")[0]
    assert not [line for line in said("y ~ C(age) + area", table, prior=1.0) if "no number" in line]
    refuses(lambda: glm("y ~ scale(age)", table), "is text", "'n/a' in row 6")
    refuses(lambda: glm("age ~ area", table, family="gaussian"), "is text", "'n/a' in row 6")


RNG = np.random.default_rng(1)
COLLINEAR = pd.DataFrame({"y": np.arange(60) % 2, "a": RNG.standard_normal(60), "b": RNG.standard_normal(60)})
COLLINEAR["twice"] = 2 * COLLINEAR["a"] - 1
COLLINEAR["one"], COLLINEAR["nothing"] = 1.0, 0.0
COLLINEAR["sum"] = COLLINEAR["a"] + COLLINEAR["b"] + 1e-8 * RNG.standard_normal(60)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y ~ a + twice", ["columns 'a', 'twice' say the same"]),
        ("y ~ a + one", ["column 'one' is constant, as 'intercept' is"]),
        ("y ~ a + nothing", ["column 'nothing' is 0 in all rows"]),
        ("y ~ a + b + sum", ["columns 'a', 'b', 'sum' are collinear"]),
        ("y ~ 0 + one + a + I(a - one)", ["columns 'a', 'I(a - one)' say the same"]),
        ("y ~ 0 + a + b + sum", ["columns 'a', 'b', 'sum' are collinear"]),
    ],
)
def test_columns_that_say_the_same_are_named(formula, words, refuses):
    refuses(lambda: glm(formula, COLLINEAR), "with a flat prior there is no posterior", *words)
    (remark,) = said(formula, COLLINEAR, prior={"others": 1.0, "nothing": 1.0} if "nothing" in formula else
                     {"others": 1.0, "one": 1.0} if "one" in formula else 1.0)  # fmt: skip
    assert words[0] in remark and "only the prior tells" in remark


def test_columns_that_differ_are_not_called_the_same():
    """Correlations of 0.9999, and columns of very different sizes far from 0, are no reason to refuse."""
    table = COLLINEAR.assign(near=COLLINEAR["a"] + 0.01 * COLLINEAR["b"], large=1e6 + 1e-1 * COLLINEAR["b"])
    assert said("y ~ a + near", table) == []
    assert said("y ~ a + large", table) == []
    assert said("y ~ 0 + a + I(a + one)", table) == []  # without an intercept, a shift is no combination


def test_rows_left_out_and_single_rows_are_told():
    table = COLLINEAR.assign(g=["x"] + ["u", "v"] * 29 + ["u"], c=[np.nan, *range(59)])
    dropped = said("y ~ a + c", table, missing="drop")
    assert dropped == ["data frame: 1 of 60 rows have no value in a column: 'c' 1 (row 0); these rows are left out"]
    (single,) = said("y ~ a + g", table, prior=1.0)
    assert "level 'x': one row only" in single


def test_a_frame_gives_its_model_without_a_warning():
    from samplers import model_frame

    model, remarks = model_of(model_frame("y ~ a", COLLINEAR))
    assert (model.names, remarks) == (("intercept", "a"), [])
