"""What crosses package borders: a `Design` (the test to run) and a `TrialRun` (the proposals it was chosen for).

Both are immutable and checked once, when they are made; whatever holds one need not check again.
"""

from designer.design import Design, Predicted, Provenance
from designer.trial_run import TrialRun

__all__ = ["Design", "Predicted", "Provenance", "TrialRun"]
