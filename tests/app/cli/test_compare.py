"""`austerity compare`: the library's predictions, each test at its best, simulation beside them."""

import csv
import json

import numpy as np
import pytest

from app.cli.main import main
from designer import Design, TrialRun
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.study.best_tests import best_candidates
from samplers.study.compare_tests import Candidates, cheapest, measure, predict, with_control_variates

N = 4_000


@pytest.fixture(scope="module")
def trial():
    return TrialRun.at_stationarity(N, 0.5, 30, np.random.default_rng(2))


@pytest.fixture
def path(trial, tmp_path):
    trial.to_csv(tmp_path / "trial.csv")
    return str(tmp_path / "trial.csv")


def answer(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def without(row, *names):
    return {name: value for name, value in row.items() if name not in names}


def test_predictions_are_the_librarys(trial, path, tmp_path, capsys):
    options = [
        "--m",
        "200",
        "--epsilon",
        "0.1",
        "--delta",
        "0.05",
        "--range",
        "4",
        "--factor",
        "10",
        "--tolerance",
        "0.1",
    ]
    found = answer(capsys, "compare", path, *options, "-o", str(tmp_path / "table.csv"))
    tests = Candidates(Design(N, 200, 0.1), BarkerTest(m=200), ConcentrationTest(m=200, delta=0.05), 4.0)
    rows = []
    for part, pairs in zip(found["parts"], (trial, with_control_variates(trial, 10)), strict=True):
        expected = predict(pairs, tests)
        rows += expected
        assert [without(row, "knobs") for row in part["tests"]] == [row._asdict() for row in expected]
        assert part["cheapest"] == cheapest(expected, 0.1).test
        assert part["digest"] == pairs.digest
        assert part["tests"][2]["knobs"] == {"m": 200, "epsilon": 0.1, "alpha": 0.5}
    with open(tmp_path / "table.csv") as file:
        table = [*csv.DictReader(file)]
    assert [float(line["per_move"]) for line in table] == [row.per_move for row in rows]
    assert {line["pairs"] for line in table} == {"these pairs", "with control variates"}


def test_simulation_is_the_librarys(trial, path, capsys):
    found = answer(capsys, "compare", path, "--m", "400", "--simulate", "--pairs", "3", "--repeats", "5", "--seed", "8")
    tests = Candidates(Design(N, 400, 0.05), BarkerTest(m=400), ConcentrationTest(m=400))
    seen = measure(np.random.default_rng(8), trial, tests, pairs=3, repeats=5)
    part = {row["test"]: row["simulated"] for row in found["parts"][0]["tests"] if "simulated" in row}
    assert part == {row.test: row._asdict() for row in seen}


def test_recorded_control_variates_take_the_place_of_the_factor(trial, path, tmp_path, capsys):
    other = TrialRun(N, trial.mu, trial.sigma / 7)
    other.to_csv(tmp_path / "control.csv")
    found = answer(capsys, "compare", path, "--control", str(tmp_path / "control.csv"))
    assert found["parts"][1]["digest"] == other.digest


def test_each_at_its_best(trial, path, capsys):
    found = answer(capsys, "compare", path, "--best", "--tolerance", "0.03", "--m", "100")
    part, best = found["parts"][0], best_candidates(trial, 0.03, least_batch=100)
    assert [without(row, "knobs") for row in part["tests"]] == [row._asdict() for row in predict(trial, best)]
    assert all(row["error"] <= 0.03 for row in part["tests"])
    assert part["tests"][2]["knobs"]["m"] == best.sequential.m


@pytest.fixture
def config(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((N, 3))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(N) < 1.0 / (1.0 + np.exp(1.0 - x[:, 0])))
    (tmp_path / "config.toml").write_text('[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n')
    return str(tmp_path / "config.toml")


def test_the_exact_minibatch_test_comes_from_the_models_bounds(path, config, tmp_path, capsys):
    """From --config, or from the notes of a trial run made from that config: few rows, no error, so it is chosen."""
    assert main(["trial", config, "--pairs", "20", "--output", str(tmp_path / "noted.csv")]) == 0
    capsys.readouterr()
    for words in ([path, "--config", config], [str(tmp_path / "noted.csv")]):
        found = answer(capsys, "compare", *words, "--tolerance", "1e-9")
        for part in found["parts"]:
            row = part["tests"][-1]
            assert (row["test"], row["error"], part["cheapest"]) == ("exact minibatch", 0.0, "exact minibatch")
            assert 0.0 < row["data"] < 20.0
    assert main(["compare", path]) == 0
    assert "exact mini-batch test: not compared, it needs the model; give --config" in capsys.readouterr().out
    plain = tmp_path / "plain.toml"
    plain.write_text('[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\ncontrol = 0\n')
    assert main(["compare", path, "--config", str(plain)]) == 2
    assert "the model has no bounds" in capsys.readouterr().err


def test_text(path, capsys):
    assert main(["compare", path, "--simulate", "--pairs", "2", "--repeats", "3"]) == 0
    text = capsys.readouterr().out
    assert "costs least of the tests with an error of at most 0.05" in text
    assert "simulated, Barker minibatch: data " in text
    assert "m = 500, ε = 0.05, α = 0.5" in text
    assert "per move: evaluations per right move" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--best", "--epsilon", "0.1"], "--best chooses"),
        (["--control", "x.csv", "--factor", "3"], "not both"),
        (["--factor", "0.5"], "factor = 0.5"),
        (["--range", "0.1"], "range_in_sd = 0.1"),
        (["--epsilon", "0.9"], "epsilon = 0.9"),
        (["--m", "1"], "m = 1"),
        (["--delta", "7"], "delta = 7"),
        (["--tolerance", "-1"], "tolerance = -1"),
        (["--seed", "-1"], "seed = -1"),
        (["--simulate", "--repeats", "1"], "repeats = 1"),
    ],
)
def test_mistakes_take_one_line(path, capsys, options, words):
    assert main(["compare", path, *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_other_n_is_refused(path, tmp_path, capsys):
    TrialRun(50, [0.0], [0.1]).to_csv(tmp_path / "other.csv")
    assert main(["compare", path, "--control", str(tmp_path / "other.csv")]) == 2
    assert "N = 50, but the trial run has N = 4,000" in capsys.readouterr().err
