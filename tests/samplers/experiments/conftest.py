"""The experiment that a test module is named after, run once at its tiny size."""

from __future__ import annotations

import pytest

from samplers.experiments import experiment
from samplers.experiments.framework.running import run_experiment


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("experiment")


@pytest.fixture(scope="module")
def done(request, folder):
    """The finished run of e1 for `test_e1.py`, and so on."""
    name = request.module.__name__.rpartition("test_")[2]
    return run_experiment(experiment(name), "tiny", folder)
