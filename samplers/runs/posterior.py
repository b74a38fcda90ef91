"""What a test does to the posterior of a config whose proposals do not depend on the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from designer.further.posterior.independent import IndependentError, independent_error
from designer.rule.design import Design
from samplers.chains.blas import blas_threads
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.models.control import Controlled
from samplers.runs.saved_run import BLAS_THREADS
from samplers.study.independent_pairs import independent_pairs
from samplers.study.observe import independent


class ConfigError(NamedTuple):
    """The effect on the posterior of a config, and the names of the coordinates."""

    error: IndependentError
    names: list[str]


def posterior_config(config: SamplerConfig, design: Callable[[int], Design], rule: Rule = "metropolis") -> ConfigError:
    """What a design does to the posterior of a config with independent proxy proposals: two passes over the data.

    Parameters
    ----------
    config
        Data, model and proposal; its test is not used.
    design
        Makes the test, given the number of data that it samples.
    rule
        "metropolis" or "barker".

    Returns
    -------
    ConfigError
        Bias of every mean and ratio of every standard deviation.

    Raises
    ------
    BadInput
        If the proposals depend on the state: then `posterior_error` may know the answer.
    """
    with blas_threads(BLAS_THREADS):
        spec = build(config)
        model = spec.model
        if not independent(spec.proposal) or not isinstance(model, Controlled) or model.order != 2:
            raise BadInput(
                f"proposal.kind = {config.proposal.kind!r}: a prediction from a config needs proxy proposals with "
                "beta = 1 and control variates of order 2; for random walks give their pairs (TRIAL.csv), for others "
                "`austerity certify` measures it"
            )
        rng = np.random.default_rng(config.run.seed)
        error = independent_error(design(model.n_data), independent_pairs(model, spec.proposal, rng), rule)
    names = spec.names or tuple(f"theta[{k}]" for k in range(model.dimension))
    return ConfigError(error, list(names))
