"""The experiment that a test module is named after, run once at its tiny size."""

from __future__ import annotations

from pathlib import Path

import pytest

from samplers.experiments import experiment
from samplers.experiments.framework.running import run_experiment


def pytest_collection_modifyitems(items):
    """All tests of an experiment in one process, so that it runs once."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("experiment")


@pytest.fixture(scope="module")
def done(request, folder):
    """The finished run of e1 for `test_e1.py`, and so on."""
    name = request.module.__name__.rpartition("test_")[2]
    return run_experiment(experiment(name), "tiny", folder)
