"""`austerity design`: what it finds, what it writes, and what it refuses."""

from __future__ import annotations

import json

import pytest

from designer import Design


def test_the_design_can_be_read_back(run, example, tmp_path):
    output, table = tmp_path / "design.toml", tmp_path / "all.csv"
    code, out, _ = run(f"design {example} --tolerance 0.03 --output {output} --table {table} --json")
    data, design = json.loads(out), Design.from_toml(output.read_text())
    assert code == 0
    assert data["feasible"] is True
    assert data["design"] == {key: getattr(design, key) for key in ("n_data", "m", "epsilon", "alpha", "growth")}
    assert data["mean_abs_delta"] <= 0.03
    assert design.predicted.mean_abs_delta == data["mean_abs_delta"]
    rows = table.read_text().splitlines()
    assert rows[0].startswith("m,epsilon,alpha,growth,error,usage")
    assert len(rows) == data["evaluated"] + 1
    assert sorted(tmp_path.iterdir()) == sorted([output, table])


def test_text_shows_the_numbers_of_the_json(run, example):
    command = f"design {example} --tolerance 0.05 --m-high 1000"
    data, lines = json.loads(run(command, "--json")[1]), run(command)[1].splitlines()
    design = data["design"]
    assert lines[0].startswith(f"N = 100,000: m = {design['m']:,}, ε = {design['epsilon']:g}, α = ")
    limit = f"at most {data['error_limit']:.4g} with confidence 0.95"
    assert lines[1].split(maxsplit=2) == ["error", "(average)", f"{data['error']:.4g}  ({limit}, tolerance 0.05)"]
    assert data["error"] < data["error_limit"] <= 0.05
    low, high = data["mean_abs_delta_band"]
    assert lines[2].endswith(f"{data['mean_abs_delta']:.4g}  (95% band {low:.4g} to {high:.4g})")
    assert f"{data['mean_usage']:.2%}" in lines[3]
    assert f"{data['evaluated']:,} designs evaluated" in lines[-1]
    exact, test = data["evaluations"]["exact"], data["evaluations"]["test"]
    assert (exact, test) == (100_000, pytest.approx(2 * 100_000 * data["mean_usage"], rel=1e-5))
    assert any(line.startswith(f"evaluations per step    {test:,.0f}  (an exact chain") for line in lines)
    advised = [line for line in lines if line.startswith("remark: run exact")]
    assert len(advised) == (test > exact) and [f"remark: {remark}" for remark in data["remarks"]] == advised


def test_the_point_estimate_can_be_asked_for(run, example):
    command = f"design {example} --tolerance 0.05 --m-high 1000 --confidence 0.5"
    data, lines = json.loads(run(command, "--json")[1]), run(command)[1].splitlines()
    assert (data["confidence"], data["error_limit"]) == (None, None)
    assert lines[1].split() == ["error", "(average)", f"{data['error']:.4g}", "(tolerance", "0.05)"]
    assert 0.05 * (1 - 2e-3) < data["error"] <= 0.05


def test_pairs_of_the_burn_in_are_refused(refused, tmp_path):
    pairs = [(-1e-5, 0.004)] * 30
    (tmp_path / "burn_in.csv").write_text(
        "mu,sigma\n" + "".join(f"{mu},{sigma}\n" for mu, sigma in [*pairs, (0.00276, 0.004)])
    )
    refused(f"design {tmp_path}/burn_in.csv --n-data 100000 --tolerance 0.05", "pair 31 has A = 276")
    (tmp_path / "sums.csv").write_text("mu,sigma\n" + "".join(f"{mu},{1e5 * sigma}\n" for mu, sigma in pairs))
    refused(f"design {tmp_path}/sums.csv --n-data 100000 --tolerance 0.05", "κ is 1.26e+05")


def test_without_a_trial_run(run):
    code, out, _ = run("design --n-data 12214 --tolerance 0.05 --criterion worst-case --json")
    assert code == 0
    assert json.loads(out)["worst_error"] <= 0.05
    code, out, _ = run("design --n-data 12214 --tolerance 0.05 --acceptance 0.4 --json")
    assert code == 0
    assert json.loads(out)["mean_abs_delta"] <= 0.05


def test_an_infeasible_design_is_an_answer_and_writes_nothing(run, example, tmp_path):
    space = "--epsilon 0.2,0.5 --m-low 500 --m-high 600"
    question = f"design {example} {space} --quiet --output {tmp_path}/design.toml --tolerance "
    code, out, _ = run(question + "0.0001 --json")
    data = json.loads(out)
    assert code == 0
    assert data["feasible"] is False
    assert data["design"] is None
    assert "no design with m from 500 to 600" in data["reason"]
    assert list(tmp_path.iterdir()) == []
    assert run(question + "0.0001")[1].startswith("infeasible: no design")
    code, out, _ = run(question + f"{data['nearest_tolerance']} --json")
    assert json.loads(out)["feasible"] is True


def test_an_infeasible_design_leaves_the_old_file_and_says_so(run, tmp_path):
    target = tmp_path / "stale.toml"
    target.write_text("old")
    command = f"design --n-data 20000 --acceptance 0.5 --tolerance 0.001 --epsilon 0.4,0.5 --output {target}"
    code, out, _ = run(command)
    assert code == 0
    assert f"{target}: not written" in out
    assert target.read_text() == "old"


def test_folds_check_the_design_on_unseen_pairs(run, example):
    code, out, _ = run(f"design {example} --tolerance 0.1 --folds 3 --m-low 500 --m-high 1000 --json")
    data = json.loads(out)
    assert code == 0
    assert data["holds"] is True
    assert data["test_error"] == pytest.approx(0.1, abs=0.03)
    last = run(f"design {example} --tolerance 0.1 --folds 3 --m-low 500 --m-high 1000")[1].splitlines()[-1]
    assert last.startswith(f"3 folds: error on unseen pairs {data['test_error']:.4g} ± ")
    assert last.endswith("; the tolerance holds")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("--tolerance 0.1", "give a trial run"),
        ("{example}", "required: --tolerance"),
        ("{example} --tolerance 0.1 --alpha 1,0.5", "smaller end"),
        ("{example} --tolerance 0.1 --alpha 0.5,0.6,0.7", "--alpha: '0.5,0.6,0.7' has 3 numbers"),
        ("--n-data 100 --tolerance 0.1", "needs a trial run"),
        ("{example} --tolerance 0", "tolerance = 0.0"),
        ("{example} --tolerance 0.1 --criterion x", "criterion = 'x'"),
        ("{example} --tolerance 0.1 --acceptance 0.5", "not both"),
        ("{example} --tolerance 0.1 --m-low 0", "m_low = 0"),
        ("{example} --tolerance 0.1 --confidence 1", "confidence = 1.0: must lie in [0.5, 0.9999]"),
        ("{example} --tolerance 0.1 --cost 1,2", "--cost: '1,2' has 2 numbers; must be three"),
        ("--acceptance 0.5 --tolerance 0.1", "--acceptance needs --n-data"),
        ("--n-data 100 --spread 1 --criterion worst-case --tolerance 0.1", "--spread needs --acceptance"),
        ("{example} --tolerance 0.1 --quiet --output /nowhere/x.toml", "/nowhere/x.toml"),
        ("{example} --tolerance 0.1 --output design.yaml", "must end in .toml or .json"),
        ("--n-data 100 --criterion worst-case --tolerance 0.1 --folds 3", "--folds needs a trial run"),
    ],
)
def test_bad_input_is_one_line(refused, example, command, message):
    refused(f"design {command.format(example=example)}", message)
