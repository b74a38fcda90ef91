"""`austerity posterior`: the library's numbers, its words, its exit codes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.cli.main import main
from designer import Design, TrialRun, posterior_error, tolerance_for


@pytest.fixture
def trial(tmp_path):
    made = TrialRun.at_stationarity(5000, 0.4, 30, np.random.default_rng(1))
    made.to_csv(tmp_path / "trial.csv")
    return made, str(tmp_path / "trial.csv")


def test_json_is_the_librarys(trial, capsys):
    run, path = trial
    text = ["--m", "200", "--epsilon", "0.05", "--dimension", "10", "--skewness", "0.5", "--json"]
    assert main(["posterior", path, *text]) == 0
    want = posterior_error(Design(5000, 200, 0.05), run, dimension=10, skewness=0.5)
    assert json.loads(capsys.readouterr().out) == pytest.approx(want._asdict())


def test_a_design_file_and_the_words(trial, capsys, tmp_path):
    run, path = trial
    (tmp_path / "design.toml").write_text(Design(5000, 200, 0.05).to_toml())
    assert main(["posterior", path, "--design", str(tmp_path / "design.toml")]) == 0
    out, want = capsys.readouterr().out, posterior_error(Design(5000, 200, 0.05), run)
    assert f"posterior sds grow by a factor         {want.sd_ratio:.4f}" in out
    assert "uninformative: no contraction is known" in out


def test_the_tolerance_for_a_wish(trial, capsys, tmp_path):
    run, path = trial
    output = tmp_path / "wish.toml"
    assert main(["posterior", path, "--sd-inflation", "0.1", "--m", "200", "--output", str(output), "--json"]) == 0
    found, want = json.loads(capsys.readouterr().out), tolerance_for(run, 0.1, 200)
    assert found["tolerance"] == pytest.approx(want.tolerance)
    assert Design.from_toml(output.read_text()) == want.design


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--m 200", "--epsilon"),
        ("--m 200 --epsilon 0.05 --dimension 0", "dimension = 0"),
        ("--m 200 --epsilon 0.05 --skewness 3", "skewness = 3"),
        ("--sd-inflation 0.1 --epsilon 0.05", "not both"),
        ("--m 200 --epsilon 0.05 --output x.toml", "--output is for --sd-inflation"),
        ("--sd-inflation 0.1 --output x.txt", "must end in .toml or .json"),
        ("--sd-inflation 0.1 --m 5001", "m = 5001"),
        ("--sd-inflation 0.1 --skewness 2", "skewness = 2"),
    ],
)
def test_problems_are_one_line(trial, capsys, text, message):
    assert main(["posterior", trial[1], *text.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.fixture
def config(tmp_path):
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(3000), rng.standard_normal(3000)])
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(3000) < 1 / (1 + np.exp(-x @ [-3.0, 0.5])))
    path = tmp_path / "config.toml"
    path.write_text('[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n')
    return path


def test_independent_proposals_are_answered_from_their_config(config, capsys):
    assert main(["posterior", "--config", str(config), "--m", "100", "--epsilon", "0.3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["names"] == ["theta[0]", "theta[1]"]
    assert 0.0 < found["largest"] < found["upper"]
    assert len(found["bias"]) == len(found["bias_se"]) == 2
    assert main(["posterior", "--config", str(config), "--m", "100", "--epsilon", "0.3"]) == 0
    out = capsys.readouterr().out
    assert "largest bias of a mean: " in out
    assert "Δ by " in out


def test_a_proxy_trial_run_is_never_answered_as_a_random_walk(config, capsys, tmp_path):
    trial = str(tmp_path / "proxy.csv")
    assert main(["trial", str(config), "--pairs", "30", "--output", trial]) == 0
    capsys.readouterr()
    assert main(["posterior", trial, "--m", "100", "--epsilon", "0.3"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "proxy proposals" in error
    assert "--config" in error
    lines = (tmp_path / "proxy.csv").read_text().splitlines(keepends=True)
    (tmp_path / "unknown.csv").write_text("".join(line for line in lines if "proposal" not in line))
    assert main(["posterior", str(tmp_path / "unknown.csv"), "--m", "100", "--epsilon", "0.3"]) == 2
    assert "a random walk without control variates has about 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--m 200 --epsilon 0.05", "give TRIAL.csv"),
        ("--config {config} --m 200 --epsilon 0.05 --sd-inflation 0.1", "not both"),
        ("{config} --config {config} --m 200 --epsilon 0.05", "not both"),
        ("--config {walk} --m 200 --epsilon 0.05", "proposal.kind = 'random-walk'"),
    ],
)
def test_problems_with_a_config_are_one_line(config, capsys, text, message):
    walk = config.with_name("walk.toml")
    walk.write_text(config.read_text() + '[proposal]\nkind = "random-walk"\n')
    assert main(["posterior", *text.format(config=config, walk=walk).split()]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
