"""Beyond the choice of one test.

optimal_boundary, optimal_boundaries
    the best of all stopping boundaries, and what no boundary can do better than (`optimal`, `bayes`)
posterior_error, tolerance_for
    the posterior that a chain with a test samples, and the tolerance that keeps it within a wish (`posterior`)
best_step, effective_share
    the best step of a random walk together with its test (`steps`)
best_epsilon, time_options, time_schedule, anytime_schedule, sensitivity
    the test, or the tests one after the other, with the least risk in a given time (`budget`, `phases`)
"""

from designer.further.budget.epsilon import Option, Quantity, best_epsilon, sensitivity, time_options
from designer.further.budget.phases import Phase, TimePlan, anytime_schedule, time_schedule
from designer.further.optimal_boundary.boundary import optimal_boundaries, optimal_boundary
from designer.further.optimal_boundary.result import OptimalBoundary, Rival
from designer.further.posterior.error import PosteriorError, posterior_error
from designer.further.posterior.tolerance import PosteriorTolerance, tolerance_for
from designer.further.step_size import BestStep, StepRow, best_step, effective_share

__all__ = [
    "BestStep",
    "OptimalBoundary",
    "Option",
    "Phase",
    "PosteriorError",
    "PosteriorTolerance",
    "Quantity",
    "Rival",
    "StepRow",
    "TimePlan",
    "anytime_schedule",
    "best_epsilon",
    "best_step",
    "effective_share",
    "optimal_boundaries",
    "optimal_boundary",
    "posterior_error",
    "sensitivity",
    "time_options",
    "time_schedule",
    "tolerance_for",
]
