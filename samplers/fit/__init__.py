"""Iteratively reweighted least squares (IRLS) that reads only as much data as its direction needs (K16 §2).

Each iteration solves A d = g for the update d, with A = sum w_i x_i x_i' and g = sum w_i x_i (z_i - x_i' θ) over a
sample without replacement, which grows until a test is confident that d points in the direction of the update by all
N data.

K16 Alg. 1 as printed uses u_n for u_N in its own test. The noise of D coordinates then counts as signal (measured
near the solution, logistic, D = 30, ε = 0.05: 95% of updates pass, 44% are more than 90 degrees off): batches may
stay small, and the estimate at the noise of N₀ data, or it diverges. The default keeps the idea and repairs four things
(see `update.variance_of_scores` and `update._corrected`): the squared length of the noise is subtracted,
variances may differ (LAD's do, by orders of magnitude), rows that happen to agree do not count as certainty, and the
update is shortened to its share of signal. ``rule="printed"`` is Alg. 1, misprints corrected.

K16 does not say when to stop. Here the fit stops when an upper confidence limit on the gain of the update by all data
is small (`update.Direction.decrement`), and never because one sample's own update is small, which may be luck: for LAD,
ten residuals of which half are positive balance, wherever θ is.

`loop` iterates, `update` tests a direction, `equations` accumulates the normal equations, `losses` has LAD, quantiles,
L_p, logistic and Poisson regression, `trace` the record of a fit, `precision` what is known about the error of the
estimate, and `baselines` the methods it is compared with. `fit_table` is all of that for a table and a formula.
"""

from samplers.fit.loop import irls
from samplers.fit.losses import LAD, Logistic, Loss, Lp, Poisson, Quantile, Working
from samplers.fit.precision import Precision, precision
from samplers.fit.trace import Fit, FitProgress, Look, Reason, Trace
from samplers.fit.update import Rule

__all__ = [
    "LAD",
    "Fit",
    "FitProgress",
    "Logistic",
    "Look",
    "Loss",
    "Lp",
    "Poisson",
    "Precision",
    "Quantile",
    "Reason",
    "Rule",
    "Trace",
    "Working",
    "irls",
    "precision",
]
