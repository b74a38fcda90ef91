"""Iteratively reweighted least squares that reads only as much data as its direction needs (K16 §2).

Each iteration solves A d = g for the update d, with A = sum w_i x_i x_i' and g = sum w_i x_i (z_i - x_i' θ) over a
sample without replacement that grows until a test is confident that d points the way the update of all N data does.

K16 Alg. 1 as printed takes u_n for u_N in its own test. The noise of D coordinates then passes for signal (measured
near the solution, logistic, D = 30, ε = 0.05: 95% of updates pass, 44% are more than 90 degrees off): batches do
not grow, and the estimate stays at the noise of N_0 data or runs away. The default keeps the idea and repairs four
things (see `update._noise` and `update._corrected`): the squared length of the noise is subtracted,
variances may differ (LAD's do, by orders of magnitude), rows that happen to agree are not taken for certainty, and the
update is shortened to its share of signal. ``rule="printed"`` is Alg. 1, misprints corrected.

K16 does not say when to stop. Here it ends when an upper confidence limit of what the update of all data could still
gain is small (`update.Direction.decrement`), and never on the strength of one sample's own update, which may vanish by
luck: half of ten residuals positive and half negative is balance to LAD, wherever θ is.
"""

from samplers.fit.loop import irls
from samplers.fit.losses import LAD, Logistic, Loss, Working
from samplers.fit.trace import Fit, FitProgress, Reason, Trace
from samplers.fit.update import Rule

__all__ = ["LAD", "Fit", "FitProgress", "Logistic", "Loss", "Reason", "Rule", "Trace", "Working", "irls"]
