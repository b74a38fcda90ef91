"""A sequential t-test's decision at every threshold v at once, so that u can be integrated out.

For one order of the data the test accepts exactly the thresholds below some level τ. Each look narrows an interval: v
below it has been accepted, v above it rejected, v inside it reads on. So one path of running sums gives the test's
acceptance probability P(v < τ), and its expected data use, for all u together.
"""

from __future__ import annotations

import math

from designer.core.jit import inlined, kernel
from designer.rule.t_test import standard_error


@kernel
def probability_below(level: float, barker: bool) -> float:
    """P(v < level): min(1, e^level) for v = log u, 1 / (1 + e^-level) for v = logit u."""
    if barker:
        return 1.0 / (1.0 + math.exp(-level)) if level > -700.0 else 0.0
    return math.exp(min(level, 0.0))


@inlined
def levels(
    total: float, squares: float, n: int, n_data: int, shift: float, log_ratio: float, lower: float, upper: float
) -> tuple[float, float]:
    """One interim look at all v: `verdict` accepts those below the first number and rejects those above the second.

    The arguments are those of `verdict`, with μ₀ = (v + log_ratio) / N solved for v. Where ∞ · 0 leaves `verdict`
    undecided, so does this.
    """
    s = standard_error(total, squares, n, n_data)
    here = n_data * (total / n + shift) - log_ratio
    below = here - n_data * (upper * s)
    above = here - n_data * (lower * s)
    return (-math.inf if math.isnan(below) else below), (math.inf if math.isnan(above) else above)


@inlined
def narrowed(low: float, high: float, below: float, above: float) -> tuple[float, float]:
    """The interval of undecided v after a look; if it vanishes, both ends are τ."""
    low = min(max(low, below), high)
    return low, max(min(high, above), low)
