"""Group effects: (1 | g) and (x | g), with sampled scales.

terms
    `Groups`: one group term.
model
    `Grouped`: a linear model with group terms.
arrow
    The Hessian of such a model, never a dense matrix.
centre
    Where its control variates are expanded: a joint mode need not exist.
"""

from samplers.models.groups.model import Grouped
from samplers.models.groups.terms import Groups

__all__ = ["Grouped", "Groups"]
