"""`austerity boundary`, and every command that reads the file it writes: down to a chain that runs it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.cli.main import main
from designer import Design, TrialRun, acceptance, optimal_boundary

CONFIG = """
[data]
path = "table.csv"
intercept = true
[model]
prior_precision = 1.0
[run]
draws = 300
warmup = 100
chains = 2
seed = 3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, a config without a test, a trial run and the boundary made for it."""
    folder, rng = tmp_path_factory.mktemp("boundary"), np.random.default_rng(1)
    x = rng.standard_normal((2000, 3))
    y = rng.random(2000) < 1.0 / (1.0 + np.exp(-x.sum(axis=1)))
    np.savetxt(folder / "table.csv", np.column_stack([x, y]), delimiter=",", header="a,b,c,y", comments="")
    (folder / "config.toml").write_text(CONFIG)
    TrialRun.at_stationarity(2000, 0.4, 30, np.random.default_rng(1)).to_csv(folder / "trial.csv")
    words = f"boundary {folder}/trial.csv --tolerance 0.05 --m 400 --asymmetric -o {folder}/boundary.toml --quiet"
    assert main(words.split()) == 0
    return folder


def test_json_is_the_librarys(folder, capsys):
    assert main(f"boundary {folder}/trial.csv --tolerance 0.05 --m 400,800 --json".split()) == 0
    got = json.loads(capsys.readouterr().out)
    want = optimal_boundary(TrialRun.load(folder / "trial.csv"), 0.05, 400)
    assert (got["m"], got["lower"], got["upper"]) == (400, list(want.design.lower), list(want.design.upper))
    assert got["usage"] == pytest.approx(want.usage) and got["lower_bound"] == pytest.approx(want.lower_bound)
    assert [rival["excess"] for rival in got["rivals"]] == pytest.approx([want.excess(r) for r in want.rivals])
    assert [size["m"] for size in got["sizes"]] == [400, 800]
    assert got["proven"] and got["estimate"] == want.estimate


def test_text_and_the_file(folder, capsys):
    assert main(f"boundary {folder}/trial.csv --tolerance 0.05 --m 800 -o {folder}/b.json".split()) == 0
    out = capsys.readouterr().out
    assert "lower bound" in out and "Pocock" in out and "best Wang-Tsiatis" in out and "written to" in out
    design = Design.from_json((folder / "b.json").read_text())
    assert design.lower == tuple(-bound for bound in design.upper)
    assert design.provenance.criterion == "average, all symmetric boundaries"


def test_other_commands_read_it(folder, capsys):
    design, trial = Design.from_toml((folder / "boundary.toml").read_text()), TrialRun.load(folder / "trial.csv")
    assert main(f"delta {folder}/trial.csv --design {folder}/boundary.toml --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["mean_usage"] == pytest.approx(acceptance(design, trial).mean_usage)
    assert main(f"evaluate --design {folder}/boundary.toml --mu-std 0,2".split()) == 0
    assert "explicit bounds at every look: 5 looks" in capsys.readouterr().out


def test_a_chain_runs_it_and_resumes(folder, capsys):
    run = f"run {folder}/config.toml --design {folder}/boundary.toml --output {folder}/out --json"
    assert main(run.split()) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(f"{run} --resume --draws 600".split()) == 0
    longer = json.loads(capsys.readouterr().out)
    whole = f"run {folder}/config.toml --design {folder}/boundary.toml --output {folder}/at_once --draws 600 --json"
    assert main(whole.split()) == 0
    at_once = json.loads(capsys.readouterr().out)
    assert longer["summary"] == at_once["summary"] != first["summary"]
    assert main(f"audit {folder}/config.toml --design {folder}/boundary.toml --steps 400 --json".split()) == 0
    audit = json.loads(capsys.readouterr().out)
    for name in ("wrong", "delta", "usage"):
        assert abs(audit[name]["value"] - audit[name]["predicted"]) < 4 * audit[name]["se"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("boundary {f}/trial.csv --tolerance 0.05 --m 2", "1,000 looks; at most 400"),
        ("boundary {f}/trial.csv --tolerance 0.05 --m 2.5", "m = 2.5"),
        ("boundary {f}/trial.csv --tolerance 0.05 -o {f}/b.txt", "must end in .toml or .json"),
        ("boundary {f}/trial.csv --tolerance 0.05 --rule gibbs", "rule = 'gibbs'"),
        ("boundary {f}/nothing.csv --tolerance 0.05", "nothing.csv"),
        ("evaluate --design {f}/boundary.toml --epsilon 0.1", "give --design or --epsilon, not both"),
        ("evaluate --design {f}/boundary.toml --n-data 5", "the design is for n_data = 2,000, not 5"),
    ],
)
def test_refusals_are_one_line(folder, capsys, words, message):
    assert main(words.format(f=folder).split()) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1
