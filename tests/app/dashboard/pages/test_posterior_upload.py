"""Page Trial run: a posterior of another tool becomes the trial run in use."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from designer.pairs.examples import example
from samplers.study.other_tools.posterior_pairs import trial_from_posterior
from tests.app.dashboard.driving import everything, page, query

VALUES = np.random.default_rng(4).normal(size=(2, 60, 300))


@pytest.fixture
def content(tmp_path):
    tree = xarray.DataTree.from_dict({"log_likelihood": xarray.Dataset({"y": (("chain", "draw", "i"), VALUES)})})
    tree.to_netcdf(tmp_path / "mine.nc", engine="h5netcdf")
    return (tmp_path / "mine.nc").read_bytes(), tmp_path / "mine.nc"


def upload(content: bytes):
    found = page("trial_run")
    found.selectbox[0].select("upload").run()
    found.file_uploader[0].upload("mine.nc", content, "application/x-netcdf")
    return found.run()


def test_a_posterior_is_used_as_it_is_or_rescaled(content):
    data, path = content
    found = upload(data)
    plain = trial_from_posterior(np.random.default_rng([0]), path).trial
    assert f"mine.nc: 118 pairs, N = 300, digest {plain.digest[:12]}" in everything(found)
    assert "no group log_prior" in everything(found)
    found.radio(key="posterior-pairs").set_value("random").run()
    found.number_input(key="posterior-acceptance").set_value(0.3).run()
    made = trial_from_posterior(np.random.default_rng([0]), path, "random", acceptance=0.3)
    assert made.trial.digest[:12] in everything(found)
    assert f"steps times {made.scale:.4g}" in everything(found)
    assert query(found, "digest") == made.trial.digest


def test_a_file_that_is_no_posterior_leaves_what_was_in_use():
    text = everything(upload(b"nothing of the kind"))
    assert "is not a netCDF file that can be read" in text
    assert example("logistic").digest[:12] in text


def test_another_n_than_the_file_s_is_refused(content):
    found = page("trial_run")
    found.selectbox[0].select("upload").run()
    found.number_input(key="upload-n").set_value(301).run()
    found.file_uploader[0].upload("mine.nc", content[0], "application/x-netcdf")
    text = everything(found.run())
    assert "mine.nc: has the log-likelihoods of 300 data, not of 301" in text
    assert example("logistic").digest[:12] in text
