"""The league: how every method did on the same posteriors. Its figures belong to the product: the dashboard maps them.

`cells.py` reads them, `winners.py` says who wins at an error that the user allows.
"""
