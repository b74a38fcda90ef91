"""`austerity fit`: the library's fit, for a table and for a config."""

from __future__ import annotations

import json

import pytest

import austerity as au
from samplers.fit.examples import example_csv


@pytest.fixture
def wages(tmp_path):
    path = tmp_path / "wages.csv"
    path.write_text("\n".join(example_csv("wages").splitlines()[:3001]))
    return path


def test_json_is_the_library_s_and_files_are_written(run, wages, tmp_path):
    options = f"--formula wage~age+region --loss quantile --quantile 0.25 --tolerance 1e-3 --report {tmp_path}/fit.html"
    (tmp_path / "configs").mkdir()
    files = f"--output {tmp_path}/c.csv --config-output {tmp_path}/configs/fit.toml"
    code, out, err = run(f"fit {wages} {options} {files} --json")
    data, fit = json.loads(out), au.fit_table("wage~age+region", wages, "quantile", quantile=0.25, tolerance=1e-3)
    assert (code, err) == (0, "")
    assert {**data, "seconds": 0} == {**fit.facts(), "seconds": 0}
    assert (tmp_path / "c.csv").read_text() == fit.to_csv()
    assert fit.sentence in (tmp_path / "fit.html").read_text()
    code, again, _ = run(f"fit {tmp_path}/configs/fit.toml --json")
    assert json.loads(again)["coefficients"] == data["coefficients"]


def test_columns_instead_of_a_formula(run, wages):
    code, out, _ = run(f"fit {wages} --response wage --columns age,school --loss lp --p 2 --against batch --quiet")
    assert code == 0
    assert out.startswith("wage ~ age + school: |residual|^2\nThe fit has converged")
    assert "IRLS on all rows" in out and "Standard error (se)" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "--formula 'response ~ terms' says what to fit"),
        ("--formula wage~age --loss huber", "fit.loss = 'huber'"),
        ("--formula wage~pay", "no column 'pay'"),
        ("--formula wage~age --against fast", "must be 'batch' or 'sgd'"),
        ("--formula wage~age --output out.txt", "must end in .csv"),
        ("--response wage", "go together"),
        ("--formula wage~age --response wage --columns age", "not both"),
    ],
)
def test_bad_input_is_one_line(run, wages, words, message):
    code, out, err = run(f"fit {wages} {words}")
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1
