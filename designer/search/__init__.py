"""The best design for a tolerance.

`criteria` says what a design is judged by, `space` what is searched. `search` is the entry: it scans and solves
(`continuous`) or evaluates a grid (`grid_search`), scores designs with `evaluation`, and makes the `answer`. `frontier`
does so for many tolerances, `resample` says whether a design holds on other pairs, and `relaxations` what to do when no
design is feasible.
"""
