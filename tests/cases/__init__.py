"""Permanent cases: ordinary and awkward data, on which every promise of the product is tried.

A case makes data of any size from a seed; its special feature stays when N grows (a level keeps its 3 rows).

>>> from tests.cases import CASES
>>> case = CASES["rare-levels"]
>>> x, y, prior_precision = case.data()          # at case.small rows; case.data(10**6) for benchmarks
>>> model = Logistic.from_data(*case.data())
>>> case.reference().mean                         # exact posterior at case.small rows, made by `reference.py`
"""

from tests.cases.case import Case, Data, Reference
from tests.cases.generators import ALL

CASES = {case.name: case for case in ALL}
PROPER = {name: case for name, case in CASES.items() if case.proper}

__all__ = ["CASES", "PROPER", "Case", "Data", "Reference"]
