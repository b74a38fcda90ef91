"""`austerity evaluate`: the engine's numbers, for programs and for people."""

from __future__ import annotations

import json

import pytest

from designer import Design, characteristics
from designer.rule.plan import as_plan


def test_json_is_the_engine_s(run):
    code, out, _ = run("evaluate --n-data 12214 --m 500 --epsilon 0.05 --mu-std -1,0,5 --json")
    curve = characteristics(Design(12214, 500, 0.05), [-1, 0, 5])
    assert code == 0
    assert json.loads(out) == {
        "looks": 25,
        "mu_std": [-1.0, 0.0, 5.0],
        "error": curve.error.tolist(),
        "usage": curve.usage.tolist(),
        "estimate": curve.estimate,
    }


def test_text(run):
    code, out, _ = run("evaluate --n-data 1,000,000,000 --m 500 --epsilon 0.05 --alpha 0.75 --growth 1.5")
    lines = out.splitlines()
    assert code == 0
    looks = as_plan(Design(10**9, 500, 0.05, 0.75, 1.5)).schedule.size
    assert lines[0] == f"N = 1,000,000,000, m = 500, ε = 0.05, α = 0.75: {looks} looks"
    assert [line.split()[0] for line in lines[2:-1]] == ["0", "0.5", "1", "2", "5", "10"]  # the default
    assert lines[-1].startswith("numerical error below ")


def test_a_design_file_says_n(run, tmp_path):
    (tmp_path / "design.toml").write_text(Design(5000, 200, 0.05).to_toml())
    knobs = run("evaluate --n-data 5000 --m 200 --epsilon 0.05 --json")
    assert run(f"evaluate --design {tmp_path}/design.toml --json") == knobs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--n-data 100 --m 1 --epsilon 0.1", "m = 1: must be a whole number from 2 to 100"),
        ("--n-data 100 --m 101 --epsilon 0.1", "m = 101: must be a whole number from 2 to 100"),
        ("--n-data 1 --m 2 --epsilon 0.1", "n_data = 1"),
        ("--n-data 100 --m 10 --epsilon 0", "epsilon = 0.0: must lie in [1e-16, 0.5]"),
        ("--n-data 100 --m 10 --epsilon 0.6", "epsilon = 0.6"),
        ("--n-data 100 --m 10 --epsilon 0.1 --alpha 0.4", "alpha = 0.4: must lie in [0.5, 1]"),
        ("--n-data 100 --m 10 --epsilon 0.1 --growth 1.01", "growth = 1.01"),
        ("--n-data 100 --m 10 --epsilon 0.1 --mu-std nan", "--mu-std: 'nan' is not a number"),
        ("--n-data 100 --m 10 --epsilon 0.1 --mu-std 1,x", "--mu-std: 'x' is not a number"),
        ("--n-data 100 --m 10.5 --epsilon 0.1", "'10.5' is not a whole number"),
        ("--n-data inf --m 10 --epsilon 0.1", "'inf' is not a number"),
        ("--m 10 --epsilon 0.1", "required: --n-data (or --design FILE)"),
        ("--n-data 500", "required: --m, --epsilon (or --design FILE)"),
        ("--design nowhere.toml", "nowhere.toml: cannot be read"),
    ],
)
def test_bad_input_is_one_line(refused, options, message):
    refused(f"evaluate {options}", message)
