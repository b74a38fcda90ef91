"""E4 at a tiny size: tests read less with larger epsilon, at the acceptance rate asked for."""

import numpy as np
import pytest

from designer.core.progress import Cancelled
from samplers.chains.chain import Chain
from samplers.data.sources import Source
from samplers.decide.exact import ExactTest
from samplers.experiments import experiment
from samplers.experiments.framework.running import Work
from samplers.experiments.framework.shared import Shared
from samplers.experiments.problems.ica_problem import (
    Peak,
    ShapedRotations,
    TunedUnmixing,
    Unmixing,
    find_peak,
    scale_for,
    slope,
    unmixing,
)
from samplers.experiments.studies import e4
from samplers.models.ica import amari
from samplers.proposals import StiefelWalk


def test_finding(done):
    assert all(check is not False for what, check in done.report.checks.items() if "K14" not in what)
    rows = {row[0]: row for row in done.report.tables[0].rows}
    usage = [rows[name][6] for name in ("ε = 0.01", "ε = 0.05", "ε = 0.1", "ε = 0.2")]
    assert usage == pytest.approx([0.51, 0.31, 0.19, 0.09], rel=0.2)  # N = 20,000: m = 600 is already 3%
    assert rows["exact"][9] == pytest.approx(0.5, abs=0.12)
    assert rows["ε = 0.1"][7] == pytest.approx(2.0 * rows["ε = 0.1"][8])  # with and without a cache
    assert len(done.report.panels) == 3


def test_the_truth_knows_its_own_error(done):
    rates, spread, mean, se, sd, effective, drifting, _ = done.report.tables[1].rows[0]
    assert drifting < 4.0 and sd == pytest.approx(se * effective**0.5, rel=0.01)
    assert rates > spread > 0.0
    assert 0.0 < se < 0.2 * mean and 10.0 < effective < 1500.0
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert all(row[11] > 0.9 * se for row in rows.values())  # a bias is known no better than the truth
    assert all((row[14] > 2.0 * se**2) == (row[15] == "yes") for row in rows.values())


def test_preparing_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(e4, "_PREPARED", Shared())
    notes = []
    stopping = Work(progress=lambda share, note: notes.append(note), cancelled=lambda: len(notes) >= 2)
    with pytest.raises(Cancelled):
        e4.work(experiment("e4").sizes["tiny"], "truth #0", stopping)
    assert len(notes) == 2 and all(note.startswith("looking for the mode") for note in notes)


def test_rotations_of_the_posteriors_shape_have_the_walks_posterior():
    """On a music-like and two Gaussian sources: both exact chains agree, and the walk accepts half without tuning."""
    rng = np.random.default_rng(3)
    sources = np.vstack([rng.laplace(size=2000), rng.standard_normal((2, 2000))])
    mixing = np.array([[1.0, 0.4, 0.1], [0.0, 1.0, 0.3], [0.2, 0.0, 1.0]])
    none = np.empty(0)
    problem = unmixing(Source((mixing @ sources).T, none, none, none, (), "", True, {"mixing": mixing}))
    peak = find_peak(problem.model, problem.nearest, lambda share: None)
    assert np.abs(slope(problem.model, peak.mode)).max() < 0.01 * np.sqrt(peak.values.max())
    assert peak.values[0] < 0.2 * peak.values[1]  # the rotation of the Gaussian sources is hardly known
    walks = StiefelWalk(scale_for(peak.precision, 0.5), 3), ShapedRotations.of(peak)
    found = []
    for walk, steps in zip(walks, (6000, 2000), strict=True):
        chain = Chain(problem.model, walk, ExactTest(), peak.mode, np.random.default_rng(4))
        draws = chain.advance(steps)
        blocks = amari(draws.theta, problem.truth).reshape(20, -1).mean(axis=1)
        found.append((blocks.mean(), blocks.std(ddof=1) / np.sqrt(20), draws.accepted.mean()))
    assert abs(found[0][0] - found[1][0]) < 4.0 * np.hypot(found[0][1], found[1][1])
    assert found[0][2] == pytest.approx(0.5, abs=0.06)


def test_far_starts_are_orthonormal_and_differ():
    peak = Peak(np.eye(3).ravel(), np.eye(3), np.ones(3), np.eye(3))
    tuned = TunedUnmixing(Unmixing(None, np.eye(3), None), peak, 0.1, {})
    starts = [tuned.start(np.random.default_rng(seed), "far").reshape(3, 3) for seed in range(20)]
    assert all(np.allclose(w @ w.T, np.eye(3)) and np.linalg.det(w) == pytest.approx(1.0) for w in starts)
    assert np.std([w[0, 0] for w in starts]) == pytest.approx(3**-0.5, abs=0.2)  # uniform on the sphere
    assert tuned.start(np.random.default_rng(1), "mode") is peak.mode
