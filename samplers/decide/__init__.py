"""Acceptance tests, one file each; all answer a `Comparison` with a `Decision`.

ExactTest
    All the data, every time.
SequentialTest
    Batch after batch until a Student test is sure (K14); with the design chosen by the spread of the first batch.
BarkerTest
    The noise of a minibatch takes the place of u (S17), with the tables `correction` and `ridge_correction`.
ConcentrationTest
    Bounds that hold for any distribution (Bardenet, Doucet and Holmes 2014).
"""

from samplers.decide.barker import BarkerReport, BarkerTest, clt_bound
from samplers.decide.comparison import AcceptTest, Comparison, Decision, NonFiniteTerm, draw_threshold
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.correction import Correction, correction, ridge_correction
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest

__all__ = [
    "AcceptTest",
    "BarkerReport",
    "BarkerTest",
    "Comparison",
    "ConcentrationTest",
    "Correction",
    "Decision",
    "ExactTest",
    "NonFiniteTerm",
    "SequentialTest",
    "clt_bound",
    "correction",
    "draw_threshold",
    "ridge_correction",
]
