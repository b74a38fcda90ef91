"""Acceptance tests, one file each. Every test answers a `Comparison` with a `Decision`.

ExactTest
    Reads all data, every time.
SequentialTest
    Reads batch after batch until a Student test is confident (K14).
BarkerTest
    Uses the noise of a mini-batch in place of u (S17), with the tables `correction` and `ridge_correction`.
ConcentrationTest
    Uses bounds that hold for any distribution of the lᵢ (Bardenet, Doucet and Holmes 2014).
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
