"""`fit_table`: names, counts and words of a fit to a table, its rivals, its report and its config."""

import itertools
import json
import math

import numpy as np
import pytest

import austerity as au
from designer.core.errors import BadInput
from designer.core.progress import Cancelled
from samplers.fit.examples import EXAMPLES, POSITIVE, example_csv, example_table
from samplers.fit.of_table import columns_formula, made_loss
from samplers.fit.rivals import _Scaled


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    age, region = rng.uniform(20.0, 60.0, 6000), rng.choice(["north", "south"], 6000)
    wage = 1000.0 + 20.0 * age - 50.0 * (region == "south") + 30.0 * rng.standard_t(3, 6000)
    return {"wage": wage, "age": age, "region": region, "rich": np.where(wage > 1800.0, "yes", "no"), "never": 0 * age}


@pytest.fixture(scope="module")
def compared(table):
    looks, told = [], []
    fit = au.fit_table(
        "wage ~ age + region",
        table,
        against=["batch", "sgd"],
        watch=looks.append,
        tell=lambda share, note: told.append((share, note)),
    )
    return fit, looks, told


def test_coefficients_have_names_and_the_counts_add_up(compared):
    fit, looks, told = compared
    assert fit.names == ("intercept", "age", "region[T.south]")
    np.testing.assert_allclose(fit.coefficients, [1000.0, 20.0, -50.0], rtol=0.05)
    assert fit.read == fit.trace.n.sum() == looks[-1].read == fit.facts()["read"]
    assert fit.looks == tuple(looks) and len(looks) == fit.trace.looks.sum()
    assert [look.n for look, after in itertools.pairwise(looks) if after.iteration != look.iteration] == (
        fit.trace.n[:-1].tolist()
    )
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[0] >= 0.0 and shares[-1] <= 1.0
    assert f"{fit.read:,} rows" in fit.sentence and f"{int(fit.trace.n.max()):,} rows" in fit.sentence


def test_words_for_every_end(table):
    formula = "wage ~ age + region"
    whole = au.fit_table(formula, table)
    assert whole.reason == "converged" and "the last iteration read all rows" in whole.why
    part = au.fit_table(formula, table, tolerance=3e-2)
    assert part.in_part and "two samples in a row" in part.why and part.passes < 1.0
    assert f"{100 * part.passes:.3g}% of the table" in part.sentence
    assert "raise max_iterations" in au.fit_table(formula, table, max_iterations=2).why
    assert "raise max_read" in au.fit_table(formula, table, max_read=100).why
    asked = []
    stopped = au.fit_table(formula, table, cancelled=lambda: len(asked) > 5 or asked.append(1))
    assert stopped.reason == "cancelled" and "was cancelled" in stopped.sentence and stopped.rivals == ()
    with pytest.raises(Cancelled):
        au.fit_table(formula, table, cancelled=lambda: True)


def test_standard_errors_are_given_where_they_can_be_defended(table):
    median = au.fit_table("wage ~ age", table, tolerance=1e-3)
    assert median.errors is None and "density of the residuals" in median.about_errors
    assert [row.se for row in median.table] == [None, None] and math.isnan(median.most_off)
    squares = au.fit_table("wage ~ age", table, "lp", p=2.0)
    assert squares.most_off < 0.01 and "WARNING" not in squares.about_errors
    early = au.fit_table("rich ~ age", table, "logistic", positive="yes", tolerance=3e-2)
    assert early.in_part and early.most_off > 0.5 and "WARNING" in early.about_errors
    unfinished = au.fit_table("rich ~ age", table, "logistic", positive="yes", max_iterations=2)
    assert unfinished.errors is None and "not converged" in unfinished.about_errors
    assert "infinite" in au.fit_table("wage ~ age", table, "lp", p=1.5, tolerance=1e-2).about_errors


def test_rivals_are_judged_on_the_same_rows(compared, table):
    fit, *_ = compared
    ours, batch, gradients = fit.rivals
    assert [one.name for one in fit.rivals] == ["sequential", "batch", "sgd"]
    assert (ours.read, batch.read % 6000, gradients.read) == (fit.read, 0, 30_000)
    np.testing.assert_allclose(batch.coefficients, fit.coefficients, rtol=1e-2)
    np.testing.assert_allclose(gradients.coefficients, fit.coefficients, rtol=0.2)  # in the table's own units
    assert ours.losses[-1] == pytest.approx(np.mean(np.abs(table["wage"] - _predicted(table, fit.coefficients))))
    assert ours.arrived < batch.arrived and f"{ours.arrived / 6000:.3g}" in fit.against
    assert gradients.tuning_read > 30 * 6000


def _predicted(table, theta):
    return theta[0] + theta[1] * table["age"] + theta[2] * (table["region"] == "south")


@pytest.mark.parametrize("constant", [True, False])
def test_scaled_columns_are_scaled_back(constant):
    rng = np.random.default_rng(1)
    x = rng.normal([5.0, -100.0], [0.1, 30.0], (500, 2))
    x = np.column_stack([np.ones(500), x]) if constant else x
    theta = np.arange(1.0, 1.0 + x.shape[1])
    y = x @ theta + 3.0
    scaled = _Scaled.of(x, y, None, made_loss("lad"))
    z, response = scaled.data(x, y)
    inner = rng.normal(size=x.shape[1])
    np.testing.assert_allclose(
        x @ scaled.back(inner[None])[0], z @ inner * scaled.y_scale + scaled.y_centre, rtol=1e-9, atol=1e-9
    )
    assert np.mean(np.abs(response)) < 10.0


def test_the_report_says_what_the_result_says(compared, tmp_path):
    fit, *_ = compared
    text = fit.report(tmp_path / "fit.html")
    html = (tmp_path / "fit.html").read_text()
    for piece in (fit.formula, fit.sentence, fit.why, fit.about_errors, fit.against):
        assert piece in text and piece in html.replace("&#39;", "'")
    assert html.count("<polyline") == 1 + 2 + 3 and "<script" not in html
    assert fit.report(tmp_path / "fit.txt") + "\n" == (tmp_path / "fit.txt").read_text()
    lines = fit.to_csv().splitlines()
    assert lines[0] == "name,estimate,se,off" and float(lines[2].split(",")[1]) == fit.coefficients[1]
    assert json.dumps(fit.facts(), allow_nan=False)


def test_names_are_escaped(tmp_path, table):
    odd = {"<b>y</b>": table["wage"][:500], "x & z": table["age"][:500]}
    fit = au.fit_table(columns_formula("<b>y</b>", ["x & z"]), odd, tolerance=1e-2)
    fit.report(tmp_path / "fit.html")
    html = (tmp_path / "fit.html").read_text()
    assert "<b>y" not in html and "x &amp; z" in html


def test_configs_make_the_same_fit(tmp_path):
    (tmp_path / "wages.csv").write_text(example_csv("wages"))
    config = au.FitConfig.of("wages.csv", "wage ~ age", loss="quantile", quantile=0.75, tolerance=1e-3, seed=3)
    (tmp_path / "fit.toml").write_text(config.to_toml())
    loaded = au.FitConfig.load(tmp_path / "fit.toml")
    assert loaded.fit == config.fit and loaded.data.path == str(tmp_path / "wages.csv")
    assert config.changed == {"quantile": 0.75, "tolerance": 1e-3, "seed": 3}
    ours = loaded.run()
    other = au.fit_table("wage ~ age", example_table("wages"), "quantile", quantile=0.75, tolerance=1e-3, seed=3)
    np.testing.assert_array_equal(ours.coefficients, other.coefficients)
    assert ours.read == other.read


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_fit(name):
    example = EXAMPLES[name]
    options = {"positive": POSITIVE[name]} if name in POSITIVE else {}
    fit = au.fit_table(example.formula, example_table(name), example.loss, tolerance=1e-2, **options)
    assert fit.reason == "converged"


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('[fit]\nformula = "y ~ x"', "data.path: missing"),
        ('[data]\npath = "a.csv"', "fit.formula: missing"),
        ('[data]\npath = "a.xls"\n[fit]\nformula = "y ~ x"', "must be|ends in"),
        ('[data]\npath = "a.csv"\n[fit]\nformula = "y ~ x"\nloss = "huber"', "fit.loss = 'huber'"),
        ('[data]\npath = "a.csv"\n[fit]\nformula = "y ~ x"\nloss = "lp"', "p: missing"),
        ('[data]\npath = "a.csv"\n[fit]\nformula = "y ~ x"\nspeed = 1', "fit.speed: unknown"),
        ('[data]\npath = "a.csv"\n[fit]\nformula = "y ~ x"\n[test]\nm = 1', "test: unknown; allowed: data, fit"),
        ('fit = 3\n[data]\npath = "a.csv"', "fit = 3: must be a table"),
        ('[data]\npath = "a.csv"\n[fit]\nformula = "y ~ x"\ngrowth = 1.01', "growth"),
    ],
)
def test_bad_configs_are_refused_in_one_line(toml, message):
    with pytest.raises(BadInput, match=message) as refusal:
        au.FitConfig.from_toml(toml)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("wage ~ nothing", {}, "no column 'nothing'"),
        ("region ~ age", {}, "the loss lad needs numbers"),
        ("wage ~ age", {"loss": "poisson"}, "the loss poisson needs whole numbers"),
        ("rich ~ age", {"loss": "logistic"}, "positive = 'yes'"),
        ("wage ~ age + I(2 * age)", {}, "not determined; leave one out"),
        ("wage ~ age + (1 | region)", {}, "no group terms"),
        ("wage ~ age", {"against": ["newton"]}, "against = 'newton'"),
        ("wage ~ age", {"loss": "quantile", "quantile": 1.5}, "quantile = 1.5"),
        ("wage ~ age", {"p": 2.0}, "is for the loss 'lp'"),
        ("wage ~ age", {"first": 7000}, "first = 7000"),
        ("never ~ age", {"loss": "poisson"}, "is 0 in all rows"),
        ("wage ~ I(1e9 + age)", {}, "hardly varies beside its mean"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(table, formula, options, message):
    with pytest.raises(BadInput, match=message) as refusal:
        au.fit_table(formula, table, **options)
    assert "\n" not in str(refusal.value)


def test_of_a_large_table_a_sample_judges_and_the_text_says_so(table, monkeypatch):
    for module in ("rivals", "table_fit"):
        monkeypatch.setattr(f"samplers.fit.{module}.JUDGED", 1000)
    fit = au.fit_table("wage ~ age", table, tolerance=1e-2, against=["batch"])
    assert "Losses are those of 1,000 rows chosen at random." in fit.against
    judged = np.mean(np.abs(table["wage"] - fit.coefficients[0] - fit.coefficients[1] * table["age"]))
    assert fit.rivals[0].losses[-1] == pytest.approx(judged, rel=0.1) and fit.rivals[0].losses[-1] != judged
