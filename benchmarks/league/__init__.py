"""The league: every method on the same posteriors, bias beside speed. `make league` measures it."""
