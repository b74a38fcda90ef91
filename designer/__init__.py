"""The calculator: error, data use and optimal design of sequential accept/reject tests.

A test is a `Design` (N, m, ε, α, growth), which can be saved to a file, or a `Plan` (any looks of a `Schedule`, any
bounds of a `Boundary`). A `TrialRun` holds the pairs (μ, σ) of your own chain. Functions return records whose
docstrings describe their fields; bad input raises `BadInput` with a message of one line.

characteristics, worst_case, stopping
    what one test does at a given standardised mean
acceptance, predictions, stationary_bound, sweep_bound
    what it does to the acceptance probability (also with skewed lᵢ), and bounds on what it does to the posterior
predict, resampled, one_look_bound
    the same from the source that supports it, from the data themselves (`Residuals`), or for any distribution
search, frontier
    the best design for one tolerance or for many, within a `Space` or on a `Grid`, by any `Cost`
summarise, tail_check, student_check, bootstrap, cross_validate
    whether to trust the design
simulate, simulate_step
    what the test does in simulation

Beyond the choice of one test (`designer.further`):

posterior_error, independent_error, tolerance_for
    the posterior that a chain with this test samples, and the tolerance that keeps it accurate enough
optimal_boundary, optimal_boundaries
    the best of all stopping boundaries, and a bound that no boundary can beat
best_step
    the best step of a random walk together with its test
best_epsilon, time_options, time_schedule, anytime_schedule
    the test, or the sequence of tests, with the least risk in a given time

Bundled trial runs are in `designer.pairs.examples`.

Examples
--------
>>> from designer import Design, characteristics, search
>>> characteristics(Design(12214, 500, 0.05), [0.0, 2.0]).error.round(3)
array([0.309, 0.037])
>>> from designer.pairs.examples import example
>>> result = search(example("logistic"), tolerance=0.01)
>>> result.best.m, round(result.usage, 2)
(437, 0.7)
"""

from designer.check.simulate import Simulation, StepSimulation, simulate, simulate_step
from designer.core.errors import BadInput, NumericalFailure
from designer.core.progress import Cancelled
from designer.engine.bounds import one_look_bound, stationary_bound, sweep_bound
from designer.engine.predict import Prediction, predict
from designer.engine.resampled import resampled
from designer.engine.step_error import Acceptance, Predictions, acceptance, predictions
from designer.engine.walk import Characteristics, Stopping, characteristics, stopping, worst_case
from designer.further import (
    BestStep,
    IndependentError,
    OptimalBoundary,
    PosteriorError,
    Quantity,
    anytime_schedule,
    best_epsilon,
    best_step,
    independent_error,
    optimal_boundaries,
    optimal_boundary,
    posterior_error,
    time_options,
    time_schedule,
    tolerance_for,
)
from designer.pairs.diagnostics import StudentCheck, TailCheck, TrialSummary, student_check, summarise, tail_check
from designer.pairs.residuals import Residuals
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import Boundary
from designer.rule.design import Design, Predicted, Provenance
from designer.rule.looks import Schedule
from designer.rule.plan import Plan
from designer.search.criteria import Cost
from designer.search.frontier import FrontierPoint, frontier
from designer.search.resample import Bootstrap, CrossValidation, bootstrap, cross_validate
from designer.search.search import SearchResult, search
from designer.search.space import Grid, Space
from designer.search.table import Evaluated

__all__ = [
    "Acceptance",
    "BadInput",
    "BestStep",
    "Bootstrap",
    "Boundary",
    "Cancelled",
    "Characteristics",
    "Cost",
    "CrossValidation",
    "Design",
    "Evaluated",
    "FrontierPoint",
    "Grid",
    "IndependentError",
    "NumericalFailure",
    "OptimalBoundary",
    "Plan",
    "PosteriorError",
    "Predicted",
    "Prediction",
    "Predictions",
    "Provenance",
    "Quantity",
    "Residuals",
    "Schedule",
    "SearchResult",
    "Simulation",
    "Space",
    "StepSimulation",
    "Stopping",
    "StudentCheck",
    "TailCheck",
    "TrialRun",
    "TrialSummary",
    "acceptance",
    "anytime_schedule",
    "best_epsilon",
    "best_step",
    "bootstrap",
    "characteristics",
    "cross_validate",
    "frontier",
    "independent_error",
    "one_look_bound",
    "optimal_boundaries",
    "optimal_boundary",
    "posterior_error",
    "predict",
    "predictions",
    "resampled",
    "search",
    "simulate",
    "simulate_step",
    "stationary_bound",
    "stopping",
    "student_check",
    "summarise",
    "sweep_bound",
    "tail_check",
    "time_options",
    "time_schedule",
    "tolerance_for",
    "worst_case",
]
