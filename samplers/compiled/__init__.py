"""Whole blocks of steps as one compiled call, for built-in parts: a drawn row is touched once, for θ and θ'.

Model, proposal and test enter as NamedTuples of arrays (`parts`); their *types* choose the code (numba overloads in
`models`, `moves` and `decisions`), so that every combination is compiled once and kept on disk. The random numbers are
used in the same order as by `chain.step` on the protocols, so that both make the same decisions.
"""
