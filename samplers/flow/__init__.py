"""From a model to an audited posterior in one call: every choice is made, said, and can be overridden.

sample
    `sample`: mode, need one sample at all?, which test, trial run, design, warm-up, chains, audit, report.
steps
    The steps in their order.
problem
    What can be sampled: models, configs, paths of configs.
wishes
    What the caller asks for, checked.
which_test, tolerances
    Which acceptance test is cheapest, and which tolerance keeps the posterior within the wish.
without_control
    Models without derivatives: a random walk that learns its steps.
decisions, narrator
    What was decided and why; how it is shown on the way.
place
    A directory whose finished steps are not repeated.
result, report
    What comes out, and how it is told.
"""
