"""`austerity frontier`: every point, printed and written."""

from __future__ import annotations

import csv
import json
import os
import subprocess

import pytest

from tests.commands import PATIENCE, austerity


def test_every_point_is_printed_and_written(run, example, tmp_path):
    output = tmp_path / "frontier.csv"
    code, out, _ = run(f"frontier {example} --test {example} --tolerances 0.05,0.2 --output {output} --json")
    points = json.loads(out)["points"]
    assert code == 0
    assert [(p["criterion"], p["tolerance"]) for p in points[:2]] == [("average", 0.05), ("average", 0.2)]
    assert len(points) == 6
    assert all(p["train_error"] == pytest.approx(p["test_error"], abs=1e-6) for p in points)
    assert all(p["train_error"] <= p["tolerance"] for p in points)
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert [row.keys() for row in rows] == [point.keys() for point in points]
    assert [float(row["train_usage"]) for row in rows] == [point["train_usage"] for point in points]


def test_text(run, example):
    lines = run(f"frontier {example} --tolerances 0.2")[1].splitlines()
    assert lines[0].split() == ["criterion", "tolerance", "m", "ε", "α", "error", "limit", "data", "use"]
    assert [line.split()[0] for line in lines[1:]] == ["average", "fixed-m", "worst-case"]
    assert "on fresh pairs" not in lines[1]
    assert "on fresh pairs" in run(f"frontier {example} --tolerances 0.2 --test {example}")[1]


def test_a_table_can_be_written_into_a_pipe(example, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    command = austerity("frontier", example, "--tolerances", "0.05", "--output", tmp_path / "pipe", "--quiet")
    with open(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)) as reading:  # waits for no writer
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert reading.read().startswith("criterion,tolerance,m,")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_bad_input_is_one_line(refused, example):
    refused("frontier nowhere.csv", "nowhere.csv")
    refused(f"frontier {example} --tolerances 0.1,x", "--tolerances: 'x' is not a number")
