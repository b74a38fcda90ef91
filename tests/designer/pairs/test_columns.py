"""What the columns of a trial run may contain."""

import math

import numpy as np

from designer.pairs.columns import defects


def test_defects_are_in_the_order_of_rows():
    columns = {"mu": np.array([0.0, math.nan, math.inf]), "sigma": np.array([-1.0, 1.0, 0.0])}
    found, count = defects(columns, most=3)
    assert count == 4
    assert [(d.row, d.column) for d in found] == [(0, "sigma"), (1, "mu"), (2, "mu")]
