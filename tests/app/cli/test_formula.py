"""A table and a formula on the command line: the same model as in Python."""

from __future__ import annotations

import json

import numpy as np
import pytest

import austerity as au


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(3)
    lines = ["bought,age,weight"]
    for _ in range(3000):
        age = rng.normal(40.0, 10.0)
        bought = "yes" if rng.random() < 1.0 / (1.0 + np.exp(-0.05 * (age - 45.0))) else "no"
        lines.append(f"{bought},{age:.2f},{rng.integers(1, 3)}")
    lines[7] = "no,NA,1"
    (tmp_path / "t.csv").write_text("\n".join(lines))
    return tmp_path / "t.csv"


def test_a_table_is_sampled_as_its_config_is(run, table, tmp_path):
    words = f"sample {table} --formula bought~age --positive yes --weights weight --missing drop --prior 2.5 --seed 4"
    code, out, _ = run(f"{words} --draws 50 --chains 2 --output {tmp_path}/out --json")
    data = json.loads(out)
    options = {"positive": "yes", "weights": "weight", "missing": "drop", "prior": 2.5}
    config = au.config_from_table(table, "bought ~ age", **options)
    result = au.sample(config, draws=50, chains=2, seed=4, progress=False)
    assert code == 0
    dropped = "1 of 3,000 rows have no value in a column: 'age' 1 (line 8); these rows are left out"
    assert dropped in result.report(tmp_path / "report.html") and "1 of 3,000" in (tmp_path / "report.html").read_text()
    (tmp_path / "c.toml").write_text(config.to_toml())
    assert dropped in run(f"run {tmp_path}/c.toml --draws 5 --chains 2 --output {tmp_path}/run")[1]
    assert [row["mean"] for row in data["summary"]] == [row.mean for row in result.summary().rows]
    assert [row["name"] for row in data["summary"]] == ["theta[intercept]", "theta[age]"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "--formula 'response ~ terms' says what to model"),
        ("--formula bought~agee", "model.formula: no column 'agee'; did you mean 'age'?"),
        ("--formula bought~age", "1 of 3,000 rows have no value in a column: 'age' 1 (line 8)"),
        ("--formula bought~age --missing drop", "positive = 'yes' would say which one counts as 1"),
        ("--formula bought~age --family normal", "model.family = 'normal'"),
        ("--formula bought~age --prior wide", "'wide' is not a number"),
        ("--formula bought~open('x')", "the function 'open' is not known"),
    ],
)
def test_refusals(refused, table, tmp_path, words, message):
    refused(f"sample {table} {words} --output {tmp_path}/out", message)
