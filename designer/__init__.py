"""The calculator: error, data use and optimal design of sequential accept/reject tests.

A test is a `Design` (N, m, epsilon, alpha, growth) or a `Plan` (any looks, any bounds). A `TrialRun` holds the
(mu, sigma) pairs of one's own chain.

characteristics, worst_case, stopping
    what one test does at a given standardised mean
acceptance, predictions, stationary_bound, sweep_bound
    what it does to the acceptance probability (with skewed l_i, too), and to the posterior at worst
search, frontier
    the best design for a tolerance; for many tolerances
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
    "Boundary",
    "Cancelled",
    "Characteristics",
    "Cost",
    "Design",
    "FrontierPoint",
    "Grid",
    "NumericalFailure",
    "Plan",
    "Predictions",
    "Schedule",
    "SearchResult",
    "Space",
    "Stopping",
    "TrialRun",
    "acceptance",
    "bootstrap",
    "characteristics",
    "cross_validate",
    "frontier",
    "predictions",
    "search",
    "simulate",
    "simulate_step",
    "stationary_bound",
    "stopping",
    "student_check",
    "summarise",
    "sweep_bound",
    "tail_check",
    "worst_case",
]
