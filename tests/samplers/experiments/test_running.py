"""Parts are kept, resumed and computed anew when what they depend on has changed; results never outlive their parts."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from designer.core.progress import Cancelled
from samplers.experiments.framework import identity
from samplers.experiments.framework.report import Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import MISSING, ComputedAgain, Experiment, Work, computed, run_experiment
from samplers.runs.lock import holding

RESULTS = {"report.json", "finding.txt", "experiment.json", "table1.csv"}


class Settings(NamedTuple):
    """What the parts depend on."""

    scale: float = 1.0


class Recorded:
    """An experiment of three parts that notes which were computed; `without` are missing."""

    def __init__(self, without=(), stop_at=None):
        self.computed, self.without, self.stop_at = [], set(without), stop_at

    def work(self, settings, name, work):
        self.computed.append(name)
        if name == self.stop_at:
            raise Cancelled
        if name in self.without:
            return {MISSING: "not here"}
        return {"value": settings.scale * len(name), "array": np.arange(3.0)}

    def experiment(self, scale=1.0):
        def work(settings, name, given):
            return self.work(settings, name, given)

        return Experiment(
            "e0", "t", "s", "q?", {"tiny": Settings(scale)}, lambda s: ["a", "bb", "ccc"], work, report, ("mnist79",)
        )


def report(settings, values):
    known = [float(part["value"]) for part in values.values() if MISSING not in part]
    panel = Panel("p", "x", "y", [Series("s", [0.0], [sum(known)])])
    return Report(f"sum {sum(known):g}", {"any": bool(known)}, [ResultTable("t", ["sum"], [[sum(known)]])], [panel])


def test_parts_are_kept_and_settings_matter(tmp_path):
    first, again, other = Recorded(), Recorded(), Recorded()
    assert run_experiment(first.experiment(), "tiny", tmp_path).report.finding == "sum 6"
    assert run_experiment(again.experiment(), "tiny", tmp_path).report.finding == "sum 6"
    with pytest.warns(ComputedAgain, match=r"3 stored parts are computed again: settings.scale was 1.0, is 2.0$"):
        assert run_experiment(other.experiment(2.0), "tiny", tmp_path).report.finding == "sum 12"
    assert (first.computed, again.computed, other.computed) == (["a", "bb", "ccc"], [], ["a", "bb", "ccc"])


def test_parts_computed_elsewhere_in_any_order(tmp_path):
    """A mapper is asked for what is missing only; the report does not see the order in which the parts came."""
    run_experiment(Recorded(without=["a", "ccc"]).experiment(), "tiny", tmp_path)
    asked, there, shares = [], Recorded(), []

    def mapper(batch, progress, cancelled):
        asked.extend(batch.names)
        for number, name in enumerate(reversed(batch.names), start=1):
            values = computed(batch.experiment, batch.settings, name, Work(batch.folder))
            progress(number / len(batch.names), name)
            yield name, values

    done = run_experiment(
        there.experiment(), "tiny", tmp_path, mapper=mapper, progress=lambda share, note: shares.append(share)
    )
    assert asked == ["a", "ccc"] and there.computed == ["ccc", "a"]
    assert list(done.seconds) == ["a", "bb", "ccc"]
    assert shares == pytest.approx([2 / 3, 1.0])
    again = Recorded()
    assert run_experiment(again.experiment(), "tiny", tmp_path).report == done.report
    assert again.computed == []


def test_the_description_names_the_data(tmp_path):
    run_experiment(Recorded().experiment(), "tiny", tmp_path)
    described = json.loads((tmp_path / "experiment.json").read_text())
    assert list(described["data"]) == ["mnist79"] and described["data"]["mnist79"]


def test_what_is_missing_is_asked_for_again(tmp_path):
    without, later = Recorded(without=["bb"]), Recorded()
    assert run_experiment(without.experiment(), "tiny", tmp_path).report.finding == "sum 4"
    assert run_experiment(later.experiment(), "tiny", tmp_path).report.finding == "sum 6"
    assert later.computed == ["bb"]


def test_results_do_not_outlive_their_parts(tmp_path):
    """A run that stops half way leaves no report of an earlier run beside its new parts."""
    run_experiment(Recorded().experiment(), "tiny", tmp_path)
    for name in ("figures.html", "figure1.png", "table7.csv", "notes.txt"):
        (tmp_path / name).write_text("")
    assert {file.name for file in tmp_path.iterdir()} >= RESULTS
    with pytest.raises(Cancelled), pytest.warns(ComputedAgain, match="3 stored parts"):
        run_experiment(Recorded(stop_at="bb").experiment(2.0), "tiny", tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"parts", "notes.txt", "lock"}
    with pytest.warns(ComputedAgain, match="2 stored parts"):
        run_experiment(Recorded().experiment(2.0), "tiny", tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"parts", "notes.txt", "lock", *RESULTS}


def test_one_process_at_a_time_and_nothing_half_written_is_left(tmp_path, refuses):
    left = [tmp_path / ".table1.csv.0a1b2c3d.tmp", tmp_path / "parts" / ".a.npz.0a1b2c3d.tmp"]
    run_experiment(Recorded().experiment(), "tiny", tmp_path)
    for path in left:
        path.write_bytes(b"half")
    with holding(tmp_path):
        refuses(lambda: run_experiment(Recorded().experiment(), "tiny", tmp_path), "is being written by another run")
    run_experiment(Recorded().experiment(), "tiny", tmp_path)
    assert not any(path.exists() for path in left)


def test_a_damaged_part_is_computed_again(tmp_path):
    run_experiment(Recorded().experiment(), "tiny", tmp_path)
    (tmp_path / "parts" / "bb.npz").write_bytes(b"PK\x03\x04")
    again = Recorded()
    run_experiment(again.experiment(), "tiny", tmp_path)
    assert again.computed == ["bb"]


SOURCE = """
from samplers.experiments.framework.seeds import generator

FACTOR = 2.0

def helper(x):
    \"\"\"What it does.\"\"\"
    return FACTOR * x

def work(settings, name, given):
    return {"value": helper(generator(1, name).random())}

def report(settings, values):
    return "words"
"""


def loaded(tmp_path, monkeypatch, source):
    """A module of an experiment with this text."""
    identity._definitions.cache_clear()
    file = tmp_path / "module_of_a_test.py"
    file.write_text(source)
    module = ModuleType("module_of_a_test")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "module_of_a_test", module)
    exec(compile(source, str(file), "exec"), module.__dict__)
    return module


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("words", "other words", True),
        ("FACTOR = 2.0", "FACTOR = 2.0  # a comment", True),
        ("What it does.", "What it does, in other words.", True),
        ("FACTOR = 2.0", "FACTOR = 3.0", False),
        ("FACTOR * x", "FACTOR + x", False),
        ("generator(1, name)", "generator(2, name)", False),
    ],
)
def test_code_is_part_of_the_identity(tmp_path, monkeypatch, old, new, same):
    import linecache

    before = identity.reached(loaded(tmp_path, monkeypatch, SOURCE).work)
    linecache.clearcache()
    after = identity.reached(loaded(tmp_path, monkeypatch, SOURCE.replace(old, new)).work)
    linecache.clearcache()
    assert (before == after) == same
    assert "def generator" in before and "words" not in before  # helpers of the package count, the report does not
