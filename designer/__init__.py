"""The calculator: error, data use and optimal design of sequential accept/reject tests.

A test is a `Design` (N, m, epsilon, alpha, growth) or a `Plan` (any looks, any bounds). A `TrialRun` holds the
(mu, sigma) pairs of one's own chain.

characteristics, worst_case, stopping
    what one test does at a given standardised mean
acceptance, predictions, stationary_bound, sweep_bound
    what it does to the acceptance probability (with skewed l_i, too), and to the posterior at worst
posterior_error, tolerance_for
    the posterior that a chain with this test samples, and the tolerance that keeps it within a wish
search, frontier
    the best design for a tolerance; for many tolerances
optimal_boundary, optimal_boundaries
    the best of all stopping boundaries, and what no boundary can do better than
best_step
    the best step of a random walk together with its test
stratified
    several designs, chosen by kappa after the first batch
best_epsilon, time_schedule, anytime_schedule
    the test, or the tests one after the other, with the least risk in a given time
bootstrap, cross_validate, summarise, tail_check, student_check
    whether to trust it
simulate, simulate_step
    what really happens
"""

from designer.acceptance import Acceptance, Predictions, acceptance, predictions, stationary_bound, sweep_bound
from designer.boundary import Boundary
from designer.criteria import Cost
from designer.diagnostics import student_check, summarise, tail_check
from designer.errors import BadInput, NumericalFailure
from designer.frontier import FrontierPoint, frontier
from designer.further.budget import Quantity, anytime_schedule, best_epsilon
from designer.further.budget import schedule as time_schedule
from designer.further.optimal import OptimalBoundary, optimal_boundaries, optimal_boundary
from designer.further.posterior import PosteriorError, posterior_error, tolerance_for
from designer.further.steps import BestStep, best_step
from designer.further.strata import stratified
from designer.further.strata_records import Stratified
from designer.plan import Plan
from designer.records import Design, TrialRun
from designer.resample import bootstrap, cross_validate
from designer.schedule import Schedule
from designer.search import Cancelled, SearchResult, search
from designer.simulate import simulate, simulate_step
from designer.space import Grid, Space
from designer.walk import Characteristics, Stopping, characteristics, stopping, worst_case

__all__ = [
    "Acceptance",
    "BadInput",
    "BestStep",
    "Boundary",
    "Cancelled",
    "Characteristics",
    "Cost",
    "Design",
    "FrontierPoint",
    "Grid",
    "NumericalFailure",
    "OptimalBoundary",
    "Plan",
    "PosteriorError",
    "Predictions",
    "Quantity",
    "Schedule",
    "SearchResult",
    "Space",
    "Stopping",
    "Stratified",
    "TrialRun",
    "acceptance",
    "anytime_schedule",
    "best_epsilon",
    "best_step",
    "bootstrap",
    "characteristics",
    "cross_validate",
    "frontier",
    "optimal_boundaries",
    "optimal_boundary",
    "posterior_error",
    "predictions",
    "search",
    "simulate",
    "simulate_step",
    "stationary_bound",
    "stopping",
    "stratified",
    "student_check",
    "summarise",
    "sweep_bound",
    "tail_check",
    "time_schedule",
    "tolerance_for",
    "worst_case",
]
