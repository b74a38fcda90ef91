"""Control variates: expansions of each datum's log-likelihood, heavy rows, the mode, bounds on what proxies miss.

expansion
    Taylor proxies of linear models, and what any other model must offer for them.
controlled
    `Controlled`: a model whose tests see only what the proxies miss.
mode, smooth_mode, scale_mode
    `find_mode`: where to expand.
propriety
    Whether there is a posterior at all.
heavy
    Rows that every decision reads.
many_states
    Log posteriors, gradients and residuals of many states at once.
term_bounds, residual_bounds
    Bounds on the residuals, for the exact mini-batch test.
"""

from samplers.models.control.controlled import Controlled
from samplers.models.control.mode import find_mode

__all__ = ["Controlled", "find_mode"]
