"""Beyond the choice of one test: the best boundary, designs by kappa, errors of the posterior, time budgets, steps."""
