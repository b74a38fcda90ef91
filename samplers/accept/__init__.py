"""Acceptance tests, one file each; all answer a `Comparison` with a `Decision`."""

from samplers.accept.barker import BarkerReport, BarkerTest, clt_bound
from samplers.accept.comparison import AcceptTest, Comparison, Decision, NonFiniteTerm, draw_threshold
from samplers.accept.concentration import ConcentrationTest
from samplers.accept.correction import Correction, correction, ridge_correction
from samplers.accept.exact import ExactTest
from samplers.accept.sequential import SequentialTest
from samplers.accept.stratified import StratifiedTest

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
    "StratifiedTest",
    "clt_bound",
    "correction",
    "draw_threshold",
    "ridge_correction",
]
