"""Acceptance tests, one file each. Every test answers a `Comparison` with a `Decision`.

ExactTest
    Reads all data, every time.
SequentialTest
    Reads batch after batch until a Student test is confident (K14).
BarkerTest
    Uses the noise of a mini-batch in place of u (S17), with the tables `correction` and `ridge_correction`.
ConcentrationTest
    Uses bounds that hold for any distribution of the lᵢ (Bardenet, Doucet and Holmes 2014).
ExactMinibatchTest
    Draws a random number of rows by bounds on their lᵢ, `TermBounds`, and is exact (Zhang, Cooper and De Sa 2020).
AlwaysAccept
    No test: accepts everything, as uncorrected Langevin dynamics does.
"""

from samplers.decide.alias import AliasTable, TermBounds
from samplers.decide.always import AlwaysAccept
from samplers.decide.barker import BarkerReport, BarkerTest, clt_bound
from samplers.decide.comparison import AcceptTest, BrokenBound, Comparison, Decision, NonFiniteTerm, draw_threshold
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.correction import Correction, correction, ridge_correction
from samplers.decide.exact import ExactTest
from samplers.decide.exact_minibatch import ExactMinibatchTest
from samplers.decide.sequential import SequentialTest

__all__ = [
    "AcceptTest",
    "AliasTable",
    "AlwaysAccept",
    "BarkerReport",
    "BarkerTest",
    "BrokenBound",
    "Comparison",
    "ConcentrationTest",
    "Correction",
    "Decision",
    "ExactMinibatchTest",
    "ExactTest",
    "NonFiniteTerm",
    "SequentialTest",
    "TermBounds",
    "clt_bound",
    "correction",
    "draw_threshold",
    "ridge_correction",
]
