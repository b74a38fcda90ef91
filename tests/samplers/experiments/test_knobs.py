"""Knobs of experiments: what they change, which parts stay valid, and what an experiment does not have."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from app.cli.main import main
from designer.core.errors import BadInput
from samplers.experiments import NAMES, experiment
from samplers.experiments.framework.knobs import Knobs, knobs_of, turned
from samplers.experiments.framework.report import Report
from samplers.experiments.framework.running import Experiment, run_experiment


class Settings(NamedTuple):
    """Two chains at two ε."""

    chains: int = 2
    epsilons: tuple[float, ...] = (0.1, 0.2)
    start: str = "mode"
    seed: int = 1


def counted(computed):
    """An experiment with a part for each chain, which notes what it computes."""

    def work(settings, name, given):
        computed.append(name)
        return {"value": settings.seed}

    def report(settings, values):
        return Report(f"{len(values)} parts", {"told": None}, [], [])

    return Experiment(
        "e0", "t", "s", "q?", {"tiny": Settings()},
        lambda s: [f"{e:g} #{k}" for e in s.epsilons for k in range(s.chains)],
        work, report, listing=("chains", "epsilons"), knobs=("chains", "epsilon", "start"),
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::samplers.experiments.framework.running.ComputedAgain")
def test_a_run_is_extended_and_not_repeated(tmp_path):
    computed: list[str] = []
    own = counted(computed)
    run_experiment(own, "tiny", tmp_path)
    assert len(computed) == 4
    run_experiment(turned(own, Knobs(chains=3)), "tiny", tmp_path)
    assert computed[4:] == ["0.1 #2", "0.2 #2"]
    done = run_experiment(turned(own, Knobs(epsilon=[0.05, 0.2])), "tiny", tmp_path)
    assert computed[6:] == ["0.05 #0", "0.05 #1"] and done.report.finding == "4 parts"
    run_experiment(turned(own, Knobs(start="far")), "tiny", tmp_path)
    assert len(computed) == 12  # all of them start elsewhere
    run_experiment(turned(own, Knobs(seed=2)), "tiny", tmp_path)
    assert len(computed) == 16


@pytest.mark.parametrize("name", NAMES)
def test_every_knob_is_a_setting(name):
    found = experiment(name)
    for size, settings in turned(found, Knobs()).sizes.items():
        assert settings == found.sizes[size]
    values = {"chains": 3, "seed": 5, "epsilon": (0.2, 0.03), "start": "far"}
    for knob in knobs_of(found):
        changed = turned(found, Knobs(**{knob: values[knob]})).sizes["tiny"]
        assert changed != found.sizes["tiny"]
        parts = list(found.parts(changed))
        if knob == "chains":
            assert any("#2" in part for part in parts)
        if knob == "epsilon":
            assert any("ε = 0.03" in part for part in parts) and not any("ε = 0.05" in part for part in parts)
    assert {"e3", "e4", "e6"} <= {one for one in NAMES if "start" in knobs_of(experiment(one))}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["e2", "--start", "far"], "start: e2 has no such knob; it has seed"),
        (["e13", "--seed", "3"], "seed: e13 has no such knob; it has none"),
        (["e3", "--chains", "0"], "chains = 0: must be a whole number from 1 to 1,000"),
        (["e3", "--epsilon", "0.01,0.7"], "epsilon = 0.7: must lie in [1e-16, 0.5]"),
        (["e3", "--epsilon", "0.01,0.01"], "epsilon: must be 1 to 20 different numbers above 0, at most 0.5"),
        (["e3", "--quick", "--size", "full"], "quick: cannot be given together with size = full"),
        (["e2", "--size", "paper"], "full is the paper's size, or as close to it as this package comes"),
    ],
)
def test_what_an_experiment_does_not_have_is_refused(arguments, message, tmp_path, capsys):
    assert main(["experiment", *arguments, "--output", str(tmp_path / "out"), "--quiet"]) == 2
    said = capsys.readouterr()
    assert said.err.strip().endswith(message) and said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_start_is_one_of_two():
    with pytest.raises(BadInput, match="start = 'near': must be one of mode, far"):
        turned(experiment("e3"), Knobs(start="near"))


def test_the_command_turns_the_knobs(tmp_path, capsys, monkeypatch):
    computed: list[str] = []
    monkeypatch.setattr("samplers.experiments.experiment", lambda name: counted(computed))
    options = ["--size", "tiny", "--chains", "1", "--epsilon", "0.3", "--seed", "4", "--no-figures", "--quiet"]
    assert main(["experiment", "e0", *options, "--output", str(tmp_path)]) == 0
    assert computed == ["0.3 #0"] and "?    told" in capsys.readouterr().out
