"""Posteriors of others read in a process of its own: the same pairs, and files that would never end are given up."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from designer.core.errors import BadInput
from samplers.study.other_tools.posterior_files import pairs_of_file
from samplers.study.other_tools.posterior_pairs import trial_from_posterior
from tests.commands import austerity
from tests.signals import heed_interrupts

HANGING = Path(__file__).parents[3] / "data" / "hanging.nc"


@pytest.fixture(scope="module")
def posterior(tmp_path_factory):
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(0).normal(size=(2, 50, 300))
    path = tmp_path_factory.mktemp("posterior") / "p.nc"
    group = xarray.Dataset({"y": (("chain", "draw", "obs"), values)})
    group.to_netcdf(path, group="log_likelihood", engine="h5netcdf")
    return path


def test_the_pairs_are_those_of_the_library(posterior):
    wanted = {"kind": "random", "count": 20, "acceptance": 0.3}
    found, known = (
        pairs_of_file(posterior, 3, **wanted),
        trial_from_posterior(np.random.default_rng(3), posterior, **wanted),
    )
    assert found.trial.digest == known.trial.digest
    assert (found.scale, found.remarks) == (known.scale, known.remarks)


def test_problems_are_told_as_the_library_tells_them(posterior, tmp_path):
    for path, wanted in ((posterior, {"kind": "none"}), (tmp_path / "nothing.nc", {}), (posterior, {"count": 0})):
        with pytest.raises(BadInput) as known:
            trial_from_posterior(np.random.default_rng(0), path, **wanted)
        with pytest.raises(BadInput) as found:
            pairs_of_file(path, 0, **wanted)
        assert str(found.value) == str(known.value)


def test_files_in_the_users_folder_are_not_taken_for_our_packages(posterior, tmp_path, monkeypatch):
    for name in ("samplers.py", "designer.py", "numpy.py"):
        (tmp_path / name).write_text("raise SystemExit('not this one')\n")
    monkeypatch.chdir(tmp_path)
    assert len(pairs_of_file(posterior, 3, count=20).trial) == 20


def test_a_file_that_never_ends_is_given_up():
    """Or refused at once, by an HDF5 that has learned to."""
    with pytest.raises(BadInput, match=r"hanging\.nc: (not read within 8 s|is not a netCDF file|has )"):
        pairs_of_file(HANGING, 0, seconds=8.0)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_the_command_can_be_interrupted_meanwhile(tmp_path):
    command = austerity("pairs", HANGING, "--output", tmp_path / "t.csv")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts) as process:
        try:
            process.wait(6.0)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30.0)[1]
    assert process.returncode in (2, 130), said
    assert "Traceback" not in said and not (tmp_path / "t.csv").exists()
