"""Compiled chains: whole blocks of steps in one call, for built-in models, proposals and tests.

`build` turns them into NamedTuples of arrays (`parts`), whose *types* choose the code (numba overloads in `models`,
`moves` and `decisions`): every combination is compiled once and cached on disk. `block` runs the steps, `gibbs_sweeps`
the updates of a Markov random field. A drawn row is read once, for θ and θ'. Random numbers are used in the same order
as by the uncompiled chain, so both make the same decisions, draw for draw.
"""
