"""How an experiment is run, stored and reported."""
