"""Tables as text."""

import csv
import io

import numpy as np

from designer.files import csv_text


def test_csv_text_keeps_numbers_and_quotes_texts():
    rows = zip(np.array([1, 2]), [0.1, np.nan], ["x, y", None], [True, False], strict=True)
    text = csv_text(["a", "b", "c", "d"], rows)
    assert text == 'a,b,c,d\n1,0.1,"x, y",true\n2,,,false\n'
    assert float(next(csv.DictReader(io.StringIO(csv_text(["x"], [[0.1 + 0.2]]))))["x"]) == 0.1 + 0.2
