"""Beyond the choice of one test.

optimal_boundary, optimal_boundaries
    the best of all stopping boundaries, and a bound that no boundary can beat (`optimal_boundary`)
posterior_error, tolerance_for
    the posterior that a chain with a test samples, and the tolerance that keeps it accurate enough (`posterior`)
independent_error
    the same for proposals that do not depend on the state
best_step, effective_share
    the best step of a random walk together with its test (`step_size`)
best_epsilon, time_options, time_schedule, anytime_schedule, sensitivity
    the test, or the sequence of tests, with the least risk in a given time (`budget`)
"""

from designer.further.budget.epsilon import Option, Quantity, best_epsilon, sensitivity, time_options
from designer.further.budget.phases import Phase, TimePlan, anytime_schedule, time_schedule
from designer.further.optimal_boundary.boundary import optimal_boundaries, optimal_boundary
from designer.further.optimal_boundary.result import OptimalBoundary, Rival
from designer.further.posterior.error import PosteriorError, posterior_error
from designer.further.posterior.independent import IndependentError, independent_error
from designer.further.posterior.tolerance import PosteriorTolerance, tolerance_for
from designer.further.step_size import BestStep, StepRow, best_step, effective_share

__all__ = [
    "BestStep",
    "IndependentError",
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
    "independent_error",
    "optimal_boundaries",
    "optimal_boundary",
    "posterior_error",
    "sensitivity",
    "time_options",
    "time_schedule",
    "tolerance_for",
]
