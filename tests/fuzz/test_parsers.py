"""Every parser on nonsense and on damaged files: understood, or refused in words, in a bounded time and memory."""

from __future__ import annotations

import argparse
import io
import os
import random
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from app.cli.main import build_parser, main
from designer.pairs.trial_run import TrialRun
from samplers.config.config import SamplerConfig
from samplers.config.schema import DataTable
from samplers.data import csv_table, memory
from samplers.data import load as datasets
from tests.fuzz.bounds import bounded
from tests.fuzz.damage import TOKENS, damaged
from tests.fuzz.seeds import COMMANDS, seeds
from tests.fuzz.targets import TARGETS

SEEDS = seeds()
SLOWEST, MOST_MEGABYTES = 20.0, 512.0  # for one input: a hundred times what any takes, on a busy machine too


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_understood(name):
    assert [TARGETS[name](seed) for seed in SEEDS[name]] == [False] * len(SEEDS[name])


def refused(name, data) -> bool:
    """What a parser answers, within the bounds."""
    with bounded(SLOWEST, MOST_MEGABYTES):
        return TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
@given(seed=st.integers(0, 2**32))
def test_damaged_files_are_understood_or_refused(name, seed):
    refused(name, damaged(random.Random(seed), SEEDS[name]))


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(TOKENS), max_size=8).map(b"".join)))
def test_nonsense_is_refused(name, data):
    assert refused(name, data) or name in {
        "command_line",
        "trial_csv",
        "data_csv",
        "data_numbers_csv",
        "data_npy",
        "table_csv",
    }


def test_most_damage_is_noticed():
    """A flipped bit in a sealed file is refused, wherever it is."""
    sealed = SEEDS["netcdf"][0]
    for place in range(0, len(sealed), 997):
        flipped = bytearray(sealed)
        flipped[place] ^= 1
        assert TARGETS["netcdf"](bytes(flipped)), place


# --- the command ------------------------------------------------------------------------------------------------------


def test_every_command_is_a_seed():
    (found,) = [action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    assert {command.split()[0] for command in COMMANDS} >= set(found.choices)
    assert any("--cluster" in command for command in COMMANDS)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_command_ends_with_lines_and_2(seed):
    command = damaged(
        random.Random(seed), [b"evaluate\n--n-data\n1000\n--m\n100\n--epsilon\n0.05\n--mu-std\n0,1\n--json"]
    )
    arguments = os.fsdecode(command.replace(b"\0", b"")).split("\n")
    if arguments[:1] not in (["evaluate"], ["selfcheck"]):
        return
    said, complained = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", said)
        patch.setattr("sys.stderr", complained)
        try:
            code = main(arguments)
        except SystemExit as left:  # --help
            code = left.code
    assert code in {0, 2}
    lines = complained.getvalue().splitlines()
    assert bool(lines) == (code == 2)
    assert all(line.startswith("austerity: ") and line.isprintable() for line in lines)


def test_names_of_files_that_are_no_text_can_be_told(tmp_path, capsys):
    target = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.toml")
    command = ["design", "--n-data", "1000", "--criterion", "worst-case", "--tolerance", "0.2", "--output", target]
    assert main(command) == 0
    assert "\\udcff.toml" in capsys.readouterr().out
    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff.toml"]


def test_endless_files_are_given_up(refuses, capsys):
    refuses(lambda: SamplerConfig.load("/dev/zero"), "1,048,576")
    assert main(["run", "/dev/zero", "--design", "/dev/zero", "--output", "x"]) == 2
    assert "1,048,576" in capsys.readouterr().err


# --- bombs and pickles ------------------------------------------------------------------------------------------------


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("kind", [".npz", ".npy"])
def test_pickles_are_refused_unopened(tmp_path, kind, refuses):
    sprung, path, trap = tmp_path / "sprung", tmp_path / f"trap{kind}", np.array([Trap(tmp_path / "sprung")])
    if kind == ".npy":
        np.save(path, trap, allow_pickle=True)
    else:
        np.savez(path, x=trap, y=trap, mu=trap, sigma=trap)
        refuses(lambda: TrialRun.load(path, 100), "allow_pickle=False")
    refuses(lambda: datasets.load(DataTable(path=str(path)), None), "cannot be read", "bject")
    assert not sprung.exists()


def test_a_small_archive_of_zeros_is_not_unpacked(tmp_path, refuses, monkeypatch):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, x=np.zeros((500_000, 2)), y=np.zeros(500_000))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(memory, "MAX_BYTES", 10**6)
    refuses(lambda: datasets.load(DataTable(path=str(path)), "binary"), "unpacks to 24,000", "more than", "1,000,000")


def test_a_header_that_promises_too_much_is_refused(tmp_path, refuses):
    path = tmp_path / "promise.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15, 2)})
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("x", "mu", "sigma"):
            archive.writestr(f"{name}.npy", header.getvalue() + bytes(64))
    refuses(lambda: datasets.load(DataTable(path=str(path)), None), "unpacks to 32,000,000,000,000,000 bytes")
    refuses(lambda: TrialRun.load(path, 100), "not a NumPy archive that can be read")


def test_a_small_parquet_file_of_one_number_is_not_unpacked(tmp_path, refuses, monkeypatch):
    path = tmp_path / "bomb.parquet"
    column = pa.array(np.zeros(6_000_000))
    parquet.write_table(pa.table({"mu": column, "sigma": column}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    refuses(lambda: TrialRun.load(path, 100), "6,000,000 rows, more than the limit of 5,000,000")
    monkeypatch.setattr(memory, "MAX_BYTES", 10**6)
    refuses(lambda: datasets.load(DataTable(path=str(path)), None), "unpacks to 288,000,000 bytes")


def test_lines_and_columns_of_data_are_limited(tmp_path, refuses):
    path = tmp_path / "wide.csv"
    path.write_text("a" * (csv_table.MAX_LINE + 1))
    refuses(lambda: datasets.load(DataTable(path=str(path)), None), "line 1 has more than 1,048,576 characters")
    path.write_text("a\n1\n" + " " * (csv_table.MAX_LINE + 1))
    refuses(lambda: datasets.load(DataTable(path=str(path)), None), "line 3 has more than 1,048,576 characters")
    path.write_text(",".join(f"x{k}" for k in range(datasets.MAX_COLUMNS + 1)))
    refuses(lambda: datasets.load(DataTable(path=str(path)), None), "10,001 columns, more than the limit of 10,000")
