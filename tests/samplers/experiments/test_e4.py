"""E4 at a tiny size: tests read less with larger epsilon, at the acceptance rate asked for."""

import pytest

from designer.core.progress import Cancelled
from samplers.experiments import experiment
from samplers.experiments.framework.running import Work
from samplers.experiments.framework.shared import Shared
from samplers.experiments.studies import e4


def test_finding(done):
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    usage = [rows[name][6] for name in ("ε = 0.01", "ε = 0.05", "ε = 0.1", "ε = 0.2")]
    assert usage == pytest.approx([0.51, 0.31, 0.19, 0.09], rel=0.2)  # N = 20,000: m = 600 is already 3%
    assert rows["exact"][9] == pytest.approx(0.5, abs=0.12)
    assert rows["ε = 0.1"][7] == pytest.approx(2.0 * rows["ε = 0.1"][8])  # with and without a cache
    assert len(done.report.panels) == 3


def test_the_truth_knows_its_own_error(done):
    rates, spread, mean, se, effective = done.report.tables[1].rows[0]
    assert rates > spread > 0.0
    assert 0.0 < se < 0.2 * mean and 10.0 < effective < 1500.0
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert all(row[11] > 0.9 * se for row in rows.values())  # a bias is known no better than the truth
    assert all((row[12] > 2.0 * se**2) == (row[13] == "yes") for row in rows.values())


def test_preparing_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(e4, "_PREPARED", Shared())
    notes = []
    stopping = Work(progress=lambda share, note: notes.append(note), cancelled=lambda: len(notes) >= 2)
    with pytest.raises(Cancelled):
        e4.work(experiment("e4").sizes["tiny"], "truth #0", stopping)
    assert len(notes) == 2 and all(note.startswith("tuning") for note in notes)
