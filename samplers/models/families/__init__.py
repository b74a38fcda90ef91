"""Families: what a linear predictor η means for y. Each is a NamedTuple whose type chooses compiled functions.

functions
    Elementary functions that vectorise: exp, log, log(1 + e^η), Mills' ratio.
scalar
    The names of a family's functions: value (log p), change, slope, curvature, third, second_bound, third_bound.
logit, binary, counts, errors
    The families with one predictor.
kernels
    Their functions for many rows at once, which compiled blocks call by address.
special, joint
    Several predictors: softmax, and sampled shape parameters.
own
    `OwnFamily`: a family of your own.
catalogue, pulls
    Families by name, which y they take, and which y hold no predictor.
"""
