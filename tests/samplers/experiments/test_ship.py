"""Full-size results that come with the package are small, can be read back, and are shown on an up-to-date page."""

from __future__ import annotations

import json

import numpy as np
import pytest

from designer.core.errors import BadInput
from docs import make_experiments
from samplers.experiments import NAMES
from samplers.experiments.framework import ship
from samplers.experiments.framework.report import Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import shipped, stored


def report(points):
    x = np.linspace(0.0, 1.0, points) / 3.0
    panel = Panel("p", "x", "y", [Series("long", x, x**2, x**2 - 0.1, None), Series("texts", ["a", "b"], [1.0, 2.0])])
    return Report(
        "found 1/3", {"true": True, "untrue": False}, [ResultTable("t", ["a"], [[1.0 / 3.0], [12_345_678]])], [panel]
    )


def finished(folder, points=10, **changed):
    described = {"name": "e7", "size": "full", "settings": {"seed": 1}, "seconds": {"a": 1.23456789}, "version": "1"}
    folder.mkdir(exist_ok=True)
    (folder / "experiment.json").write_text(json.dumps({**described, **changed}))
    (folder / "report.json").write_text(report(points).to_json())
    return folder


def test_rounded_and_read_back(tmp_path):
    folder = ship.ship(finished(tmp_path / "run"), tmp_path / "stored")
    assert folder == tmp_path / "stored" / "e7"
    described, kept = stored(folder)
    assert described["seconds"] == {"a": 1.23457}
    assert kept.tables[0].rows == [[0.333333], [12_345_678]]
    assert kept.panels[0].series[0].x[-1] == 0.333333
    assert kept.panels[0].series[1].x == ["a", "b"]
    assert kept.checks == {"true": True, "untrue": False}


def test_the_ground_truth_is_kept_with_its_seed_and_digest(tmp_path):
    rng = np.random.default_rng(1)
    draws = rng.normal([1.0, 2.0], 0.5, (2, 50, 20, 2))  # chains, blocks, draws in a block, functions
    run = finished(tmp_path / "run")
    (run / "parts").mkdir()
    for k, chain in enumerate(draws):
        values = {"blocks": chain.mean(axis=1), "means": chain.mean(axis=(0, 1))[None], "sd": chain.std(axis=(0, 1))}
        (run / "parts" / f"truth #{k}.npz").write_bytes(ship.packed(values | {"seconds": np.array(k)}))
    with np.load(ship.ship(run, tmp_path / "stored") / "truth.npz") as kept:
        assert np.allclose(kept["mean"], draws.mean(axis=(0, 1, 2)), atol=1e-12)
        assert np.allclose(kept["se"], 0.5 / np.sqrt(2000), rtol=0.3)
        assert kept["effective"] == pytest.approx(2000, rel=0.5)
        assert int(kept["seed"]) == 1
        digest = str(kept["digest"])
    (run / "parts" / "truth #1.npz").write_bytes(ship.packed(values | {"seconds": np.array(7.0)}))  # a slower machine
    with np.load(ship.ship(run, tmp_path / "stored") / "truth.npz") as kept:
        assert str(kept["digest"]) == digest
    (run / "parts" / "truth #1.npz").write_bytes(ship.packed(values | {"sd": values["sd"] * 1.01}))
    with np.load(ship.ship(run, tmp_path / "stored") / "truth.npz") as kept:
        assert str(kept["digest"]) != digest


def test_long_curves_are_thinned_until_they_fit(tmp_path):
    folder = ship.ship(finished(tmp_path / "run", points=200_000), tmp_path / "stored")
    assert (folder / "report.json").stat().st_size <= ship.MOST_BYTES
    long, short = stored(folder)[1].panels[0].series
    assert len(long.x) == len(long.y) == len(long.low) == ship.MOST_POINTS
    assert long.high is None
    assert (long.x[0], long.x[-1]) == (0.0, 0.333333)
    assert np.allclose(np.array(long.x) ** 2, long.y, atol=1e-5)  # pairs stay together
    assert len(short.x) == 2


def test_many_curves_are_thinned_further():
    many = report(1000)._replace(panels=[panel for _ in range(30) for panel in report(1000).panels])
    text = ship.compact(many)
    assert len(text.encode()) <= ship.MOST_BYTES
    assert 50 <= len(Report.from_json(text).panels[0].series[0].x) <= 500


@pytest.mark.parametrize(
    ("changed", "message"), [({"size": "quick"}, "only full runs"), ({"name": "../e7"}, "not an experiment")]
)
def test_refused(tmp_path, changed, message):
    with pytest.raises(BadInput, match=message):
        ship.ship(finished(tmp_path / "run", **changed), tmp_path / "stored")
    assert not (tmp_path / "stored").exists()


def test_the_command_names_what_is_wrong(tmp_path, capsys):
    assert ship.main([str(tmp_path)]) == 2
    assert "contains no finished experiment" in capsys.readouterr().err
    assert ship.main([]) == 2


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shipped(name):
    assert shipped(name) is not None, "no full-size result comes with the package"
    described, kept = shipped(name)
    assert described["name"] == name and described["size"] in ("full", "paper")
    assert kept.finding and kept.checks
    assert (ship.STORED / name / "report.json").stat().st_size <= 1.1 * ship.MOST_BYTES


def test_the_page_is_up_to_date():
    """If not: python -m docs.make_experiments"""
    assert make_experiments.PAGE.read_text(encoding="utf-8") == make_experiments.page()


def test_a_section_shows_what_was_found(tmp_path, monkeypatch):
    kept = stored(finished(tmp_path / "run"))
    monkeypatch.setattr(make_experiments, "shipped", lambda name: kept if name == "e7" else None)
    text = make_experiments.section("e7")
    for piece in ("found 1/3", "**holds**: true", "**does not hold**: untrue", "| 0.3333 |", "| 12,345,678 |"):
        assert piece in text
    assert "austerity experiment e7 --output e7" in text and "1.235 seconds" in text
    assert "No full-size result" in make_experiments.section("e3")
    assert "austerity experiment e3 --data DIR --output e3" in make_experiments.section("e3")


def test_endless_tables_are_cut():
    lines = make_experiments.markdown(ResultTable("t", ["a"], [[k] for k in range(70)]))
    assert [lines[4], lines[63]] == ["| 0 |", "| 59 |"]
    assert lines[64] == "\nand 10 more rows in the dashboard."


def test_text_that_markdown_would_take_for_its_own():
    lines = make_experiments.markdown(ResultTable("Δ* | θ*", ["a|b"], [["x < 1"]]))
    assert lines[0] == r"**Δ\* \| θ\***"
    assert lines[2] == r"| a\|b |"
    assert lines[4] == r"| x \< 1 |"
