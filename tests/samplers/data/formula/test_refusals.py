"""What a formula or a table cannot say is refused in one line that names it."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from samplers.data.formula import frame as frames
from samplers.data.formula.allowed import check_expression
from samplers.data.formula.frame import model_frame

TABLE = {
    "y": [0, 1, 1, 0, 1],
    "n": [3, 2, 1, 0, 5],
    "x": [0.5, 1.0, -2.0, 0.0, 3.0],
    "age": [30.0, 41.0, 22.0, 56.0, 60.0],
    "region": ["n", "s", "n", "w", "n"],
    "a b": [1.0, 2.0, 4.0, 8.0, 9.0],
    "log": [1.0, 2.0, 3.0, 4.0, 5.0],
}

WRONG = [
    ("y", "must have one ~"),
    ("~ x", "must have one ~"),
    ("y ~ x ~ age", "must have one ~"),
    ("", "formula = ''"),
    (7, "formula = 7"),
    ("y ~ x +", "a term is missing after +"),
    ("y ~", "a term is missing after ~"),
    ("y ~ (x", "not closed"),
    ("y ~ x)", "closed that was not opened"),
    ("y ~ 'x", "a ' is not closed"),
    ("y ~ agee", "no column 'agee'; did you mean 'age'?"),
    ("y ~ Region", "no column 'Region'; did you mean 'region'?"),
    ("z ~ x", "no column 'z'; the columns are y, n, x, age"),
    ("y ~ log2(incme)", "no column 'incme'"),
    ("y ~ (1 | regin)", "no column 'regin'; did you mean 'region'?"),
    ("y ~ x + (1 || region)", "(1 || region)", "a group term is (1 | group)"),
    ("y ~ x - (1 | region)", "only fixed terms can be taken out"),
    ("y ~ x * (1 | region)", "cannot be used"),
    ("y ~ x:offset(age)", "an offset as + offset(...)"),
    ("y ~ offset()", "is empty"),
    ("y ~ x + y", "'y' is the response, and also a term"),
    ("y ~ 0", "leaves no term"),
    ("y ~ x + 2", "cannot be used"),
    ("y ~ x + 'text'", "cannot be used"),
    ("cbind(y, n) ~ x", "successes | trials(n)"),
    ("y | n ~ x", "successes | trials(n)"),
    ("y | trials(n) ~ x", "is for family binomial, not bernoulli"),
    ("y ~ log(x)", "'log' is a column here"),
    ("y ~ log2(region)", "cannot be used"),
    ("y ~ scale(region)", "column 'region' is text"),
    ("y ~ offset(region)", "'region': is text; one number for each row"),
    ("y ~ log1p", "no column 'log1p'"),
    ("y ~ np.log(x)", "np.log(x) is nan in row 2", "must be finite"),
    ("y ~ np.sqrt(x)", "np.sqrt(x) is nan in row 2"),
    ("y ~ C(region, levels=['n', 's'])", "the table has 'w' too"),
    ("y ~ C(region, Treatment('q'))", "cannot be used"),
    ("y ~ poly(x, 200)", "a whole number up to 100"),
    ("y ~ bs(x, df=1)", "cannot be used"),
    ("y ~ x**999999", "more than 10,000 terms"),
    ("C(region) ~ x", "not C(...)"),
    ("y ~ C(region, levels=x)", "levels must be a list of texts or numbers"),
    ("y ~ (x + age + region + n) ** 30", "more than 10,000 terms"),
    ("y ~ " + " * ".join(["x", "age", "n"] * 9), "more than 10,000 terms"),
    ("y ~ " + "(" * 40 + "x" + ")" * 40, "40 parentheses within each other"),
    ("y ~ " + "x + " * 3000 + "x", "characters, more than 5,000"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=[str(case[0])[:40] for case in WRONG])
def test_wrong_formulas(case, refuses):
    formula, *words = case
    refuses(lambda: model_frame(formula, TABLE), *words)


ATTACKS = [
    "__import__('os').system('touch {0}')",
    "I(__import__('os').system('touch {0}'))",
    "`x` + __import__('os').system('touch {0}')",
    "open('{0}', 'w')",
    "np.save('{0}', x)",
    "np.fromfile('{0}')",
    "x.to_csv('{0}')",
    "x.__class__.__mro__[1].__subclasses__()",
    "(lambda: 1)()",
    "[c for c in x.__class__.__mro__]",
    "'`' + __import__('os').system('touch {0}') + '`'",
    'scale(x, center=\'"] or __import__("os").system("touch {0}") or x["\')',
    "{{__import__('os').system('touch {0}')}}",
    "eval('1')",
    "exec('1')",
    "np.log(x, age)",  # would write into a column
    "np.log(x, out=age)",
    "log1p(x, where=age)",
    "poly(x, *[2])",
    "scale(**age)",
    "f'{{x}}'",
    "x if y else x",
    "x[0]",
    "9 ** 9 ** 9 ** 9",
    "I(x ** 99999999)",
    "I((9 ** 9) ** 9 * x)",
    "'a' * 999999999999",
    "[0] * 999999999999",
    "np.random.rand(10**12)",
    "getattr(x, 'y')",
    "Q('x')",
    "hashed(x)",
    "contr.treatment",
    "x := 3",
    "yield x",
    "I(x)\\",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_formula_executes_nothing_but_allowed_functions(attack, tmp_path, refuses):
    target = tmp_path / "done"
    text = attack.format(target)
    for formula in (
        f"y ~ {text}",
        f"y ~ x + offset({text})",
        f"{text} ~ x",
        f"y ~ ({text} | region)",
        f"y ~ C({text})",
    ):
        refuses(lambda formula=formula: model_frame(formula, TABLE))
    refuses(lambda: model_frame("y ~ x", TABLE, weights=text))
    refuses(lambda: check_expression(text, TABLE))
    assert not target.exists()


def test_a_column_of_any_name_can_be_used_in_backticks(refuses):
    made = model_frame("y ~ `a b` + np.log(`a b`) + `log`", TABLE)
    assert np.array_equal(made.rows[:, 1], TABLE["a b"])
    np.testing.assert_allclose(made.rows[:, 2], np.log(TABLE["a b"]))
    refuses(lambda: model_frame("y ~ `a c`", TABLE), "no column 'a c'; did you mean 'a b'?")


@pytest.mark.parametrize(
    ("family", "formula", "words"),
    [
        ("poisson", "x ~ age", ["response 'x' is 0.5 in row 0", "whole numbers, 0 or more"]),
        ("negative-binomial", "x ~ age", ["row 0", "whole numbers"]),
        ("gamma", "x ~ age", ["response 'x' is -2 in row 2", "above 0"]),
        ("bernoulli", "age ~ x", ["has the values 22, 30, 41, 56, 60; family bernoulli needs 0 and 1"]),
        ("probit", "region ~ x", ["has the values 'n', 's', 'w'; positive = 'w' would say which one counts as 1"]),
        ("gaussian", "region ~ x", ["response 'region' is text ('n', 's', 'w', …); family gaussian needs numbers"]),
        ("softmax", "x ~ age", ["response 'x' is 0.5 in row 0", "texts or whole numbers"]),
        ("binomial", "y ~ x", ["successes | trials(n)"]),
        ("binomial", "n | trials(y) ~ x", ["response 'n' is 3 of 0 trials in row 0"]),
        ("binomial", "n | trials(x) ~ x", ["trials is 0.5 in row 0"]),
        ("binomial", "n | trials(10) ~ x", ["give a column"]),
        ("normal", "x ~ age", ["family = 'normal': must be one of bernoulli"]),
    ],
)
def test_a_response_that_does_not_suit_the_family(family, formula, words, refuses):
    refuses(lambda: model_frame(formula, TABLE, family), *words)


def test_a_positive_value_that_is_not_there(refuses):
    refuses(lambda: model_frame("region ~ x", TABLE, positive="q"), "positive = 'q'", "'n', 's', 'w'")
    refuses(lambda: model_frame("n ~ x", TABLE, "poisson", positive=1), "positive = 1: is for the families bernoulli")


def test_missing_values_are_counted_and_named(tmp_path, refuses):
    text = "y,x,g,z\n1,2,a,\n0,NA,b,1\n1,3,,\n0,n/a,a,\n1,nan,b,\n1,?,a,\n0,5,a,\n0,6,b,\n"
    (tmp_path / "t.csv").write_text(text)
    file, frame = tmp_path / "t.csv", pd.read_csv(tmp_path / "t.csv", na_values=["?"])
    words = ["5 of 8 rows have no value in a column: 'x' 4 (lines 3, 5, 6, …); 'g' 1 (line 4)", "missing = 'drop'"]
    refuses(lambda: model_frame("y ~ x + g", file), *words)
    refuses(lambda: model_frame("y ~ x + g", frame), "5 of 8 rows", "'x' 4 (rows 1, 3, 4, …); 'g' 1 (row 2)")
    frame.to_parquet(tmp_path / "t.parquet")
    for table in (file, frame, tmp_path / "t.parquet"):
        made = model_frame("y ~ x + g", table, missing="drop")
        assert made.n_dropped == 5
        assert made.remarks[0].endswith("these rows are left out") and "5 of 8" in made.remarks[0]
        assert made.rows.tolist() == [[1, 2, 0], [1, 5, 0], [1, 6, 1]]
        assert made.y.tolist() == [1, 0, 0]
    refuses(lambda: model_frame("y ~ x + z", file, missing="drop"), "8 of 8 rows", "no row is left")
    refuses(lambda: model_frame("y ~ x", file, missing="ignore"), "missing = 'ignore'")


def test_a_level_that_is_only_in_rows_left_out_does_not_exist():
    table = {"y": [0, 1, 0, 1], "g": ["a", "b", "c", "b"], "x": [1.0, 2.0, np.nan, 4.0]}
    assert model_frame("y ~ g + x", table, missing="drop").levels["g"] == ["a", "b"]


def test_rows_that_are_wrong_are_named_as_they_are_in_the_file(tmp_path, refuses):
    (tmp_path / "t.csv").write_text("y,x\n\n1,2\n0,NA\n1,-1\n")
    refuses(lambda: model_frame("y ~ np.log(x)", tmp_path / "t.csv", missing="drop"), "np.log(x) is nan in line 5")


def test_weights_that_are_no_weights(refuses):
    refuses(lambda: model_frame("y ~ age", TABLE, weights="x"), "the weight is -2 in row 2; must be 0 or more")
    refuses(lambda: model_frame("y ~ age", TABLE, weights="x - x"), "all are 0")
    refuses(lambda: model_frame("y ~ age", TABLE, weights="w"), "no column 'w'")
    refuses(lambda: model_frame("y ~ age", TABLE, weights="region"), "is text")


def test_tables_that_are_no_tables(tmp_path, refuses):
    refuses(lambda: model_frame("y ~ x", tmp_path / "none.csv"), "no such file")
    refuses(lambda: model_frame("y ~ x", "t.xlsx"), "must end in .csv")
    refuses(lambda: model_frame("y ~ x", [1, 2]), "must be a path, a data frame")
    refuses(lambda: model_frame("y ~ x", {"y": [1], "x": [1, 2]}), "different lengths")
    refuses(lambda: model_frame("y ~ x", {"y": [0, 1], "x": [1, "a"]}), "cannot be read")
    refuses(lambda: model_frame("y ~ x", {"y": [0, 1], "x": np.ones((2, 2))}), "shape (2, 2)")
    refuses(lambda: model_frame("y ~ x", pd.DataFrame([[1, 2]])), "must be texts")
    refuses(lambda: model_frame("y ~ x", pd.DataFrame({"y": [], "x": []})), "has no rows")
    (tmp_path / "t.csv").write_text("y,x\n")
    refuses(lambda: model_frame("y ~ x", tmp_path / "t.csv"), "has no rows")
    (tmp_path / "t.csv").write_text("y,x\n1,2\n1\n0,3,4\n")
    refuses(lambda: model_frame("y ~ x", tmp_path / "t.csv"), "line 3: 1 fields, the header has 2", "1 more")
    (tmp_path / "t.csv").write_text("y,x\n" + "1,2\n" * 1100 + "0,abc\n")
    refuses(lambda: model_frame("y ~ x", tmp_path / "t.csv"), "line 1,102, column 'x': 'abc' is not a number")
    assert model_frame("y ~ C(x)", tmp_path / "t.csv").levels["C(x)"] == ["2", "abc"]
    (tmp_path / "t.parquet").write_text("no")
    refuses(lambda: model_frame("y ~ x", tmp_path / "t.parquet"), "cannot be read")
    when = pa.table({"y": [0, 1], "x": pa.array([1, 2], pa.timestamp("s"))})
    parquet.write_table(when, tmp_path / "t.parquet")
    for table in (when, tmp_path / "t.parquet"):
        refuses(lambda table=table: model_frame("y ~ x", table), "column 'x' is of type timestamp[")


def test_a_level_seen_once_gets_a_word():
    made = model_frame("y ~ region", TABLE)
    assert made.remarks == ("region: level 's', and 1 more levels: one row only, which alone decides its coefficient",)


def test_too_many_levels_get_the_advice_to_use_groups(refuses):
    table = {"y": np.arange(6000) % 2, "g": [f"g{k}" for k in range(6000)]}
    refuses(lambda: model_frame("y ~ g", table), "6,000 levels", "(1 | group)")
    assert len(model_frame("y ~ (1 | g)", table).groups[0].labels) == 6000


def test_without_formulaic_a_line_says_what_to_install(monkeypatch, refuses):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    refuses(lambda: model_frame("y ~ x", TABLE), 'pip install "austerity[formula]"')


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, refuses):
    file = tmp_path / "t.parquet"
    pd.DataFrame({"y": [0.0, 1.0, 1.0], "x": [1.0, 2.0, 4.0]}).to_parquet(file)
    first = frames.scan

    def scan_and_change(*arguments):
        found = first(*arguments)
        pd.DataFrame({"y": [0.0, 1.0], "x": [1.0, 2.0]}).to_parquet(file)
        return found

    monkeypatch.setattr(frames, "scan", scan_and_change)
    refuses(lambda: model_frame("y ~ x", file), "changed while it was read")


def test_numbers_that_doubles_mix_up_are_no_levels(refuses):
    table = {"y": [0, 1, 1], "id": np.array([2**60, 2**60 + 1, 2**60 + 2])}
    for formula in ("y ~ (1 | id)", "y ~ C(id)"):
        refuses(lambda formula=formula: model_frame(formula, table), "id", "make them text")
    assert len(model_frame("y ~ (1 | id)", table | {"id": table["id"].astype(str)}).groups[0].labels) == 3


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y ~ log(`class`)", "column 'class' is a word of Python, which a function cannot use; rename"),
        ("y ~ x * C(lambda)", "column 'lambda' is a word of Python"),
        ("y ~ x + offset(2 * `class`)", "column 'class' is a word of Python"),
        ("y ~ I(`\ufb01` + 1)", "is 'fi' to Python"),  # the ligature: Python would take column fi
        ("y ~ scale(\ufb01)", "is 'fi' to Python"),
        ("y ~ C(scale(x))", "within C(...) there can be no function that learns from all rows"),
        ("y ~ C(bs(x, df=4) > 0)", "within C(...) there can be no function that learns from all rows"),
    ],
)
def test_names_that_python_reads_otherwise_and_what_c_cannot_take(formula, words, refuses):
    refuses(lambda: model_frame(formula, odd_names(), "gaussian"), words)


def test_odd_names_as_terms_are_those_columns():
    table = odd_names()
    formula = "y ~ `class` + \ufb01 + (x + `lambda`) + C(x > 0, levels=[False, True]) + offset(`class`)"
    frame = model_frame(formula, table, "gaussian")
    for name in ("class", "\ufb01", "lambda"):
        np.testing.assert_array_equal(frame.rows[:, frame.names.index(name)], table[name])
    np.testing.assert_array_equal(frame.offset, table["class"])


def odd_names():
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(30) for name in ("y", "x", "class", "lambda", "fi", "\ufb01")}
