"""The command line: its JSON contract, its words, its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from app.cli.commands import evaluate as engine
from app.cli.main import main
from designer import Design, TrialRun, acceptance, characteristics
from designer.rule.plan import as_plan
from tests.commands import austerity

EXAMPLE = Path(__file__).parents[3] / "examples" / "logistic_trial.csv"


@pytest.fixture
def run(capsys):
    """Run a command line; returns exit code, standard output and standard error."""

    def call(text: str) -> tuple[int, str, str]:
        try:
            code = main(text.split())
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_evaluate_prints_the_engine_s_numbers(run):
    code, out, _ = run("evaluate --n-data 12214 --m 500 --epsilon 0.05 --mu-std -1,0,5 --json")
    found, curve = json.loads(out), characteristics(Design(12214, 500, 0.05), [-1, 0, 5])
    assert code == 0
    assert found == {
        "looks": 25,
        "mu_std": [-1.0, 0.0, 5.0],
        "error": curve.error.tolist(),
        "usage": curve.usage.tolist(),
        "estimate": curve.estimate,
    }


def test_evaluate_for_people(run):
    code, out, _ = run("evaluate --n-data 1,000,000,000 --m 500 --epsilon 0.05 --alpha 0.75 --growth 1.5")
    assert code == 0
    assert "N = 1,000,000,000" in out
    assert f"{as_plan(Design(10**9, 500, 0.05, 0.75, 1.5)).schedule.size} looks" in out
    assert "numerical error below" in out


def test_delta_prints_every_pair(run, tmp_path):
    trial = TrialRun(5000, [-1e-4, 2e-4], [0.02, 0.01], [0.1, -0.2])
    trial.to_csv(tmp_path / "t.csv")
    code, out, _ = run(f"delta {tmp_path}/t.csv --m 300 --epsilon 0.05 --rule barker --json")
    found, step = json.loads(out), acceptance(Design(5000, 300, 0.05), trial, "barker")
    assert code == 0
    assert found["delta"] == pytest.approx(step.delta.tolist(), rel=1e-12)
    assert found["mean_usage"] == pytest.approx(step.mean_usage)
    assert found["log_acceptance"] == pytest.approx(trial.log_acceptance.tolist())
    assert set(found) >= {"kappa", "probability", "usage", "mean_abs_delta"}


def test_design_writes_a_design_that_can_be_read_back(run, tmp_path):
    output, table = tmp_path / "design.toml", tmp_path / "all.csv"
    code, out, _ = run(f"design {EXAMPLE} --tolerance 0.03 --output {output} --table {table} --json")
    found, design = json.loads(out), Design.from_toml(output.read_text())
    assert code == 0
    assert found["feasible"] is True
    assert found["design"] == {key: getattr(design, key) for key in ("n_data", "m", "epsilon", "alpha", "growth")}
    assert found["mean_abs_delta"] <= 0.03
    assert design.predicted.mean_abs_delta == found["mean_abs_delta"]
    rows = table.read_text().splitlines()
    assert rows[0].startswith("m,epsilon,alpha,growth,error,usage")
    assert len(rows) == found["evaluated"] + 1
    assert sorted(tmp_path.iterdir()) == sorted([output, table])


def test_design_without_a_trial_run(run):
    code, out, _ = run("design --n-data 12214 --tolerance 0.05 --criterion worst-case --json")
    assert code == 0
    assert json.loads(out)["worst_error"] <= 0.05
    code, out, _ = run("design --n-data 12214 --tolerance 0.05 --acceptance 0.4 --json")
    assert code == 0
    assert json.loads(out)["mean_abs_delta"] <= 0.05


def test_an_infeasible_design_is_an_answer_and_writes_nothing(run, tmp_path):
    question = f"design {EXAMPLE} --epsilon 0.2,0.5 --m-high 600 --quiet --output {tmp_path}/design.toml --tolerance "
    code, out, _ = run(question + "0.0001 --json")
    found = json.loads(out)
    assert code == 0
    assert found["feasible"] is False
    assert found["design"] is None
    assert "no design with m from 500 to 600" in found["reason"]
    assert list(tmp_path.iterdir()) == []
    code, out, _ = run(question + f"{found['nearest_tolerance']} --json")
    assert json.loads(out)["feasible"] is True
    assert run(question + "0.0001")[1].startswith("infeasible: no design")


def test_selfcheck_and_demo(run):
    assert run("selfcheck")[0] == 0
    code, out, _ = run("demo --json")
    assert code == 0
    assert json.loads(out)["selfcheck"]["passed"] is True
    assert json.loads(out)["design"]["feasible"] is True


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate --n-data 100 --m 1 --epsilon 0.1", "m = 1: must be a whole number from 2 to 100"),
        ("evaluate --n-data 100 --m 101 --epsilon 0.1", "m = 101: must be a whole number from 2 to 100"),
        ("evaluate --n-data 1 --m 2 --epsilon 0.1", "n_data = 1"),
        ("evaluate --n-data 100 --m 10 --epsilon 0", "epsilon = 0.0: must lie in (0, 0.5]"),
        ("evaluate --n-data 100 --m 10 --epsilon 0.6", "epsilon = 0.6"),
        ("evaluate --n-data 100 --m 10 --epsilon 0.1 --alpha 0.4", "alpha = 0.4: must lie in [0.5, 1]"),
        ("evaluate --n-data 100 --m 10 --epsilon 0.1 --growth 1.01", "growth = 1.01"),
        ("evaluate --n-data 100 --m 10 --epsilon 0.1 --mu-std nan", "mu_std = nan"),
        ("evaluate --n-data 100 --m 10 --epsilon 0.1 --mu-std 1,x", "mu_std = '1,x'"),
        ("evaluate --n-data 100 --m 10.5 --epsilon 0.1", "'10.5' is not a whole number"),
        ("evaluate --n-data inf --m 10 --epsilon 0.1", "'inf' is not a number"),
        ("evaluate --m 10 --epsilon 0.1", "required: --n-data"),
        ("delta nowhere.csv --m 10 --epsilon 0.1", "nowhere.csv"),
        ("delta {example} --n-data 7 --m 10 --epsilon 0.1", "7"),
        ("delta {example} --m 10 --epsilon 0.1 --rule x", "rule = 'x'"),
        ("design --tolerance 0.1", "give a trial run"),
        ("design {example} --tolerance 0.1 --alpha 1,0.5", "smaller end"),
        ("run {example} --design nowhere.toml --output out", "nowhere.toml: cannot be read"),
        ("design --n-data 100 --tolerance 0.1", "needs a trial run"),
        ("design {example} --tolerance 0", "tolerance = 0.0"),
        ("design {example} --tolerance 0.1 --criterion x", "criterion = 'x'"),
        ("design {example} --tolerance 0.1 --acceptance 0.5", "not both"),
        ("design {example} --tolerance 0.1 --m-low 0", "m_low = 0"),
        ("design {example} --tolerance 0.1 --cost 1,2", "must be three"),
        ("design {example} --tolerance 0.1 --alpha 0.5,0.6,0.7", "alpha"),
        ("design --acceptance 0.5 --tolerance 0.1", "--acceptance needs --n-data"),
        ("design {example} --tolerance 0.1 --quiet --output /nowhere/x.toml", "/nowhere/x.toml"),
        ("frontier nowhere.csv", "nowhere.csv"),
        ("summary nowhere.csv", "nowhere.csv"),
        ("design --n-data 100 --criterion worst-case --tolerance 0.1 --folds 3", "--folds needs a trial run"),
        ("trial nowhere.toml --output t.csv", "nowhere.toml: no such file, and not a built-in chain"),
        ("run nowhere.toml --output out", "nowhere.toml: cannot be read"),
        ("nonsense", "invalid choice"),
        ("", "required"),
    ],
)
def test_bad_input_gives_one_clear_line_and_exit_2(run, command, message):
    code, out, err = run(command.format(example=EXAMPLE))
    assert code == 2
    assert out == ""
    assert err.startswith("austerity: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_bad_trial_run_is_refused_line_by_line(run, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("# n_data: 100\nmu,sigma\n0.1,0.2\n0.1,-1\nx,0.3\n")
    code, out, err = run(f"delta {bad} --m 10 --epsilon 0.1")
    assert code == 2
    assert out == ""
    assert all(line.startswith("austerity: ") for line in err.splitlines())
    assert "line 4" in err
    assert "line 5" in err


def test_the_installed_command_knows_its_version():
    done = subprocess.run([sys.executable, "-m", "app.cli", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("austerity ")
    for command in ("evaluate", "delta", "design", "frontier", "summary", "trial", "run", "selfcheck", "demo"):
        text = subprocess.run(
            [sys.executable, "-m", "app.cli", command, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert "--json" in text


def test_frontier_prints_and_writes_every_point(run, tmp_path):
    output = tmp_path / "frontier.csv"
    code, out, _ = run(f"frontier {EXAMPLE} --test {EXAMPLE} --tolerances 0.05,0.2 --output {output} --json")
    points = json.loads(out)["points"]
    assert code == 0
    assert [(p["criterion"], p["tolerance"]) for p in points[:2]] == [("average", 0.05), ("average", 0.2)]
    assert len(points) == 6
    assert all(p["train_error"] == pytest.approx(p["test_error"], abs=1e-6) for p in points)
    assert all(p["train_error"] <= p["tolerance"] for p in points)
    assert len(output.read_text().splitlines()) == 7
    assert "fixed-m" in run(f"frontier {EXAMPLE} --tolerances 0.2")[1]


def test_summary_says_what_the_pairs_look_like(run):
    trial = TrialRun.load(EXAMPLE)
    code, out, _ = run(f"summary {EXAMPLE} --json")
    found = json.loads(out)
    assert code == 0
    assert found["kappa"]["mean"] == pytest.approx(trial.kappa.mean())
    assert found["digest"] == trial.digest
    assert found["normal_approximation"]["verdict"] == "fair"  # skewness -2.6 at m = 500
    assert "normal approximation" in run(f"summary {EXAMPLE}")[1]


def test_folds_check_the_design_on_unseen_pairs(run):
    code, out, _ = run(f"design {EXAMPLE} --tolerance 0.1 --folds 3 --m-high 1000 --json")
    found = json.loads(out)
    assert code == 0
    assert found["holds"] is True
    assert found["test_error"] == pytest.approx(0.1, abs=0.03)
    assert "3 folds" in run(f"design {EXAMPLE} --tolerance 0.1 --folds 3 --m-high 1000")[1]


def test_the_whole_loop_on_the_command_line(run, tmp_path):
    """Data -> trial run -> design -> chains -> results."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3000, 2))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(3000) < 1 / (1 + np.exp(-x @ [0.5, -1.0])))
    config = tmp_path / "config.toml"
    config.write_text('[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n[proposal]\nkind = "random-walk"\n')
    code, out, _ = run(f"trial {config} --pairs 40 --output {tmp_path}/trial.csv --json")
    assert code == 0
    assert json.loads(out)["n_data"] == 3000
    code, out, _ = run(f"design {tmp_path}/trial.csv --tolerance 0.05 --output {tmp_path}/design.toml --json")
    assert json.loads(out)["feasible"] is True
    code, out, _ = run(f"audit {config} --design {tmp_path}/design.toml --steps 400 --every 2 --json")
    audited = json.loads(out)
    assert code == 0
    assert audited["agrees"] is True
    assert audited["pairs"] == 200
    assert audited["usage"]["value"] == pytest.approx(audited["usage"]["predicted"], abs=5 * audited["usage"]["se"])
    one = f"run {config} --design {tmp_path}/design.toml --output {tmp_path}/one --draws 50 --chains 1 --json"
    assert json.loads(run(one)[1])["summary"][0]["r_hat"] is None  # of one chain there is none
    command = f"run {config} --design {tmp_path}/design.toml --output {tmp_path}/out --draws 300 --chains 2"
    code, out, err = run(command + " --json")
    found = json.loads(out)
    assert code == 0
    assert err == ""
    assert found["chains"] == 2
    assert found["draws"] == 300
    assert [row["name"] for row in found["summary"]] == ["theta[0]", "theta[1]"]
    assert 0.1 < found["acceptance"] < 0.9
    assert Path(found["results"]).is_file()
    code, out, err = run(command)
    assert code == 2
    assert "--resume" in err
    code, out, _ = run(command + " --resume")
    assert code == 0
    assert "2 chains of 300 draws" in out
    assert "data per step" in out


@pytest.mark.parametrize("command", ["evaluate --n-data 1000 --m 100 --epsilon 0.05", "--help", "evaluate --json"])
def test_a_reader_who_has_seen_enough_ends_it_quietly(command):
    reading, writing = os.pipe()
    os.close(reading)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # as in a shell
    with open(writing, "w") as gone:
        ended = subprocess.run(
            austerity(*command.split()), stdout=gone, stderr=subprocess.PIPE, env=env, text=True, timeout=120
        )
    problem = command == "evaluate --json"  # which is told where somebody listens
    assert ended.returncode == 128 + signal.SIGPIPE
    assert ended.stderr.count("\n") == problem
    assert "Broken" not in ended.stderr


def test_an_output_that_cannot_be_written_is_one_line():
    command = austerity("evaluate", "--n-data", 1000, "--m", 100, "--epsilon", 0.05)
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert ended.returncode == 2
    assert ended.stderr == "austerity: the output cannot be written: No space left on device\n"


def test_a_table_can_be_written_into_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    command = austerity("frontier", EXAMPLE, "--tolerances", "0.05", "--output", tmp_path / "pipe", "--quiet")
    with open(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)) as reading:  # waits for no writer
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert reading.read().startswith("criterion,tolerance,m,")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_no_memory_is_one_line(run, monkeypatch):
    monkeypatch.setattr(engine, "evaluate", lambda _: np.empty(2**57))
    code, out, err = run("evaluate --json")
    assert code == 2
    assert err.startswith("austerity: not enough memory: Unable to allocate 1")
    assert err == f"austerity: {json.loads(out)['error']}\n"
    assert "--resume" not in err
