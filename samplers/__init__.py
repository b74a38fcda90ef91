"""The acceptance tests at work: chains whose accept/reject step reads as little data as the design allows.

A chain has a model (what the data say), a proposal and a test, each built in or one's own.

Chain, run
    one chain; several in parallel, as `Draws`
SequentialTest, BarkerTest, ConcentrationTest, ExactTest
    the tests; each also answers a `Comparison` in anybody's own loop (`samplers.decide`)
Logistic, ICA, Mixture, Lasso, RJLogistic, DenseMRF, ValuedMRF, tempered
    models (`samplers.models`, which also says what one's own needs)
RandomWalk, ProxyStep, StiefelWalk, Langevin, Slice
    proposals, and the lines of slice updates (`SliceChain`); reversible jumps have a `JumpChain`
Controlled, find_mode
    control variates: the test sees only what a Taylor proxy of each datum misses
observe, collect_pairs, trial_from_posterior
    the pairs of a chain, of a run, of another tool's posterior as a `designer.TrialRun`
audit, audit_config
    what a test really did, beside what its design predicts
SamplerConfig, run_config, Cluster
    a run as a TOML file: saved as it goes, resumed after a stop; on a Dask cluster
collect, summary, to_netcdf, from_netcdf
    draws as ArviZ wants them

In modules of their own: `samplers.chains.gibbs` and `samplers.chains.gibbs_values` (Gibbs sampling), `samplers.fit`
(reweighted least squares on growing samples), `samplers.study.compare_tests` and `samplers.study.best_tests` (which
test is cheapest), `samplers.study.step_trials` (trial runs for `designer.best_step`), `samplers.adapt.redesign` and
`samplers.adapt.phases` (tests that change during a run), `samplers.data.sources` (the papers' data) and
`samplers.experiments`.

Names are imported when they are first asked for, so that `import samplers` costs nothing.

Examples
--------
>>> import numpy as np
>>> from designer import Design
>>> from samplers import Logistic, RandomWalk, SequentialTest, run
>>> rng = np.random.default_rng(1)
>>> x = rng.standard_normal((10_000, 2))
>>> model = Logistic.from_data(x, rng.random(10_000) < 1.0 / (1.0 + np.exp(-x[:, 0])), prior_precision=1.0)
>>> test = SequentialTest.from_design(Design(10_000, 500, 0.01))
>>> chains = run(model, RandomWalk.isotropic(0.03, 2), test, start=[1.0, 0.0], draws=200)
>>> len(chains), chains[0].theta.shape, bool(chains[0].n_used.mean() < 10_000)
(4, (200, 2), True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samplers.chains.chain import Chain
    from samplers.chains.draws import ChainStopped, Draws
    from samplers.chains.jump_chain import JumpChain
    from samplers.chains.parallel import RunProgress
    from samplers.chains.slice_chain import Slice, SliceChain
    from samplers.cluster.client import Cluster
    from samplers.config.config import SamplerConfig
    from samplers.decide import (
        AcceptTest,
        BarkerTest,
        Comparison,
        ConcentrationTest,
        Decision,
        ExactTest,
        SequentialTest,
    )
    from samplers.models import LinearModel, Model
    from samplers.models.control import Controlled, find_mode
    from samplers.models.ica import ICA
    from samplers.models.lasso import Lasso
    from samplers.models.logistic import Logistic
    from samplers.models.mixture import Mixture
    from samplers.models.mrf import DenseMRF
    from samplers.models.mrf_values import ValuedMRF
    from samplers.models.rj_logistic import RJLogistic
    from samplers.models.tempered import tempered
    from samplers.proposals import Langevin, Proposal, Proposed, ProxyStep, RandomWalk, StiefelWalk
    from samplers.runs.results import collect, from_netcdf, summary, to_netcdf
    from samplers.runs.run import audit_config, collect_pairs, run_config
    from samplers.runs.run_chains import run
    from samplers.study.observe import Audit, Observed, audit, observe
    from samplers.study.posterior_pairs import PosteriorPairs, trial_from_posterior

__all__ = [
    "ICA",
    "AcceptTest",
    "Audit",
    "BarkerTest",
    "Chain",
    "ChainStopped",
    "Cluster",
    "Comparison",
    "ConcentrationTest",
    "Controlled",
    "Decision",
    "DenseMRF",
    "Draws",
    "ExactTest",
    "JumpChain",
    "Langevin",
    "Lasso",
    "LinearModel",
    "Logistic",
    "Mixture",
    "Model",
    "Observed",
    "PosteriorPairs",
    "Proposal",
    "Proposed",
    "ProxyStep",
    "RJLogistic",
    "RandomWalk",
    "RunProgress",
    "SamplerConfig",
    "SequentialTest",
    "Slice",
    "SliceChain",
    "StiefelWalk",
    "ValuedMRF",
    "audit",
    "audit_config",
    "collect",
    "collect_pairs",
    "find_mode",
    "from_netcdf",
    "observe",
    "run",
    "run_config",
    "summary",
    "tempered",
    "to_netcdf",
    "trial_from_posterior",
]

_HOMES = {
    "decide": "AcceptTest BarkerTest Comparison ConcentrationTest Decision ExactTest SequentialTest",
    "chains.chain": "Chain",
    "chains.draws": "ChainStopped Draws",
    "chains.parallel": "RunProgress",
    "cluster.client": "Cluster",
    "config.config": "SamplerConfig",
    "models.control": "Controlled find_mode",
    "study.posterior_pairs": "PosteriorPairs trial_from_posterior",
    "chains.jump_chain": "JumpChain",
    "models": "LinearModel Model",
    "models.ica": "ICA",
    "models.lasso": "Lasso",
    "models.logistic": "Logistic",
    "models.mixture": "Mixture",
    "models.mrf": "DenseMRF",
    "models.mrf_values": "ValuedMRF",
    "models.rj_logistic": "RJLogistic",
    "models.tempered": "tempered",
    "proposals": "Langevin Proposal Proposed ProxyStep RandomWalk StiefelWalk",
    "runs.results": "collect from_netcdf summary to_netcdf",
    "runs.run": "audit_config collect_pairs run_config",
    "runs.run_chains": "run",
    "chains.slice_chain": "Slice SliceChain",
    "study.observe": "Audit Observed audit observe",
}
_MODULES = {name: f"samplers.{module}" for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import an exported name from where it is defined."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
