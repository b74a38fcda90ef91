"""The acceptance tests at work: chains whose accept/reject step reads as little data as the design allows.

A chain has a model (what the data say), a proposal and a test, each built in or your own.

All in one call:

sample
    from a model, or a config, to an audited posterior: a `SampleResult`, with every decision and its reason

Chains:

run
    several chains at once, in memory or saved as they go and resumed after a stop
run_chains
    the same with chains of your own
Chain, JumpChain, SliceChain, GibbsChain, ValueGibbsChain
    one chain: Metropolis-Hastings, reversible jumps, slice sampling, Gibbs sampling of two or of K values
MarkovChain, SteppedChain
    the protocol of all chains, and what a chain of your own derives from
Draws, ChainStopped, RunProgress
    what steps leave behind, why a chain stopped, how far a run has got

The parts of a chain:

SequentialTest, ExactMinibatchTest, BarkerTest, ConcentrationTest, ExactTest
    acceptance tests; a test of your own is an `AcceptTest`
AlwaysAccept
    no test: accepts everything, as uncorrected Langevin dynamics does
Comparison, Decision
    what a test is asked and what it answers, in your own loop, too
TermBounds, AliasTable
    bounds on the terms of a model of your own, for the exact mini-batch test
glm, model_frame, ModelFrame, DataWarning
    a model from a formula and a table: CSV, Parquet, pandas, polars, Arrow; what the formula makes of the table
GLM, glm_model, OwnFamily
    generalised linear models: counts, positive numbers, classes, outliers, or a family of your own
Normal, StudentT, Laplace, Flat
    priors of their coefficients
Logistic, ICA, Mixture, Lasso, RJLogistic, DenseMRF, ValuedMRF, tempered
    other models; a model of your own is a `Model`, or a `LinearModel`
Groups, Grouped
    group effects (1 | g) and (x | g) with sampled scales, and a linear model with them
Remembering
    a model of your own that keeps what it evaluated at the state, for costly likelihoods
from_jax, from_numpyro, from_pymc
    a model of your own in JAX, NumPyro or PyMC, with control variates; any `SmoothModel` gets them
check_model
    shapes, derivatives and speed of a model of your own: a `ModelCheck`
RandomWalk, ProxyStep, ArrowStep, ConditionalStep, StiefelWalk, Langevin, Slice
    proposals, and the lines of slice updates; a proposal of your own is a `Proposal` and returns `Proposed`
choose_proposal
    the proxy proposal for a posterior far from normal: Student tails, profile corrections; a `ProposalChoice`
Controlled, find_mode
    control variates: the test sees only what a Taylor proxy of each datum misses

Trial runs and audits:

observe, collect_pairs, trial_from_posterior, trials_at
    pairs of a chain, of a config's chain, of another tool's posterior, and of several step sizes, as a
    `designer.TrialRun`; the first and the third return `Observed` and `PosteriorPairs`
audit, audit_chain, audit_config, audit_slice
    how wrong a test is in the steps of a chain, against its tolerance: an `Audit`
independent_pairs
    moves of a chain with independent proposals between weighted draws, for `designer.independent_error`
certify
    how far a chain's posterior is from the exact one: a `Certificate`
best_candidates, compare_tests
    the cheapest test of each kind, and the module that compares tests
predict_minibatch, best_minibatch_step
    rows and acceptance of the exact mini-batch test without a chain, and its best step
time_costs
    seconds and mixing of a chain, for a time budget

Need one sample at all?

laplace_verdict, laplace_config, LaplaceVerdict
    whether the Laplace approximation of a model, or of a config's, is good enough
weighted_draws, WeightedDraws
    its draws with importance weights

Runs and results:

SamplerConfig, config_from_table, run_config, Cluster
    a run as a TOML file; on a Dask cluster
collect, summary, to_netcdf, from_netcdf
    draws as ArviZ uses them, and their summary

Fits without sampling:

fit_table, TableFit
    a regression of a table (medians, quantiles, L_p, logistic, Poisson) that reads only as much data as it needs
FitConfig
    a fit as a TOML file

Further modules:

gibbs, gibbs_values
    Gibbs sampling in detail
fit
    reweighted least squares on growing samples

`samplers.adapt` (tests that change during a run), `samplers.data.sources` (the papers' data) and `samplers.experiments`
are imported by their full names.

Names are imported when they are first used, so `import samplers` costs nothing.

Examples
--------
>>> import numpy as np
>>> from designer import Design
>>> from samplers import Logistic, RandomWalk, run
>>> rng = np.random.default_rng(1)
>>> x = rng.standard_normal((10_000, 2))
>>> model = Logistic.from_data(x, rng.random(10_000) < 1.0 / (1.0 + np.exp(-x[:, 0])), prior_precision=1.0)
>>> chains = run(model, RandomWalk.isotropic(0.03, 2), Design(10_000, 500, 0.01), start=[1.0, 0.0], draws=200)
>>> len(chains), chains[0].theta.shape, bool(chains[0].n_used.mean() < 10_000)
(4, (200, 2), True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samplers import fit
    from samplers.chains import gibbs, gibbs_values
    from samplers.chains.chain import Chain
    from samplers.chains.draws import ChainStopped, Draws
    from samplers.chains.gibbs import GibbsChain
    from samplers.chains.gibbs_values import ValueGibbsChain
    from samplers.chains.jump_chain import JumpChain
    from samplers.chains.parallel import RunProgress
    from samplers.chains.protocol import MarkovChain
    from samplers.chains.remembering import Remembering
    from samplers.chains.slice_chain import Slice, SliceChain
    from samplers.chains.stepping import SteppedChain
    from samplers.cluster.client import Cluster
    from samplers.config.config import SamplerConfig
    from samplers.config.fit_config import FitConfig
    from samplers.config.from_table import config_from_table
    from samplers.data.formula.frame import ModelFrame, model_frame
    from samplers.data.formula.model import DataWarning, glm
    from samplers.decide import (
        AcceptTest,
        AliasTable,
        AlwaysAccept,
        BarkerTest,
        Comparison,
        ConcentrationTest,
        Decision,
        ExactMinibatchTest,
        ExactTest,
        SequentialTest,
        TermBounds,
    )
    from samplers.fit.of_table import fit_table
    from samplers.fit.table_fit import TableFit
    from samplers.flow.result import SampleResult
    from samplers.flow.sample import sample
    from samplers.models import LinearModel, Model, SmoothModel
    from samplers.models.adapters.jax_model import from_jax
    from samplers.models.adapters.numpyro_model import from_numpyro
    from samplers.models.adapters.pymc_model import from_pymc
    from samplers.models.control import Controlled, find_mode
    from samplers.models.families.own import OwnFamily
    from samplers.models.glm import GLM, glm_model
    from samplers.models.groups import Grouped, Groups
    from samplers.models.ica import ICA
    from samplers.models.lasso import Lasso
    from samplers.models.logistic import Logistic
    from samplers.models.mixture import Mixture
    from samplers.models.mrf import DenseMRF
    from samplers.models.mrf_values import ValuedMRF
    from samplers.models.priors import Flat, Laplace, Normal, StudentT
    from samplers.models.rj_logistic import RJLogistic
    from samplers.models.tempered import tempered
    from samplers.proposals import (
        ArrowStep,
        ConditionalStep,
        Langevin,
        Proposal,
        ProposalChoice,
        Proposed,
        ProxyStep,
        RandomWalk,
        StiefelWalk,
        choose_proposal,
    )
    from samplers.runs.laplace import laplace_config
    from samplers.runs.results import collect, from_netcdf, summary, to_netcdf
    from samplers.runs.run import audit_config, collect_pairs, run_config
    from samplers.runs.run_chains import run, run_chains
    from samplers.study import compare_tests
    from samplers.study.audit import Audit, audit, audit_chain
    from samplers.study.best_tests import best_candidates
    from samplers.study.certify import Certificate, certify
    from samplers.study.check_model import ModelCheck, check_model
    from samplers.study.independent_pairs import independent_pairs
    from samplers.study.laplace import LaplaceVerdict, laplace_verdict
    from samplers.study.observe import Observed, observe
    from samplers.study.other_tools.posterior_pairs import PosteriorPairs, trial_from_posterior
    from samplers.study.predict_minibatch import best_minibatch_step, predict_minibatch
    from samplers.study.slice_audit import audit_slice
    from samplers.study.step_trials import trials_at
    from samplers.study.time_costs import time_costs
    from samplers.study.weighted_draws import WeightedDraws, weighted_draws

__all__ = [
    "GLM",
    "ICA",
    "AcceptTest",
    "AliasTable",
    "AlwaysAccept",
    "ArrowStep",
    "Audit",
    "BarkerTest",
    "Certificate",
    "Chain",
    "ChainStopped",
    "Cluster",
    "Comparison",
    "ConcentrationTest",
    "ConditionalStep",
    "Controlled",
    "DataWarning",
    "Decision",
    "DenseMRF",
    "Draws",
    "ExactMinibatchTest",
    "ExactTest",
    "FitConfig",
    "Flat",
    "GibbsChain",
    "Grouped",
    "Groups",
    "JumpChain",
    "Langevin",
    "Laplace",
    "LaplaceVerdict",
    "Lasso",
    "LinearModel",
    "Logistic",
    "MarkovChain",
    "Mixture",
    "Model",
    "ModelCheck",
    "ModelFrame",
    "Normal",
    "Observed",
    "OwnFamily",
    "PosteriorPairs",
    "Proposal",
    "ProposalChoice",
    "Proposed",
    "ProxyStep",
    "RJLogistic",
    "RandomWalk",
    "Remembering",
    "RunProgress",
    "SampleResult",
    "SamplerConfig",
    "SequentialTest",
    "Slice",
    "SliceChain",
    "SmoothModel",
    "SteppedChain",
    "StiefelWalk",
    "StudentT",
    "TableFit",
    "TermBounds",
    "ValueGibbsChain",
    "ValuedMRF",
    "WeightedDraws",
    "audit",
    "audit_chain",
    "audit_config",
    "audit_slice",
    "best_candidates",
    "best_minibatch_step",
    "certify",
    "check_model",
    "choose_proposal",
    "collect",
    "collect_pairs",
    "compare_tests",
    "config_from_table",
    "find_mode",
    "fit",
    "fit_table",
    "from_jax",
    "from_netcdf",
    "from_numpyro",
    "from_pymc",
    "gibbs",
    "gibbs_values",
    "glm",
    "glm_model",
    "independent_pairs",
    "laplace_config",
    "laplace_verdict",
    "model_frame",
    "observe",
    "predict_minibatch",
    "run",
    "run_chains",
    "run_config",
    "sample",
    "summary",
    "tempered",
    "time_costs",
    "to_netcdf",
    "trial_from_posterior",
    "trials_at",
    "weighted_draws",
]

_HOMES = {
    "chains.gibbs": "GibbsChain",
    "chains.gibbs_values": "ValueGibbsChain",
    "chains.protocol": "MarkovChain",
    "chains.remembering": "Remembering",
    "chains.stepping": "SteppedChain",
    "study.slice_audit": "audit_slice",
    "study.step_trials": "trials_at",
    "study.time_costs": "time_costs",
    "study.best_tests": "best_candidates",
    "decide": "AcceptTest AliasTable AlwaysAccept BarkerTest Comparison ConcentrationTest Decision ExactMinibatchTest "
    "ExactTest SequentialTest TermBounds",
    "study.predict_minibatch": "best_minibatch_step predict_minibatch",
    "chains.chain": "Chain",
    "chains.draws": "ChainStopped Draws",
    "chains.parallel": "RunProgress",
    "cluster.client": "Cluster",
    "config.config": "SamplerConfig",
    "config.fit_config": "FitConfig",
    "config.from_table": "config_from_table",
    "data.formula.frame": "ModelFrame model_frame",
    "data.formula.model": "DataWarning glm",
    "fit.of_table": "fit_table",
    "fit.table_fit": "TableFit",
    "flow.result": "SampleResult",
    "flow.sample": "sample",
    "models.control": "Controlled find_mode",
    "study.other_tools.posterior_pairs": "PosteriorPairs trial_from_posterior",
    "chains.jump_chain": "JumpChain",
    "models": "LinearModel Model SmoothModel",
    "models.adapters.jax_model": "from_jax",
    "models.families.own": "OwnFamily",
    "models.glm": "GLM glm_model",
    "models.adapters.numpyro_model": "from_numpyro",
    "models.adapters.pymc_model": "from_pymc",
    "models.groups": "Grouped Groups",
    "models.ica": "ICA",
    "models.lasso": "Lasso",
    "models.logistic": "Logistic",
    "models.mixture": "Mixture",
    "models.mrf": "DenseMRF",
    "models.mrf_values": "ValuedMRF",
    "models.priors": "Flat Laplace Normal StudentT",
    "models.rj_logistic": "RJLogistic",
    "models.tempered": "tempered",
    "proposals": "ArrowStep ConditionalStep Langevin Proposal ProposalChoice Proposed ProxyStep RandomWalk StiefelWalk "
    "choose_proposal",
    "runs.results": "collect from_netcdf summary to_netcdf",
    "runs.run": "audit_config collect_pairs run_config",
    "runs.run_chains": "run run_chains",
    "chains.slice_chain": "Slice SliceChain",
    "runs.laplace": "laplace_config",
    "study.independent_pairs": "independent_pairs",
    "study.audit": "Audit audit audit_chain",
    "study.check_model": "ModelCheck check_model",
    "study.certify": "Certificate certify",
    "study.laplace": "LaplaceVerdict laplace_verdict",
    "study.weighted_draws": "WeightedDraws weighted_draws",
    "study.observe": "Observed observe",
}
_MODULES = {name: f"samplers.{module}" for module, names in _HOMES.items() for name in names.split()}
_WHOLE = {  # modules that are public as a whole
    "compare_tests": "samplers.study.compare_tests",
    "fit": "samplers.fit",
    "gibbs": "samplers.chains.gibbs",
    "gibbs_values": "samplers.chains.gibbs_values",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in _WHOLE:
        value = import_module(_WHOLE[name])
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
