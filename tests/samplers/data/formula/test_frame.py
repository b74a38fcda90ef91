"""Design matrices against patsy's on real tables; all kinds of tables alike; blocks as the whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import patsy
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.api as sm
from pyarrow import parquet

from samplers.data import table as tables
from samplers.data.formula.frame import model_frame

FAIR = sm.datasets.fair.load_pandas().data  # 6,366 rows; public domain
ANES = sm.datasets.anes96.load_pandas().data  # 944 rows
RAND = sm.datasets.randhie.load_pandas().data  # 20,190 rows


def fair() -> pd.DataFrame:
    frame = FAIR.copy()
    frame["job"] = (
        frame["occupation"]
        .astype(int)
        .map({1: "student", 2: "farming", 3: "white-collar", 4: "teacher", 5: "managerial", 6: "professional"})
    )
    frame["had"] = np.where(frame["affairs"] > 0, "yes", "no")
    frame["young"] = frame["age"] < 27
    return frame


SAME_AS_PATSY = [
    ("age + children", "age + children"),
    ("age * job", "age * job"),
    ("0 + job + age", "0 + job + age"),
    ("job:religious - 1", "job:religious - 1"),
    ("C(religious) + np.log(yrs_married)", "C(religious) + np.log(yrs_married)"),
    ("log(yrs_married) + I(age ** 2)", "np.log(yrs_married) + I(age ** 2)"),
    ("C(job, Treatment('teacher')) + age", "C(job, Treatment('teacher')) + age"),
    ("C(job, Sum)", "C(job, Sum)"),
    ("(age + educ + children) ** 2", "(age + educ + children) ** 2"),
    ("bs(age, df=5) + educ", "bs(age, df=5) + educ"),
    ("cr(age, df=4)", "cr(age, df=4)"),
    ("standardize(age) + center(educ)", "standardize(age) + center(educ)"),
    ("C(educ > 14)", "C(educ > 14)"),
    ("young + young:age", "I(young * 1.0) + I(young * 1.0):age"),
    ("job + job:age + C(religious):educ", "job + job:age + C(religious):educ"),
    ("1", "1"),
]


def columns_of(matrix: np.ndarray) -> np.ndarray:
    """The columns in an order that does not depend on their names."""
    return matrix[:, np.lexsort(np.round(matrix[:200], 9))]


@pytest.mark.parametrize(("ours", "theirs"), SAME_AS_PATSY, ids=[ours for ours, _ in SAME_AS_PATSY])
def test_design_matrices_are_those_of_patsy(ours, theirs):
    frame = fair()
    made = model_frame(f"had ~ {ours}", frame, positive="yes")
    expected = np.asarray(patsy.dmatrix(theirs, frame))
    assert made.rows.shape == expected.shape
    np.testing.assert_allclose(columns_of(made.rows), columns_of(expected), rtol=1e-9, atol=1e-9)
    assert np.array_equal(made.y, (frame["affairs"] > 0).to_numpy(float))


def test_columns_and_names_come_in_the_order_of_the_formula():
    made = model_frame("affairs ~ age + C(religious) + poly(educ, 2)", FAIR, "gaussian")
    levels = [f"C(religious)[T.{k}]" for k in (2, 3, 4)]
    assert made.names == ("intercept", "age", *levels, "poly(educ, 2)[1]", "poly(educ, 2)[2]")
    assert np.array_equal(made.rows[:, made.names.index("age")], FAIR["age"])
    both = made.rows[:, -2:]
    np.testing.assert_allclose(both.T @ both, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(both.sum(axis=0), 0.0, atol=1e-9)


FORMULA = "mdvis ~ lncoins * physlm + poly(lpi, 3) + C(idp) + scale(disea) + offset(log1p(disea)) + (1 + lpi | site)"


def policies() -> pd.DataFrame:
    frame = RAND.iloc[:3000].copy()
    rng = np.random.default_rng(1)
    frame["site"] = rng.choice(["Dayton", "Seattle", "Fitchburg"], len(frame))
    frame.loc[frame.index[-1], "site"] = "Zion"  # a level in the last block, and row group, only
    frame["physlm"] = np.where(frame["physlm"] > 0, "limited", "free")
    return frame


@pytest.fixture
def everywhere(tmp_path):
    frame = policies()
    frame.to_csv(tmp_path / "p.csv", index=False)
    frame.to_csv(tmp_path / "p.tsv", index=False, sep="\t", decimal=",")
    frame.to_parquet(tmp_path / "p.parquet", row_group_size=700)
    coded = pa.Table.from_pandas(frame, preserve_index=False)
    place = coded.schema.get_field_index("site")
    coded = coded.set_column(place, "site", coded.column("site").dictionary_encode())
    parquet.write_table(coded, tmp_path / "coded.parquet", row_group_size=800)
    return {
        "pandas": frame,
        "csv": tmp_path / "p.csv",
        "tsv": str(tmp_path / "p.tsv"),
        "parquet": tmp_path / "p.parquet",
        "dictionary": tmp_path / "coded.parquet",
        "polars": pl.from_pandas(frame),
        "lazy": pl.scan_parquet(tmp_path / "p.parquet"),
        "arrow": coded,
        "dict": {name: frame[name].to_numpy() for name in frame},
    }


def test_all_kinds_of_tables_give_the_same_numbers(everywhere):
    frames = {kind: model_frame(FORMULA, table, "poisson") for kind, table in everywhere.items()}
    first = frames["pandas"]
    assert first.groups[0].labels == ("Dayton", "Fitchburg", "Seattle", "Zion")
    assert first.groups[0].columns.shape == (3000, 2)
    for kind, frame in frames.items():
        assert frame.digest == first.digest, kind
        assert (frame.names, frame.groups[0].labels) == (first.names, first.groups[0].labels), kind


def test_blocks_give_what_the_whole_gives(everywhere, monkeypatch):
    """Splines, polynomials and scales know all rows, and levels are all known, however small the blocks are."""
    formula = FORMULA + " + bs(fmde, df=5) + cr(disea, df=3) + center(log1p(disea)):physlm"
    whole = model_frame(formula, everywhere["pandas"], "poisson")
    monkeypatch.setattr(tables, "BLOCK", 397)
    for kind in ("csv", "parquet"):
        assert np.array_equal(model_frame(formula, everywhere[kind], "poisson").rows, whole.rows), kind


def test_only_the_columns_of_the_formula_are_read(tmp_path):
    table = pa.table({"y": [0, 1, 1], "x": [1.0, 2.0, 0.5], "when": pa.array([1, 2, 3], pa.timestamp("s"))})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert model_frame("y ~ x", tmp_path / "t.parquet").rows.shape == (3, 2)
    assert model_frame("y ~ x", table).rows.shape == (3, 2)


def test_a_dot_stands_for_all_other_columns():
    made = model_frame("vote ~ . + offset(logpopul) + (1 | PID)", ANES)
    assert set(made.names) == {"intercept", *ANES.columns} - {"vote", "logpopul", "PID"}
    assert np.array_equal(made.offset, ANES["logpopul"])


def test_the_order_of_a_pandas_category_is_kept():
    frame = pd.DataFrame({"y": [0, 1, 0, 1], "g": pd.Categorical(["b", "a", "c", "b"], ["c", "b", "a", "unused"])})
    assert model_frame("y ~ g", frame).names == ("intercept", "g[T.b]", "g[T.a]")
    assert model_frame("y ~ (1 | g)", frame).groups[0].labels == ("c", "b", "a")


def test_groups_trials_weights_and_offsets_are_those_of_their_rows():
    frame = sm.datasets.star98.load_pandas().data
    frame["county"] = np.arange(len(frame)) % 7 * 10
    made = model_frame(
        "NABOVE | trials(NABOVE + NBELOW) ~ LOWINC + offset(PERASIAN / 100) + offset(PERHISP) + (LOWINC | county)",
        frame,
        "binomial",
        weights="PERBLACK ** 2",
    )
    assert np.array_equal(made.trials, frame["NABOVE"] + frame["NBELOW"])
    assert np.array_equal(made.y, frame["NABOVE"])
    np.testing.assert_allclose(made.offset, frame["PERASIAN"] / 100 + frame["PERHISP"])
    np.testing.assert_allclose(made.weights, frame["PERBLACK"] ** 2)
    (county,) = made.groups
    assert county.labels == tuple(str(10 * k) for k in range(7))
    assert np.array_equal(county.codes, np.arange(len(frame)) % 7)
    assert county.effects == ("intercept", "LOWINC")
    assert np.array_equal(county.columns, np.column_stack([np.ones(len(frame)), frame["LOWINC"]]))


@pytest.mark.parametrize(
    ("column", "positive", "expected"),
    [
        ([0, 1, 1], None, [0, 1, 1]),
        ([-1, 1, 1], None, [0, 1, 1]),
        ([True, False, True], None, [1, 0, 1]),
        ([True, False, True], False, [0, 1, 0]),
        (["no", "yes", "no"], "yes", [0, 1, 0]),
        (["b", "a", "c"], "a", [0, 1, 0]),
        ([1, 2, 2], "2", [0, 1, 1]),
        ([1, 2, 2], 1, [1, 0, 0]),
        (["1", "0", "1"], "1", [1, 0, 1]),
    ],
)
def test_labels_of_every_kind(column, positive, expected):
    table = {"y": column, "x": [1.0, 2.0, 0.5]}
    assert model_frame("y ~ x", table, positive=positive).y.tolist() == expected


def test_text_that_says_true_or_false_in_a_csv_file_is_boolean(tmp_path):
    (tmp_path / "t.csv").write_text("y,x\ntrue,1\nFALSE,2\nTrue,3\n")
    assert model_frame("y ~ x", tmp_path / "t.csv").y.tolist() == [1, 0, 1]
    assert model_frame("x ~ y", tmp_path / "t.csv", "gaussian").rows[:, 1].tolist() == [1, 0, 1]


@pytest.mark.parametrize("column", [["b", "c", "a", "b"], [5, 7, -1, 5]])
def test_classes_of_a_softmax(column):
    made = model_frame("y ~ x", {"y": column, "x": [1.0, 2.0, 0.5, 0.0]}, "softmax")
    assert made.y.tolist() == [1, 2, 0, 1]
    assert made.classes == (("a", "b", "c") if isinstance(column[0], str) else ("-1", "5", "7"))


def test_rows_in_a_file(tmp_path, monkeypatch):
    plain = model_frame("had ~ age + job", fair(), positive="yes")
    cached = model_frame("had ~ age + job", fair(), positive="yes", cache=tmp_path / "rows.npy")
    assert isinstance(cached.rows, np.memmap)
    assert np.array_equal(np.load(tmp_path / "rows.npy"), plain.rows)
    monkeypatch.setattr("samplers.data.memory.allowed", lambda: 2 * plain.rows.nbytes - 2)
    mapped = model_frame("had ~ age + job", fair(), positive="yes")
    assert isinstance(mapped.rows, np.memmap) and mapped.digest == plain.digest


def test_categories_that_look_like_numbers_are_not_merged(tmp_path):
    """As Parquet has them: "01" and "1" are two groups; plain numbers stay numbers, in their order."""
    ids, plain = ["1", "01", "2"] * 20, [10, 9, 2] * 20
    lines = [f"{k % 2},{name},{number}" for k, (name, number) in enumerate(zip(ids, plain, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(["y,id,n", *lines, ""]))
    frame = model_frame("y ~ C(n) + (1 | id)", tmp_path / "t.csv")
    assert frame.names == ("intercept", "C(n)[T.9]", "C(n)[T.10]")
    assert frame.groups[0].labels == ("01", "1", "2")
