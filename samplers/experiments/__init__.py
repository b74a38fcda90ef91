"""The experiments of the papers, one module each; `NAMES` lists them."""

from __future__ import annotations

from importlib import import_module

from designer.core.errors import BadInput
from samplers.experiments.framework.running import Experiment

NAMES = tuple(f"e{number}" for number in range(1, 14))


def experiment(name: str) -> Experiment:
    """The experiment of this name: e1 to e13."""
    if name not in NAMES:
        raise BadInput(f"experiment = {name!r}: must be one of {', '.join(NAMES)}")
    study: Experiment = import_module(f"samplers.experiments.studies.{name}").EXPERIMENT
    return study
